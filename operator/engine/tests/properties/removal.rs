//! Losing data never makes anything smaller, and never makes a case against growth.

use crate::any::{lone, loose};
use crate::decided;
use crate::evidence::{any_evidence, told_evidence};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use wellfed_engine::evidence::{
    ContainerEvidence, Evidence, Exits, GpuEvidence, OwnEvidence, ServerEvidence, TrainerEvidence,
};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Gap, Lean, Opinion};
use wellfed_engine::reading::{ReadFailure, Reading};
use wellfed_engine::rules::{RULES, RuleName, Says};
use wellfed_engine::span::Span;
use wellfed_engine::testing::Scenario;
use wellfed_engine::world::{SignalValue, Workload};

/// Loses one thing, `which` one of all there are.
fn lose_sample(workload: &mut Workload, which: usize, forget: bool) {
    let lost = if forget { Reading::Missing } else { Reading::Failed(ReadFailure::Timeout) };
    let count = workload.signals.len();
    let Some(signal) = workload.signals.get_mut(which % count.max(1)) else { return };
    match &mut signal.value {
        SignalValue::Pods(rows) if !rows.is_empty() => {
            let name = rows.keys().nth(which / count % rows.len()).cloned().unwrap();
            if forget {
                rows.remove(&name);
            } else {
                rows.insert(name, lost);
            }
        }
        value => *value = SignalValue::External(lost),
    }
}

/// Makes the span of whole samples what it would be with the larger half of them gone.
fn halve(span: &mut Option<Span>, largest: f64) {
    *span = span.map(|span| {
        let whole = span.low >= span.high;
        let mean = (2.0 * span.mean - largest).max(0.0);
        if whole { Span { mean, low: mean / 2.0, high: f64::midpoint(mean, largest) } } else { span }
    });
}

/// The same of numbers far below the largest: half of the samples were half as much, and the others are gone.
fn lose_more(span: &mut Option<Span>, largest: f64) {
    *span = span.map(|span| {
        let mean = span.mean / 2.0;
        Span { mean, low: mean / 2.0, high: f64::midpoint(mean, largest) }
    });
}

pub fn lose_evidence(seen: &mut Evidence, what: u8, which: usize) {
    let (gpus, containers) = (seen.gpus.len().max(1), seen.containers.len().max(1));
    if what == 0 {
        if !seen.gpus.is_empty() {
            seen.gpus.remove(which % gpus);
        }
        return;
    }
    if let Some(gpu) = seen.gpus.get_mut(which % gpus) {
        lose_of_gpu(gpu, what);
    }
    if let Some(container) = seen.containers.get_mut(which % containers) {
        lose_of_container(container, what);
    }
    let servers = seen.servers.len().max(1);
    if let Some(server) = seen.servers.get_mut(which % servers) {
        lose_of_server(server, what);
    }
    let trainers = seen.trainers.len().max(1);
    if let Some(trainer) = seen.trainers.get_mut(which % trainers) {
        lose_of_trainer(trainer, what);
    }
    lose_of_own(&mut seen.own, what);
    match what {
        17 => seen.gpus.clear(),
        // That they are there, and on shared GPUs, the API says and not a sample.
        18 => seen.containers.iter_mut().for_each(|one| (0..LOSSES).for_each(|what| lose_of_container(one, what))),
        19 => seen.covered /= 2,
        87 if !seen.ended.is_empty() => {
            let ended = seen.ended.len();
            seen.ended.remove(which % ended);
        }
        _ => {}
    }
}

