//! The mixture's plumbing: the same scenarios for a short time.

#![allow(clippy::unwrap_used, clippy::float_cmp)]

use wellfed::simulate::{Policy, Report, Scenario, simulate};
use wellfed_corpus::decide::bench::{Played, play_one};
use wellfed_corpus::decide::mixture::Mixture;
use wellfed_corpus::decide::row::Arm;

const HOUR: f64 = 3600.0;
const GATE: [Policy; 2] = [Policy::Wellfed, Policy::WellfedWithoutGate];

fn scenario(name: &str, hours: f64, mended: bool) -> Scenario {
    let mixture = Mixture::bundled().unwrap();
    let mut scenario = mixture.scenario(mixture.named(name).unwrap(), mended).unwrap();
    scenario.length = hours * HOUR;
    scenario
}

fn played(name: &str, hours: f64) -> Played {
    let mixture = Mixture::bundled().unwrap();
    let shorter = |scenario| Scenario { length: hours * HOUR, ..scenario };
    play_one(&mixture, mixture.named(name).unwrap(), &shorter).unwrap()
}

fn most(report: &Report) -> Vec<u32> {
    report.workloads[0].policies.iter().map(|one| one.figures.replicas_max).collect()
}

#[test]
fn a_trainer_behind_a_slow_storage_buys_to_its_maximum_without_the_gate_and_stays_with_it() {
    let report = simulate(&scenario("slow-storage", 20.0, false), &GATE).unwrap();

    assert_eq!(most(&report), [4, 16]);
    let done: Vec<f64> = report.workloads[0].policies.iter().map(|one| one.figures.done).collect();
    // 2 333 samples a second from 8:00 to 20:00, whoever decides.
    assert!(done.iter().all(|done| (done / (12.0 * HOUR * 3.5e8 / 150_000.0) - 1.0).abs() < 0.01), "{done:?}");
}

#[test]
fn a_chat_at_work_fares_alike_with_the_gate_and_without() {
    let chat = played("chat-70b", 6.0);

    let [with, without] = GATE.map(|policy| chat.row(Arm::AsIs(policy)).unwrap().clone());
    assert!(with.gpu_hours > 100.0 && with.scale_events > 0.0, "{with:?}");
    assert_eq!(
        (with.gpu_hours, with.scale_events, with.requests_over_slo),
        (without.gpu_hours, without.scale_events, without.requests_over_slo)
    );
    assert_eq!(with.gpu_hours_in_vain, 0.0);
}

#[test]
fn what_the_gate_did_not_buy_is_what_others_held_in_vain() {
    let storage = played("slow-storage", 20.0);

    let row = |arm| storage.row(arm).unwrap();
    let (with, without) = (row(Arm::AsIs(Policy::Wellfed)), row(Arm::AsIs(Policy::WellfedWithoutGate)));
    assert_eq!(with.gpu_hours_in_vain, 0.0);
    assert!((without.gpu_hours - with.gpu_hours - without.gpu_hours_in_vain).abs() < 0.02 * without.gpu_hours);
    assert!(with.refusals > 0.0 && without.refusals == 0.0);
    // Always sixteen of two GPUs, of which the twelve beyond the manifest's four do nothing.
    assert!((row(Arm::AsIs(Policy::AlwaysOn)).gpu_hours_in_vain - 12.0 * 2.0 * 24.0).abs() < 0.1);
}

#[test]
fn a_mended_trainer_may_grow_again_and_finishes_sooner() {
    let done = |mended| {
        let report = simulate(&scenario("slow-loader", 40.0, mended), &[Policy::Wellfed]).unwrap();
        report.workloads[0].policies[0].figures.done
    };

    let (mended, as_is) = (done(true) / 1e6, done(false) / 1e6);

    // Twenty hours of shifts; as it is the first is done at 25:36 and the second at the loaders' pace: 15.85 cores / 0.031.
    assert!((mended / (20.0 * 3.6 * 3.0) - 1.0).abs() < 0.01, "{mended}");
    assert!((as_is / (12.0 * 3.6 * 3.0 + 8.0 * 3.6 * 4.0 * 0.5113) - 1.0).abs() < 0.01, "{as_is}");
}
