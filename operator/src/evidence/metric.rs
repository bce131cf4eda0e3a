//! What is read of GPUs, CPUs, model servers, trainers and nodes.

/// One number of a GPU, of a container, of a pod or of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Metric {
    /// Any kernel ran.
    Util,
    /// The compute engine was active.
    Engine,
    /// Standard deviation of `Engine`.
    Swing,
    /// SMs with work.
    Sm,
    /// Memory bandwidth in use.
    Dram,
    /// Tensor pipe in use.
    Tensor,
    /// FP32 pipe in use.
    Fp32,
    /// Host to device.
    PcieRx,
    /// Device to host.
    PcieTx,
    /// From other GPUs.
    NvlinkRx,
    /// To other GPUs.
    NvlinkTx,
    /// GPU memory in use.
    Memory,
    /// The most of it that was in use at one time.
    MemoryPeak,
    /// Clock of the SMs.
    Clock,
    /// Power drawn by the board.
    Power,
    /// The most that it may draw, as set.
    PowerLimit,
    /// Whether heat or hardware held the clocks down.
    ClocksHeld,
    /// How often they did, where only that is counted.
    ClockEvents,
    /// `PCIe` lanes in use.
    PcieLanes,
    /// `PCIe` lanes that there could be.
    PcieLanesMost,
    /// The last XID.
    Xid,
    /// Cores used.
    Cores,
    /// Throttled periods.
    Throttled,
    /// Waiting for a CPU.
    Pressure,
    /// Waiting for storage.
    IoPressure,
    /// Requests in service.
    Running,
    /// Requests queued.
    Waiting,
    /// Requests queued for want of room, where a server tells the reasons apart.
    WaitingForRoom,
    /// Requests in one execution.
    Batch,
    /// KV cache in use.
    Kv,
    /// Requests thrown out of the KV cache.
    Preemptions,
    /// Tokens of answers.
    Progress,
    /// Answers, of servers that do not count tokens.
    Answers,
    /// Time of a request in the engine's queue.
    QueueSeconds,
    /// Time to the first token.
    FirstTokenSeconds,
    /// Time to the end of the answer.
    WholeSeconds,
    /// The 95th percentile of prompt lengths over their median.
    PromptSpread,
    /// Tokens of an answer.
    OutputTokens,
    /// Tokens that a request allows its answer.
    OutputCap,
    /// Received by the pod.
    NetworkRx,
    /// Sent by the pod.
    NetworkTx,
    /// Length of a training step.
    StepSeconds,
    /// Time of a step in which the GPU waits for data.
    DataWaitSeconds,
    /// Training steps.
    Steps,
    /// Samples trained on.
    Throughput,
    /// Tokens trained on, by trainers that do not count samples.
    TrainedTokens,
    /// The training loss.
    Loss,
    /// The evaluation metric.
    Quality,
    /// Which node an exporter of nodes is on: its labels are the answer.
    NodeName,
    /// CPU time that waits for storage.
    Iowait,
    /// Received by the `InfiniBand` or `RoCE` ports.
    RdmaRx,
    /// Sent by the `InfiniBand` or `RoCE` ports.
    RdmaTx,
    /// What the fastest network card can carry.
    LinkSpeed,
}

/// What a number is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A GPU, or a MIG instance.
    Gpu,
    /// A container.
    Container,
    /// A pod: what its server or trainer says, and its network.
    Server,
    /// A node.
    Node,
}

impl Subject {
    /// How many metrics are of it.
    pub const fn metrics(self) -> usize {
        let mut count = 0;
        let mut at = 0;
        while at < Metric::ALL.len() {
            if Metric::ALL[at].subject() as u8 == self as u8 {
                count += 1;
            }
            at += 1;
        }
        count
    }
}

impl Metric {
    /// Every metric, those of GPUs first, then those of containers, then those of pods and of nodes.
    pub const ALL: [Self; 53] = [
        Self::Util,
        Self::Engine,
        Self::Swing,
        Self::Sm,
        Self::Dram,
        Self::Tensor,
        Self::Fp32,
        Self::PcieRx,
        Self::PcieTx,
        Self::NvlinkRx,
        Self::NvlinkTx,
        Self::Memory,
        Self::MemoryPeak,
        Self::Clock,
        Self::Power,
        Self::PowerLimit,
        Self::ClocksHeld,
        Self::ClockEvents,
        Self::PcieLanes,
        Self::PcieLanesMost,
        Self::Xid,
        Self::Cores,
        Self::Throttled,
        Self::Pressure,
        Self::IoPressure,
        Self::Running,
        Self::Waiting,
        Self::WaitingForRoom,
        Self::Batch,
        Self::Kv,
        Self::Preemptions,
        Self::Progress,
        Self::Answers,
        Self::QueueSeconds,
        Self::FirstTokenSeconds,
        Self::WholeSeconds,
        Self::PromptSpread,
        Self::OutputTokens,
        Self::OutputCap,
        Self::NetworkRx,
        Self::NetworkTx,
        Self::StepSeconds,
        Self::DataWaitSeconds,
        Self::Steps,
        Self::Throughput,
        Self::TrainedTokens,
        Self::Loss,
        Self::Quality,
        Self::NodeName,
        Self::Iowait,
        Self::RdmaRx,
        Self::RdmaTx,
        Self::LinkSpeed,
    ];

    /// What it is of.
    pub const fn subject(self) -> Subject {
        match self as u8 {
            metric if metric < Self::Cores as u8 => Subject::Gpu,
            metric if metric < Self::Running as u8 => Subject::Container,
            metric if metric < Self::NodeName as u8 => Subject::Server,
            _ => Subject::Node,
        }
    }

    /// Its place among the metrics of its subject.
    pub(super) const fn column(self) -> usize {
        let first = match self.subject() {
            Subject::Gpu => Self::Util,
            Subject::Container => Self::Cores,
            Subject::Server => Self::Running,
            Subject::Node => Self::NodeName,
        };
        self as usize - first as usize
    }

    /// Its place in [`Self::ALL`].
    pub(super) const fn index(self) -> usize {
        self as usize
    }

    /// Its name as metrics and recording rules spell it, such as `waiting_for_room`.
    pub fn name(self) -> String {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_whole_and_in_order() {
        assert!(Metric::ALL.iter().enumerate().all(|(place, metric)| metric.index() == place));
        assert_eq!(Metric::ALL.last(), Some(&Metric::LinkSpeed), "the last of the enum");
        let of = |subject: Subject| subject.metrics();
        let all = [Subject::Gpu, Subject::Container, Subject::Server, Subject::Node];
        assert_eq!(all.map(of), [21, 4, 23, 5]);
        assert_eq!((Metric::Cores.column(), Metric::Running.column(), Metric::Xid.column()), (0, 0, 20));
    }

    #[test]
    fn names_are_in_lower_case_with_underscores() {
        assert_eq!(Metric::WaitingForRoom.name(), "waiting_for_room");
        assert_eq!(Metric::Fp32.name(), "fp32");
    }
}
