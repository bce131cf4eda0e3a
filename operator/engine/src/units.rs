//! Counts and names that must not be mixed up.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! count {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// None at all.
            pub const ZERO: Self = Self(0);

            /// What is left after taking `other` away; never below zero.
            #[must_use]
            pub const fn minus(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// Both together; saturates.
            #[must_use]
            pub const fn plus(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
                counts.fold(Self::ZERO, Self::plus)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

count! {
    /// A number of replicas.
    Replicas
}
count! {
    /// A number of whole GPUs (or of GPU slices, where the resource is one).
    Gpus
}

impl Replicas {
    /// The GPUs of this many replicas of `each`; saturates.
    #[must_use]
    pub const fn times(self, each: Gpus) -> Gpus {
        Gpus(self.0.saturating_mul(each.0))
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// A `GpuPool`, or a pool entry of a workload that names one.
    PoolName
}
name! {
    /// A signal of a workload; unique within it.
    SignalName
}
name! {
    /// A node of the cluster.
    NodeName
}
name! {
    /// A pod, within its namespace.
    PodName
}

/// Which workload: stable over restarts, new when the object is made anew.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkloadId {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The API server's uid.
    pub uid: String,
}

impl fmt::Display for WorkloadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
