//! The wellfed API, `wellfed.dev/v1alpha1`: what users write and what the operator answers.
//!
//! One kind or concept a file. The CRDs under `crds/yaml` are generated from these types by `make bless`.

#![allow(clippy::duplicated_attributes)] // a CRD has several printcolumns

mod behavior;
mod conditions;
mod crd;
mod duration;
mod gate;
mod model;
mod pool;
mod quantity;
mod shares;
mod signal;
mod status;
mod workload;

pub use behavior::{Behavior, PolicyType, ScalingPolicy, ScalingRules, SelectPolicy};
pub use conditions::{Condition, ConditionStatus};
pub use crd::{all, yaml_of};
pub use duration::{DurationError, GoDuration};
pub use gate::{Gate, GateMode, OnUnknown};
pub use model::{Dtype, Model, Params, ParamsError};
pub use pool::{CapacityType, GpuPool, GpuPoolSpec, GpuShape, PoolLimits};
pub use quantity::{Quantity, QuantityError};
pub use shares::IntOrPercent;
pub use signal::{
    Better, PrometheusSource, ScaleSource, ServerMetric, ServerSource, Signal, SignalRole, SignalSlo, SignalSource,
    SignalTarget, SignalType, TargetType, TritonSource,
};
pub use status::{
    CheckStatus, CommandStatus, DecisionStatus, FiguresStatus, FindingStatus, GpuWorkloadStatus, Measured,
    PolicyStatus, PoolStatus, StepStatus,
};
pub use workload::{
    Class, Fallback, FallbackBehavior, GpuWorkload, GpuWorkloadSpec, Mode, ScaleTargetRef, WorkloadPool,
};
