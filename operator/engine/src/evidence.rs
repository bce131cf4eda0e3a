//! What is known of a workload's GPUs and CPUs over one window; input of the rules.
//!
//! `None` is unknown, never zero: implausible and missing samples were dropped when this was assembled.

mod data_wait;
mod exits;
mod own;
mod server;
mod source;
mod sources;
mod trainer;

use crate::card::Generation;
use crate::policy::{Class, GatePolicy};
use crate::span::Span;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use data_wait::DataWait;
pub use exits::{Ended, Exits};
pub use own::{Moves, OwnEvidence};
pub use server::ServerEvidence;
pub use source::Source;
pub use sources::Sources;
pub use trainer::{TrainerEvidence, Trend};

/// One workload's evidence, attributed to its live, Ready, warm pods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What kind of work it is.
    pub class: Class,
    /// How it wants to be judged.
    pub gate: GatePolicy,
    /// The end of the newest sample.
    pub at: Timestamp,
    /// The time covered, since demand exceeded its target.
    pub covered: SignedDuration,
    /// GPUs that its warm pods ask for.
    pub expected_gpus: u32,
    /// The physical GPUs (or MIG instances) seen.
    pub gpus: Vec<GpuEvidence>,
    /// The GPU containers of its warm pods, all of them: one without samples is listed with none.
    pub containers: Vec<ContainerEvidence>,
    /// How often the GPU containers of its other pods ended, one entry for each pod where one did. A container that keeps
    /// ending is never warm, and its ends are all that is known of it.
    #[serde(default)]
    pub ended: Vec<Ended>,
    /// What its warm pods serve by their own account, one entry a pod: one that says nothing is listed with nothing.
    #[serde(default)]
    pub servers: Vec<ServerEvidence>,
    /// What its warm pods train by their own account, one entry a pod: one that says nothing is listed with nothing.
    #[serde(default)]
    pub trainers: Vec<TrainerEvidence>,
    /// Demand exceeds its target now, and is no lower than when the window began.
    #[serde(default)]
    pub backlog_lasts: bool,
    /// What its own signals say of its work, all replicas together.
    #[serde(default)]
    pub own: OwnEvidence,
    /// A latency objective is exceeded now.
    #[serde(default)]
    pub slo_breached: bool,
    /// Its owner declared that the model is split over the replicas, so that more of them hold less each.
    #[serde(default)]
    pub sharded: bool,
}

