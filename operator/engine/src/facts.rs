//! What a look measured besides its findings: how well the workload does, and what could be checked at all.

use crate::card::Generation;
use crate::evidence::{
    ContainerEvidence, DataWait, Evidence, GpuEvidence, ServerEvidence, Sources, TrainerEvidence, Trend,
};
use crate::figures::{Figures, SignalFigures, Throughput, WorkUnit, significant};
use crate::gate::Waits;
use crate::span::Span;
use serde::{Deserialize, Serialize};

/// Beside an opinion; unknown is none, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// How well it does.
    pub figures: Figures,
    /// The most GPU memory that the work took of the fullest GPU, 0–1; none where a server takes it in advance.
    pub needs: Option<f64>,
    /// The generation of the oldest of its GPUs; none where one of them is not known.
    pub oldest: Option<Generation>,
    /// The queue's share of the time until an answer begins, 0–1, mean over servers. Where samples are missing: what it
    /// could be at most.
    pub queue_share: Option<f64>,
    /// How long requests wait, by the servers' own account.
    pub waits: Waits,
    /// What was measured well enough that a silent rule means something.
    pub checked: Checked,
    /// What was measured at all, or lately.
    pub sources: Sources,
}

/// Whether the rules for each cause could have found it: everything that they need was measured of every GPU and container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checked {
    /// Waiting for storage or data.
    pub data: bool,
    /// Traffic between GPUs.
    pub communication: bool,
    /// The CPU at its limit.
    pub cpu: bool,
}

impl Facts {
    /// Of `seen`.
    pub fn of(seen: &Evidence) -> Self {
        Self {
            figures: figures(seen),
            needs: needs(seen).and_then(significant),
            oldest: oldest(seen),
            queue_share: queue_share(&seen.servers),
            waits: waits(&seen.servers),
            checked: checked(seen),
            sources: Sources::of(seen),
        }
    }
}

fn figures(seen: &Evidence) -> Figures {
    // One that is no number makes the whole unknown: the mean of the others would hide it.
    let qualities = seen.trainers.iter().filter_map(|trainer| trainer.quality).map(last);
    Figures {
        throughput: throughput(seen),
        activity: seen.gpu_mean(GpuEvidence::activity),
        latency: seen.server_mean(|server| server.whole_seconds),
        memory: peak(seen),
        quality: mean_of_all(qualities),
        signals: SignalFigures::default(),
    }
    .rounded()
}

const fn last(trend: Trend) -> Option<f64> {
    match trend {
        Trend::Moved { last, .. } => Some(last),
        Trend::Diverged => None,
    }
}

/// Of the fullest GPU; none where one of them does not say, since that may be the fullest.
fn peak(seen: &Evidence) -> Option<f64> {
    let peaks = || seen.gpus.iter().map(|gpu| gpu.memory_peak.map(|peak| peak.mean).filter(|peak| peak.is_finite()));
    let fullest = peaks().try_fold(0.0, |most: f64, peak| Some(most.max(peak?)))?;
    (!seen.gpus.is_empty()).then_some(fullest)
}

/// What the work itself needs at most; none of a server that takes its memory in advance, whose use says nothing.
fn needs(seen: &Evidence) -> Option<f64> {
    peak(seen).filter(|_| !seen.servers.iter().any(ServerEvidence::keeps_a_cache))
}

fn oldest(seen: &Evidence) -> Option<Generation> {
    let (first, others) = seen.gpus.split_first()?;
    others.iter().try_fold(first.generation?, |oldest, gpu| Some(oldest.min(gpu.generation?)))
}

/// None of none, and none where one of them is not known.
fn mean_of_all(mut values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (sum, count) = values.try_fold((0.0, 0_u32), |(sum, count), value| Some((sum + value?, count + 1)))?;
    (count > 0).then(|| sum / f64::from(count))
}

