//! Replicas on trial: what is lost of their samples never makes a ceiling.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use wellfed_engine::figures::{Throughput, WorkUnit};
use wellfed_engine::gate::Ceiling;
use wellfed_engine::opinion::{Gap, Lean, Opinion};
use wellfed_engine::policy::Class;
use wellfed_engine::reading::Reading;
use wellfed_engine::testing::{Scenario, WorkloadBuilder, batch, server, trainer, world};
use wellfed_engine::units::Replicas;
use wellfed_engine::world::{SignalValue, Workload};

const NAME: &str = "grown";

/// What is known of a workload, before growth or since.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// Work of one replica a second, and how far replicas differ.
    each: f64,
    spread: f64,
    /// In the servers' queues, seconds.
    queue: Option<f64>,
    /// By a latency signal.
    latency: Option<f64>,
    /// Replicas that demand asks for.
    wanted: u32,
}

/// A workload that grew.
#[derive(Clone, Debug)]
struct Growth {
    class: Class,
    from: u32,
    to: u32,
    before: Told,
    after: Told,
}

/// What may be lost of one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    Nothing,
    Throughput,
    Spread,
    Replica,
    Queue,
    Latency,
    Waits,
    Demand,
    Gpus,
    Look,
}

const LOSSES: [Loss; 10] = [
    Loss::Nothing,
    Loss::Throughput,
    Loss::Spread,
    Loss::Replica,
    Loss::Queue,
    Loss::Latency,
    Loss::Waits,
    Loss::Demand,
    Loss::Gpus,
    Loss::Look,
];

/// Looks after growth: more than a window of them.
const LOOKS: usize = 14;

/// Either before growth, or after it. A wait that is lost on both sides is one that was never told.
#[derive(Clone, Debug)]
enum Lost {
    Before(Loss),
    After(Vec<Loss>),
}

fn lost() -> impl Strategy<Value = Lost> {
    let one = || prop_oneof![2 => Just(Loss::Nothing), 3 => select(LOSSES.to_vec())];
    prop_oneof![
        1 => one().prop_map(Lost::Before),
        2 => vec(one(), LOOKS).prop_map(Lost::After),
        // The same of every look.
        2 => one().prop_map(|loss| Lost::After(vec![loss; LOOKS])),
    ]
}

fn growth() -> impl Strategy<Value = Growth> {
    let class = select(vec![Class::Inference, Class::Training, Class::Batch]);
    let waits = (option::weighted(0.6, 0.1_f64..1.0), option::weighted(0.4, 0.1_f64..1.0));
    let change = || prop_oneof![Just(1.0), 0.6_f64..1.3];
    let changes =
        (prop_oneof![0.3_f64..0.8, 0.5_f64..1.1], change(), change(), prop_oneof![2 => Just(40_u32), 1 => 9_u32..40]);
    (class, 1_u32..4, 1_u32..4, waits, 0.0_f64..8.0, changes).prop_map(
        |(class, from, more, (queue, latency), spread, (work, queues, told, wanted))| {
            let before = Told { each: 100.0, spread, queue, latency, wanted: 40 };
            let after = Told {
                each: 100.0 * work,
                queue: queue.map(|queue| queue * queues),
                latency: latency.map(|latency| latency * told),
                wanted,
                ..before
            };
            Growth { class, from, to: from + more, before, after }
        },
    )
}

fn workload(growth: &Growth, running: u32, told: &Told) -> WorkloadBuilder {
    let new = match growth.class {
        Class::Inference => server,
        Class::Training => trainer,
        Class::Batch => batch,
    };
    new(NAME).running(running).max(growth.to).wanting(told.wanted).busy().template("one")
}

/// A minute later, with what is told and without what is lost.
fn looked(scenario: Scenario, replicas: u32, told: &Told, loss: Loss) -> Scenario {
    scenario.later(60).evaluated().change(NAME, |workload| {
        workload.measures.latency = told.latency;
        let Some(opinion) = &mut workload.opinion else { return };
        tell(opinion, replicas, told);
        lose(workload, loss);
    })
}

