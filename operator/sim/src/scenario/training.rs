//! The causes of training: what a step needs of GPU, CPU, storage and links, and what goes wrong.

use super::{
    Crash, Footprint, Span,
    check::{Problem, not_negative, positive, share, under},
};
use serde::{Deserialize, Serialize};

/// One step handles `samplesPerStep` samples a replica; the loader prepares the next ones meanwhile, so a step takes
/// the longest of GPU, loader and storage time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Training {
    /// GPU time of a step without waiting for data or peers, seconds; in Bf16 and at the full clock.
    pub gpu_seconds_per_step: f64,
    /// Samples of a step on one replica.
    pub samples_per_step: f64,
    /// Samples of a step on all replicas together: each takes its part, and needs GPU time for its part only. None
    /// means that each takes `samplesPerStep`, however many there are.
    #[serde(default)]
    pub global_batch: Option<f64>,
    /// Gradient exchange as a share of the GPU time with very many replicas; (N−1)/N of it with N, none alone.
    #[serde(default)]
    pub communication_fraction: f64,
    /// Gradient exchange as bytes over a link; comes on top of `communicationFraction`.
    #[serde(default)]
    pub exchange: Option<Exchange>,
    /// The data loader of a replica.
    pub loader: Loader,
    /// Cores that all replicas share, since their pods are packed on the same nodes; none means that each has its own.
    #[serde(default)]
    pub cpu_pool: Option<CpuPool>,
    /// The storage that all replicas read from.
    #[serde(default)]
    pub storage: Storage,
    /// Copies between host and GPU in each step while no kernel runs; none means that they hide behind the kernels.
    #[serde(default)]
    pub transfer: Option<Transfer>,
    /// Starting kernels one by one from the CPU; none means that it takes no time.
    #[serde(default)]
    pub launch: Option<Launch>,
    /// The arithmetic of most kernels.
    #[serde(default)]
    pub precision: Precision,
    /// Replicas whose GPUs run slower than the others'.
    #[serde(default)]
    pub slow: Option<Slow>,
    /// What interrupts the steps from time to time.
    #[serde(default)]
    pub phases: Phases,
    /// From when on a replica never arrives at the exchange, while the others spin in it.
    #[serde(default)]
    pub hang: Option<Since>,
    /// From when on the loss is not a number.
    #[serde(default)]
    pub diverges: Option<Since>,
    /// From when on the loss falls no further.
    #[serde(default)]
    pub plateaus: Option<Since>,
    /// Time after a replica turns Ready in which it compiles and tunes kernels; the group waits for it.
    #[serde(default)]
    pub warm_up: Span,
    /// What a step needs of GPU memory; none means that there is enough.
    #[serde(default)]
    pub memory: Option<Footprint>,
    /// What ends the processes of all replicas again and again; none means that nothing does.
    #[serde(default)]
    pub crash: Option<Crash>,
    /// GPU memory in use on each GPU, MiB; of no effect beside `memory`.
    #[serde(default = "memory")]
    pub gpu_memory_mib: f64,
    /// Samples that wait when the scenario begins.
    #[serde(default)]
    pub backlog: f64,
}

/// The data loader of a replica.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Loader {
    /// Worker processes, each on at most one core; the container's CPU limit holds on top.
    pub workers: f64,
    /// CPU time to prepare one sample, seconds.
    pub cpu_seconds_per_sample: f64,
    /// Time a worker waits for one sample's bytes, seconds.
    #[serde(default)]
    pub wait_seconds_per_sample: f64,
    /// Bytes read, and sent to the GPU, for one sample.
    pub bytes_per_sample: f64,
}

/// Storage shared by all replicas of a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Storage {
    /// Bytes a second for all replicas together; none means no limit.
    #[serde(default)]
    pub bytes_per_second: Option<f64>,
    /// An object store read over sockets: the kernel does not see that tasks wait for it.
    #[serde(default)]
    pub remote: bool,
}

/// Cores that all replicas share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CpuPool {
    /// Cores for all replicas together; a further replica adds none.
    pub cores: f64,
}

/// A ring all-reduce at the end of each step: 2(N−1)/N × bytes over the link, and N−1 latencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exchange {
    /// Bytes of the gradients.
    pub bytes_per_step: f64,
    /// Bytes a second of the slowest link of the ring, each way.
    pub bytes_per_second: f64,
    /// Time to pass one message on, seconds.
    #[serde(default)]
    pub latency_seconds: f64,
    /// The link.
    pub over: Link,
}

/// Copies between host and GPU for which the kernels wait, as from pageable memory or an offloaded optimizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transfer {
    /// Bytes to each GPU in a step.
    pub bytes_per_step: f64,
    /// Bytes a second that get through.
    pub bytes_per_second: f64,
}

