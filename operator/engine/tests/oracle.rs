//! HPA's documented algorithm, written a second time from its documentation and in whole thousandths with exact
//! fractions, compared with the engine over random cases.
//!
//! Two departures are modelled here, and nothing else differs:
//! * while a Ready replica lacks a value the number never falls (`SamplesMissing`);
//! * every pod that is not Ready is set aside, as the documentation says and HPA does for CPU; for other metrics HPA adds
//!   what a running pod reports before it is Ready.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::collections::HashMap;
use wellfed_engine::policy::{Amount, Behavior, Pace, RatePolicy, Select};
use wellfed_engine::testing::{Signal, average, each, in_pool, secs, server, unlimited_pool, value, world};

const CASES: usize = 12_000;

/// A fraction of whole numbers; compared by cross-multiplication.
#[derive(Clone, Copy)]
struct Fraction {
    above: i128,
    below: i128,
}

impl Fraction {
    fn exceeds(self, thousandths: i128) -> bool {
        self.above * 1000 > thousandths * self.below
    }

    fn is_under(self, thousandths: i128) -> bool {
        self.above * 1000 < thousandths * self.below
    }

    fn rounded_up(self) -> i128 {
        (self.above + self.below - 1).div_euclid(self.below)
    }
}

/// How wide the band around one is, in thousandths.
#[derive(Clone, Copy, Debug)]
struct Tolerance {
    down: i128,
    up: i128,
}