/// By the workload's own signal, or else by the replicas' account, and only if every replica gives one.
fn throughput(seen: &Evidence) -> Option<Throughput> {
    let replicas = u32::try_from(seen.containers.len()).unwrap_or(u32::MAX);
    let told = Throughput::told(&seen.own, replicas);
    told.or_else(|| Throughput::sum(seen.servers.iter().map(served)))
        .or_else(|| Throughput::sum(seen.trainers.iter().map(trained)))
}

fn served(server: &ServerEvidence) -> Option<(WorkUnit, Span)> {
    Some((if server.answers { WorkUnit::Answers } else { WorkUnit::Tokens }, server.progress?))
}

fn trained(trainer: &TrainerEvidence) -> Option<(WorkUnit, Span)> {
    Some((if trainer.tokens { WorkUnit::TrainedTokens } else { WorkUnit::Samples }, trainer.throughput?))
}

/// Over all servers; none where one of them does not say.
fn queue_share(servers: &[ServerEvidence]) -> Option<f64> {
    mean_of_all(servers.iter().map(|server| server.queue_share().map(|share| share.high.min(1.0))))
}

/// Means over all servers; none where one of them lacks a sample.
fn waits(servers: &[ServerEvidence]) -> Waits {
    let complete = |field: fn(&ServerEvidence) -> Option<Span>| {
        let whole = |server| field(server).filter(|span| span.low >= span.high).map(|span| span.mean);
        mean_of_all(servers.iter().map(whole))
    };
    Waits {
        queue: complete(|server| server.queue_seconds),
        whole: complete(|server| server.whole_seconds),
        ..Waits::default()
    }
}

fn checked(seen: &Evidence) -> Checked {
    Checked { data: data_checked(seen), communication: communication_checked(seen), cpu: cpu_checked(seen) }
}

/// By the trainers' own count, or else by hardware; a count that has gaps lets hardware say nothing.
fn data_checked(seen: &Evidence) -> bool {
    let told = !seen.trainers.is_empty() && seen.trainers.iter().all(|one| one.data_wait_share().is_some());
    let stored = |one: &ContainerEvidence| one.io_pressure.is_some() && one.of_limit().is_some();
    let inferred = seen.data_wait() == DataWait::Uncounted;
    told || (inferred && all_gpus(seen, |gpu| gpu.activity().is_some()) && all_containers(seen, stored))
}

/// Both ways of waiting, in every GPU, and each link that may carry the exchange: one inside of a pod, and between several the
/// network as well.
fn communication_checked(seen: &Evidence) -> bool {
    let waits = |gpu: &GpuEvidence| {
        let by_turns = gpu.activity().and(gpu.swing).and(gpu.memory);
        by_turns.and(gpu.sm).and(gpu.dram).and(gpu.tensor).is_some()
    };
    // Traffic over PCIe tells nothing where it may be the host's.
    let pcie = all_gpus(seen, |gpu| gpu.pcie.is_some()) && all_containers(seen, |one| one.of_limit().is_some());
    let inside = pcie || all_gpus(seen, |gpu| gpu.nvlink.is_some());
    let between = seen.containers.len() < 2 || all_containers(seen, |one| one.network.is_some());
    seen.expected_gpus >= 2 && all_gpus(seen, waits) && inside && between
}

/// One core of one says nothing without throttling.
fn cpu_checked(seen: &Evidence) -> bool {
    let enough = |cores: f64| cores >= seen.gate.thresholds.cpu_limit_cores_from;
    let limit = |one: &ContainerEvidence| {
        one.of_limit().is_some() && (one.throttled.is_some() || one.limit.is_some_and(enough))
    };
    let told = seen.data_wait() != DataWait::Unsure;
    let active = all_gpus(seen, |gpu| gpu.activity().is_some());
    told && active && all_containers(seen, |one| limit(one) || one.pressure.is_some())
}

fn all_gpus(seen: &Evidence, test: impl Fn(&GpuEvidence) -> bool) -> bool {
    let all = seen.gpus.len() >= seen.expected_gpus as usize;
    all && !seen.gpus.is_empty() && seen.gpus.iter().all(test)
}

