//! What counts as evidence, and whose.

mod at_rest;
mod keeping;
mod measures;
mod own;
mod removal;
mod reports;
mod sources;

use super::{Exit, ExitCause, History, Metric, OwnSaid, Slice, Watched, WatchedPod};
use crate::signals::client::Row;
use jiff::{SignedDuration, Timestamp};
use wellfed_engine::evidence::{Evidence, ServerEvidence, Sources, TrainerEvidence};
use wellfed_engine::policy::{Class, GateMode, GatePolicy, OnUnknown};
use wellfed_engine::rules::Thresholds;
use wellfed_engine::stance::Stances;

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

fn at(minute: i64) -> Timestamp {
    Timestamp::constant(1_800_000_000 + 60 * minute, 0)
}

fn row(value: f64, labels: &[(&str, &str)]) -> Row {
    let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Row { labels, value, at: at(0) }
}

/// As Prometheus shows an exporter whose labels were not honoured: the exporter's own pod, and the exported one.
pub(super) fn engine(pod: &str, gpu: &str, value: f64) -> Row {
    let exporter = [("namespace", "gpu-operator"), ("pod", "dcgm-exporter-x")];
    row(value, &[&exporter[..], &[("exported_namespace", "demo"), ("exported_pod", pod), ("UUID", gpu)]].concat())
}

pub(super) fn slice(minute: i64, rows: Vec<Row>) -> Slice {
    let mut slice = Slice::ending(at(minute));
    slice.take(Metric::Engine, rows);
    slice
}

pub(super) fn history(slices: Vec<Slice>) -> History {
    let mut history = History::every(MINUTE);
    for slice in slices {
        history.push(slice, SignedDuration::from_hours(2));
    }
    history
}

/// A workload with this window.
pub fn watching(window: SignedDuration) -> Watched {
    let workload = watched(0, &[]);
    Watched { gate: GatePolicy { window, ..workload.gate }, ..workload }
}

pub(super) fn watched(since: i64, pods: &[(&str, i64)]) -> Watched {
    Watched {
        uid: "u".into(),
        namespace: "demo".into(),
        class: Class::Training,
        gate: GatePolicy {
            mode: GateMode::Enforce,
            window: MINUTE * 10,
            expiry: MINUTE * 30,
            spacing: MINUTE / 2,
            warm_up: MINUTE * 2,
            on_unknown: OnUnknown::Hold,
            thresholds: Thresholds::default(),
            stances: Stances::default(),
        },
        since: Some(at(since)),
        pods: pods
            .iter()
            .map(|(name, ready)| WatchedPod {
                name: (*name).to_owned(),
                ready_since: at(*ready),
                container: "train".into(),
                cpu_limit: Some(8.0),
                cpu_at_hand: None,
                gpus: 1,
                shared: false,
                node: None,
            })
            .collect(),
        exits: Vec::new(),
        own: OwnSaid::default(),
        weights: None,
        backlog_lasts: false,
        slo_breached: false,
        sharded: false,
        sources: Sources::default(),
    }
}

fn activity(evidence: &Evidence) -> Vec<f64> {
    evidence.gpus.iter().filter_map(|gpu| gpu.engine.map(|span| (span.mean * 100.0).round() / 100.0)).collect()
}

#[test]
fn a_quiet_hour_before_the_burst_proves_nothing() {
    let slices = (1..=9).map(|minute| slice(minute, vec![engine("a", "g", if minute <= 5 { 0.05 } else { 0.95 })]));
    let evidence = history(slices.collect()).evidence(&watched(5, &[("a", -60)])).unwrap();

    assert_eq!(activity(&evidence), [0.95]);
    assert_eq!(evidence.covered, MINUTE * 4);
}

/// Kills: a window that only looks exactly on time cover.
#[test]
fn looks_a_millisecond_late_or_early_cover_a_window_all_the_same() {
    let covers = |late: i64| {
        let mut slices: Vec<Slice> = (1..=10).map(|minute| slice(minute, vec![engine("a", "g", 0.9)])).collect();
        slices[9].at += SignedDuration::from_millis(late);
        history(slices).evidence(&watched(-60, &[("a", -60)])).unwrap().covers_a_window()
    };

    assert_eq!([covers(-1), covers(0), covers(1)], [true; 3]);
}

