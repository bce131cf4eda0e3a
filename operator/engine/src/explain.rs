//! Reasons and decisions in words. The only place where they become text; the same in status, logs and the terminal.

use crate::decision::{Decision, Direction, Reason, Step, StepRecord};
use crate::figures::WorkUnit;
use crate::gate::{CHECKLIST, Check, Gain, Verdict};
use crate::memory::Moment;
use crate::opinion::{Confidence, Finding, Gap, Measure, Quantity};
use crate::policy::{GateMode, OnUnknown};
use crate::rules::{RULES, RuleName};
use crate::units::SignalName;
use jiff::{SignedDuration, SpanRound, Timestamp, Unit};
use std::fmt::Write as _;

/// One sentence: the numbers, and what binds.
pub fn sentence(decision: &Decision) -> String {
    let Some(record) = decision.binding_record() else {
        return format!("{} replicas; nothing was decided", decision.number);
    };
    let change = match decision.number.cmp(&decision.current) {
        std::cmp::Ordering::Equal => format!("stays at {} replicas", decision.number),
        std::cmp::Ordering::Less => format!("shrinks from {} to {} replicas", decision.current, decision.number),
        std::cmp::Ordering::Greater => format!("grows from {} to {} replicas", decision.current, decision.number),
    };
    let wanted = if decision.wanted == decision.number {
        String::new()
    } else {
        format!(" (the signals ask for {})", decision.wanted)
    };
    format!("{change}{wanted}; {}: {}", step(record.step), reason(&record.reason))
}

/// One line a step that did something.
pub fn steps(decision: &Decision) -> String {
    let mut text = String::new();
    for record in &decision.steps {
        let _ = writeln!(text, "{}", line(record));
    }
    text
}

fn line(record: &StepRecord) -> String {
    format!("{:<10} {:>4} → {:<4} {}", step(record.step), record.before, record.after, reason(&record.reason))
}

/// A step's name in text.
pub const fn step(step: Step) -> &'static str {
    match step {
        Step::Demand => "demand",
        Step::Stabilise => "stabilise",
        Step::Bounds => "bounds",
        Step::Gate => "gate",
        Step::Capacity => "capacity",
        Step::Split => "split",
    }
}

/// Why a step did what it did.
#[allow(clippy::too_many_lines)] // one arm a reason; splitting it would hide which are missing
pub fn reason(reason: &Reason) -> String {
    match reason {
        Reason::Unchanged => "nothing to do".to_owned(),
        Reason::Signal { signal, value, target } => {
            format!("signal {signal} is {} against a target of {}", number(*value), number(*target))
        }
        Reason::WithinTolerance { signal, value, target } => {
            format!("signal {signal} is {} against a target of {}, as it should be", number(*value), number(*target))
        }
        Reason::SloBreached { signal, value, slo } => {
            format!("signal {signal} is {}, above its objective of {}, for too long", number(*value), number(*slo))
        }
        Reason::SamplesMissing { signal, missing, of } => {
            format!("signal {signal} has no believable sample for {missing} of {of} Ready replicas, so nothing shrinks")
        }
        Reason::SignalsUnavailable { signal, trouble } => format!("signal {signal} can't be used: {trouble}; held"),
        Reason::Fallback { signal, failures } => {
            format!("signal {signal} failed {failures} times in a row, so the fallback holds")
        }
        Reason::ReplicasNotStarting { replicas, waited } => {
            format!("{replicas} replicas are not Ready after {}, so no more are asked for", duration(*waited))
        }
        Reason::Window { direction: Direction::Down, window } => {
            format!("a higher number was wanted within the last {}", duration(*window))
        }
        Reason::Window { direction: Direction::Up, window } => {
            format!("a lower number was wanted within the last {}", duration(*window))
        }
        Reason::RateLimited { direction } => format!("behavior.{} limits the change", scale_word(*direction)),
        Reason::DirectionDisabled { direction } => format!("behavior.{} forbids it", scale_word(*direction)),
        Reason::Adopting { .. } => {
            "new here, so nothing shrinks before one whole scale-down window of known readings".to_owned()
        }
        Reason::RaisedToMin => "raised to minReplicas".to_owned(),
        Reason::LoweredToMax => "lowered to maxReplicas".to_owned(),
        Reason::NotGrowing => "not growing, so not asked".to_owned(),
        Reason::GateOff => "the gate is off".to_owned(),
        Reason::FromZero => "from zero nothing can be starved".to_owned(),
        Reason::GatePassed { by: Some(rule) } => format!("GPUs are at work ({rule}), so more would help"),
        Reason::GatePassed { by: None } => "nothing speaks against more GPUs".to_owned(),
        Reason::GateRefused { rule, mode: GateMode::Enforce } => {
            format!("refused by {rule}: {}", refusal(*rule))
        }
        Reason::GateRefused { rule, mode: GateMode::Advise | GateMode::Off } => {
            format!("advised against by {rule}: {}", cause(*rule))
        }
        Reason::GateUnknown { gap: why, then: OnUnknown::Allow } => format!("no verdict ({}), allowed", gap(*why)),
        Reason::GateUnknown { gap: why, then: OnUnknown::Hold } => format!("no verdict ({}), held", gap(*why)),
        Reason::Ceiling { ceiling, until, .. } => {
            let gain = gain(&ceiling.gain);
            format!("{gain}; no growth above {} replicas until {}", ceiling.replicas, moment(until.0))
        }
        Reason::GateOverridden { rule, because, until } => {
            format!("{} overridden until {}: {because}", refusal_of(*rule), moment(*until))
        }
        Reason::SloOverride { signal, rule, queue_share } => slo_override(signal, *rule, *queue_share),
        Reason::Fits => "the pools have room".to_owned(),
        Reason::Unlimited => "no pool limits it".to_owned(),
        Reason::RoomUnknown => "the room for parts of GPUs is unknown".to_owned(),
        Reason::NoCapacity { room } => format!("the pools have room for {room} more replicas"),
        Reason::Placed => "placed in the pools' order".to_owned(),
        Reason::Spilled { pool, replicas } => {
            format!("{replicas} replicas did not start in pool {pool} and are placed elsewhere")
        }
    }
}

