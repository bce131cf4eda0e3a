//! How often the gate is right: scenarios from causes, labels from counterfactual runs, verdicts from the real judge.
//!
//! [`dice`], [`case`], [`models`], [`classes`], [`play`] and [`label`] know the models of `wellfed-sim` and nothing of
//! the gate: no threshold, no code and no number of a rule. [`garble`] breaks telemetry, [`watch`] asks the gate; [`score`] compares.

// Counts here are small and positive: replicas, tokens, minutes.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

pub mod case;
pub mod classes;
pub mod decide;
pub mod dice;
pub mod garble;
pub mod inloop;
pub mod label;
pub mod models;
pub mod play;
pub mod score;
pub mod table;
pub mod watch;
