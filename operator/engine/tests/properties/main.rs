//! What must hold in every world. Each property names the mutants that it kills.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests may panic

mod absurd;
mod any;
mod at_rest;
mod counting;
mod evidence;
mod history;
mod judge;
mod near;
mod removal;
mod trials;

use any::{greedy, lone, scenario};
use proptest::prelude::*;
use proptest::sample::select;
use wellfed_engine::decision::Decision;
use wellfed_engine::policy::{Amount, RatePolicy};
use wellfed_engine::reading::Reading;
use wellfed_engine::units::{Gpus, Replicas};
use wellfed_engine::world::{Node, SignalValue, Workload, World};
use wellfed_engine::{decide, plan};

fn decided(world: &World) -> Vec<Decision> {
    let decided = decide(world).into_iter().map(|decided| decided.unwrap_or_else(|panicked| panic!("{panicked:?}")));
    decided.collect()
}

fn workload<'a>(world: &'a World, decision: &Decision) -> &'a Workload {
    world.workloads.iter().find(|workload| workload.id == decision.id).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: `bounds` without `.min(max)`, `split` that forces up to `min` instead of `number.min(…)`.
    #[test]
    fn the_number_never_exceeds_the_maximum(scenario in scenario()) {
        for decision in decided(&scenario.world) {
            prop_assert!(decision.number <= workload(&scenario.world, &decision).policy.max);
        }
    }

    /// Kills: `gate` that holds at `current` alone, `capacity` without its floor, `split` without `force`.
    #[test]
    fn the_number_never_falls_below_the_minimum(scenario in scenario()) {
        for decision in decided(&scenario.world) {
            let policy = &workload(&scenario.world, &decision).policy;
            if policy.pools.iter().all(|pool| pool.max.is_none()) {
                prop_assert!(decision.number >= policy.min.min(policy.max));
            }
        }
    }

    /// Kills: `split::result` that reports the number that came in instead of the sum.
    #[test]
    fn the_pools_add_up_to_the_number(scenario in scenario()) {
        for decision in decided(&scenario.world) {
            prop_assert_eq!(decision.pools.iter().map(|pool| pool.to).sum::<Replicas>(), decision.number);
            prop_assert_eq!(decision.pools.iter().map(|pool| pool.from).sum::<Replicas>(), decision.current);
        }
    }

    /// Kills: `fill` that ignores `most`, `force` that ignores it.
    #[test]
    fn no_pool_exceeds_its_maximum(scenario in scenario()) {
        for decision in decided(&scenario.world) {
            let policies = &workload(&scenario.world, &decision).policy.pools;
            let placing = decision.steps.last().unwrap().before;
            for (pool, policy) in decision.pools.iter().zip(policies) {
                prop_assert!(policy.max.is_none_or(|max| pool.to <= max.of(placing)));
            }
        }
    }

    /// Kills: `split` that reserves nothing, `reserve` that drops nothing where pools have the same nodes.
    #[test]
    fn growth_above_the_minimum_never_exceeds_what_is_free(scenario in prop_oneof![scenario(), greedy()]) {
        let world = &scenario.world;
        let limited = |workload: &&Workload| workload.policy.pools.iter().all(|pool| pool.pool.is_some());
        let free: u32 = world.nodes.values().map(|node| node.free.0).sum();
        let mut used = 0;
        for decision in decided(world) {
            let Some(workload) = Some(workload(world, &decision)).filter(limited) else { continue };
            let each = workload.policy.gpus_per_replica.0.max(1);
            let growth = decision.number.minus(decision.current.max(workload.policy.min)).0;
            let whole: u32 = world.nodes.values().map(|node| node.free.0 / each).sum();
            prop_assert!(growth <= whole);
            used += growth * each;
        }
        prop_assert!(used <= free, "{used} of {free}");
    }

    /// Kills: `World::in_order` without its sort, `Ledger::of` in the order of the list.
    #[test]
    fn the_order_of_the_list_does_not_matter(scenario in scenario(), rotate in 0_usize..4, reverse: bool) {
        let mut shuffled = scenario.world.clone();
        let by = rotate % shuffled.workloads.len();
        shuffled.workloads.rotate_left(by);
        if reverse {
            shuffled.workloads.reverse();
        }

        prop_assert_eq!(decided(&shuffled), decided(&scenario.world));
    }

    /// Kills: any state between two passes (a static cache of the ledger).
    #[test]
    fn the_same_world_gives_the_same_decisions(scenario in scenario()) {
        prop_assert_eq!(decided(&scenario.world), decided(&scenario.world.clone()));
    }

    /// Kills: `in_order` that ignores the mode.
    #[test]
    fn what_is_not_written_changes_nobody_elses_number(scenario in prop_oneof![scenario(), greedy()]) {
        use wellfed_engine::policy::Mode;
        let unwritten = |decision: &Decision| workload(&scenario.world, decision).policy.mode == Mode::Recommend;
        let mut without = scenario.world.clone();
        without.workloads.iter_mut().filter(|one| one.policy.mode == Mode::Recommend).for_each(|one| one.policy.mode = Mode::Paused);
        let (all, fewer) = (decided(&scenario.world), decided(&without));

        for decision in all.iter().filter(|decision| !unwritten(decision)) {
            let other = fewer.iter().find(|other| other.id == decision.id).unwrap();
            prop_assert_eq!(decision.number, other.number);
        }
    }

    /// Kills: a step that starts from something else than the last one's number.
    #[test]
    fn the_steps_are_a_chain_from_the_current_to_the_decided_number(scenario in scenario()) {
        for decision in decided(&scenario.world) {
            prop_assert_eq!(decision.steps[0].before, decision.current);
            prop_assert_eq!(decision.steps[5].after, decision.number);
            prop_assert!(decision.steps.windows(2).all(|pair| pair[0].after == pair[1].before));
        }
    }

    /// Kills: `plan` without its sort, `plan` that writes what does not differ.
    #[test]
    fn a_plan_shrinks_before_it_grows_and_writes_only_what_differs(scenario in scenario()) {
        use wellfed_engine::policy::Mode;
        for decision in decided(&scenario.world) {
            let actions = plan(&decision, Mode::Auto).actions;
            let first_growth = actions.iter().position(|action| action.to > action.from).unwrap_or(actions.len());
            prop_assert!(actions[first_growth..].iter().all(|action| action.to > action.from));
            prop_assert!(actions.iter().all(|action| action.to != action.from));
        }
    }

    /// Kills: unchecked arithmetic anywhere; `believed` without its second look (NaN as zero); loops over counts.
    #[test]
    fn nothing_panics_and_nothing_shrinks_on_absurd_numbers(
        scenario in lone(),
        number in select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, -1.0, 5e-324, 1e308, -1e308, f64::MAX]),
        count in select(vec![0, 1, u32::MAX - 1, u32::MAX]),
        amount in select(vec![Amount::Percent(u32::MAX), Amount::Pods(u32::MAX), Amount::Percent(0)]),
        seconds in select(vec![0, 1, i64::MAX, i64::MIN]),
        which in 0_u8..9,
    ) {
        let mut world = scenario.world;
        absurd(&mut world, number, count, amount, seconds, which);

        let decision = decided(&world).remove(0);

        prop_assert!(decision.number <= world.workloads[0].policy.max);
        let unreadable = which == 0 && !(0.0..9e18).contains(&number) && !world.workloads[0].signals.is_empty();
        if unreadable {
            prop_assert!(decision.wanted >= decision.current, "{number} read as a number");
        }
    }
}