fn refusal_of(rule: Option<RuleName>) -> String {
    rule.map_or_else(|| "a hold without a verdict is".to_owned(), |rule| format!("the refusal by {rule} is"))
}

fn slo_override(signal: &SignalName, rule: Option<RuleName>, queue_share: Option<f64>) -> String {
    let queue = match queue_share {
        Some(share) => format!("{} of the latency is queueing", percent(share)),
        None => "how much of the latency is queueing is not known".to_owned(),
    };
    let against = rule.map(|rule| format!(" against {rule}")).unwrap_or_default();
    format!("signal {signal} is above its objective and {queue}: one step a window is let pass{against}")
}

/// What growth brought, in words.
pub fn gain(gain: &Gain) -> String {
    let Gain { from, to, before, after, unit, .. } = gain;
    let work = match unit {
        WorkUnit::Tokens | WorkUnit::TrainedTokens => "tokens",
        WorkUnit::Answers => "answers",
        WorkUnit::Samples => "samples",
        WorkUnit::Own => "units of work",
    };
    let (before, after) = (rate(*before), rate(*after));
    format!("growing from {from} to {to} replicas changed {before} {work} a second to {after}")
}

/// The checklist of a growth that brought nothing, in order.
pub fn checklist(gain: &Gain) -> String {
    let points = CHECKLIST.iter().zip(gain.checks).map(|((name, _), check)| {
        let check = match check {
            Check::Passed => "passed",
            Check::Failed => "failed",
            Check::Unknown => "unknown",
        };
        format!("{name} {check}")
    });
    points.collect::<Vec<_>>().join(", ")
}

/// A rate with as many digits as matter.
pub fn rate(value: f64) -> String {
    if value.abs() < 100.0 { number(value) } else { format!("{value:.0}") }
}

/// A point in time, to the second.
fn moment(at: Timestamp) -> String {
    format!("{at:.0}")
}

const fn scale_word(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "scaleUp",
        Direction::Down => "scaleDown",
    }
}

/// What a rule means, in a few words.
pub fn cause(rule: RuleName) -> &'static str {
    RULES.iter().find(|one| one.name() == rule).map_or("", |one| one.cause())
}

