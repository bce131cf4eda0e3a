//! Random worlds, plain and absurd ones.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use wellfed_engine::memory::Memory;
use wellfed_engine::policy::{GateMode, Mode, OnUnknown, Pace, RatePolicy, Select};
use wellfed_engine::reading::{Oddity, ReadFailure, Reading};
use wellfed_engine::testing::{
    NOW, PoolBuilder, Scenario, Signal, WorkloadBuilder, at, average, batch, broken, each, in_pool, percent, pods,
    secs, server, trainer, unlimited_pool, unread, value, world,
};
use wellfed_engine::units::PoolName;

pub const POOLS: [&str; 3] = ["a", "b", "c"];

/// One to four workloads that share up to three pools.
pub fn scenario() -> impl Strategy<Value = Scenario> {
    (vec(workload(), 1..=4), cluster()).prop_map(|(workloads, cluster)| populated(cluster, workloads))
}

/// One workload, so that nothing but itself can change its number.
pub fn lone() -> impl Strategy<Value = Scenario> {
    (workload(), cluster()).prop_map(|(workload, cluster)| populated(cluster, vec![workload]))
}

fn populated(cluster: Scenario, workloads: Vec<WorkloadBuilder>) -> Scenario {
    let mut scenario = workloads.into_iter().fold(cluster, Scenario::workload);
    for (number, workload) in (0_i64..).zip(&mut scenario.world.workloads) {
        workload.id.name = format!("workload-{number}");
        workload.created = at(-number);
    }
    scenario
}

/// A workload that is free to shrink at once, in one pool without limits.
pub fn loose() -> impl Strategy<Value = Scenario> {
    let pods = (1_u32..7, 0_u32..2, 0_u32..3, 0_i64..2_000);
    let signals =
        vec(prop_oneof![3 => per_pod(), 2 => for_all(), 1 => trouble().prop_map(|why| broken("broken", why))], 1..4);
    (pods, signals, 0_u32..3).prop_map(|((running, pending, starting, seconds), signals, min)| {
        let pool = unlimited_pool().running(running).pending(pending, seconds).starting(starting, seconds);
        let loose = server("workload-0").min(min).gate(GateMode::Off).pool(pool);
        let loose = loose.policy(|policy| policy.behavior.down.window = secs(0));
        world().workload(signals.into_iter().fold(loose, WorkloadBuilder::signal))
    })
}

/// Two to four workloads that all want much more than there is.
pub fn greedy() -> impl Strategy<Value = Scenario> {
    let workload = (0_u32..3, 1_u32..9, 1_usize..=3, mode()).prop_map(|(running, gpus, pools, mode)| {
        let eager = server("workload").mode(mode).gate(GateMode::Off).gpus_each(gpus).wanting(40);
        let eager = eager.policy(|policy| policy.behavior.up.policies.clear());
        POOLS[..pools].iter().fold(eager, |eager, name| eager.pool(in_pool(name).running(running)))
    });
    (vec(workload, 2..=4), cluster()).prop_map(|(workloads, cluster)| populated(cluster, workloads))
}

fn cluster() -> impl Strategy<Value = Scenario> {
    (vec(vec(0_u32..=8, 0..5), 3), option::of(0_u32..60), prop::bool::weighted(0.3)).prop_map(
        |(pools, limit, shared)| {
            let mut cluster = POOLS.iter().zip(pools).fold(world(), |cluster, (name, free)| cluster.pool(name, &free));
            // Two pools of the same nodes: each has room alone, and together they have no more.
            if shared {
                let nodes = cluster.world.pools[&PoolName::from(POOLS[0])].nodes.clone();
                cluster.world.pools.entry(PoolName::from(POOLS[1])).and_modify(|pool| pool.nodes = nodes);
            }
            limit.map_or(cluster.clone(), |limit| cluster.limit("a", limit))
        },
    )
}

/// With up to three signals.
fn workload() -> impl Strategy<Value = WorkloadBuilder> {
    (silent_workload(), vec(signal(), 0..4))
        .prop_map(|(silent, signals)| signals.into_iter().fold(silent, WorkloadBuilder::signal))
}

/// Without signals.
pub fn silent_workload() -> impl Strategy<Value = WorkloadBuilder> {
    let numbers = (0_u32..6, 0_u32..30, 0_u32..9);
    let kind = (0_u8..3, mode(), gate_mode(), on_unknown(), any::<bool>());
    let speed = (pace(), pace());
    (numbers, kind, pools(), speed).prop_map(|((min, max, gpus), kind, pools, speed)| {
        let (class, mode, gate, on_unknown, adopted) = kind;
        let new = [server, trainer, batch][usize::from(class)]("workload");
        let new = if adopted { new } else { new.remembering(Memory::default()) };
        let new = new.min(min).max(max).gpus_each(gpus).mode(mode).gate(gate).on_unknown(on_unknown);
        let new = new.policy(|policy| (policy.behavior.up, policy.behavior.down) = speed);
        pools.into_iter().fold(new, WorkloadBuilder::pool)
    })
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![6 => Just(Mode::Auto), 1 => Just(Mode::Recommend)]
}