/// G1 (dcgm-exporter #85, #363): `pod` is the exporter and `exported_pod` the workload, or the labels are honoured.
#[test]
fn both_label_schemes_are_attributed_and_the_exporter_itself_is_nobody() {
    let honoured = row(0.4, &[("namespace", "demo"), ("pod", "b"), ("UUID", "g2")]);
    let unattributed = row(0.9, &[("namespace", "gpu-operator"), ("pod", "dcgm-exporter-x"), ("UUID", "g3")]);
    let slices = vec![slice(1, vec![engine("a", "g1", 0.2), honoured, unattributed])];
    let evidence = history(slices).evidence(&watched(0, &[("a", -60), ("b", -60)])).unwrap();

    assert_eq!(activity(&evidence), [0.2, 0.4]);
}

/// G1 (dcgm-exporter #85, #363): who watches the exporter's own pods sees none of the GPUs that it speaks of.
#[test]
fn an_exporter_that_is_a_workload_itself_has_no_gpu_by_the_series_of_others() {
    let exporter = Watched { namespace: "gpu-operator".into(), ..watched(0, &[("dcgm-exporter-x", -60)]) };
    let history = history(vec![slice(1, vec![engine("a", "g1", 0.2)])]);

    let seen = history.evidence(&exporter).unwrap();
    assert_eq!((seen.gpus.len(), seen.expected_gpus), (0, 1));
    assert_eq!(activity(&history.evidence(&watched(0, &[("a", -60)])).unwrap()), [0.2]);
}

#[test]
fn a_replica_is_not_judged_before_it_is_warm_nor_after_it_is_gone() {
    let rows = || vec![engine("warm", "g1", 0.9), engine("young", "g2", 0.1), engine("dead", "g3", 0.1)];
    let slices = (1..=4).map(|minute| slice(minute, rows())).collect();
    let evidence = history(slices).evidence(&watched(0, &[("warm", -60), ("young", 3)])).unwrap();

    assert_eq!(activity(&evidence), [0.9]);
    assert_eq!(evidence.expected_gpus, 1);
}

#[test]
fn a_look_that_failed_widens_what_the_mean_could_have_been() {
    let slices = vec![slice(1, vec![engine("a", "g", 0.2)]), slice(4, vec![engine("a", "g", 0.2)])];
    let evidence = history(slices).evidence(&watched(0, &[("a", -60)])).unwrap();
    let span = evidence.gpus[0].engine.unwrap();

    assert!((span.low - 0.1).abs() < 1e-9 && (span.high - 0.6).abs() < 1e-9, "{span:?}");
}

/// Kills: a history that ends at the last look that had an answer.
#[test]
fn looks_without_an_answer_up_to_now_are_missing_and_make_nothing_newer() {
    let mut history = history((1..=10).map(|minute| slice(minute, vec![engine("a", "g", 0.2)])).collect());
    let watched = watched(0, &[("a", -60)]);
    let seen = |history: &History| {
        let seen = history.evidence(&watched).unwrap();
        let engine = seen.gpus[0].engine.unwrap();
        (seen.at, seen.unanswered.as_mins(), (engine.low * 100.0).round(), (engine.high * 100.0).round())
    };

    assert_eq!(seen(&history), (at(10), 0, 20.0, 20.0));
    history.miss(at(11));
    assert_eq!(seen(&history), (at(10), 1, 18.0, 28.0));
    history.miss(at(13));
    assert_eq!(seen(&history), (at(10), 3, 14.0, 44.0));
    history.push(slice(14, vec![engine("a", "g", 0.2)]), SignedDuration::from_hours(2));
    assert_eq!(seen(&history), (at(14), 0, 14.0, 44.0));
    history.miss(at(24));
    assert!(history.evidence(&watched).is_none(), "nothing of the window was seen");
}

