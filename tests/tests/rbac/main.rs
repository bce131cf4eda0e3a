//! What the operator may do, against what it does: every right of the chart is used, nothing else is asked for, and each
//! right that is taken away is missed where a person sees it.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot look has failed")]

mod missing;
mod right;
mod used;
