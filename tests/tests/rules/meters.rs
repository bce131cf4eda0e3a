//! GPUs as exporters show them in one state or another.

use crate::exposition::{Gauges, Replica};

/// A trainer's replica whose GPU is hardly fed, since its container waits for storage.
pub const FETCHING: Replica = Replica {
    gpu: STARVED,
    container: &[("container_cpu_usage_seconds_total", 1.6), ("container_pressure_io_waiting_seconds_total", 0.35)],
    server: &[],
    counters: &[],
};

/// Hardly fed.
pub const STARVED: Gauges = &[
    ("DCGM_FI_DEV_GPU_UTIL", 22.0),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.22),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.12),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.05),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.04),
];

/// At work less than half of the time.
pub const WAITING: Gauges = &[
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.4),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.25),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.1),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.08),
];

/// At work, by SMs and tensor pipe.
pub const BUSY: Gauges = &[
    ("DCGM_FI_DEV_GPU_UTIL", 98.0),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.95),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.7),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.3),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.4),
];

/// Decoding for one request, on the exporter's default counters.
pub const DECODING_FOR_ONE: Gauges = &[
    ("DCGM_FI_DEV_GPU_UTIL", 96.0),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.9),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.55),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.03),
];
