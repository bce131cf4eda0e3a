//! What GPUs can do by their generation: a remedy helps where the card has what it needs.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The generation of a data centre GPU, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Generation {
    Volta,
    Turing,
    Ampere,
    Ada,
    Hopper,
    Blackwell,
}

/// What not every card does in hardware. Source: NVIDIA's tables of compute capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Feature {
    Bf16,
    Tf32,
    /// Two of four weights are zero and are skipped.
    Sparsity,
    Fp8,
}

impl Feature {
    /// The first generation that has it; all later ones do.
    pub const fn since(self) -> Generation {
        match self {
            Self::Bf16 | Self::Tf32 | Self::Sparsity => Generation::Ampere,
            Self::Fp8 => Generation::Ada,
        }
    }
}

/// As a condition.
impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Bf16 => "BF16",
            Self::Tf32 => "TF32",
            Self::Sparsity => "2:4 sparsity",
            Self::Fp8 => "FP8",
        };
        write!(f, "needs {name}: {:?} or newer", self.since())
    }
}
