//! What the judge thinks of one workload on one look at its evidence.

use crate::evidence::Source;
use crate::facts::Facts;
use crate::memory::Moment;
use crate::rules::RuleName;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All opinions, by the workload's uid.
pub type Opinions = BTreeMap<String, Arc<Opinion>>;

/// One look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opinion {
    /// The end of the newest evidence in it.
    pub at: Timestamp,
    /// Whether more GPUs would help.
    pub lean: Lean,
    /// What is wrong, most certain first.
    pub findings: Vec<Finding>,
    /// What was measured besides.
    #[serde(default)]
    pub facts: Facts,
}

/// Whether more GPUs would help, on one look.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Lean {
    /// Nothing speaks against it.
    Allow,
    /// This rule speaks against it.
    Refuse(RuleName),
    /// The evidence does not suffice.
    Unknown(Gap),
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Gap {
    /// The evidence was never looked at while demand was above target.
    NotAsked,
    /// Too little of the window is covered.
    TooShort {
        /// Covered so far.
        covered: SignedDuration,
        /// Needed.
        needed: SignedDuration,
    },
    /// Fewer GPUs report than the pods ask for, or with gaps: the exporter or its labels are at fault.
    GpusUnseen {
        /// GPUs with a believable activity in most of their samples.
        seen: u32,
        /// GPUs that the pods ask for.
        expected: u32,
    },
    /// Fully busy and doing nothing at once: broken telemetry.
    Contradiction {
        /// How many GPUs say so.
        gpus: u32,
    },
    /// No replica is Ready and past its warm-up.
    NoWarmReplica,
    /// The trainers' own count of their wait for data, which would decide, is missing.
    DataWaitLost,
    /// A cause would show, but a source that may speak against it was seen within the last day and is missing.
    SourceLost {
        /// What would refuse.
        rule: RuleName,
        /// What is missing.
        source: Source,
    },
    /// A cause shows, but not often enough in a row yet.
    Counting {
        /// Evaluations in a row.
        seen: u32,
        /// Evaluations needed.
        needed: u32,
    },
    /// This cause refused before, under the same pod template, and was not looked for yet since demand came back.
    Recalled {
        /// What refused.
        rule: RuleName,
        /// Growth waits until then, at the longest.
        until: Moment,
    },
    /// The pod template changed, and whether that ended this cause is not known yet.
    Retesting {
        /// What refused before.
        rule: RuleName,
    },
}

/// One thing that is wrong, and the numbers that say so; written as a short list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct Finding {
    /// Which rule found it.
    pub rule: RuleName,
    /// Whether it speaks against more GPUs.
    pub weight: Weight,
    /// Lower where the sharper metrics are absent.
    pub confidence: Confidence,
    /// What was measured, and what it was compared with.
    pub measured: Vec<Measure>,
    /// How much time it covers.
    pub window: SignedDuration,
}

type Listed = (RuleName, Weight, Confidence, Vec<Measure>, SignedDuration);

impl From<Listed> for Finding {
    fn from((rule, weight, confidence, measured, window): Listed) -> Self {
        Self { rule, weight, confidence, measured, window }
    }
}

impl From<Finding> for Listed {
    fn from(finding: Finding) -> Self {
        (finding.rule, finding.weight, finding.confidence, finding.measured, finding.window)
    }
}

/// What a finding does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Weight {
    /// It speaks against more GPUs.
    Veto,
    /// It speaks for more GPUs: not a fault, so it is not shown as one.
    Support,
    /// It speaks for more GPUs, and something cheaper would help too: shown.
    Either,
    /// It is only said.
    Advice,
}