/// One GPU's means over the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each tells of one counter that was lost
pub struct GpuEvidence {
    /// Share of time that any kernel ran, 0–1 (`DCGM_FI_DEV_GPU_UTIL`); unsupported under MIG.
    pub util: Option<Span>,
    /// Share of time that the compute engine was active, 0–1 (`DCGM_FI_PROF_GR_ENGINE_ACTIVE`).
    pub engine: Option<Span>,
    /// `engine` was measured here within the last day and is missing now. Utilisation does not stand in for it then: it
    /// may be one that reads zero under MIG.
    pub engine_lost: bool,
    /// Share of SMs with work, 0–1 (`DCGM_FI_PROF_SM_ACTIVE`); off by default in the exporter.
    pub sm: Option<Span>,
    /// `sm` was measured here within the last day and is missing now: a rule that it can exempt from must not do without.
    #[serde(default)]
    pub sm_lost: bool,
    /// Memory bandwidth in use, 0–1 (`DCGM_FI_PROF_DRAM_ACTIVE`).
    pub dram: Option<Span>,
    /// `dram` was measured here within the last day and is missing now: it may be at work.
    #[serde(default)]
    pub dram_lost: bool,
    /// Tensor pipe in use, 0–1 (`DCGM_FI_PROF_PIPE_TENSOR_ACTIVE`).
    pub tensor: Option<Span>,
    /// `tensor` was measured here within the last day and is missing now: it may be at work.
    #[serde(default)]
    pub tensor_lost: bool,
    /// From host to device, bytes a second (`DCGM_FI_PROF_PCIE_RX_BYTES`).
    pub pcie_rx: Option<Span>,
    /// Power over the board's limit, 0–1; none of a MIG instance, whose board others use too.
    #[serde(default)]
    pub power: Option<Span>,
    /// `power` was measured here within the last day and is missing now: nobody knows whether it contradicts the rest.
    #[serde(default)]
    pub power_lost: bool,
    /// Share of time that heat or hardware held the clocks down, 0–1; not by an idle GPU or a power cap in software.
    #[serde(default)]
    pub clocks_held: Option<Span>,
    /// Events a minute in which heat or hardware held the clocks down, by an exporter that counts events and no time.
    #[serde(default)]
    pub clock_events: Option<Span>,
    /// Standard deviation of `engine` within the window, 0–0.5.
    #[serde(default)]
    pub swing: Option<Span>,
    /// `NVLink` traffic over the product's peak, the busier direction, 0–1; none on boards without it.
    #[serde(default)]
    pub nvlink: Option<Span>,
    /// `nvlink` was measured here within the last day and is missing now: it may be busy.
    #[serde(default)]
    pub nvlink_lost: bool,
    /// `PCIe` traffic over the product's peak, the busier direction, 0–1.
    #[serde(default)]
    pub pcie: Option<Span>,
    /// `pcie` was measured here within the last day and is missing now: it may be busy.
    #[serde(default)]
    pub pcie_lost: bool,
    /// GPU memory in use, 0–1 of what can be used. A server that takes its share at the start says nothing by it.
    #[serde(default)]
    pub memory: Option<Span>,
    /// The most of it that was in use at one time, 0–1.
    #[serde(default)]
    pub memory_peak: Option<Span>,
    /// Standard deviation of `memory` within the window, 0–0.5.
    #[serde(default)]
    pub memory_swing: Option<Span>,
    /// Its generation; none where its product is not known.
    #[serde(default)]
    pub generation: Option<Generation>,
    /// The share of its memory that the model's weights take, 0–1; none where the model or the product is not known.
    #[serde(default)]
    pub weights: Option<f64>,
    /// FP32 pipe in use, 0–1 (`DCGM_FI_PROF_PIPE_FP32_ACTIVE`).
    #[serde(default)]
    pub fp32: Option<Span>,
    /// SM clock, MHz.
    #[serde(default)]
    pub clock: Option<Span>,
    /// A number that stands for its product: clocks of different products can't be compared, nor those of a GPU whose
    /// product is not known.
    #[serde(default)]
    pub product: Option<u32>,
    /// `PCIe` lanes in use (`DCGM_FI_DEV_PCIE_LINK_WIDTH`), which unlike the link's generation do not change at rest.
    #[serde(default)]
    pub lanes: Option<Span>,
    /// `PCIe` lanes that card and slot have (`DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH`).
    #[serde(default)]
    pub lanes_most: Option<f64>,
    /// `lanes_most` was measured here within the last day and is missing now: it may have no more than it uses.
    #[serde(default)]
    pub lanes_most_lost: bool,
    /// An XID that appeared within the window (`DCGM_FI_DEV_XID_ERRORS`): a hint, since the exporter shows only the last one.
    #[serde(default)]
    pub xid: Option<u16>,
    /// Others may run on it too: it was seen with another pod, or its node says that it is shared.
    pub shared: bool,
}

impl GpuEvidence {
    /// How busy it is, 0–1: the engine where it is measured, else utilisation; none where the two contradict.
    pub fn activity(&self) -> Option<Span> {
        let stand_in = self.util.filter(|_| !self.engine_lost);
        self.engine.or(stand_in).filter(|_| !self.contradicts())
    }

    /// Whether at least the share `coverage` of the samples of its activity is there: of a number between 0 and 1 each one
    /// that is missing widens the span by its share.
    pub fn is_known(&self, coverage: f64) -> bool {
        self.activity().is_some_and(|activity| activity.high - activity.low <= 1.0 - coverage + ROUNDING)
    }

    /// Counters that can't be true. Either way they do not tell whether GPUs wait for data.
    pub fn contradicts(&self) -> bool {
        self.never_moved() || self.works_unseen()
    }