#[test]
fn a_look_after_one_that_failed_has_its_own_place_though_it_is_a_little_early_or_late() {
    let low = |late: i64| {
        let mut slices: Vec<Slice> = [1, 3, 4].map(|minute| slice(minute, vec![engine("a", "g", 0.4)])).into();
        slices[1].at += SignedDuration::from_millis(late);
        let span = history(slices).evidence(&watched(0, &[("a", -60)])).unwrap().gpus[0].engine.unwrap();
        format!("{:.2}", span.low)
    };

    assert_eq!([-5_000, -1, 0, 1, 5_000].map(low), ["0.30"; 5], "three of four");
}

#[test]
fn what_was_recorded_up_to_a_lag_before_its_look_counts_only_if_all_of_it_is_new() {
    let mut lagging = History::every(MINUTE).lagging(MINUTE / 4);
    for minute in 1..=3 {
        lagging.push(slice(minute, vec![engine("a", "g", 0.1 * minute as f64)]), SignedDuration::from_hours(2));
    }
    let seen = |since| lagging.evidence(&watched(since, &[("a", -60)])).map(|evidence| activity(&evidence));

    assert_eq!((seen(0), seen(1), seen(2)), (Some(vec![0.25]), Some(vec![0.3]), None));
}

/// As with `recorded: true`, and with `scrapeInterval: 60s` beside it. Kills: a lag that shortens the window too.
#[test]
fn what_looks_show_late_makes_no_window_shorter() {
    let seen = |lag: i32, window: i32, jitter: i64| {
        let mut history = History::every(MINUTE).lagging(MINUTE * lag);
        for minute in 1..=20 {
            let mut slice = slice(minute, vec![engine("a", "g", 0.9)]);
            slice.at += SignedDuration::from_millis(jitter * (minute % 2));
            history.push(slice, SignedDuration::from_hours(2));
        }
        let watched = Watched { gate: watching(MINUTE * window).gate, ..watched(0, &[("a", -60)]) };
        let evidence = history.evidence(&watched).unwrap();
        (evidence.covered, evidence.covers_a_window())
    };

    for lag in [0, 2, 3] {
        for jitter in [-200, 0, 200] {
            assert_eq!(seen(lag, 10, jitter), (MINUTE * 10, true), "{lag} minutes late, {jitter} ms off");
            assert_eq!(seen(lag, 3, jitter), (MINUTE * 3, true), "{lag} minutes late, {jitter} ms off");
        }
    }
}

#[test]
fn a_window_that_ends_within_a_look_takes_the_whole_of_it() {
    let slices = (1..=20).map(|minute| slice(minute, vec![engine("a", "g", 0.9)])).collect();
    let watched = Watched { gate: watching(SignedDuration::from_secs(230)).gate, ..watched(0, &[("a", -60)]) };

    let evidence = history(slices).evidence(&watched).unwrap();

    assert_eq!((evidence.covered, evidence.covers_a_window()), (MINUTE * 4, true));
}

#[test]
fn what_looks_show_late_is_no_evidence_before_all_of_it_lies_after_the_burst() {
    let mut late = History::every(MINUTE).lagging(MINUTE * 3);
    for minute in 1..=20 {
        late.push(slice(minute, vec![engine("a", "g", 0.9)]), SignedDuration::from_hours(2));
    }
    let covered = |since| late.evidence(&watched(since, &[("a", -60)])).map(|evidence| evidence.covered);

    assert_eq!([17, 16, 15].map(covered), [None, Some(MINUTE), Some(MINUTE * 2)]);
}

#[test]
fn a_gpu_that_shows_two_pods_is_shared() {
    let slices = vec![slice(1, vec![engine("a", "g", 0.2), engine("other", "g", 0.2)])];
    let evidence = history(slices).evidence(&watched(0, &[("a", -60)])).unwrap();

    assert!(evidence.gpus[0].shared);
}

#[test]
fn an_exporter_that_does_not_tell_the_pod_for_a_while_is_no_other_user() {
    let bare = row(0.2, &[("namespace", "gpu-operator"), ("pod", "dcgm-exporter-x"), ("UUID", "g")]);
    let whole = |minute| slice(minute, vec![engine("a", "g", 0.2)]);
    let evidence = history(vec![whole(1), slice(2, vec![bare]), whole(3)]).evidence(&watched(0, &[("a", -60)]));

    assert!(!evidence.unwrap().gpus[0].shared);
}

