//! What can be a measurement: sentinels and impossible values are dropped, never clamped.

use super::metric::{Metric, Subject};

/// Watts; no board draws more.
const LARGEST_BOARD: f64 = 1_500.0;
/// MHz; no SM runs faster.
const LARGEST_CLOCK: f64 = 5_000.0;
/// Lanes; no card has more.
const LARGEST_LINK: f64 = 32.0;
/// The numbers of XIDs are in the hundreds.
const LARGEST_XID: f64 = 9_999.0;
/// A loss that is no number any more, as it is kept: what a run that diverged sends.
pub const DIVERGED: f64 = f64::INFINITY;
/// The mean of nothing, as it is kept: no request came. Beside a mean of another series it does not count.
pub const OF_NOTHING: f64 = f64::NEG_INFINITY;
/// MiB; no board has more.
pub const LARGEST_MEMORY: f64 = 10_000_000.0;

impl Metric {
    /// From the exporter's unit to ours, if the value can be a measurement at all.
    pub fn believed(self, value: f64) -> Option<f64> {
        if matches!(self, Self::Loss | Self::Quality) {
            // Here a value that is no number is news.
            return if value.is_finite() { (value.abs() <= 1.0e18).then_some(value) } else { Some(DIVERGED) };
        }
        if value.is_nan() && self.is_mean_of_requests() {
            return Some(OF_NOTHING);
        }
        let value = if self == Self::Util { value / 100.0 } else { value };
        let (smallest, largest) = self.range();
        (value.is_finite() && (smallest..=largest).contains(&value)).then_some(value)
    }

    /// Whether a value that is not believed tells of a fault. Of containers and servers no number is the mean of nothing: no
    /// request came, or no period passed.
    pub fn is_wrong(self, value: f64) -> bool {
        self.subject() == Subject::Gpu || !value.is_nan()
    }

    /// Whether it is a mean over the requests, or the executions, of a look: of none it is no number, and nothing is missing.
    const fn is_mean_of_requests(self) -> bool {
        matches!(
            self,
            Self::Batch
                | Self::QueueSeconds
                | Self::FirstTokenSeconds
                | Self::WholeSeconds
                | Self::PromptSpread
                | Self::OutputTokens
                | Self::OutputCap
        )
    }

    /// The smallest and the largest value that is believed, in the exporter's unit.
    pub const fn sent(self) -> (f64, f64) {
        match self {
            Self::Util => (0.0, 100.0),
            _ => self.range(),
        }
    }

    /// The smallest and the largest value that is believed, in our unit.
    const fn range(self) -> (f64, f64) {
        match self {
            // A rate over a jittering interval may exceed one a little.
            Self::Pressure | Self::IoPressure | Self::Iowait | Self::RdmaRx | Self::RdmaTx => (0.0, 1.05),
            // Of a number between 0 and 1.
            Self::Swing => (0.0, 0.5),
            Self::PcieRx | Self::PcieTx | Self::NvlinkRx | Self::NvlinkTx | Self::NetworkRx | Self::NetworkTx => {
                (0.0, 1.0e13)
            }
            Self::Clock => (1.0, LARGEST_CLOCK),
            Self::PcieLanes | Self::PcieLanesMost => (1.0, LARGEST_LINK),
            Self::Xid => (0.0, LARGEST_XID),
            // A link that is down, or a card that does not know, says nothing or less.
            Self::LinkSpeed => (1.0, 1.0e13),
            Self::Power => (0.0, LARGEST_BOARD),
            Self::PowerLimit => (1.0, LARGEST_BOARD),
            Self::Cores => (0.0, 1.0e5),
            // Requests, times in seconds, steps a second and events a minute.
            Self::Running
            | Self::Waiting
            | Self::WaitingForRoom
            | Self::Batch
            | Self::Preemptions
            | Self::QueueSeconds
            | Self::FirstTokenSeconds
            | Self::WholeSeconds
            | Self::StepSeconds
            | Self::DataWaitSeconds
            | Self::Steps
            | Self::ClockEvents => (0.0, 1.0e6),
            Self::Progress
            | Self::Answers
            | Self::Throughput
            | Self::TrainedTokens
            | Self::OutputTokens
            | Self::OutputCap => (0.0, 1.0e9),
            Self::PromptSpread => (1.0, 1.0e6),
            Self::Loss | Self::Quality => (-1.0e18, 1.0e18),
            Self::Util
            | Self::Engine
            | Self::Sm
            | Self::Dram
            | Self::Tensor
            | Self::Fp32
            | Self::Memory
            | Self::MemoryPeak
            | Self::ClocksHeld
            | Self::Throttled
            | Self::NodeName
            | Self::Kv => (0.0, 1.0),
        }
    }