fn tell(opinion: &mut Opinion, replicas: u32, told: &Told) {
    let total = told.each * f64::from(replicas);
    let spread = Some(if replicas == 1 { 0.0 } else { told.spread });
    opinion.facts.figures.throughput = Some(Throughput { unit: WorkUnit::Tokens, total, replicas, spread });
    opinion.facts.waits.queue = told.queue;
}

fn lose(workload: &mut Workload, loss: Loss) {
    if matches!(loss, Loss::Latency | Loss::Waits) {
        workload.measures.latency = None;
    }
    if matches!(loss, Loss::Demand | Loss::Waits) {
        workload.signals.iter_mut().for_each(|signal| signal.value = SignalValue::External(Reading::Missing));
    }
    if loss == Loss::Look {
        workload.opinion = None;
    }
    let Some(opinion) = &mut workload.opinion else { return };
    let figures = &mut opinion.facts.figures;
    match loss {
        Loss::Throughput => figures.throughput = None,
        Loss::Spread => figures.throughput = figures.throughput.map(|work| Throughput { spread: None, ..work }),
        Loss::Replica => {
            figures.throughput = figures.throughput.filter(|work| work.replicas > 1).map(|work| Throughput {
                total: work.each() * f64::from(work.replicas - 1),
                replicas: work.replicas - 1,
                ..work
            });
        }
        Loss::Queue | Loss::Waits => opinion.facts.waits.queue = None,
        Loss::Gpus => opinion.lean = Lean::Unknown(Gap::GpusUnseen { seen: 0, expected: 4 }),
        Loss::Nothing | Loss::Latency | Loss::Demand | Loss::Look => {}
    }
}

/// The ceiling that stands after each look.
fn ceilings(growth: &Growth, lost: &Lost) -> Vec<Option<Ceiling>> {
    let Growth { from, to, before, after, .. } = growth;
    let first = if let Lost::Before(loss) = lost { *loss } else { Loss::Nothing };
    let small = looked(world().workload(workload(growth, *from, before)), *from, before, first).remembered(true);
    let mut scenario = small.becomes(workload(growth, *to, after));
    let losses = if let Lost::After(losses) = lost { losses.clone() } else { vec![Loss::Nothing; LOOKS] };
    let each = losses.into_iter().map(|loss| {
        let told = workload(growth, *to, after);
        scenario = looked(scenario.clone().becomes(told), *to, after, loss).remembered(false);
        scenario.find(NAME).and_then(|workload| workload.memory.gate.ceiling)
    });
    each.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: a spread that is unknown taken as none; totals of different numbers of replicas compared; waits compared only
    /// where both are known; a look without a verdict that judges growth.
    #[test]
    fn what_is_lost_never_makes_a_ceiling(growth in growth(), lost in lost()) {
        let (whole, fewer) = (ceilings(&growth, &Lost::Before(Loss::Nothing)), ceilings(&growth, &lost));

        if whole.iter().all(Option::is_none) {
            prop_assert!(fewer.iter().all(Option::is_none), "{fewer:?}");
        }
    }
}

/// A property over growth that always brings something would prove nothing.
#[test]
fn the_generator_makes_growth_that_brings_nothing_and_growth_that_does() {
    let mut runner = TestRunner::deterministic();
    let all: Vec<Growth> = (0..200).map(|_| growth().new_tree(&mut runner).unwrap().current()).collect();
    let capped = all.iter().filter(|growth| ceilings(growth, &Lost::Before(Loss::Nothing)).iter().any(Option::is_some));
    let capped = capped.count();
    let replicas = |growth: &Growth| ceilings(growth, &Lost::Before(Loss::Nothing))[LOOKS - 1].map(|one| one.replicas);

    assert!((20..180).contains(&capped), "{capped} of 200");
    assert!(all.iter().filter_map(replicas).any(|replicas| replicas > Replicas(1)));
}