#[test]
fn utilisation_does_not_stand_in_for_an_engine_counter_that_was_lost() {
    let mut lost = Slice::ending(at(2));
    let labels = [("namespace", "demo"), ("pod", "a"), ("UUID", "g")];
    lost.take(Metric::Util, vec![row(10.0, &labels)]);
    let evidence =
        history(vec![slice(1, vec![engine("a", "g", 0.9)]), lost]).evidence(&watched(1, &[("a", -60)])).unwrap();

    assert!(evidence.gpus[0].engine_lost);
    assert_eq!(evidence.gpus[0].activity(), None);
}

/// What the exporter and the server say of pod `a` at one minute.
fn said(minute: i64, values: &[(Metric, f64)]) -> Slice {
    let mut slice = Slice::ending(at(minute));
    for (metric, value) in values {
        let gpu = [("namespace", "demo"), ("pod", "a"), ("UUID", "g"), ("modelName", "NVIDIA H100 80GB HBM3")];
        slice.take(*metric, vec![row(*value, &gpu)]);
    }
    slice
}

fn seen(slices: Vec<Slice>) -> Evidence {
    let since = slices.iter().map(|slice| slice.at).max().unwrap().duration_since(at(0)).as_mins() - 1;
    history(slices).evidence(&watched(since, &[("a", -60)])).unwrap()
}

fn power(seen: &Evidence) -> Option<f64> {
    seen.gpus[0].power.map(|power| (power.mean * 100.0).round() / 100.0)
}

#[test]
fn power_is_compared_with_the_limit_in_force_or_else_with_that_of_the_product() {
    let set = [(Metric::Power, 210.0), (Metric::PowerLimit, 300.0)];

    assert_eq!(power(&seen(vec![said(1, &set)])), Some(0.7));
    assert_eq!(power(&seen(vec![said(1, &set[..1])])), Some(0.3));
    assert_eq!(
        power(&seen(vec![said(1, &set), said(2, &set[..1])])),
        None,
        "the limit may be lower than the product's"
    );
}

/// Whatever query brings it, and whether a table knows it or not.
#[test]
fn products_are_told_apart_by_their_names() {
    let of = |gpu: &'static str, model: &'static str| {
        row(1_980.0, &[("namespace", "demo"), ("pod", "a"), ("UUID", gpu), ("modelName", model)])
    };
    let mut slice = Slice::ending(at(1));
    let bare = row(1_980.0, &[("namespace", "demo"), ("pod", "a"), ("UUID", "g4")]);
    slice.take(Metric::Clock, vec![of("g1", "NVIDIA X1"), of("g2", "NVIDIA X2"), of("g3", "NVIDIA X1"), bare]);
    let products = seen(vec![slice]).gpus.iter().map(|gpu| gpu.product).collect::<Vec<_>>();

    assert!(products[0].is_some() && products[0] != products[1], "{products:?}");
    assert_eq!((products[2], products[3]), (products[0], None));
}

#[test]
fn the_power_of_a_mig_instance_is_nobodys() {
    let instance = [("namespace", "demo"), ("pod", "a"), ("UUID", "g"), ("GPU_I_ID", "3")];
    let mut slice = Slice::ending(at(1));
    slice.take(Metric::Power, vec![row(210.0, &instance)]);
    slice.take(Metric::PowerLimit, vec![row(700.0, &instance)]);

    assert_eq!(power(&seen(vec![slice])), None);
}

#[test]
fn requests_that_wait_for_something_else_than_room_are_left_out_where_they_are_told_apart() {
    let waiting = |slices| seen(slices).servers[0].waiting.map(|waiting| waiting.mean);
    let both = [(Metric::Waiting, 25.0), (Metric::WaitingForRoom, 2.0)];

    assert_eq!(waiting(vec![said(1, &both)]), Some(2.0));
    assert_eq!(waiting(vec![said(1, &both[..1])]), Some(25.0));
    assert_eq!(waiting(vec![said(1, &both), said(2, &both[..1])]), None, "the others may be what waits");
}