/// What gradients go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Link {
    /// GPU to GPU.
    NvLink,
    /// Through the host.
    Pcie,
    /// Through the host and its network card.
    Network,
}

/// Kernels that the CPU starts one by one: a step takes at least as long as starting them all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Launch {
    /// Kernels of a step.
    pub kernels_per_step: f64,
    /// CPU time to start one, seconds.
    pub seconds_per_kernel: f64,
}

/// The arithmetic of most kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precision {
    /// Plain FP32 on the FP32 pipe, without TF32.
    Fp32,
    /// BF16 on the tensor pipe.
    #[default]
    Bf16,
}

/// Replicas whose GPUs run slower than the others'.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Slow {
    /// How many, the oldest first.
    pub replicas: u32,
    /// Their share of the full clock, 0–1.
    pub clock: f64,
    /// Whether heat holds the clock down; otherwise it was set so.
    #[serde(default)]
    pub thermal: bool,
}

/// What interrupts the steps from time to time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Phases {
    /// Forward passes over a validation set, without augmentation.
    #[serde(default)]
    pub evaluation: Option<Phase>,
    /// Writing the model to storage while the GPUs rest.
    #[serde(default)]
    pub checkpoint: Option<Phase>,
}

/// The last `lasts` of every `every`, counted from the scenario's beginning. Longer than a tick.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Phase {
    /// How often.
    pub every: Span,
    /// How long.
    pub lasts: Span,
}

/// A moment from which on something is so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Since {
    /// When, after the scenario began.
    pub at: Span,
}

impl Since {
    /// Whether it is so `begun` seconds after the scenario began.
    pub fn holds(self, begun: f64) -> bool {
        begun >= self.at.seconds()
    }
}

impl Training {
    pub(super) fn check(&self) -> Result<(), Problem> {
        positive("gpuSecondsPerStep", self.gpu_seconds_per_step)?;
        positive("samplesPerStep", self.samples_per_step)?;
        self.global_batch.map_or(Ok(()), |samples| positive("globalBatch", samples))?;
        not_negative("communicationFraction", self.communication_fraction)?;
        self.loader.check().map_err(|problem| under("loader", problem))?;
        self.cpu_pool.as_ref().map_or(Ok(()), |pool| positive("cpuPool.cores", pool.cores))?;
        self.storage.bytes_per_second.map_or(Ok(()), |rate| positive("storage.bytesPerSecond", rate))?;
        self.check_faults()?;
        self.memory.as_ref().map_or(Ok(()), Footprint::check).map_err(|problem| under("memory", problem))?;
        self.crash.map_or(Ok(()), Crash::check).map_err(|problem| under("crash", problem))?;
        not_negative("gpuMemoryMib", self.gpu_memory_mib)?;
        not_negative("backlog", self.backlog)
    }

    fn check_faults(&self) -> Result<(), Problem> {
        if let Some(exchange) = &self.exchange {
            not_negative("exchange.bytesPerStep", exchange.bytes_per_step)?;
            positive("exchange.bytesPerSecond", exchange.bytes_per_second)?;
            not_negative("exchange.latencySeconds", exchange.latency_seconds)?;
        }
        if let Some(transfer) = &self.transfer {
            not_negative("transfer.bytesPerStep", transfer.bytes_per_step)?;
            positive("transfer.bytesPerSecond", transfer.bytes_per_second)?;
        }
        if let Some(launch) = &self.launch {
            positive("launch.kernelsPerStep", launch.kernels_per_step)?;
            not_negative("launch.secondsPerKernel", launch.seconds_per_kernel)?;
        }
        if let Some(slow) = &self.slow {
            positive("slow.clock", slow.clock)?;
            share("slow.clock", slow.clock)?;
        }
        let phases = [("evaluation", self.phases.evaluation), ("checkpoint", self.phases.checkpoint)];
        phases.into_iter().try_for_each(|(name, phase)| phase.map_or(Ok(()), |phase| phase.check(name)))
    }
}

impl Loader {
    fn check(&self) -> Result<(), Problem> {
        positive("workers", self.workers)?;
        positive("cpuSecondsPerSample", self.cpu_seconds_per_sample)?;
        not_negative("waitSecondsPerSample", self.wait_seconds_per_sample)?;
        not_negative("bytesPerSample", self.bytes_per_sample)
    }
}

impl Phase {
    fn check(self, name: &str) -> Result<(), Problem> {
        if self.lasts < self.every {
            return Ok(());
        }
        let problem = "is not shorter than every; between two of them there must be time to train".into();
        Err((format!("phases.{name}.lasts"), problem))
    }
}

fn memory() -> f64 {
    52_000.0
}
