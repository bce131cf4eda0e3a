//! Placeholder.
pub mod health;
pub mod lease;
pub mod signals;