    /// Profiling counters that never moved, on a GPU that is not known to idle: they are broken (seen after XID 31), or
    /// the job hangs in kernels that do nothing.
    fn never_moved(&self) -> bool {
        let profiled = [self.engine, self.tensor, self.dram];
        let idle = self.util.is_some_and(|util| util.below(0.9));
        let still = profiled.iter().flatten().all(|value| value.mean < 1e-9);
        !idle && still && profiled.iter().any(Option::is_some)
    }

    /// A GPU that is hardly active draws little more than at rest: power at work beside it tells that the counters went
    /// wrong. Power that was there and is missing may tell so too.
    fn works_unseen(&self) -> bool {
        let works = self.power.map_or(self.power_lost, |power| !power.below(0.6));
        works && self.engine.is_some_and(|engine| engine.low < 0.3)
    }
}

/// What sums of samples may be off.
const ROUNDING: f64 = 1e-9;

/// One GPU container's means over the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each says of another source that it is lost
pub struct ContainerEvidence {
    /// Cores used.
    pub cores: Option<Span>,
    /// Cores that it may use; none without a limit.
    pub limit: Option<f64>,
    /// Cores that it can count on without a limit: those of its request, or else of its node; none with a limit. Where few
    /// of them are used the CPU is idle; where more are, it is at no limit.
    #[serde(default)]
    pub at_hand: Option<f64>,
    /// Throttled periods over all periods, 0–1; none without a limit.
    pub throttled: Option<Span>,
    /// Share of time that tasks waited for a CPU, 0–1 (PSI).
    pub pressure: Option<Span>,
    /// Share of time that tasks waited for storage, 0–1 (PSI).
    #[serde(default)]
    pub io_pressure: Option<Span>,
    /// `io_pressure` was measured here within the last day and is missing now: its node's wait does not stand in for it then.
    #[serde(default)]
    pub io_pressure_lost: bool,
    /// Share of its node's CPU time that waited for storage, 0–1, while the workload had the node's GPUs for itself. Tasks
    /// without a GPU show in it too, and storage that is read asynchronously or over the network does not.
    #[serde(default)]
    pub node_iowait: Option<Span>,
    /// The pod's network traffic, bytes a second, the busier direction; host networking and RDMA are not in it.
    #[serde(default)]
    pub network: Option<Span>,
    /// `network` was measured here within the last day and is missing now: it may be busy.
    #[serde(default)]
    pub network_lost: bool,
    /// `network` over what the node's fastest card can carry, 0–1.
    #[serde(default)]
    pub network_of_peak: Option<Span>,
    /// What the card can carry was measured within the last day and is missing now: `network` alone does not tell how full
    /// it is then.
    #[serde(default)]
    pub network_peak_lost: bool,
    /// Traffic of its node's `InfiniBand` or `RoCE` ports over what they can carry, the busier direction, 0–1, while the
    /// workload had the node's GPUs for itself.
    #[serde(default)]
    pub rdma: Option<Span>,
    /// How often it ended.
    #[serde(default)]
    pub exits: Exits,
    /// Its pod is on GPUs that others use too: what it, its server and its trainer count may be the others' doing.
    #[serde(default)]
    pub shared: bool,
}

impl ContainerEvidence {
    /// Share of time that waited for storage, 0–1: the container's own, or its node's where its own was never measured.
    pub fn io_wait(&self) -> Option<Span> {
        self.io_pressure.or(self.node_iowait.filter(|_| !self.io_pressure_lost))
    }

    /// Cores used over the limit; none without a limit.
    pub fn of_limit(&self) -> Option<Span> {
        match (self.cores, self.limit) {
            (Some(cores), Some(limit)) if limit > 0.0 => Some(cores.scaled(1.0 / limit)),
            _ => None,
        }
    }

    /// Cores used over those at hand; none with a limit.
    pub fn of_at_hand(&self) -> Option<Span> {
        match (self.cores, self.at_hand) {
            (Some(cores), Some(at_hand)) if self.limit.is_none() && at_hand > 0.0 => Some(cores.scaled(1.0 / at_hand)),
            _ => None,
        }
    }
}

