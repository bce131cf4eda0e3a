//! Arrivals that follow a recorded curve.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::float_cmp)] // tests may panic

use std::{collections::BTreeMap, fs, path::PathBuf};
use wellfed_sim::flow::{Inflow, Work};
use wellfed_sim::scenario::{Arrivals, Curve, Scenario, Series};
use wellfed_sim::sim::Sim;

/// One service whose arrivals are the series `text`.
fn scenario(text: &str) -> Result<Scenario, String> {
    let whole = format!(
        "workloads:\n- name: api\n  namespace: default\n  selector: {{matchLabels: {{app: api}}}}\n  \
         model: {{service: {{gpuSecondsPerRequest: 0.01, concurrency: 4}}}}\n  arrivals: {{series: {{{text}}}}}\n"
    );
    Scenario::parse(&whole, "test", &PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("traces"))
        .map_err(|e| e.to_string())
}

fn series(text: &str) -> Series {
    let scenario = scenario(text).unwrap();
    let Arrivals::Series(series) = &scenario.workloads[0].arrivals else { panic!("no series") };
    series.clone()
}

/// 0 to 10 a second over 10 s, then 10 a second for 10 s more.
fn ramp() -> Curve {
    Curve::through(&[(100.0, 0.0), (110.0, 10.0), (120.0, 10.0)]).unwrap()
}

#[test]
fn the_rate_is_linear_between_the_points_and_counts_from_the_first_row() {
    let plain = series("file: x.csv");

    assert_eq!(plain.expected(&ramp(), 0.0, 10.0), 50.0);
    assert_eq!(plain.expected(&ramp(), 5.0, 1.0), 5.5);
    assert_eq!(plain.expected(&ramp(), 15.0, 2.0), 20.0);
}

#[test]
fn nothing_arrives_after_the_curve_unless_it_begins_again() {
    // The last row counts for 10 s, as long as the one before it.
    assert_eq!(series("file: x.csv").expected(&ramp(), 30.0, 10.0), 0.0);
    assert_eq!(series("file: x.csv, loop: true").expected(&ramp(), 30.0, 10.0), 50.0);
    assert_eq!(series("file: x.csv, loop: true").expected(&ramp(), 0.0, 300.0), 2_500.0);
}

#[test]
fn a_curve_can_be_scaled_hastened_and_entered_later() {
    assert_eq!(series("file: x.csv, scale: 3").expected(&ramp(), 0.0, 10.0), 150.0);
    assert_eq!(series("file: x.csv, timeScale: 10").expected(&ramp(), 0.0, 1.0), 5.0);
    assert_eq!(series("file: x.csv, from: 10s").expected(&ramp(), 0.0, 10.0), 100.0);
}

#[test]
fn a_curve_that_makes_no_sense_is_refused_with_its_row() {
    let refused = |rows: &[(f64, f64)]| Curve::through(rows).unwrap_err();

    assert_eq!(refused(&[(0.0, 1.0)]), "has fewer than two rows");
    assert_eq!(refused(&[(0.0, 1.0), (0.0, 1.0)]), "row 3 is not later than the one above it");
    assert_eq!(refused(&[(0.0, 1.0), (1.0, -2.0)]), "row 3 is 1,-2; it must be a time and a rate of at least 0");
}

#[test]
fn a_column_that_is_not_there_is_named_with_those_that_are() {
    let error = Sim::new(&scenario("file: servegen-m-large.csv, column: rps").unwrap()).unwrap_err().to_string();

    assert!(error.contains("has no column \"rps\" among t_s, per_second"), "{error}");
}

#[test]
fn a_negative_scale_is_refused() {
    let error = scenario("file: servegen-m-large.csv, scale: -1").unwrap_err();

    assert_eq!(error, "test: workloads[0].arrivals.series.scale: is -1; it must be a number of at least 0");
}

/// Totals counted from the source files: mean rate × time, without the gaps in the log.
#[test]
fn the_shipped_curves_carry_the_load_of_their_sources() {
    for (file, hours, requests) in [
        ("servegen-m-large.csv", 336.0, 2.369e8),
        ("servegen-m-small.csv", 336.0, 1.447e9),
        ("servegen-deepseek-r1.csv", 24.0, 1.384e6),
        ("azure-code-bursts-1d.csv", 24.0, 2.209e5),
    ] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("traces").join(file);
        let curve = Curve::read(&path, "per_second").unwrap();
        let total = series("file: x.csv").expected(&curve, 0.0, hours * 3600.0);

        assert!((total / requests - 1.0).abs() < 0.01, "{file}: {total:e} for {requests:e}");
        assert!(fs::metadata(path).unwrap().len() < 100_000, "{file} is too large to ship");
    }
}

#[test]
fn requests_of_a_series_come_one_by_one_in_the_request_level_model() {
    let mut sim = Sim::new(&scenario("file: servegen-deepseek-r1.csv").unwrap()).unwrap();
    for _ in 0..6_000 {
        sim.step(&BTreeMap::new());
    }

    // Ten minutes at 14.863 a second rising to 18.403: 9,980 expected, give or take three deviations of 100.
    let arrivals = sim.workloads()[0].truth().arrivals;
    assert!((9_680.0..10_280.0).contains(&arrivals), "{arrivals}");
}

#[test]
fn the_flow_of_a_series_is_as_noisy_as_poisson_arrivals_and_the_same_for_the_same_seed() {
    let scenario = scenario("file: servegen-deepseek-r1.csv, promptTokens: 900, outputTokens: 1500").unwrap();
    let draw = |seed: u64| -> Vec<Work> {
        let mut inflow = Inflow::new(&scenario.workloads[0], &scenario.folder, seed).unwrap();
        (0..40).map(|step| inflow.next(f64::from(step) * 15.0, 15.0)).collect()
    };
    let first = draw(1);

    assert_eq!(first, draw(1));
    assert_ne!(first, draw(2));
    assert!(first.iter().all(|work| work.prompt_tokens == 900.0 && work.output_tokens == 1500.0));
    // Variance over mean of the first ten minutes' residuals: 1 for Poisson, 0 for a smooth flow.
    let expected = |step: usize| 15.0 * (14.863 + (18.403 - 14.863) * (step as f64 * 15.0 + 7.5) / 600.0);
    let squares = first.iter().enumerate().map(|(step, work)| (work.amount - expected(step)).powi(2) / expected(step));
    let dispersion = squares.sum::<f64>() / 40.0;
    assert!((0.5..1.6).contains(&dispersion), "{dispersion}");
}
