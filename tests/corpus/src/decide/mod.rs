//! What the gate is worth: a mixture of workloads over recorded load, under wellfed with and without it and under others.
//!
//! [`mixture`] reads what is played, [`bench`] plays it, [`row`] and [`sum`] count, [`verdict`] compares, [`table`] shows.

pub mod bench;
pub mod mixture;
pub mod row;
pub mod sum;
pub mod table;
pub mod useful;
pub mod verdict;