fn lose_of_gpu(gpu: &mut GpuEvidence, what: u8) {
    match what {
        // A source that was there and is missing says so.
        1 => (gpu.engine, gpu.engine_lost) = (None, gpu.engine_lost || gpu.engine.is_some()),
        2 => gpu.util = None,
        3 => (gpu.sm, gpu.sm_lost) = (None, gpu.sm_lost || gpu.sm.is_some()),
        4 => (gpu.dram, gpu.dram_lost) = (None, gpu.dram_lost || gpu.dram.is_some()),
        5 => (gpu.tensor, gpu.tensor_lost) = (None, gpu.tensor_lost || gpu.tensor.is_some()),
        6 => gpu.pcie_rx = None,
        7 => halve(&mut gpu.engine, 1.0),
        8 => halve(&mut gpu.util, 1.0),
        9 => halve(&mut gpu.sm, 1.0),
        10 => halve(&mut gpu.pcie_rx, 1e12),
        20 => (gpu.power, gpu.power_lost) = (None, gpu.power_lost || gpu.power.is_some()),
        21 => (gpu.clocks_held, gpu.clock_events) = (None, None),
        22 => halve(&mut gpu.power, 2.0),
        23 => halve(&mut gpu.dram, 1.0),
        24 => halve(&mut gpu.tensor, 1.0),
        37 => gpu.swing = None,
        38 => (gpu.nvlink, gpu.nvlink_lost) = (None, gpu.nvlink_lost || gpu.nvlink.is_some()),
        39 => (gpu.pcie, gpu.pcie_lost) = (None, gpu.pcie_lost || gpu.pcie.is_some()),
        40 => gpu.memory = None,
        41 => gpu.clock = None,
        42 => halve(&mut gpu.swing, 0.5),
        43 => halve(&mut gpu.nvlink, 1.0),
        44 => halve(&mut gpu.memory, 1.0),
        45 => halve(&mut gpu.clock, 4_000.0),
        46 => halve(&mut gpu.clocks_held, 1.0),
        47 => (gpu.memory_swing, gpu.memory_peak, gpu.fp32) = (None, None, None),
        48 => halve(&mut gpu.pcie, 1.0),
        69 => gpu.lanes = None,
        70 => halve(&mut gpu.lanes, 32.0),
        71 => {
            (gpu.lanes_most, gpu.lanes_most_lost) = (None, gpu.lanes_most_lost || gpu.lanes_most.is_some());
        }
        72 => gpu.xid = None,
        85 => gpu.product = None,
        96 => gpu.clock_events = None,
        97 => halve(&mut gpu.clock_events, 60.0),
        98 => gpu.weights = None,
        _ => {}
    }
}

fn lose_of_container(container: &mut ContainerEvidence, what: u8) {
    match what {
        11 => container.cores = None,
        12 => container.limit = None,
        13 => container.throttled = None,
        14 => container.pressure = None,
        15 => halve(&mut container.cores, 1_000.0),
        16 => halve(&mut container.throttled, 1.0),
        25 => {
            let lost = container.io_pressure_lost || container.io_pressure.is_some();
            (container.io_pressure, container.io_pressure_lost) = (None, lost);
        }
        26 => halve(&mut container.io_pressure, 1.0),
        49 => {
            let lost = container.network_lost || container.network.is_some();
            (container.network, container.network_lost, container.network_of_peak) = (None, lost, None);
        }
        50 => halve(&mut container.network, 1e12),
        51 => container.exits = Exits::default(),
        52 => halve(&mut container.pressure, 1.0),
        73 => container.node_iowait = None,
        74 => halve(&mut container.node_iowait, 1.0),
        75 => {
            let lost = container.network_peak_lost || container.network_of_peak.is_some();
            (container.network_of_peak, container.network_peak_lost) = (None, lost);
        }
        76 => (container.rdma, container.rdma_lost) = (None, container.rdma_lost || container.rdma.is_some()),
        77 => halve(&mut container.rdma, 1.0),
        86 => container.at_hand = None,
        _ => {}
    }
}

