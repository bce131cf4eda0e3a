//! Mistakes in a `GpuWorkload`, on a real control plane: what a user reads, that nothing is written while they stand, that
//! others go on, and that correcting them is enough.

mod pools;
mod queries;
mod schema;
mod stage;
mod targets;
mod values;