impl Weight {
    /// Whether it speaks for more GPUs.
    pub const fn supports(self) -> bool {
        matches!(self, Self::Support | Self::Either)
    }
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Confidence {
    /// The sharp metrics are there.
    High,
    /// Inferred without SM activity.
    Medium,
}

/// One measured value beside its threshold; written as a short list.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(Quantity, f64, Option<f64>)", into = "(Quantity, f64, Option<f64>)")]
pub struct Measure {
    /// What.
    pub what: Quantity,
    /// How much, in the unit of `what`.
    pub value: f64,
    /// What it was compared with; none when it is shown for context.
    pub threshold: Option<f64>,
}

impl Measure {
    /// Rounded to thousandths, which is more than anyone can read from it and reads back as it was written.
    pub fn of(what: Quantity, value: f64, threshold: Option<f64>) -> Self {
        Self { what, value: (value * 1000.0).round() / 1000.0, threshold }
    }
}

impl From<(Quantity, f64, Option<f64>)> for Measure {
    fn from((what, value, threshold): (Quantity, f64, Option<f64>)) -> Self {
        Self { what, value, threshold }
    }
}

impl From<Measure> for (Quantity, f64, Option<f64>) {
    fn from(measure: Measure) -> Self {
        (measure.what, measure.value, measure.threshold)
    }
}

/// What can be measured of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Quantity {
    /// Share of time that the compute engine was active, 0–1, mean over GPUs.
    GpuActivity,
    /// Standard deviation of that share, 0–0.5, mean over GPUs.
    GpuSwing,
    /// Distance of an odd GPU's activity from the median of its peers, 0–1.
    ActivityApart,
    /// SM clock of an odd GPU over the median of its peers, 0–1.
    ClockOfPeers,
    /// Share of SMs with work, 0–1, mean over GPUs.
    SmActivity,
    /// Memory bandwidth in use, 0–1, mean over GPUs.
    DramActivity,
    /// Tensor pipe in use, 0–1, mean over GPUs.
    TensorActivity,
    /// FP32 pipe in use, 0–1, mean over GPUs.
    Fp32Activity,
    /// GPU memory in use, 0–1, mean over GPUs.
    MemoryUsed,
    /// GPU memory in use at one time, 0–1, the most of any GPU.
    MemoryPeak,
    /// GPU memory that the model's weights and the KV cache in use take, 0–1, mean over GPUs.
    MemoryNeeded,
    /// Standard deviation of the memory in use, 0–0.5, mean over GPUs.
    MemorySwing,
    /// GPU memory that the model's weights take, 0–1, mean over GPUs.
    MemoryOfWeights,
    /// CPU used over the container's limit, 0–1.
    CpuOfLimit,
    /// CPU used over what a container without a limit can count on: its request, or else its node.
    CpuOfAtHand,
    /// Throttled periods over all periods, 0–1.
    CpuThrottled,
    /// Share of time that tasks waited for a CPU, 0–1.
    CpuPressure,
    /// Share of time that tasks waited for storage, 0–1.
    IoPressure,
    /// Share of the nodes' CPU time that waited for storage, 0–1, mean over containers.
    NodeIowait,
    /// Cores used, mean over containers.
    CpuCores,
    /// From host to device, bytes a second, mean over GPUs.
    PcieReceived,
    /// `PCIe` traffic over the product's peak, 0–1, mean over GPUs.
    PcieOfPeak,
    /// `NVLink` traffic over the product's peak, 0–1, mean over GPUs.
    NvlinkOfPeak,
    /// A pod's network traffic, bytes a second, mean over pods.
    NetworkRate,
    /// A pod's network traffic over what its node's card can carry, 0–1, mean over pods.
    NetworkOfPeak,
    /// Traffic of the nodes' RDMA ports over what they can carry, 0–1, mean over pods.
    RdmaOfPeak,
    /// `PCIe` lanes of an odd GPU, the fewest, beside those that it should have.
    PcieLanes,
    /// An XID of the hardware that appeared, the largest.
    Xid,
    /// Power over the board's limit, 0–1, mean over GPUs.
    PowerOfLimit,
    /// Share of time that heat or hardware held the clocks down, 0–1, mean over the GPUs concerned.
    ClocksHeld,
    /// Events a minute in which heat or hardware held the clocks down, mean over the GPUs concerned.
    ClockEvents,
    /// Requests in service, mean over servers.
    RequestsRunning,
    /// Requests that wait for room, mean over servers.
    RequestsWaiting,
    /// Requests that wait at the fullest server.
    RequestsWaitingMost,
    /// Requests in one execution of the model, mean over servers.
    BatchSize,
    /// KV cache in use, 0–1, mean over servers.
    KvUsage,
    /// Requests thrown out of the KV cache, a second, mean over servers.
    Preemptions,
    /// Tokens or answers a second, mean over servers.
    Progress,
    /// The queue's share of the latency, 0–1, mean over servers.
    QueueShare,
    /// Time to the first token, seconds, mean over servers.
    FirstToken,
    /// Time to the end of an answer, seconds, mean over servers.
    WholeTime,
    /// The 95th percentile of prompt lengths over their median, mean over servers.
    PromptSpread,
    /// Tokens that a request allows over those of its answer, mean over servers.
    CapOverOutput,
    /// The share of a step that waits for data, 0–1, mean over trainers.
    DataWaitShare,
    /// Change of the loss within the window over its value, the largest of the trainers.
    LossChange,
    /// Change of the evaluation metric within the window over its value, the largest of the trainers.
    QualityChange,
    /// Work done a second by the workload's own signal of role `Throughput`.
    WorkDone,
    /// Steps a second, mean over trainers.
    StepsDone,
    /// Trainers whose loss is no number, the workload's own signal of role `Progress` counted as one.
    LossesDiverged,
    /// Exits for want of GPU memory within the window.
    GpuMemoryExits,
    /// Other failed exits of the container that had most of them within the window.
    FailedExits,
    /// Servers with nothing to do.
    ServersIdle,
    /// GPUs that it applies to.
    GpusConcerned,
    /// GPUs judged.
    GpusJudged,
}