fn lose_of_server(server: &mut ServerEvidence, what: u8) {
    match what {
        27 => server.running = None,
        28 => server.waiting = None,
        29 => server.batch = None,
        30 => (server.kv, server.kv_lost) = (None, server.kv_lost || server.kv.is_some()),
        31 => (server.progress, server.progress_lost) = (None, server.progress_lost || server.progress.is_some()),
        32 => halve(&mut server.running, 1_000.0),
        33 => halve(&mut server.waiting, 1_000.0),
        34 => halve(&mut server.kv, 1.0),
        35 => halve(&mut server.progress, 1_000.0),
        36 => {
            for what in [27, 28, 29, 30, 31, 53, 54, 55, 88, 90, 92, 94] {
                lose_of_server(server, what);
            }
        }
        53 => server.queue_seconds = None,
        54 => {
            let lost = server.first_token_lost || server.first_token_seconds.is_some();
            (server.first_token_seconds, server.first_token_lost) = (None, lost);
        }
        55 => server.whole_seconds = None,
        56 => halve(&mut server.queue_seconds, 100.0),
        57 => halve(&mut server.first_token_seconds, 100.0),
        58 => halve(&mut server.whole_seconds, 100.0),
        59 => halve(&mut server.batch, 1_000.0),
        88 => server.preemptions = None,
        89 => lose_more(&mut server.preemptions, 1_000.0),
        90 => server.prompt_spread = None,
        91 => lose_more(&mut server.prompt_spread, 1_000.0),
        92 => server.output_tokens = None,
        93 => lose_more(&mut server.output_tokens, 1e6),
        94 => server.output_cap = None,
        95 => lose_more(&mut server.output_cap, 1e6),
        _ => {}
    }
}

fn lose_of_trainer(trainer: &mut TrainerEvidence, what: u8) {
    match what {
        60 => trainer.step_seconds = None,
        61 => {
            let lost = trainer.data_wait_lost || trainer.data_wait_seconds.is_some();
            (trainer.data_wait_seconds, trainer.data_wait_lost) = (None, lost);
        }
        62 => {
            let lost = trainer.throughput_lost || trainer.throughput.is_some();
            (trainer.throughput, trainer.throughput_lost) = (None, lost);
        }
        63 => (trainer.loss, trainer.loss_lost) = (None, trainer.loss_lost || trainer.loss.is_some()),
        64 => (trainer.quality, trainer.quality_lost) = (None, trainer.quality_lost || trainer.quality.is_some()),
        65 => halve(&mut trainer.step_seconds, 100.0),
        66 => halve(&mut trainer.data_wait_seconds, 100.0),
        67 => halve(&mut trainer.throughput, 1e6),
        68 => [60, 61, 62, 63, 64, 78].into_iter().for_each(|what| lose_of_trainer(trainer, what)),
        78 => (trainer.steps, trainer.steps_lost) = (None, trainer.steps_lost || trainer.steps.is_some()),
        79 => halve(&mut trainer.steps, 10.0),
        _ => {}
    }
}

fn lose_of_own(own: &mut OwnEvidence, what: u8) {
    match what {
        80 => (own.throughput, own.throughput_lost) = (None, own.throughput_lost || own.throughput.is_some()),
        81 => (own.progress, own.progress_lost) = (None, own.progress_lost || own.progress.is_some()),
        82 => (own.quality, own.quality_lost) = (None, own.quality_lost || own.quality.is_some()),
        83 => halve(&mut own.throughput, 1e6),
        84 => (80..=82).for_each(|what| lose_of_own(own, what)),
        _ => {}
    }
}

/// How many kinds of loss there are.
const LOSSES: u8 = 99;

/// A lone workload, one that is free to shrink or any. Its last pool has no maximum: where none may take the last
/// replica, a smaller number finds no place.
fn open() -> impl Strategy<Value = Scenario> {
    prop_oneof![2 => loose().boxed(), 1 => lone().boxed()].prop_map(|scenario| {
        scenario.change("workload-0", |workload| workload.policy.pools.last_mut().unwrap().max = None)
    })
}

