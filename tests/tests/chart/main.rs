//! The charts, through the pinned helm: what they hold, what they refuse, and in which words.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot look has failed")]

mod documented;
mod installed;
mod permissions;
mod pods;
mod recording;
mod rendering;
mod value_sets;
