//! One instance acts, the others stand by: a Kubernetes Lease says which.
//!
//! [`state`] decides and knows no network; [`io`] talks to the API server; [`view`] is what the rest of the operator reads
//! before each write; [`config`] has the times.

pub mod config;
pub mod io;
pub mod state;
pub mod view;

pub use config::{LeaseConfig, LeaseError};
pub use io::hold;
pub use state::{Act, Elector, LeaseRecord, Standing, Terms};
pub use view::{Holding, LeaseView};