/// What a rule means, and what would become of more GPUs.
pub fn refusal(rule: RuleName) -> String {
    let consequence = RULES.iter().find(|one| one.name() == rule).map_or("", |one| one.consequence());
    format!("{}; {consequence}", cause(rule))
}

/// Why there is no verdict.
pub fn gap(gap: Gap) -> String {
    match gap {
        Gap::NotAsked => "no evidence since demand exceeded its target".to_owned(),
        Gap::TooShort { covered, needed } => format!("{} of evidence, {} needed", duration(covered), duration(needed)),
        Gap::GpusUnseen { seen, expected } => {
            format!("{seen} of {expected} GPUs report all the time; check the exporter and its pod labels")
        }
        Gap::Contradiction { gpus } => format!("at {gpus} GPUs counters contradict each other, or power is missing"),
        Gap::DataWaitLost => "the trainer's own count of its wait for data is missing".to_owned(),
        Gap::SourceLost { rule, source } => {
            format!("{rule} may hold: {source}, which was seen within the last day and would tell, is missing")
        }
        Gap::NoWarmReplica => "no replica is Ready and past its warm-up".to_owned(),
        Gap::Recalled { rule, until } => {
            format!(
                "{rule} refused before and was not looked for yet since demand came back; waits until {}",
                moment(until.0)
            )
        }
        Gap::Retesting { rule } => format!("the pod template changed; whether that ended {rule} is being tested"),
        Gap::Counting { seen, needed } => format!("a cause shows, {seen} of {needed} evaluations"),
    }
}

/// A verdict in one word, as status and columns show it.
pub const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow { .. } => "Allow",
        Verdict::Refuse { .. } => "Refuse",
        Verdict::Unknown(_) => "Unknown",
    }
}

/// When a veto ends by itself.
pub const fn expiry(verdict: Verdict) -> Option<Moment> {
    match verdict {
        Verdict::Refuse { expires, .. } => Some(expires),
        Verdict::Allow { .. } | Verdict::Unknown(_) => None,
    }
}

/// What a finding measured, in one line, and what would make it surer.
pub fn measured(finding: &Finding) -> String {
    let measures: Vec<_> = finding.measured.iter().map(measure).collect();
    let missing = match finding.confidence {
        Confidence::High => "",
        Confidence::Medium => "; not sure without SM activity: enable DCGM_FI_PROF_SM_ACTIVE in the exporter",
    };
    format!("{} over {}{missing}", measures.join(", "), duration(finding.window))
}

