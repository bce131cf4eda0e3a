//! No number, however absurd, makes anything panic: neither a rule, nor what is decided, kept and shown of what it says.

use crate::evidence::any_evidence;
use proptest::prelude::*;
use proptest::sample::select;
use wellfed_engine::evidence::{Evidence, Exits, Trend};
use wellfed_engine::figures::Figures;
use wellfed_engine::memory::Memory;
use wellfed_engine::money::Money;
use wellfed_engine::opinion::{Lean, Opinion};
use wellfed_engine::policy::{Class, Policy};
use wellfed_engine::remedies::remedies;
use wellfed_engine::savings::{Costed, Seen, savings};
use wellfed_engine::sizing::{Dtype, Model, Offer, sizing};
use wellfed_engine::span::Span;
use wellfed_engine::testing::{Scenario, WorkloadBuilder, batch, server, trainer, world};
use wellfed_engine::units::{PoolName, Replicas};
use wellfed_engine::world::Measures;
use wellfed_engine::{explain, judge};

/// Any pattern of bits, any number, and those by which arithmetic goes wrong most often.
fn number() -> impl Strategy<Value = f64> {
    let known = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, -1.0, 5e-324, 1e308, -1e308, f64::MAX];
    prop_oneof![2 => select(known), 1 => any::<f64>(), 1 => any::<u64>().prop_map(f64::from_bits)]
}

type Numbers = [f64; 3];

fn numbers() -> impl Strategy<Value = Numbers> {
    prop_oneof![number().prop_map(|number| [number; 3]), [number(), number(), number()]]
}

/// Puts absurd numbers everywhere in a part of the evidence, at the places where `which` has a bit.
fn absurd(seen: &mut Evidence, numbers: Numbers, which: u64) {
    let mut bit = 0_usize;
    let mut put = |field: &mut Option<Span>| {
        bit += 1;
        let at = |shift: usize| which >> ((bit + shift) % 64) & 1 == 1;
        if at(0) {
            let of = |there: bool, value: f64| if there { numbers[bit % 3] } else { value };
            let now = field.unwrap_or(Span::exact(0.5));
            *field = Some(Span { mean: of(at(1), now.mean), low: of(at(2), now.low), high: of(at(3), now.high) });
        }
    };
    for gpu in &mut seen.gpus {
        let work = [&mut gpu.util, &mut gpu.engine, &mut gpu.sm, &mut gpu.dram, &mut gpu.tensor, &mut gpu.fp32];
        work.into_iter().for_each(&mut put);
        let links = [&mut gpu.pcie_rx, &mut gpu.pcie, &mut gpu.nvlink, &mut gpu.swing, &mut gpu.memory];
        links.into_iter().for_each(&mut put);
        let card = [&mut gpu.memory_swing, &mut gpu.memory_peak, &mut gpu.clock, &mut gpu.clocks_held, &mut gpu.power];
        card.into_iter().for_each(&mut put);
        [&mut gpu.lanes, &mut gpu.clock_events].into_iter().for_each(&mut put);
        gpu.lanes_most = if which & 4 == 4 { Some(numbers[0]) } else { gpu.lanes_most };
        gpu.weights = if which & 8 == 8 { Some(numbers[1]) } else { gpu.weights };
    }
    for one in &mut seen.containers {
        let cpu = [&mut one.cores, &mut one.throttled, &mut one.pressure, &mut one.io_pressure, &mut one.network];
        cpu.into_iter().for_each(&mut put);
        [&mut one.node_iowait, &mut one.network_of_peak, &mut one.rdma].into_iter().for_each(&mut put);
        one.limit = if which & 1 == 1 { Some(numbers[0]) } else { one.limit };
        one.at_hand = if which & 16 == 16 { Some(numbers[1]) } else { one.at_hand };
    }
    for one in &mut seen.servers {
        let counts = [&mut one.running, &mut one.waiting, &mut one.batch, &mut one.kv, &mut one.preemptions];
        counts.into_iter().for_each(&mut put);
        let times = [&mut one.queue_seconds, &mut one.first_token_seconds, &mut one.whole_seconds];
        times.into_iter().for_each(&mut put);
        let lengths = [&mut one.prompt_spread, &mut one.output_tokens, &mut one.output_cap, &mut one.progress];
        lengths.into_iter().for_each(&mut put);
    }
    put(&mut seen.own.throughput);
    for one in &mut seen.trainers {
        let rates = [&mut one.step_seconds, &mut one.data_wait_seconds, &mut one.throughput, &mut one.steps];
        rates.into_iter().for_each(&mut put);
        one.loss = Some(moved(numbers, which));
        one.quality = Some(moved(numbers, which >> 2));
    }
    if which & 32 == 32 {
        seen.own.progress = Some(moved(numbers, which >> 4));
        seen.own.quality = Some(moved(numbers, which >> 6));
    }
}

