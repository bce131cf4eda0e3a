//! What is kept of the looks: what a workload may be judged by, and no more.

use super::*;

/// A look at pod `gpu` with a GPU, and at pod `bare` without one; both have a container, a network and nothing else.
fn look(minute: i64, gpu: bool, container: &str) -> Slice {
    let mut slice = Slice::ending(at(minute));
    for pod in ["gpu", "bare"] {
        let labels = [("namespace", "demo"), ("pod", pod), ("container", container)];
        slice.take(Metric::Cores, vec![row(1.0, &labels)]);
        slice.take(Metric::NetworkRx, vec![row(1.0, &labels)]);
    }
    if gpu {
        slice.take(Metric::Engine, vec![engine("gpu", "g", 0.5)]);
    }
    slice
}

fn kept(watching: &[Watched], slices: impl IntoIterator<Item = Slice>) -> History {
    let mut history = History::every(MINUTE);
    for slice in slices {
        history.watch(watching, slice.at);
        history.push(slice, MINUTE * 120);
        history.thin(watching, MINUTE * 30);
    }
    history
}

#[test]
fn of_pods_without_a_gpu_only_those_that_are_watched_are_kept() {
    let looks = || (1..=3).map(|minute| look(minute, true, "train"));
    let watching = [watched(0, &[("bare", -60)])];

    // The exporter is one more.
    assert_eq!((kept(&[], looks()).known().0, kept(&[], looks()).rows()), (2, 9));
    assert_eq!((kept(&watching, looks()).known().0, kept(&watching, looks()).rows()), (3, 15));
    let evidence = kept(&watching, looks()).evidence(&watching[0]).unwrap();
    assert_eq!(evidence.containers[0].cores.map(|cores| cores.mean), Some(1.0));
}

#[test]
fn a_pod_whose_gpu_was_seen_within_a_day_is_kept_without_it() {
    let history = kept(&[], [look(1, true, "train"), look(2, false, "train")]);

    assert_eq!(history.rows(), 3 + 2);
}

#[test]
fn names_of_containers_that_are_gone_are_forgotten_after_a_day() {
    let history = kept(&[], [look(1, true, "once"), look(24 * 60 + 2, true, "now")]);

    assert_eq!(history.known().2, 1);
}

#[test]
fn a_long_window_keeps_the_looks_at_its_own_pods_alone() {
    let long = Watched { gate: watching(MINUTE * 60).gate, ..watched(0, &[("gpu", -60)]) };
    let looks = || (1..=40).map(|minute| look(minute, true, "train"));
    let other = watched(0, &[("bare", -60)]);
    let both = [long, other];

    // 31 looks at both, nine at one.
    assert_eq!(kept(&both, looks()).rows(), 31 * 5 + 9 * 3);
    let seen = kept(&both, looks()).evidence(&both[0]).unwrap();
    assert_eq!((seen.covered, activity(&seen), seen.gpus[0].engine.unwrap().low), (MINUTE * 40, vec![0.5], 0.5));
}