fn measure(measure: &Measure) -> String {
    let value = measure.value;
    match measure.what {
        Quantity::GpuActivity => format!("GPUs {} active", percent(value)),
        Quantity::GpuSwing => format!("which swings by {} points", points(value)),
        Quantity::ActivityApart => format!("{} points of activity apart from its peers", points(value)),
        Quantity::ClockOfPeers => format!("SM clock at {} of its peers", percent(value)),
        Quantity::SmActivity => format!("SMs {} in use", percent(value)),
        Quantity::DramActivity => format!("memory bandwidth {} in use", percent(value)),
        Quantity::TensorActivity => format!("tensor pipe {} in use", percent(value)),
        Quantity::Fp32Activity => format!("FP32 pipe {} in use", percent(value)),
        Quantity::MemoryUsed => format!("GPU memory {} in use", percent(value)),
        Quantity::MemoryPeak => format!("GPU memory never more than {} in use", percent(value)),
        Quantity::MemoryNeeded => format!("about {} of GPU memory needed", percent(value)),
        Quantity::MemorySwing => memory_swing(measure),
        Quantity::MemoryOfWeights => format!("the model's weights take {}", percent(value)),
        Quantity::CpuOfLimit => format!("CPU at {} of its limit", percent(value)),
        Quantity::CpuOfAtHand => format!("CPU at {} of what it can count on", percent(value)),
        Quantity::CpuThrottled => format!("throttled in {} of periods", percent(value)),
        Quantity::CpuPressure => format!("waiting for a CPU {} of the time", percent(value)),
        Quantity::IoPressure => format!("waiting for storage {} of the time", percent(value)),
        Quantity::NodeIowait => format!("its node's CPUs wait for storage {} of the time", percent(value)),
        Quantity::CpuCores => format!("{value:.1} CPU cores in use"),
        Quantity::PcieReceived => format!("{:.1} GB/s to each GPU", value / 1e9),
        Quantity::PcieOfPeak => format!("PCIe at {} of its peak", percent(value)),
        Quantity::NvlinkOfPeak => format!("NVLink at {} of its peak", percent(value)),
        Quantity::NetworkRate => format!("{:.1} GB/s of network a pod", value / 1e9),
        Quantity::NetworkOfPeak => format!("network at {} of its card's peak", percent(value)),
        Quantity::RdmaOfPeak => format!("RDMA ports at {} of their peak", percent(value)),
        Quantity::PcieLanes => match measure.threshold {
            Some(full) => format!("PCIe link at {value:.0} of {full:.0} lanes"),
            None => format!("PCIe link at {value:.0} lanes"),
        },
        Quantity::Xid => format!("XID {value:.0} appeared"),
        Quantity::PowerOfLimit => format!("power at {} of the board's limit", percent(value)),
        Quantity::ClocksHeld => format!("clocks held down {} of the time", percent(value)),
        Quantity::ClockEvents => format!("clocks held down {value:.1} times a minute"),
        Quantity::RequestsRunning => format!("{value:.1} requests in service a replica"),
        Quantity::RequestsWaiting => format!("{value:.0} requests waiting a replica"),
        Quantity::RequestsWaitingMost => format!("{value:.0} requests waiting at the fullest replica"),
        Quantity::BatchSize => format!("{value:.1} requests a batch"),
        Quantity::KvUsage => format!("KV cache {} in use", percent(value)),
        Quantity::Preemptions => format!("{value:.3} preemptions a second"),
        Quantity::Progress => format!("{value:.1} tokens or answers a second"),
        Quantity::QueueShare => format!("the queue is {} of the latency", percent(value)),
        Quantity::FirstToken => format!("first token after {} s", number(value)),
        Quantity::WholeTime => format!("answers take {} s", number(value)),
        Quantity::PromptSpread => format!("long prompts {value:.1} times the median"),
        Quantity::CapOverOutput => format!("{value:.1} times the tokens allowed that are needed"),
        Quantity::DataWaitShare => format!("{} of each step waits for data", percent(value)),
        Quantity::LossChange => format!("loss moved by {} %", number(value * 100.0)),
        Quantity::QualityChange => format!("evaluation moved by {} %", number(value * 100.0)),
        Quantity::LossesDiverged => format!("loss is no number at {value:.0} trainers"),
        Quantity::WorkDone => format!("{} of work a second by its own signal", number(value)),
        Quantity::StepsDone => format!("{} steps a second", number(value)),
        Quantity::GpuMemoryExits => format!("ended {value:.0} times for want of GPU memory"),
        Quantity::FailedExits => format!("one container failed {value:.0} times"),
        Quantity::ServersIdle => format!("{value:.0} replicas idle"),
        Quantity::GpusConcerned => format!("{value:.0} GPUs concerned"),
        Quantity::GpusJudged => format!("{value:.0} GPUs judged"),
    }
}

/// What moves is activations; what stands still may be weights, or an allocator that keeps what it once had.
fn memory_swing(measure: &Measure) -> String {
    let moved = points(measure.value);
    match measure.threshold {
        Some(from) if measure.value >= from => format!("of which {moved} points come and go: activations"),
        _ => format!("of which {moved} points come and go: whether weights or activations fill it does not show"),
    }
}

fn points(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Up to three decimals, of small numbers three digits, and no more than needed.
pub fn number(value: f64) -> String {
    let leading = if value.abs() < 0.1 && value.abs() >= 1e-9 { -value.abs().log10().ceil() } else { 0.0 };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and 9
    let decimals = 3 + leading as usize;
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// As people write it: `10m`, `1h 30m`.
pub fn duration(duration: SignedDuration) -> String {
    let whole = SignedDuration::from_secs(duration.as_secs());
    let rounding = SpanRound::new().largest(Unit::Hour);
    let balanced = jiff::Span::try_from(whole).ok().and_then(|span| span.round(rounding).ok());
    balanced.map_or_else(|| format!("{}s", whole.as_secs()), |span| format!("{span:#}"))
}