fn gate_mode() -> impl Strategy<Value = GateMode> {
    prop_oneof![4 => Just(GateMode::Enforce), 1 => Just(GateMode::Advise), 1 => Just(GateMode::Off)]
}

fn on_unknown() -> impl Strategy<Value = OnUnknown> {
    prop_oneof![Just(OnUnknown::Allow), Just(OnUnknown::Hold)]
}

fn pace() -> impl Strategy<Value = Pace> {
    let select = prop_oneof![4 => Just(Select::Max), 2 => Just(Select::Min), 1 => Just(Select::Disabled)];
    let window = prop_oneof![2 => Just(0_i64), 1 => Just(60), 1 => Just(300)];
    (window, vec(rate(), 0..3), select).prop_map(|(window, policies, select)| Pace {
        window: secs(window),
        tolerance: 0.1,
        policies,
        select,
    })
}

fn rate() -> impl Strategy<Value = RatePolicy> {
    let period = prop_oneof![Just(15_i64), Just(60), Just(1_800)];
    (any::<bool>(), 1_u32..200, period)
        .prop_map(|(whole, amount, period)| if whole { pods(amount / 10 + 1, period) } else { percent(amount, period) })
}

fn pools() -> impl Strategy<Value = Vec<PoolBuilder>> {
    let named = POOLS.map(|name| pool(in_pool(name)));
    let named = (named, 1_usize..=3).prop_map(|(pools, count)| pools.into_iter().take(count).collect());
    prop_oneof![4 => named, 1 => pool(unlimited_pool()).prop_map(|pool| vec![pool])]
}

/// An empty pool entry with random pods and limits.
fn pool(empty: PoolBuilder) -> impl Strategy<Value = PoolBuilder> {
    let pods = (0_u32..5, 0_u32..3, 0_u32..3, 0_u32..2, 0_i64..2_000);
    let policy = (option::of(0_u32..4), option::of(0_u32..8), option::of(0_u32..120), option::of(30_i64..600));
    (pods, policy, option::of(0_u32..8)).prop_map(move |(pods, policy, asked)| {
        let (running, pending, starting, ended, seconds) = pods;
        let (base, max, share, spill) = policy;
        let pool = empty.clone().running(running).pending(pending, seconds).starting(starting, seconds).ended(ended);
        let pool = base.map_or(pool.clone(), |base| pool.base(base));
        let pool = max.map_or(pool.clone(), |max| pool.max(max));
        let pool = share.filter(|_| max.is_none()).map_or(pool.clone(), |share| pool.max_percent(share));
        let pool = spill.map_or(pool.clone(), |spill| pool.spill_after(spill));
        asked.map_or(pool.clone(), |asked| pool.asked(asked))
    })
}

pub fn signal() -> impl Strategy<Value = Signal> {
    let broken = trouble().prop_map(|why| broken("broken", why));
    let unread = trouble().prop_map(|why| unread("unread", why));
    prop_oneof![4 => for_all(), 4 => per_pod(), 1 => broken, 1 => unread]
}

fn target() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.1), Just(1.0), Just(10.0), 0.001_f64..50.0]
}

fn for_all() -> impl Strategy<Value = Signal> {
    (load(), target(), any::<bool>()).prop_map(|(load, target, average_value)| {
        if average_value { average("average", load, target) } else { value("value", load, target) }
    })
}

fn per_pod() -> impl Strategy<Value = Signal> {
    let load = prop_oneof![load(), 0.0_f64..20.0];
    (target(), vec(option::weighted(0.9, load), 0..14)).prop_map(|(target, rows)| each("each", target, &rows))
}

fn load() -> impl Strategy<Value = f64> {
    prop_oneof![1 => Just(0.0), 8 => 0.0_f64..200.0, 1 => any::<f64>()]
}

fn trouble() -> impl Strategy<Value = Reading<f64>> {
    prop_oneof![
        Just(Reading::Missing),
        Just(Reading::Failed(ReadFailure::Timeout)),
        Just(Reading::Implausible(Oddity::NotANumber)),
        (0.0_f64..100.0).prop_map(|value| Reading::Stale { value, at: NOW }),
    ]
}