impl Evidence {
    /// Whether at least the share `most` of the GPUs that the pods ask for satisfy `test`. A GPU that is not seen does
    /// not, so losing one never makes a case.
    pub fn most_gpus(&self, test: impl Fn(&GpuEvidence) -> bool) -> bool {
        let all = self.gpus.len().max(self.expected_gpus as usize);
        self.most(self.gpus.iter().filter(|gpu| test(gpu)).count(), all)
    }

    /// Whether at least the share `most` of the containers satisfy `test`.
    pub fn most_containers(&self, test: impl Fn(&ContainerEvidence) -> bool) -> bool {
        self.most(self.containers.iter().filter(|one| test(one)).count(), self.containers.len())
    }

    /// The exits of each container that is known, warm or not.
    pub fn exits(&self) -> impl Iterator<Item = Exits> {
        self.containers.iter().map(|one| one.exits).chain(self.ended.iter().map(|one| one.exits))
    }

    /// Whether at least the share `most` of the servers satisfy `test`.
    pub fn most_servers(&self, test: impl Fn(&ServerEvidence) -> bool) -> bool {
        self.most(self.servers.iter().filter(|one| test(one)).count(), self.servers.len())
    }

    /// Whether at least the share `most` of the trainers satisfy `test`.
    pub fn most_trainers(&self, test: impl Fn(&TrainerEvidence) -> bool) -> bool {
        self.most(self.trainers.iter().filter(|one| test(one)).count(), self.trainers.len())
    }

    fn most(&self, some: usize, all: usize) -> bool {
        // No case is made on a smaller share than the one that must be seen.
        let share = self.gate.thresholds.most.max(self.gate.thresholds.coverage);
        all > 0 && some as f64 >= share * all as f64
    }

    /// Whether a whole window is covered, as far as one must be: looks are never exactly as far apart as they should be.
    pub fn covers_a_window(&self) -> bool {
        self.covered >= self.gate.window.mul_f64(self.gate.thresholds.coverage)
    }

    /// Whether any of it is of GPUs that others use too.
    pub fn is_shared(&self) -> bool {
        self.gpus.iter().any(|gpu| gpu.shared)
            || self.containers.iter().any(|one| one.shared)
            || self.ended.iter().any(|one| one.shared)
    }

    /// Without what shared GPUs measured and what the pods on them count: it can't be attributed to one of their users.
    #[must_use]
    pub fn attributable(&self) -> Self {
        let mut own = self.clone();
        for gpu in own.gpus.iter_mut().filter(|gpu| gpu.shared) {
            *gpu = GpuEvidence { shared: true, ..GpuEvidence::default() };
        }
        for (pod, container) in own.containers.iter_mut().enumerate().filter(|(_, one)| one.shared) {
            *container = ContainerEvidence { shared: true, ..ContainerEvidence::default() };
            own.servers.get_mut(pod).map(std::mem::take);
            own.trainers.get_mut(pod).map(std::mem::take);
        }
        for one in own.ended.iter_mut().filter(|one| one.shared) {
            one.exits = Exits::default();
        }
        own
    }

    /// The mean of a GPU's field over those GPUs that have it.
    pub fn gpu_mean(&self, field: impl Fn(&GpuEvidence) -> Option<Span>) -> Option<f64> {
        mean(self.gpus.iter().filter_map(field))
    }

    /// The mean of a container's field over those containers that have it.
    pub fn container_mean(&self, field: impl Fn(&ContainerEvidence) -> Option<Span>) -> Option<f64> {
        mean(self.containers.iter().filter_map(field))
    }

    /// The mean of a server's field over those servers that have it.
    pub fn server_mean(&self, field: impl Fn(&ServerEvidence) -> Option<Span>) -> Option<f64> {
        mean(self.servers.iter().filter_map(field))
    }

    /// The mean of a trainer's field over those trainers that have it.
    pub fn trainer_mean(&self, field: impl Fn(&TrainerEvidence) -> Option<Span>) -> Option<f64> {
        mean(self.trainers.iter().filter_map(field))
    }
}

fn mean(spans: impl Iterator<Item = Span>) -> Option<f64> {
    let finite = spans.filter(|span| span.mean.is_finite());
    let (sum, count) = finite.fold((0.0, 0_u32), |(sum, count), span| (sum + span.mean, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