impl Tolerance {
    fn holds(self, ratio: Fraction) -> bool {
        !ratio.is_under(1000 - self.down) && !ratio.exceeds(1000 + self.up)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PodSeen {
    /// Ready, with this many thousandths.
    Value(i128),
    /// Ready, without a value.
    NoValue,
    NotReady,
    Gone,
}

/// "Algorithm details" and "How does the autoscaler handle missing metrics" for a metric of pods.
fn by_pods(pods: &[PodSeen], target: i128, current: i128, tolerance: Tolerance) -> Option<i128> {
    let mut values: HashMap<usize, i128> = HashMap::new();
    let (mut missing, mut not_ready) = (Vec::new(), Vec::new());
    for (index, pod) in pods.iter().enumerate() {
        match pod {
            PodSeen::Value(value) => {
                values.insert(index, *value);
            }
            PodSeen::NoValue => missing.push(index),
            PodSeen::NotReady => not_ready.push(index),
            PodSeen::Gone => {}
        }
    }
    if values.is_empty() {
        return None;
    }
    let mean_over_target = |values: &HashMap<usize, i128>| Fraction {
        above: values.values().sum(),
        below: target * i128::try_from(values.len()).unwrap(),
    };
    let needed = |values: &HashMap<usize, i128>| Fraction { above: values.values().sum(), below: target }.rounded_up();

    let first = mean_over_target(&values);
    let grows = first.exceeds(1000);
    let shrinks = first.is_under(1000);
    let dampens = grows && !not_ready.is_empty();
    if missing.is_empty() && !dampens {
        return Some(if tolerance.holds(first) { current } else { needed(&values) });
    }
    let had_missing = !missing.is_empty();
    if shrinks {
        values.extend(missing.iter().map(|index| (*index, target)));
    } else if grows {
        values.extend(missing.iter().map(|index| (*index, 0)));
    }
    if dampens {
        values.extend(not_ready.iter().map(|index| (*index, 0)));
    }
    let second = mean_over_target(&values);
    let crossed = (shrinks && second.exceeds(1000)) || (grows && second.is_under(1000));
    let mut answer = needed(&values);
    if tolerance.holds(second) || crossed {
        answer = current;
    }
    let against = (second.is_under(1000) && answer > current) || (second.exceeds(1000) && answer < current);
    if against {
        answer = current;
    }
    // The departure.
    Some(if had_missing { answer.max(current) } else { answer })
}

/// An External metric with `AverageValue`.
fn by_average(number: i128, target: i128, current: i128, tolerance: Tolerance) -> i128 {
    let fits = current > 0 && tolerance.holds(Fraction { above: number, below: target * current });
    if fits { current } else { Fraction { above: number, below: target }.rounded_up() }
}

/// An External metric with `Value`.
fn by_value(number: i128, target: i128, current: i128, ready: i128, tolerance: Tolerance) -> i128 {
    let ratio = Fraction { above: number, below: target };
    if current == 0 {
        ratio.rounded_up()
    } else if tolerance.holds(ratio) || ready == 0 {
        // With no Ready replica: the other departure, HPA would answer zero.
        current
    } else {
        Fraction { above: number * ready, below: target }.rounded_up()
    }
}

/// Cases that gather at the edges: most values are a tidy multiple of the target.
struct Dice(TestRng);

impl Dice {
    fn new() -> Self {
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
    }

    fn up_to(&mut self, most: u32) -> u32 {
        self.0.next_u32() % (most + 1)
    }

    fn one_in(&mut self, many: u32) -> bool {
        self.up_to(many - 1) == 0
    }

    fn target(&mut self) -> i128 {
        let tidy = [1, 10, 100, 333, 700, 1_000, 2_500, 10_000, 32_000, 1_000_000];
        if self.one_in(4) { i128::from(self.up_to(50_000)) + 1 } else { tidy[self.up_to(9) as usize] }
    }

    fn near(&mut self, target: i128) -> i128 {
        let edges = [0, 500, 899, 900, 901, 950, 999, 1_000, 1_001, 1_099, 1_100, 1_101, 1_500, 2_000];
        let share = if self.one_in(2) { edges[self.up_to(13) as usize] } else { self.up_to(4_000) };
        target * i128::from(share) / 1000
    }

    fn pod(&mut self, target: i128) -> PodSeen {
        match self.up_to(11) {
            0 => PodSeen::NoValue,
            1 => PodSeen::NotReady,
            2 => PodSeen::Gone,
            _ => PodSeen::Value(self.near(target)),
        }
    }

    fn tolerance(&mut self) -> Tolerance {
        let widths = [0, 10, 50, 100, 100, 100, 250];
        Tolerance { down: widths[self.up_to(6) as usize], up: widths[self.up_to(6) as usize] }
    }
}

#[allow(clippy::cast_precision_loss)]
fn real(thousandths: i128) -> f64 {
    thousandths as f64 / 1000.0
}

fn engine(pods: &[PodSeen], asked: i128, tolerance: Tolerance, signals: &[Signal]) -> i128 {
    let pool = pods.iter().fold(unlimited_pool(), |pool, pod| match pod {
        PodSeen::Value(_) | PodSeen::NoValue => pool.running(1),
        PodSeen::NotReady => pool.starting(1, 10),
        PodSeen::Gone => pool.ended(1),
    });
    let chat = server("chat").pool(pool.asked(u32::try_from(asked).unwrap())).policy(|policy| {
        policy.behavior.down.tolerance = real(tolerance.down);
        policy.behavior.up.tolerance = real(tolerance.up);
    });
    let chat = signals.iter().fold(chat, |chat, signal| chat.signal(signal.clone()));
    i128::from(world().workload(chat).decision("chat").wanted.0)
}

#[test]
fn one_number_a_pod_gives_what_the_documentation_says() {
    let mut dice = Dice::new();
    for case in 0..CASES {
        let (target, tolerance) = (dice.target(), dice.tolerance());
        let pods: Vec<_> = (0..=dice.up_to(12)).map(|_| dice.pod(target)).collect();
        let asked = i128::from(dice.up_to(14));
        let rows: Vec<_> = pods
            .iter()
            .map(|pod| match pod {
                PodSeen::Value(value) => Some(real(*value)),
                PodSeen::NotReady | PodSeen::Gone => Some(real(target * 9)),
                PodSeen::NoValue => None,
            })
            .collect();

        let expected = by_pods(&pods, target, asked, tolerance).unwrap_or(asked);
        let got = engine(&pods, asked, tolerance, &[each("queue", real(target), &rows)]);

        assert_eq!(got, expected, "case {case}: {pods:?}, target {target}, asked {asked}, {tolerance:?}");
    }
}

#[test]
fn one_number_for_the_workload_gives_what_the_documentation_says() {
    let mut dice = Dice::new();
    for case in 0..CASES {
        let (target, tolerance) = (dice.target(), dice.tolerance());
        let pods: Vec<_> = (0..dice.up_to(12)).map(|_| dice.pod(target)).collect();
        let ready = pods.iter().filter(|pod| matches!(pod, PodSeen::Value(_) | PodSeen::NoValue)).count();
        let (asked, ready) = (i128::from(dice.up_to(14)), i128::try_from(ready).unwrap());
        let per_replica = dice.near(target) * asked.max(1);
        let (share, one) = (per_replica + i128::from(dice.up_to(2)), dice.near(target));

        let context = format!("case {case}: {share} or {one} of {target}, asked {asked}, ready {ready}, {tolerance:?}");
        let got = engine(&pods, asked, tolerance, &[average("load", real(share), real(target))]);
        assert_eq!(got, by_average(share, target, asked, tolerance), "AverageValue, {context}");
        let got = engine(&pods, asked, tolerance, &[value("load", real(one), real(target))]);
        assert_eq!(got, by_value(one, target, asked, ready, tolerance), "Value, {context}");
        let got = engine(
            &pods,
            asked,
            tolerance,
            &[average("load", real(share), real(target)), value("latency", real(one), real(target))],
        );
        let expected = by_average(share, target, asked, tolerance).max(by_value(one, target, asked, ready, tolerance));
        assert_eq!(got, expected, "the larger of both, {context}");
    }
}

/// "Scaling policies" and "Stabilization window": the number that the behaviour lets through. `ups` and `downs` hold
/// (age in seconds, replicas), `desires` (age in seconds, raw desire) with the newest last.
struct Past<'a> {
    ups: &'a [(i64, i128)],
    downs: &'a [(i64, i128)],
    desires: &'a [(i64, i128)],
}

fn behaved(desire: i128, current: i128, past: &Past, behavior: &Behavior) -> i128 {
    let recent = |window: i64| past.desires.iter().filter(move |(age, _)| *age < window).map(|(_, desire)| *desire);
    let lowest = recent(behavior.up.window.as_secs()).fold(desire, i128::min);
    let highest = recent(behavior.down.window.as_secs()).fold(desire, i128::max);
    let stable = if current < lowest {
        lowest
    } else if current > highest {
        highest
    } else {
        current
    };
    let moved = |events: &[(i64, i128)], period: i64| -> i128 {
        events.iter().filter(|(age, _)| *age < period).map(|(_, replicas)| *replicas).sum()
    };
    let limits = |pace: &Pace, sign: i128| -> Vec<i128> {
        let limit = |policy: &RatePolicy| {
            let period = policy.period.as_secs();
            let start = current - moved(past.ups, period) + moved(past.downs, period);
            match policy.amount {
                Amount::Pods(pods) => start + sign * i128::from(pods),
                Amount::Percent(percent) if sign > 0 => (start * (100 + i128::from(percent)) + 99).div_euclid(100),
                Amount::Percent(percent) => (start * (100 - i128::from(percent))).div_euclid(100),
            }
        };
        pace.policies.iter().map(limit).collect()
    };
    if stable > current {
        let limits = limits(&behavior.up, 1);
        let most = match behavior.up.select {
            Select::Max => limits.iter().max(),
            Select::Min => limits.iter().min(),
            Select::Disabled => Some(&current),
        };
        return stable.min(most.copied().unwrap_or(i128::MAX).max(current));
    }
    let limits = limits(&behavior.down, -1);
    let least = match behavior.down.select {
        Select::Max => limits.iter().min(),
        Select::Min => limits.iter().max(),
        Select::Disabled => Some(&current),
    };
    stable.max(least.copied().unwrap_or(0).min(current))
}

/// A workload lives for twenty cycles under a random behaviour; each number is what the oracle says it should be.
#[test]
fn the_behaviour_block_gives_what_the_documentation_says() {
    let mut dice = Dice::new();
    for case in 0..500 {
        let behavior = Behavior { up: random_pace(&mut dice), down: random_pace(&mut dice) };
        let chat = |running: i128, wanted: i128| {
            let pool = in_pool("any").asked(u32::try_from(running).unwrap());
            let chat = server("chat").min(0).max(1_000).pool(pool).wanting(u32::try_from(wanted).unwrap());
            chat.policy(|policy| {
                policy.behavior = behavior.clone();
                policy.behavior.up.tolerance = 0.0;
                policy.behavior.down.tolerance = 0.0;
            })
        };
        let mut current = i128::from(dice.up_to(20)) + 1;
        let mut second = 0;
        let (mut ups, mut downs) = (Vec::new(), Vec::new());
        let mut desires = vec![(0, current)];
        let mut scenario = roomy().workload(chat(current, current));
        for _ in 0..20 {
            let desire = i128::from(dice.up_to(40));
            let aged = |events: &[(i64, i128)]| -> Vec<(i64, i128)> {
                events.iter().map(|(at, replicas)| (second - at, *replicas)).collect()
            };
            let past = Past { ups: &aged(&ups), downs: &aged(&downs), desires: &ends(&desires, second) };
            let expected = behaved(desire, current, &past, &behavior).max(0);
            scenario = scenario.becomes(chat(current, desire));
            let got = i128::from(scenario.decision("chat").steps[1].after.0);
            assert_eq!(got, expected, "case {case}, second {second}: {desire} of {current}, {behavior:?}, {desires:?}");

            scenario = scenario.remembered(true);
            if got > current {
                ups.push((second, got - current));
            } else if got < current {
                downs.push((second, current - got));
            }
            desires.push((second, desire));
            current = got;
            let step = i64::from(dice.up_to(40)) + 1;
            second += step;
            scenario = scenario.later(step);
        }
    }
}

fn roomy() -> wellfed_engine::testing::Scenario {
    world().pool("any", &[2_000])
}

/// A desire counts until the next one is made, since nothing is decided in between; ages in seconds.
fn ends(desires: &[(i64, i128)], now: i64) -> Vec<(i64, i128)> {
    let next = desires.iter().skip(1).map(|(at, _)| *at).chain([now]);
    desires.iter().zip(next).map(|((_, desire), end)| (now - end, *desire)).collect()
}

fn random_pace(dice: &mut Dice) -> Pace {
    let windows = [0, 0, 30, 60, 300];
    let periods = [15, 30, 60, 300];
    let policies = (0..dice.up_to(2))
        .map(|_| {
            let amount =
                if dice.one_in(2) { Amount::Pods(dice.up_to(6) + 1) } else { Amount::Percent(dice.up_to(99) + 1) };
            RatePolicy { amount, period: secs(periods[dice.up_to(3) as usize]) }
        })
        .collect();
    let select = [Select::Max, Select::Max, Select::Min, Select::Min, Select::Disabled][dice.up_to(4) as usize];
    Pace { window: secs(windows[dice.up_to(4) as usize]), tolerance: 0.0, policies, select }
}