    /// What a missing sample could have been at most.
    pub const fn largest(self) -> f64 {
        match self {
            Self::Power
            | Self::PowerLimit
            | Self::Clock
            | Self::Swing
            | Self::PcieLanes
            | Self::PcieLanesMost
            | Self::Xid
            | Self::LinkSpeed => self.range().1,
            Self::Util
            | Self::Engine
            | Self::Sm
            | Self::Dram
            | Self::Tensor
            | Self::Fp32
            | Self::Memory
            | Self::MemoryPeak
            | Self::ClocksHeld
            | Self::Throttled
            | Self::Pressure
            | Self::IoPressure
            | Self::Iowait
            | Self::RdmaRx
            | Self::RdmaTx
            | Self::NodeName
            | Self::Kv => 1.0,
            Self::PcieRx
            | Self::PcieTx
            | Self::NvlinkRx
            | Self::NvlinkTx
            | Self::Cores
            | Self::Running
            | Self::Waiting
            | Self::WaitingForRoom
            | Self::Batch
            | Self::Preemptions
            | Self::Progress
            | Self::Answers
            | Self::QueueSeconds
            | Self::FirstTokenSeconds
            | Self::WholeSeconds
            | Self::PromptSpread
            | Self::OutputTokens
            | Self::OutputCap
            | Self::NetworkRx
            | Self::NetworkTx
            | Self::StepSeconds
            | Self::DataWaitSeconds
            | Self::Throughput
            | Self::TrainedTokens
            | Self::ClockEvents
            | Self::Steps
            | Self::Loss
            | Self::Quality => f64::INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentinels_and_impossible_values_are_dropped() {
        let impossible = [9_223_372_036_854_775_794.0, -1.0, f64::INFINITY, f64::NEG_INFINITY];
        for metric in Metric::ALL.into_iter().filter(|metric| !matches!(metric, Metric::Loss | Metric::Quality)) {
            for value in impossible {
                assert_eq!(metric.believed(value), None, "{metric:?} {value}");
            }
        }
        for metric in [Metric::Util, Metric::Throttled, Metric::Kv, Metric::Running, Metric::StepSeconds] {
            assert_eq!(metric.believed(f64::NAN), None, "{metric:?}");
        }
        for value in [101.0, 1e9] {
            assert_eq!(Metric::Util.believed(value), None, "{value}");
            assert_eq!(Metric::Engine.believed(value), None, "{value}");
            assert_eq!(Metric::Kv.believed(value), None, "{value}");
        }
        assert_eq!(Metric::Util.believed(22.0), Some(0.22));
        assert_eq!(Metric::Power.believed(1_501.0), None);
        assert_eq!(Metric::PowerLimit.believed(0.0), None, "a limit of nothing is none");
        assert_eq!(Metric::PromptSpread.believed(0.5), None, "a percentile lies above the median");
    }

    #[test]
    fn the_mean_of_no_request_is_known_to_be_of_nothing() {
        for metric in [Metric::QueueSeconds, Metric::WholeSeconds, Metric::Batch, Metric::PromptSpread] {
            assert_eq!(metric.believed(f64::NAN), Some(OF_NOTHING), "{metric:?}");
        }
    }

    #[test]
    fn a_loss_that_is_no_number_is_news_and_a_sentinel_is_none() {
        assert_eq!(Metric::Loss.believed(f64::NAN), Some(DIVERGED));
        assert_eq!(Metric::Loss.believed(f64::NEG_INFINITY), Some(DIVERGED));
        assert_eq!(Metric::Loss.believed(-3.5), Some(-3.5));
        assert_eq!(Metric::Loss.believed(9_223_372_036_854_775_794.0), None);
    }
}