/// What is lost, and of which replica: often of the first, which is the odd one, or of all.
fn loss() -> impl Strategy<Value = (u8, Vec<usize>)> {
    let what = prop_oneof![1 => Just(0_u8), 3 => 1_u8..LOSSES, 2 => 20_u8..LOSSES];
    (what, prop_oneof![Just(vec![0_usize]), any::<usize>().prop_map(|which| vec![which]), Just((0..7).collect())])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: `demand` without its hold, `demand` that skips a signal without a state, rows of pods that are not Ready
    /// counted as known.
    #[test]
    fn a_lost_sample_never_makes_it_shrink(scenario in open(), which: usize, forget: bool) {
        let mut fewer = scenario.world.clone();
        lose_sample(&mut fewer.workloads[0], which, forget);
        let (before, after) = (decided(&scenario.world).remove(0), decided(&fewer).remove(0));

        prop_assert!(after.number >= before.number.min(before.current), "{} → {}", before.number, after.number);
    }

    /// Kills: `demand` that zips signals with states.
    #[test]
    fn a_lost_signal_never_makes_it_shrink(scenario in open(), keep in 0_usize..4) {
        let mut fewer = scenario.world.clone();
        fewer.workloads[0].signals.truncate(keep);
        let (before, after) = (decided(&scenario.world).remove(0), decided(&fewer).remove(0));

        prop_assert!(after.number >= before.number.min(before.current), "{} → {}", before.number, after.number);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: what the next one kills, where only several losses together show it.
    #[test]
    fn lost_evidence_never_turns_into_a_refusal(seen in any_evidence(), losses in vec(loss(), 1..5)) {
        let mut fewer = seen.clone();
        for (what, of) in losses {
            for which in of {
                lose_evidence(&mut fewer, what, which);
            }
        }
        let (before, after) = (judge(&seen), judge(&fewer));

        prop_assert!(refuses(before.lean) || !refuses(after.lean), "{:?} → {:?}\n{fewer:#?}", before.lean, after.lean);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: `activity` that lets utilisation stand in for a lost engine, `most_gpus` over the GPUs seen alone, `below`
    /// on the mean, a contradiction that voids the whole evidence, shared GPUs that turn a veto into advice for all; advice
    /// that silences `Underused`; `serial` without `kv_lost`, `has_room` or `spinning` without `sm_lost`, `no_progress`
    /// without `progress_lost` or `throughput_lost`; a queue that is compared with the mean of the others; replicas that say
    /// nothing left out; `data_wait` that falls back to hardware where the count is lost, `may_be_at_work` without
    /// `sm_lost`, `dram_lost` or `tensor_lost`; what runs at the fullest of the replicas that surely are; `exchanging` or `has_room` on what is not measured; `full` without `sm_lost` or `kv_lost`; `Peers` of the
    /// GPUs seen alone, or of those whose product is known; what a pod on a shared GPU counts that is its own again once the
    /// GPU's row is lost; `held` over them; `queue_share` by the whole time where the first token was lost; a plateau without
    /// `loss_lost`; `outranked` that falls back to the trainers where the signal is lost; `rests` or `no_traffic` without what is
    /// lost, `Moves::rate` or `Moves::level` likewise; `blind` that does not look at what is covered; `works_unseen` without
    /// `power_lost`, or on the engine's `high`; `io_wait` without `io_pressure_lost`, `over_network` without `network_peak_lost`,
    /// `full_lanes` without `lanes_most_lost`; `most_containers` over those too that only
    /// ended, `GpuOutOfMemory` over all that ended.
    #[test]
    fn no_loss_alone_turns_into_a_refusal(seen in any_evidence()) {
        if refuses(judge(&seen).lean) {
            return Ok(());
        }
        let all = seen.gpus.len().max(1);
        for (what, of) in (0..LOSSES).flat_map(|what| [(what, 0..1), (what, 1..all), (what, 0..7)]) {
            let mut fewer = seen.clone();
            of.clone().for_each(|which| lose_evidence(&mut fewer, what, which));
            let after = judge(&fewer).lean;
            prop_assert!(!refuses(after), "{what} of {of:?}: {after:?}\n{fewer:#?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// SMs, memory bandwidth, tensor pipe, power, KV cache, answers, work and steps speak against causes, or tell where they
    /// are low. Kills: a judge that does not ask `hides`.
    #[test]
    fn a_source_that_speaks_against_causes_lets_nothing_pass_by_its_loss(seen in any_evidence()) {
        if !refuses(judge(&seen).lean) {
            return Ok(());
        }
        for (what, of) in [3, 4, 5, 20, 30, 31, 62, 78, 80].into_iter().flat_map(|what| [(what, 0..1), (what, 0..7)]) {
            let mut fewer = seen.clone();
            of.clone().for_each(|which| lose_evidence(&mut fewer, what, which));
            let after = judge(&fewer).lean;
            prop_assert!(after != Lean::Allow, "{what} of {of:?}\n{fewer:#?}");
        }
    }
}

/// What only servers tell of their requests. Each fires in the generator, as another test shows.
const TOLD: [RuleName; 3] = [RuleName::GenerationCapTooHigh, RuleName::KvPressure, RuleName::Padding];
/// The count of what runs, alone or with all that a server says: a server that has it forms its batches while it runs.
const RUNNING: [u8; 2] = [27, 36];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: a cap, a spread or preemptions compared by their mean or their `high`; a batch that need not be there; a cap
    /// over the tokens of the shortest answers; `most_servers` over those that say something.
    #[test]
    fn no_loss_makes_padding_a_cap_or_a_full_cache_show(seen in told_evidence()) {
        if is_blind(&seen) {
            return Ok(());
        }
        let before = judge(&seen);
        let shows = |opinion: &Opinion, rule| opinion.findings.iter().any(|finding| finding.rule == rule);
        let all = seen.gpus.len().max(1);
        for (what, of) in (0..LOSSES).flat_map(|what| [(what, 0..1), (what, 1..all), (what, 0..7)]) {
            let mut fewer = seen.clone();
            of.clone().for_each(|which| lose_evidence(&mut fewer, what, which));
            let after = judge(&fewer);
            for rule in TOLD.into_iter().filter(|rule| *rule != RuleName::Padding || !RUNNING.contains(&what)) {
                prop_assert!(shows(&before, rule) || !shows(&after, rule), "{rule}: {what} of {of:?}\n{fewer:#?}");
            }
        }
    }
}

/// Without GPUs that can be trusted nothing is advised; a loss may end a contradiction.
fn is_blind(seen: &Evidence) -> bool {
    let own = seen.attributable();
    RULES.iter().any(|rule| rule.name() == RuleName::DataInvalid && matches!(rule.judge(&own), Says::Invalid(_)))
}

/// A property over evidence that is never refused would prove nothing.
#[test]
fn the_generator_makes_refusals_to_lose() {
    let mut runner = TestRunner::deterministic();
    let seen = (0..1_000).map(|_| any_evidence().new_tree(&mut runner).unwrap().current());
    let refused = seen.filter(|seen| refuses(judge(seen).lean)).count();

    assert!((100..900).contains(&refused), "{refused} of 1000");
}

/// Nor would one over a rule that never finds anything: each finds something, and more than once.
#[test]
fn the_generator_makes_every_rule_fire() {
    let mut runner = TestRunner::deterministic();
    let judged = (0..4_000).map(|_| judge(&any_evidence().new_tree(&mut runner).unwrap().current()));
    let mut fired: BTreeMap<RuleName, u32> = BTreeMap::new();
    let mut gaps = [0_u32; 4];
    for opinion in judged {
        opinion.findings.iter().for_each(|finding| *fired.entry(finding.rule).or_default() += 1);
        match opinion.lean {
            Lean::Unknown(Gap::NoWarmReplica) => gaps[0] += 1,
            Lean::Unknown(Gap::GpusUnseen { .. }) => gaps[1] += 1,
            Lean::Unknown(Gap::Contradiction { .. }) => gaps[2] += 1,
            Lean::Unknown(Gap::TooShort { .. }) => gaps[3] += 1,
            _ => {}
        }
    }

    // `DataInvalid` finds nothing: it leaves no verdict.
    let silent = RULES.iter().map(|rule| rule.name()).filter(|rule| *rule != RuleName::DataInvalid);
    let silent: Vec<_> = silent.filter(|rule| fired.get(rule).is_none_or(|times| *times < 8)).collect();
    assert_eq!(silent, [], "{fired:?}");
    assert!(gaps.iter().all(|times| *times >= 8), "{gaps:?}");
}

fn refuses(lean: Lean) -> bool {
    matches!(lean, Lean::Refuse(_))
}
