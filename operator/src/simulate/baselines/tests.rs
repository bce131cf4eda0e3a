//! The rivals on fourteen recorded days, against figures of an independent model: fluid, steps of 15 s, no queue, starts
//! of 300 s, 39 replicas at the peak.

use super::super::optimum::{need, optimum};
use super::{Baseline, Hpa, Metric, Seen};
use std::collections::VecDeque;
use std::path::PathBuf;

const STEP: f64 = 15.0;
const START_UP: f64 = 300.0;
const PEAK: f64 = 39.0;

/// Rates of a shipped curve, one a step.
fn load(file: &str) -> Vec<f64> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sim/traces").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let points: Vec<(f64, f64)> = text
        .lines()
        .skip(1)
        .map(|line| line.split_once(',').unwrap())
        .map(|(at, rate)| (at.parse().unwrap(), rate.parse().unwrap()))
        .collect();
    let between = |pair: &[(f64, f64)]| {
        let ((from, start), (to, end)) = (pair[0], pair[1]);
        let steps = (0..).map(move |step| f64::from(step) * STEP).take_while(move |after| from + after < to);
        steps.map(move |after| start + (end - start) * after / (to - from)).collect::<Vec<_>>()
    };
    points.windows(2).flat_map(between).collect()
}

/// What a policy cost against holding the peak always, what share of the load it left unserved, and how many replicas
/// it started.
struct Cost {
    of_peak: f64,
    unserved: f64,
    starts: u32,
}

fn play(load: &[f64], capacity: f64, baseline: &mut Baseline) -> Cost {
    let mut current = need(load, capacity)[0];
    let (mut ready, mut loading) = (current, VecDeque::new());
    let (mut held, mut unserved, mut starts) = (0.0, 0.0, 0);
    for (step, load) in load.iter().enumerate() {
        let now = step as f64 * STEP;
        while loading.front().is_some_and(|at| *at <= now) {
            loading.pop_front();
            ready += 1;
        }
        let utilisation = Some((load / (capacity * f64::from(ready))).min(1.0));
        let seen = Seen { now, current, ready, utilisation, in_system: Some(*load), ..Seen::default() };
        let asked = baseline.desired(&seen);
        for _ in current..asked {
            loading.push_back(now + START_UP);
            starts += 1;
        }
        for _ in asked..current {
            ready -= u32::from(loading.pop_back().is_none());
        }
        current = asked;
        held += f64::from(current);
        unserved += (load - capacity * f64::from(ready)).max(0.0);
    }
    Cost { of_peak: held / (PEAK * load.len() as f64), unserved: unserved / load.iter().sum::<f64>(), starts }
}

#[test]
fn fourteen_days_cost_what_an_independent_model_found() {
    // The optimum and the HPA at 0.7, as shares of always holding the peak.
    for (file, least, hpa) in [
        ("servegen-m-large.csv", 0.356, 0.49),
        ("servegen-m-small.csv", 0.320, 0.45),
        ("servegen-deepseek-r1.csv", 0.397, 0.55),
    ] {
        let load = load(file);
        let capacity = load.iter().copied().fold(0.0, f64::max) / PEAK;

        let best = optimum(&need(&load, capacity), STEP, START_UP);
        let of_peak = best.replica_hours * 3600.0 / (PEAK * load.len() as f64 * STEP);
        assert!((of_peak - least).abs() < 0.008, "{file}: the optimum is {of_peak}");

        for metric in [Metric::Utilisation(0.7), Metric::InSystem(0.7 * capacity)] {
            let cost = play(&load, capacity, &mut Baseline::Hpa(Hpa::new(metric, 1, 1_000)));
            assert!((cost.of_peak - hpa).abs() < 0.006, "{file}, {metric:?}: the HPA costs {}", cost.of_peak);
        }
    }
}

/// Target → cost against the optimum, share unserved, starts where they were counted.
#[test]
fn a_higher_target_buys_cost_with_load_that_is_not_served() {
    let load = load("servegen-m-large.csv");
    let capacity = load.iter().copied().fold(0.0, f64::max) / PEAK;
    for (target, of_optimum, unserved, starts) in [
        (0.5, 1.93, 0.000_01, None),
        (0.6, 1.61, 0.000_06, None),
        (0.7, 1.38, 0.000_2, Some(1_170)),
        (0.8, 1.21, 0.000_8, None),
        (0.9, 1.08, 0.005_5, None),
    ] {
        let cost = play(&load, capacity, &mut Baseline::Hpa(Hpa::new(Metric::InSystem(target * capacity), 1, 1_000)));

        assert!((cost.of_peak / 0.356 - of_optimum).abs() < 0.02, "{target}: {} of the peak", cost.of_peak);
        assert!(cost.unserved < 1.5 * unserved, "{target}: {} unserved", cost.unserved);
        assert!(starts.is_none_or(|starts: u32| starts.abs_diff(cost.starts) < 30), "{} starts", cost.starts);
    }
}