/// Puts absurd numbers where `which` says.
fn absurd(world: &mut World, number: f64, count: u32, amount: Amount, seconds: i64, which: u8) {
    use jiff::{SignedDuration, Timestamp};
    let duration = SignedDuration::from_secs(seconds);
    let workload = &mut world.workloads[0];
    let policy = &mut workload.policy;
    match which {
        0 => workload.signals.iter_mut().for_each(|signal| {
            signal.value = SignalValue::External(Reading::Known { value: number, at: world.now });
        }),
        1 => policy
            .signals
            .iter_mut()
            .for_each(|signal| signal.target = wellfed_engine::policy::Target::AverageValue(number)),
        2 => workload.pools.iter_mut().for_each(|pool| pool.asked = Replicas(count)),
        3 => (policy.min, policy.max) = (Replicas(count), Replicas(u32::MAX)),
        4 => policy.gpus_per_replica = Gpus(count),
        5 => world.nodes.values_mut().for_each(|node| *node = Node { free: Gpus(count) }),
        6 => {
            policy.behavior.up.policies = vec![RatePolicy { amount, period: duration }];
            policy.behavior.down.policies = policy.behavior.up.policies.clone();
            workload.pools.iter_mut().for_each(|pool| pool.asked = Replicas(count));
        }
        7 => {
            (policy.behavior.up.window, policy.behavior.down.window) = (duration, duration);
            (policy.gate.window, policy.gate.expiry, policy.gate.spacing) = (duration, duration, duration);
        }
        _ => world.now = if seconds < 1 { Timestamp::MIN } else { Timestamp::MAX },
    }
}
