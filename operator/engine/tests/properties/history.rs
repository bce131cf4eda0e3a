//! What must hold over time.

use crate::any::{signal, silent_workload};
use crate::decided;
use proptest::collection::vec;
use proptest::prelude::*;
use wellfed_engine::decision::Reason;
use wellfed_engine::memory::Memory;
use wellfed_engine::testing::{Scenario, Signal, WorkloadBuilder, busy_gpu, secs, starved_gpu, world};
use wellfed_engine::world::Workload;

/// What happens between two looks.
#[derive(Clone, Debug)]
struct Moment {
    milliseconds: i64,
    signals: Vec<Signal>,
    starved: Option<bool>,
    written: bool,
    /// Replicas that somebody added by hand.
    by_hand: u32,
}

fn moment() -> impl Strategy<Value = Moment> {
    let milliseconds = prop_oneof![4 => 1_000_i64..6_000, 1 => 30_000_i64..400_000];
    let by_hand = prop_oneof![8 => Just(0_u32), 1 => 1_u32..9];
    let starved = proptest::option::of(any::<bool>());
    (milliseconds, vec(signal(), 1..3), starved, any::<bool>(), by_hand).prop_map(
        |(milliseconds, signals, starved, written, by_hand)| Moment {
            milliseconds,
            signals,
            starved,
            written,
            by_hand,
        },
    )
}

/// `builder` with what the moment says of it.
fn at_moment(builder: &WorkloadBuilder, moment: &Moment) -> WorkloadBuilder {
    let builder = moment.signals.iter().fold(builder.clone(), |builder, signal| builder.signal(signal.clone()));
    match moment.starved {
        None => builder,
        Some(true) => builder.seen(|gpu, container| {
            *gpu = starved_gpu();
            container.throttled = Some(wellfed_engine::span::Span::exact(1.0 / 3.0));
        }),
        Some(false) => builder.seen(|gpu, _| *gpu = busy_gpu()),
    }
}

fn lived(scenario: Scenario, builder: &WorkloadBuilder, moment: &Moment) -> Scenario {
    let mut scenario = scenario.becomes(at_moment(builder, moment));
    let asked = &mut scenario.world.workloads[0].pools[0].asked;
    asked.0 += moment.by_hand;
    scenario.world.now += jiff::SignedDuration::from_millis(moment.milliseconds) + jiff::SignedDuration::from_nanos(7);
    scenario.evaluated()
}

fn text(workload: &Workload) -> String {
    serde_json::to_string(&workload.memory).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: desires or changes that are never merged.
    #[test]
    fn a_memory_never_exceeds_four_kibibytes(builder in silent_workload(), life in vec(moment(), 200..300)) {
        let builder = builder.policy(|policy| policy.behavior.down.window = secs(86_400));
        let mut scenario = world().pool("a", &[8; 9]).pool("b", &[8; 9]).pool("c", &[8; 9]).workload(builder.clone());
        for moment in &life {
            scenario = lived(scenario, &builder, moment).remembered(moment.written);
            let length = text(&scenario.world.workloads[0]).len();
            prop_assert!(length <= 4_096, "{length} bytes");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: moments finer than what is written, measured values that are not rounded, a field that is skipped.
    #[test]
    fn a_memory_that_was_written_and_read_decides_the_same(builder in silent_workload(), life in vec(moment(), 1..60)) {
        let mut through = world().pool("a", &[8; 9]).workload(builder.clone());
        let mut restarting = through.clone();
        for moment in &life {
            through = lived(through, &builder, moment);
            restarting = lived(restarting, &builder, moment);
            prop_assert_eq!(decided(&restarting.world), decided(&through.world));

            through = through.remembered(moment.written);
            restarting = restarting.remembered(moment.written);
            let memory = &mut restarting.world.workloads[0].memory;
            *memory = serde_json::from_str::<Memory>(&serde_json::to_string(memory).unwrap()).unwrap();
            prop_assert_eq!(&*memory, &through.world.workloads[0].memory);
        }
    }

}

proptest! {
    // Gaps that matter come late in a life, before its first whole window of known readings.
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: an adoption that ends at the first known reading, or that a gap does not begin anew.
    #[test]
    fn nothing_new_shrinks_before_a_whole_window_of_known_readings(builder in silent_workload(), life in vec(moment(), 1..60)) {
        let builder = builder.new_here().policy(|policy| policy.behavior.down.window = secs(300));
        let mut scenario = world().workload(builder.clone());
        let mut known_since = None;
        for moment in &life {
            scenario = lived(scenario, &builder, moment);
            let (decision, now) = (decided(&scenario.world).remove(0), scenario.world.now);
            let missing = matches!(decision.steps[0].reason, Reason::SamplesMissing { .. });
            known_since = if decision.troubles.is_empty() && !missing { known_since.or(Some(now)) } else { None };
            if known_since.is_none_or(|since| now.duration_since(since) < secs(300)) {
                prop_assert!(decision.steps[1].after >= decision.current);
            } else {
                break;
            }
            scenario = scenario.remembered(moment.written);
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: `noted` that stores the stabilised number (F3).
    #[test]
    fn what_was_wanted_long_ago_is_forgotten(builder in silent_workload(), life in vec(moment(), 1..40)) {
        let builder = builder.policy(|policy| {
            policy.behavior = wellfed_engine::testing::behavior();
            policy.pools.clear();
        });
        let mut scenario = world().workload(builder.clone());
        for moment in &life {
            scenario = lived(scenario, &builder, moment).remembered(false);
        }
        let quiet = builder.signal(wellfed_engine::testing::average("average", 0.0, 1.0));
        let mut scenario = scenario.becomes(quiet);
        for _ in 0..140 {
            scenario = scenario.later(5).remembered(false);
        }
        prop_assert_eq!(decided(&scenario.world)[0].steps[1].after.0, 0);
    }
}