fn all_containers(seen: &Evidence, test: impl Fn(&ContainerEvidence) -> bool) -> bool {
    !seen.containers.is_empty() && seen.containers.iter().all(test)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::OwnEvidence;
    use crate::policy::Class;
    use crate::testing::{busy_gpu, evidence};

    /// Two pods of one GPU each, of which all is measured.
    fn measured() -> Evidence {
        let exact = |value| Some(Span::exact(value));
        let gpu = GpuEvidence { swing: exact(0.1), memory: exact(0.5), nvlink: exact(0.1), ..busy_gpu() };
        let container = ContainerEvidence {
            cores: exact(1.0),
            limit: Some(8.0),
            io_pressure: exact(0.0),
            network: exact(1e6),
            ..ContainerEvidence::default()
        };
        evidence(Class::Training, &[gpu; 2], &[container; 2])
    }

    fn without(change: impl Fn(&mut GpuEvidence, &mut ContainerEvidence)) -> (bool, bool, bool) {
        let mut seen = measured();
        change(&mut seen.gpus[1], &mut seen.containers[1]);
        let Checked { data, communication, cpu } = checked(&seen);
        (data, communication, cpu)
    }

    /// Kills: each part of `waits`, `stored` and `limit` left out.
    #[test]
    fn a_cause_was_looked_for_only_where_its_rules_could_have_fired() {
        assert_eq!(without(|_, _| ()), (true, true, true));
        assert_eq!(without(|gpu, _| (gpu.engine, gpu.util) = (None, None)), (false, false, false));
        for blind in [
            |gpu: &mut GpuEvidence| gpu.swing = None,
            |gpu: &mut GpuEvidence| gpu.sm = None,
            |gpu: &mut GpuEvidence| gpu.dram = None,
            |gpu: &mut GpuEvidence| gpu.tensor = None,
            |gpu: &mut GpuEvidence| gpu.memory = None,
            |gpu: &mut GpuEvidence| gpu.nvlink = None,
        ] {
            assert_eq!(without(|gpu, _| blind(gpu)), (true, false, true));
        }
        assert_eq!(without(|_, one| one.network = None), (true, false, true));
        assert_eq!(without(|_, one| one.io_pressure = None), (false, true, true));
        assert_eq!(without(|_, one| one.limit = None), (false, true, false));
        assert_eq!(without(|_, one| one.limit = Some(1.0)), (true, true, false));
    }

    #[test]
    fn pcie_tells_of_an_exchange_only_where_the_cpu_is_known_too() {
        let mut seen = measured();
        for gpu in &mut seen.gpus {
            (gpu.nvlink, gpu.pcie) = (None, gpu.nvlink);
        }
        assert!(checked(&seen).communication);
        seen.containers[0].limit = None;
        assert!(!checked(&seen).communication);
        assert!(!checked(&Evidence { expected_gpus: 3, ..measured() }).communication, "one is not seen");
    }

    #[test]
    fn a_count_of_the_wait_for_data_that_has_gaps_leaves_data_and_cpu_unchecked() {
        let exact = |value| Some(Span::exact(value));
        let counts =
            TrainerEvidence { step_seconds: exact(1.0), data_wait_seconds: exact(0.1), ..TrainerEvidence::default() };
        let told = |trainer| checked(&Evidence { trainers: vec![trainer; 2], ..measured() });

        assert!(told(counts).data && told(counts).cpu);
        let stepless = TrainerEvidence { step_seconds: None, ..counts };
        assert!(!told(stepless).data && !told(stepless).cpu);
    }

    /// Kills: the peak of the GPUs that say one, and a mean over them.
    #[test]
    fn the_peak_is_that_of_the_fullest_gpu_and_unknown_where_one_does_not_say() {
        let peak = |value| Some(Span::exact(value));
        let mut seen = measured();
        (seen.gpus[0].memory_peak, seen.gpus[1].memory_peak) = (peak(0.35), peak(0.99));
        assert_eq!((figures(&seen).memory, needs(&seen)), (Some(0.99), Some(0.99)));

        let reserves = ServerEvidence { kv: peak(0.2), ..ServerEvidence::default() };
        let server = Evidence { servers: vec![reserves], ..seen.clone() };
        assert_eq!((figures(&server).memory, needs(&server)), (Some(0.99), None), "it took that much at its start");

        seen.gpus[1].memory_peak = None;
        assert_eq!(figures(&seen).memory, None, "it may be the fullest");
        seen.gpus.clear();
        assert_eq!(figures(&seen).memory, None);
    }

    #[test]
    fn the_oldest_gpu_says_what_all_can_do_unless_one_is_not_known() {
        let of = |generations: [Option<Generation>; 2]| {
            let gpus = generations.map(|generation| GpuEvidence { generation, ..busy_gpu() }).to_vec();
            Facts::of(&Evidence { gpus, ..measured() }).oldest
        };

        assert_eq!(of([Some(Generation::Hopper), Some(Generation::Turing)]), Some(Generation::Turing));
        assert_eq!(of([Some(Generation::Hopper), None]), None);
    }

    #[test]
    fn work_is_counted_in_the_unit_of_those_who_do_it() {
        let unit = |servers: &[ServerEvidence]| {
            let seen = Evidence { servers: servers.to_vec(), trainers: Vec::new(), ..measured() };
            throughput(&seen).map(|work| (work.unit, work.total))
        };
        let vllm = ServerEvidence { progress: Some(Span::exact(900.0)), ..ServerEvidence::default() };
        let triton = ServerEvidence { progress: Some(Span::exact(2.0)), answers: true, ..ServerEvidence::default() };

        assert_eq!(unit(&[vllm; 2]), Some((WorkUnit::Tokens, 1_800.0)));
        assert_eq!(unit(&[triton; 2]), Some((WorkUnit::Answers, 4.0)));
        assert_eq!(unit(&[vllm, triton]), None);
    }

    /// Kills: an own signal that waits until nobody else counts.
    #[test]
    fn the_workloads_own_signal_outranks_its_servers_and_is_unknown_where_a_sample_is_missing() {
        let vllm = ServerEvidence { progress: Some(Span::exact(900.0)), ..ServerEvidence::default() };
        let told = |throughput| {
            let own =
                OwnEvidence { throughput: Some(throughput), throughput_noise: Some(3.0), ..OwnEvidence::default() };
            throughput_of(&Evidence { servers: vec![vllm; 2], own, ..measured() })
        };
        let own = Throughput { unit: WorkUnit::Own, total: 50.0, replicas: 2, spread: Some(3.0) };

        assert_eq!(told(Span::exact(50.0)), Some(own));
        let gap = Span { low: 45.0, mean: 50.0, high: f64::INFINITY };
        assert_eq!(told(gap).map(|work| work.unit), Some(WorkUnit::Tokens));
    }

    fn throughput_of(seen: &Evidence) -> Option<Throughput> {
        figures(seen).throughput
    }

    fn says(queue: f64, first: f64, whole: f64) -> ServerEvidence {
        let exact = |value| Some(Span::exact(value));
        ServerEvidence {
            queue_seconds: exact(queue),
            first_token_seconds: exact(first),
            whole_seconds: exact(whole),
            ..ServerEvidence::default()
        }
    }

    #[test]
    fn the_queues_share_is_the_mean_over_the_servers() {
        assert_eq!(queue_share(&[says(0.5, 1.0, 10.0), says(0.25, 1.0, 10.0)]), Some(0.375));
        assert_eq!(queue_share(&[]), None);
    }

    /// Kills: a share over the servers that say it, and one over the means where samples are missing.
    #[test]
    fn a_server_that_says_nothing_makes_the_share_unknown_and_a_missing_sample_makes_it_larger() {
        assert_eq!(queue_share(&[says(0.1, 1.0, 10.0), ServerEvidence::default()]), None);
        let missing = Span { low: 0.1, mean: 0.1, high: 0.6 };
        let partial = ServerEvidence { queue_seconds: Some(missing), ..says(0.1, 1.0, 10.0) };
        assert_eq!(queue_share(&[partial]), Some(0.6));
    }
}