/// Behind Triton an engine that batches while it runs is executed once a request.
#[test]
fn executions_tell_the_batch_only_where_nothing_counts_what_runs() {
    let batch = |slices| seen(slices).servers[0].batch.map(|batch| batch.mean);
    let both = [(Metric::Batch, 1.0), (Metric::Running, 40.0)];

    assert_eq!(batch(vec![said(1, &both)]), None);
    assert_eq!(batch(vec![said(1, &both), said(2, &both[..1])]), None);
    assert_eq!(batch(vec![said(1, &both[..1])]), Some(1.0));
}

#[test]
fn what_was_measured_and_is_missing_is_lost() {
    let all = [(Metric::Engine, 0.5), (Metric::Sm, 0.5), (Metric::Kv, 0.9), (Metric::Progress, 100.0)];
    let seen = seen(vec![said(1, &all), said(2, &[(Metric::Engine, 0.5), (Metric::Running, 1.0)])]);
    let (gpu, server) = (seen.gpus[0], seen.servers[0]);

    assert!((gpu.sm, gpu.sm_lost, gpu.engine_lost) == (None, true, false));
    assert!((server.kv, server.kv_lost) == (None, true));
    assert!((server.progress, server.progress_lost) == (None, true));
    assert!(server.running.is_some());
}

#[test]
fn a_pod_that_serves_nothing_is_a_server_that_says_nothing() {
    let seen = seen(vec![said(1, &[(Metric::Engine, 0.5)])]);

    assert_eq!(seen.servers, [ServerEvidence::default()]);
    assert_eq!(seen.trainers, [TrainerEvidence::default()]);
}

#[test]
fn a_source_is_missed_for_a_day() {
    let missed = |minutes: i64| {
        let now = said(minutes, &[(Metric::Util, 10.0)]);
        seen(vec![said(0, &[(Metric::Engine, 0.5)]), now]).gpus[0].engine_lost
    };

    assert_eq!([missed(5), missed(24 * 60), missed(24 * 60 + 1)], [true, true, false]);
}

/// The lane of a process that began at `began`, restarted with what is remembered of an evaluation that saw SM activity.
fn restarted(began: i64, now: i64) -> Evidence {
    let before = seen(vec![said(0, &[(Metric::Engine, 0.5), (Metric::Sm, 0.5)])]);
    let remembered = Watched { sources: Sources::of(&before), ..watched(-60, &[("a", -60)]) };
    let mut history = History::every(MINUTE);
    for minute in [began, now] {
        history.watch(std::slice::from_ref(&remembered), at(minute));
        history.push(said(minute, &[(Metric::Engine, 0.5)]), SignedDuration::from_hours(2));
    }
    history.evidence(&Watched { sources: Sources::default(), since: Some(at(now - 1)), ..remembered }).unwrap()
}

/// Kills: what is remembered read at each look, when this process has left its own there.
#[test]
fn a_restart_misses_what_was_measured_before_it_for_a_day() {
    let lost = |now| restarted(10, now).gpus[0].sm_lost;

    assert_eq!([lost(11), lost(10 + 24 * 60), lost(11 + 24 * 60)], [true, true, false]);
    let gpu = restarted(10, 11).gpus[0];
    assert_eq!((gpu.engine_lost, gpu.dram_lost), (false, false), "what is there, and what never was");
}

#[test]
fn pods_and_gpus_that_are_gone_are_forgotten_after_a_day_and_their_numbers_mislead_nobody() {
    let mut history = history(vec![slice(0, vec![engine("old", "g1", 0.9), engine("older", "g2", 0.8)])]);
    for minute in [60, 24 * 60, 24 * 60 + 1] {
        history.push(slice(minute, vec![engine("stays", "g3", 0.3)]), SignedDuration::from_hours(2));
    }
    assert_eq!(history.known(), (2, 1, 0));

    let next = 24 * 60 + 2;
    history.push(slice(next, vec![engine("new", "g4", 0.1), engine("stays", "g3", 0.3)]), MINUTE * 120);
    let pods = [("new", -60), ("stays", -60), ("old", -60)];
    let evidence = history.evidence(&watched(next - 1, &pods)).unwrap();
    assert_eq!(activity(&evidence), [0.1, 0.3]);
}
