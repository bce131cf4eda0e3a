//! Whether anybody asks for more while evidence is taken.

use serde::{Deserialize, Serialize};

/// How demand stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Demand {
    /// It exceeded its target, and is not known to be below since: what is seen decides whether GPUs are added.
    #[default]
    Above,
    /// Nobody asks for more: what is seen is only told.
    Met,
}
