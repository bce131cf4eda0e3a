//! The demo's story holds in virtual time: it follows from the causes, not from luck.

#![allow(clippy::unwrap_used, clippy::panic, clippy::float_cmp)]

use std::{collections::BTreeMap, path::Path};
use wellfed_world::{
    scenario::{Metrics, Scenario},
    sim::{Replica, Sim, Truth},
};

struct Play {
    sim: Sim,
    pods: BTreeMap<String, Vec<Replica>>,
}

impl Play {
    fn demo() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/demo.yaml");
        let sim = Sim::new(&Scenario::load(&file).unwrap()).unwrap();
        Self { sim, pods: BTreeMap::new() }.with("chat", 2, 1).with("vision-train", 4, 2).with("search", 3, 1)
    }

    fn with(mut self, name: &str, count: usize, gpus: u32) -> Self {
        self.scale(name, count, gpus);
        self
    }

    fn scale(&mut self, name: &str, count: usize, gpus: u32) {
        let pods = (0..count).map(|index| Replica::ready(format!("{name}-{index}"), gpus, Some(8.0))).collect();
        self.pods.insert(name.into(), pods);
    }

    fn run(&mut self, seconds: u32) -> &mut Self {
        (0..seconds * 10).for_each(|_| self.sim.step(&self.pods));
        self
    }

    fn truth(&self, name: &str) -> Truth {
        self.sim.workloads().iter().find(|workload| workload.spec.name == name).unwrap().truth()
    }

    fn in_chat(&self) -> f64 {
        let truth = self.truth("chat");
        truth.queue + truth.running
    }
}

#[test]
fn two_chat_replicas_drown_in_the_traffic() {
    let mut play = Play::demo();

    let queue: Vec<f64> = (0..4).map(|_| play.run(30).in_chat()).collect();

    assert!(queue.is_sorted(), "the queue keeps growing: {queue:?}");
    assert!(queue[0] > 2.0 * 32.0, "more than 32 a replica after 30 s: {queue:?}");
    assert!(play.truth("chat").gpu_activity > 0.9, "their GPUs are busy");
}

#[test]
fn six_chat_replicas_drain_the_queue_that_two_built() {
    let mut play = Play::demo();
    let before = play.run(40).in_chat();

    play.scale("chat", 6, 1);
    let after = play.run(60).in_chat();

    assert!(before > 150.0, "a queue was built: {before}");
    assert!(after < 6.0 * 32.0 && after < 0.6 * before, "{before} fell to {after}");
}

#[test]
fn the_demo_trace_lasts_four_minutes_and_more() {
    let mut play = Play::demo();
    play.scale("chat", 8, 1);

    let before = play.run(240).truth("chat").arrivals;
    let after = play.run(10).truth("chat").arrivals;

    assert!(after > before, "still arriving: {before} then {after}");
}

#[test]
fn the_trainer_starves_with_four_replicas_and_with_eight() {
    for count in [4, 8] {
        let mut play = Play::demo();
        play.scale("vision-train", count, 2);

        let truth = play.run(60).truth("vision-train");
        let used = play.sim.ledger("vision-train-0").used;

        assert!((0.15..0.30).contains(&truth.gpu_activity), "{count} replicas: activity {}", truth.gpu_activity);
        assert!(used.cpu_seconds / 60.0 / 8.0 > 0.90, "{count} replicas: the CPU is at its limit");
        let throttled = used.cfs_throttled / used.cfs_periods;
        assert!((0.30..0.55).contains(&throttled), "{count} replicas: throttled {throttled}");
    }
}

#[test]
fn the_trainer_falls_behind_so_demand_alone_would_grow_it() {
    let mut play = Play::demo();

    let early = play.run(10).truth("vision-train").queue;
    let late = play.run(60).truth("vision-train").queue;

    assert!(late > early + 30_000.0, "{early} grew to {late}");
}

#[test]
fn search_is_moderately_loaded_until_its_metrics_vanish() {
    let mut play = Play::demo();

    let truth = play.run(55).truth("search");
    assert!((0.4..0.7).contains(&truth.gpu_activity), "activity {}", truth.gpu_activity);
    assert!(truth.queue < 10.0, "queue {}", truth.queue);
    assert_eq!(play.sim.workloads()[2].spec.telemetry.metrics, Metrics::Normal);

    play.run(10);
    assert_eq!(play.sim.workloads()[2].spec.telemetry.metrics, Metrics::Off);
    assert!(play.truth("search").throughput > 40.0, "it still serves");
}