/// From or to an absurd number, or both.
fn moved([first, last, _]: Numbers, which: u64) -> Trend {
    match which & 3 {
        0 => Trend::Moved { first, last },
        1 => Trend::Moved { first, last: 1.0 },
        2 => Trend::Moved { first: 1.0, last },
        _ => Trend::Diverged,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: `select_nth_unstable_by` with `partial_cmp().unwrap()`, an index from a float.
    #[test]
    fn no_number_makes_a_rule_panic(
        seen in any_evidence(),
        numbers in numbers(),
        which: u64,
        expected in select(vec![0, 1, 8, u32::MAX]),
    ) {
        let mut absurdly = Evidence { expected_gpus: expected, ..seen };
        absurd(&mut absurdly, numbers, which);

        let judged = judge(&absurdly);

        prop_assert!(expected != u32::MAX || !matches!(judged.lean, Lean::Allow), "nearly nothing of it is seen");
    }

    /// Neither all of them, nor all but the GPUs' activity. Kills: a comparison that holds for a number that is none.
    #[test]
    fn numbers_that_are_none_make_no_case(seen in any_evidence()) {
        let mut blank = seen.clone();
        absurd(&mut blank, [f64::NAN; 3], u64::MAX);
        blank.containers.iter_mut().for_each(|one| one.exits = Exits::default());
        blank.ended.clear();
        blank.trainers.iter_mut().for_each(|one| (one.loss, one.quality) = (None, None));
        (blank.own.progress, blank.own.quality) = (None, None);

        let refuses = |seen: &Evidence| matches!(judge(seen).lean, Lean::Refuse(_));
        prop_assert!(!refuses(&blank));
        for (gpu, was) in blank.gpus.iter_mut().zip(&seen.gpus) {
            (gpu.engine, gpu.util) = (was.engine, was.util);
        }
        prop_assert!(refuses(&seen) || !refuses(&blank), "{:?}\n{blank:#?}", judge(&blank).lean);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: figures that are kept as they were measured (a number that is none is not read back), money and cards from a
    /// share that is none.
    #[test]
    fn what_absurd_numbers_lead_to_is_decided_kept_and_shown(
        seen in any_evidence(),
        numbers in numbers(),
        which: u64,
        later in numbers(),
    ) {
        let mut first = seen.clone();
        absurd(&mut first, numbers, which);
        let mut second = seen;
        absurd(&mut second, later, which.rotate_left(17));
        // Three looks that make a finding, and after a new template what is compared with them.
        let looks = [(&first, "one"); 4].into_iter().chain([(&second, "two"); 13]);
        let mut scenario = world().workload(workload(first.class, "one", 4));
        for (at, (seen, template)) in looks.enumerate() {
            let opinion = judge(&Evidence { at: scenario.world.now + wellfed_engine::testing::secs(60), ..seen.clone() });
            shown(&opinion, &scenario)?;
            scenario = looked(scenario, template, opinion, later);
            kept(&scenario)?;
            if at == 2 {
                scenario = scenario.becomes(workload(first.class, "one", 8));
            }
        }
    }
}

const NAME: &str = "absurd";

fn workload(class: Class, template: &str, running: u32) -> WorkloadBuilder {
    let new = match class {
        Class::Inference => server,
        Class::Training => trainer,
        Class::Batch => batch,
    };
    new(NAME).running(running).max(8).wanting(40).template(template)
}

/// A minute later, with this opinion, and signals that say as absurd things.
fn looked(scenario: Scenario, template: &str, opinion: Opinion, [throughput, latency, quality]: Numbers) -> Scenario {
    let later = scenario.later(60).change(NAME, |workload| {
        if let Some(current) = &mut workload.template {
            template.clone_into(&mut current.digest);
        }
        workload.measures = Measures { throughput: Some(throughput), latency: Some(latency), quality: Some(quality) };
        workload.opinion = Some(opinion);
    });
    later.remembered(true)
}

/// The decision and what is remembered of it can be written, read again and told.
fn kept(scenario: &Scenario) -> Result<(), TestCaseError> {
    let decision = scenario.decision(NAME);
    prop_assert!(!explain::sentence(&decision).is_empty() && !explain::steps(&decision).is_empty());
    let memory = &scenario.find(NAME).unwrap().memory;
    let text = serde_json::to_string(memory).unwrap();
    let read = serde_json::from_str::<Memory>(&text);
    prop_assert!(read.as_ref().is_ok_and(|read| read == memory), "{text}: {read:?}");
    for shown in memory.gate.shown() {
        prop_assert!(shown.gain.is_none_or(|gain| !explain::gain(&gain).is_empty()));
        if let Some((before, Some(after))) = shown.figures {
            let _ = (before.against(&after), after.against(&before), after.against(&Figures::default()));
        }
    }
    Ok(())
}

/// Findings, their price and their remedies in words.
fn shown(opinion: &Opinion, scenario: &Scenario) -> Result<(), TestCaseError> {
    let policy = Policy { model: Some(model(opinion)), ..scenario.find(NAME).unwrap().policy.clone() };
    let offer = |name: &str, memory, price| Offer { pool: PoolName::from(name), memory, price: Money::of(price) };
    let figures = opinion.facts.figures;
    let offers = [offer("a", Some(81_559), 3.4), offer("b", None, figures.activity.unwrap_or(f64::NAN))];
    let costed = Costed { policy: &policy, replicas: &[Replicas(4)], wanted: Replicas(8), offers: &offers };
    let seen =
        Seen { activity: figures.activity, peak: figures.memory, from: Some(Replicas(2)), demand: opinion.demand };
    for finding in &opinion.findings {
        prop_assert!(!explain::measured(finding).is_empty());
        prop_assert!(savings(finding.rule, seen, &costed).is_none_or(|saved| !saved.sentence().is_empty()));
        let name = wellfed_engine::finding::FindingName::Rule(finding.rule);
        prop_assert!(remedies(name, policy.class).all(|remedy| !remedy.to_string().is_empty()));
    }
    for peak in [figures.memory, figures.latency, opinion.facts.needs] {
        let sized = sizing(&policy, &offers, peak);
        prop_assert!(
            sized.is_some_and(|sized| !sized.summary().is_empty() && sized.misfit().is_none_or(|one| !one.is_empty()))
        );
    }
    Ok(())
}

/// As large as some number that was measured.
fn model(opinion: &Opinion) -> Model {
    let params = opinion.findings.first().and_then(|finding| finding.measured.first()).map_or(7e9, |one| one.value);
    Model { params, dtype: Dtype::FP16, sharded: false }
}
