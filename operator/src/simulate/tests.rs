//! Whole simulations: what is known beforehand of three workloads, and what must hold of any.

use super::*;
use std::path::Path;
use wellfed_engine::decision::{Decision, Reason};
use wellfed_engine::policy::Mode;
use wellfed_engine::rules::RuleName;
use wellfed_engine::world::World;
use wellfed_engine::{decide, plan, remember};

/// All replicas read one storage that gives 2,000 samples a second, which a single one could work through.
const STARVED: &str = "
for: 2h
seed: 4
pools: [{name: h100, nodes: 4, pricePerGpuHour: 2}]
workloads:
- manifest:
    apiVersion: wellfed.dev/v1alpha1
    kind: GpuWorkload
    metadata: {name: train, namespace: demo}
    spec:
      class: Training
      mode: Auto
      minReplicas: 4
      maxReplicas: 16
      scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: train}
      signals:
      - name: backlog
        source: {prometheus: {query: 'sum(backlog)'}}
        target: {type: AverageValue, averageValue: 100k}
  signals: {backlog: Queue}
  pods: {gpus: 2, cpuLimit: 16}
  model:
    training:
      gpuSecondsPerStep: 0.25
      samplesPerStep: 512
      loader: {workers: 12, cpuSecondsPerSample: 0.002, bytesPerSample: 150000}
      storage: {bytesPerSecond: 3.0e8}
      backlog: 3000000
  arrivals: {rate: {perSecond: 2600}}
";

/// One replica answers ten requests a second; 25 arrive.
const SATURATED: &str = "
for: 1h
seed: 4
startUp: 1m
pools: [{name: l4, product: NVIDIA-L4, nodes: 0, maxNodes: 2, provisioning: 2m, pricePerGpuHour: 1}]
workloads:
- manifest:
    apiVersion: wellfed.dev/v1alpha1
    kind: GpuWorkload
    metadata: {name: search, namespace: demo}
    spec:
      mode: Auto
      minReplicas: 1
      maxReplicas: 12
      scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: search}
      signals:
      - name: requests
        source: {prometheus: {query: 'sum(rate(requests[1m]))'}}
        target: {type: AverageValue, averageValue: 7}
  signals: {requests: ArrivalRate}
  pods: {gpus: 1, cpuLimit: 4}
  slo: 1s
  model: {service: {gpuSecondsPerRequest: 0.1, cpuSecondsPerRequest: 0.05, concurrency: 8}}
  arrivals: {rate: {perSecond: 25}}
";

fn parse(text: &str) -> Result<Scenario, SimulateError> {
    Scenario::parse(text, "test.yaml", Path::new("."))
}

fn figures(text: &str, policies: &[Policy]) -> Vec<Figures> {
    let report = simulate(&parse(text).unwrap(), policies).unwrap();
    report.workloads[0].policies.iter().map(|one| one.figures.clone()).collect()
}

/// Every world that wellfed saw, and what it decided.
fn witnessed(text: &str) -> Vec<(World, Vec<Decision>)> {
    let mut seen = Vec::new();
    play(&parse(text).unwrap(), Policy::Wellfed, &mut |world, decisions| {
        seen.push((world.clone(), decisions.to_vec()));
    })
    .unwrap();
    seen
}

#[test]
fn the_same_seed_gives_the_same_report_and_another_one_another() {
    let report = |seed: &str| {
        let text = SATURATED.replace("seed: 4", seed);
        simulate(&parse(&text).unwrap(), &[Policy::Wellfed, Policy::HpaUtilisation]).unwrap()
    };

    let (one, again, other) = (report("seed: 4"), report("seed: 4"), report("seed: 5"));

    assert_eq!(one, again);
    assert_ne!(one.workloads[0].policies[0].points, other.workloads[0].policies[0].points);
}

#[test]
fn a_starved_trainer_is_held_by_the_gate_and_hpa_on_its_queue_buys_to_the_maximum_for_nothing() {
    let all = figures(STARVED, &[Policy::Wellfed, Policy::HpaQueue]);

    let [wellfed, hpa] = [&all[0], &all[1]];
    assert_eq!((wellfed.replicas_max, hpa.replicas_max), (4, 16));
    assert!((wellfed.gpu_hours - 16.0).abs() < 1e-6, "four replicas of two GPUs for two hours: {}", wellfed.gpu_hours);
    assert!(hpa.gpu_hours > 3.0 * wellfed.gpu_hours);
    // Storage gives 2,000 samples a second, however many replicas there are.
    assert!(
        [wellfed, hpa].iter().all(|one| (one.done - 14.4e6).abs() < 0.01 * 14.4e6),
        "{} {}",
        wellfed.done,
        hpa.done
    );
    assert!(wellfed.refusals == 1 && wellfed.gpu_hours_refused > 10.0);
}

#[test]
fn the_gate_names_the_storage() {
    let refused = |decision: &Decision| {
        decision.steps.iter().find_map(|record| match &record.reason {
            Reason::GateRefused { rule, .. } => Some(*rule),
            _ => None,
        })
    };

    let named: Vec<_> = witnessed(STARVED).iter().flat_map(|(_, decisions)| decisions).filter_map(refused).collect();

    assert!(!named.is_empty() && named.iter().all(|rule| *rule == RuleName::StorageStall), "{:?}", named.last());
}

#[test]
fn a_saturated_service_grows_to_what_it_needs_on_nodes_that_come_when_asked_for() {
    let all = figures(SATURATED, &[Policy::Wellfed, Policy::WellfedWithoutGate]);

    assert!((4..=5).contains(&all[0].replicas_max), "25 / 7 rounded up, and chance: {}", all[0].replicas_max);
    assert_eq!(all[0], Figures { refusals: 0, gpu_hours_refused: 0.0, ..all[1].clone() }, "the gate holds nothing");
    let over = all[0].time_over_slo.unwrap();
    assert!((0.05..0.35).contains(&over), "while the node and the replicas come, and the queue drains: {over}");
}

#[test]
fn what_requests_are_played_one_by_one_costs_the_same_within_a_tenth() {
    let by_request = SATURATED.replace("seed: 4", "seed: 4\nresolution: Requests");

    let (fluid, requests) = (figures(SATURATED, &[Policy::Wellfed]), figures(&by_request, &[Policy::Wellfed]));

    let (fluid, requests) = (&fluid[0], &requests[0]);
    assert!((fluid.gpu_hours / requests.gpu_hours - 1.0).abs() < 0.1, "{} {}", fluid.gpu_hours, requests.gpu_hours);
    assert!((fluid.done / requests.done - 1.0).abs() < 0.02, "{} {}", fluid.done, requests.done);
}

/// As a log of worlds would be replayed: each is written as JSON and read again.
#[test]
fn every_decision_is_what_decide_makes_of_the_world_that_was_seen_and_every_world_follows_from_the_last() {
    let seen = witnessed(&STARVED.replace("for: 2h", "for: 40m"));

    let again = |world: &World| -> World { serde_json::from_str(&serde_json::to_string(world).unwrap()).unwrap() };
    for (world, decisions) in &seen {
        let replayed: Vec<_> = decide(&again(world)).into_iter().map(Result::unwrap).collect();
        assert_eq!(&replayed, decisions);
    }
    for ((world, decisions), (next, _)) in seen.iter().zip(&seen[1..]) {
        let (workload, decision) = (&world.workloads[0], &decisions[0]);
        let written = !plan(decision, Mode::Auto).actions.is_empty();
        let memory = remember(decision, written, &workload.policy.behavior, world.now);
        assert_eq!(next.workloads[0].memory, memory);
        assert_eq!(next.workloads[0].current(), decision.number);
    }
    assert_eq!(seen.len(), 160, "forty minutes of cycles of 15 s");
}

#[test]
fn a_node_that_is_taken_away_takes_its_replicas_with_it_and_they_come_again() {
    let spot =
        SATURATED.replace("nodes: 0, maxNodes: 2", "nodes: 2, reclaimedEvery: 10m").replace("for: 1h", "for: 6h");

    let [calm, hostile] = [SATURATED, &spot].map(|text| figures(text, &[Policy::AlwaysOn])[0].clone());

    assert!(calm.replicas_mean > 10.5, "{}", calm.replicas_mean);
    assert!((4.0..10.0).contains(&hostile.replicas_mean), "{}", hostile.replicas_mean);
    assert_eq!(hostile.replicas_max, 12);
}

#[test]
fn the_other_autoscalers_see_no_more_than_scrapers_do() {
    let most = |policy: Policy, text: &str, telemetry: &str| {
        figures(&text.replace("  pods: {", &format!("  telemetry: {telemetry}\n  pods: {{")), &[policy])[0].replicas_max
    };

    // A metric that cannot be read holds the number, and one of another source is not missed.
    for (policy, text, broken, other, held) in [
        (Policy::HpaQueue, STARVED, "{metrics: Off}", "{gpu: Off}", 4),
        (Policy::HpaQueue, STARVED, "{metrics: NaN}", "{cpu: Off}", 4),
        (Policy::Keda, STARVED, "{metrics: Frozen}", "{gpu: NaN}", 4),
        (Policy::HpaUtilisation, SATURATED, "{gpu: Off}", "{metrics: Off}", 1),
        (Policy::HpaUtilisation, SATURATED, "{gpu: Unattributed}", "{metrics: Old}", 1),
    ] {
        assert_eq!(most(policy, text, broken), held, "{policy} with {broken}");
        assert!(most(policy, text, other) > held, "{policy} with {other}");
    }
}

#[test]
fn an_optimum_pays_no_start_for_what_is_ready_at_the_start() {
    let steady = SATURATED.replace("perSecond: 25", "perSecond: 5").replace("maxReplicas: 12", "maxReplicas: 1");
    let steady = steady.replace("startUp: 1m", "startUp: 10m");
    let paid = |text: &str| {
        let report = simulate(&parse(text).unwrap(), &[Policy::AlwaysOn]).unwrap();
        let one = &report.workloads[0];
        (one.policies[0].figures.gpu_hours, one.optimum.gpu_hours, one.optimum.starts)
    };

    let ready = paid(&steady.replace("nodes: 0", "nodes: 1"));
    // Without a node at the start nobody is Ready, and everybody pays for the ten minutes.
    let started = paid(&steady);

    assert!((ready.0 - 1.0).abs() < 1e-9 && (ready.1 - 1.0).abs() < 1e-9 && ready.2 == 0, "{ready:?}");
    assert!((started.1 - 1.0 - 1.0 / 6.0).abs() < 1e-9 && started.2 == 1, "{started:?}");
}

/// One replica answers ten requests a second; 25 arrive, and what waits asks for more, whichever Prometheus tells it.
#[test]
fn a_triton_server_is_a_service_whose_queue_and_latency_can_be_read() {
    let query = "{prometheus: {query: 'sum(rate(requests[1m]))'}}";
    let triton = SATURATED
        .replace(query, "{triton: {endpoint: other}}")
        .replace("signals: {requests: ArrivalRate}", "signals: {}");
    let late =
        triton.replace("target: {type: AverageValue, averageValue: 7}", "role: Latency\n        slo: {value: 500m}");

    for text in [&triton, &late] {
        assert!(figures(text, &[Policy::Wellfed])[0].replicas_max >= 3, "{text}");
    }
    let train = STARVED
        .replace("{prometheus: {query: 'sum(backlog)'}}", "{triton: {}}")
        .replace("signals: {backlog: Queue}", "signals: {}");
    let refused = parse(&train).map(|scenario| scenario.workloads.len()).unwrap_err().to_string();
    assert!(refused.contains("reads a Triton server, and the model is not service"), "{refused}");
}

#[test]
fn bad_input_is_refused_with_where_and_what_to_do() {
    for (from, to, told) in [
        ("for: 2h", "for: 2", "\"2\" is no length of time"),
        ("for: 2h", "for: 2h\nspeed: 4", "unknown field `speed`"),
        ("nodes: 4", "nodes: -4", "nodes"),
        ("pricePerGpuHour: 2", "pricePerGpuHour: -2", "pools[0].pricePerGpuHour: is -2"),
        ("kind: GpuWorkload", "kind: Deployment", "manifest.kind: must be GpuWorkload"),
        ("maxReplicas: 16", "maxReplicas: 16\n      maxReplica: 3", "manifest.spec.maxReplica: is no field"),
        ("minReplicas: 4", "minReplicas: 40", "minReplicas must not exceed maxReplicas"),
        ("averageValue: 100k", "averageValue: 100x", "workloads[0].manifest.spec.signals[0].target.averageValue"),
        ("signals: {backlog: Queue}", "signals: {}", "workloads[0].signals.backlog: a query cannot be run here"),
        ("signals: {backlog: Queue}", "signals: {backlog: Queue, bcklog: Queue}", "did you mean \"backlog\"?"),
        ("signals: {backlog: Queue}", "signals: {backlog: Latency}", "training has samples, no requests"),
        ("pods: {gpus: 2", "slo: 2s\n  pods: {gpus: 2", "training answers no requests"),
        ("pods: {gpus: 2", "pods: {gpus: 0", "workloads[0].pods.gpus: is 0"),
        ("samplesPerStep: 512", "samplesPerStep: 0", "workloads[0].model.training.samplesPerStep"),
        ("pods: {gpus: 2", "pods: {gpus: 9", "workloads[0].pods.gpus: is 9, and a node of pool \"h100\" has 8"),
        ("nodes: 4", "nodes: 0", "pools[0].nodes: is 0 without maxNodes, so that no replica could ever run"),
        ("pods: {gpus: 2", "replicas: 17\n  pods: {gpus: 2", "workloads[0].replicas: is 17; it must be from 4 to 16"),
        ("pods: {gpus: 2", "replicas: 3\n  pods: {gpus: 2", "workloads[0].replicas: is 3; it must be from 4 to 16"),
        (
            "for: 2h",
            "for: 2h\nchanges: [{at: 2h, workload: train, set: {telemetry.gpu: Off}}]",
            "changes[0].at: is 7200 s, and the simulation is over after 7200 s",
        ),
    ] {
        assert!(STARVED.contains(from), "{from}");
        let scenario = parse(&STARVED.replace(from, to));
        let error = scenario.map(|scenario| scenario.workloads.len()).unwrap_err().to_string();
        assert!(error.contains(told) && error.starts_with("test.yaml: "), "{to}: {error}");
    }
}

#[test]
fn every_example_can_be_simulated_and_drawn() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/simulate");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files: Vec<_> = files.filter(|file| file.extension().is_some_and(|extension| extension == "yaml")).collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        // Long enough to see that it works.
        let scenario = Scenario { length: 7_200.0, ..Scenario::load(&file).unwrap() };
        let report = simulate(&scenario, &Policy::ALL).unwrap();
        let folder = std::env::temp_dir().join(format!("wellfed-simulate-{}-{}", std::process::id(), scenario.name));
        report.write(&folder).unwrap();
        let read: Report = serde_json::from_slice(&std::fs::read(folder.join("report.json")).unwrap()).unwrap();
        let svg = std::fs::read_to_string(folder.join("report.svg")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read.workloads.len(), report.workloads.len());
        assert!(svg.starts_with("<svg") && svg.contains("hpa-queue: "), "{}", file.display());
        let table = table(&report);
        assert!(Policy::ALL.iter().all(|policy| table.contains(policy.name())), "{table}");
    }
}

/// Processes that end after a minute are seen to end: their pods are not Ready meanwhile, and the gate names the cause.
#[test]
fn a_trainer_whose_processes_keep_ending_is_not_ready_in_between_and_refused() {
    let text = STARVED.replace("storage: {bytesPerSecond: 3.0e8}", "crash: {after: 1m, of: GpuMemory}");

    let seen = witnessed(&text);

    let starting =
        |(world, _): &&(World, Vec<Decision>)| !world.workloads[0].pods().any(wellfed_engine::world::Pod::is_ready);
    assert!(seen.iter().filter(starting).count() > 20, "the last waits are five minutes long");
    let refuses = |decision: &Decision| {
        matches!(decision.verdict, wellfed_engine::gate::Verdict::Refuse { rule: RuleName::GpuOutOfMemory, .. })
    };
    assert!(seen.iter().any(|(_, decisions)| decisions.iter().any(refuses)));
    assert!(seen.iter().all(|(_, decisions)| decisions.iter().all(|decision| decision.number.0 == 4)));
}

/// A lens may break every look: the lane then knows nothing, and a trainer is held without a verdict.
#[test]
fn what_the_lane_sees_through_decides_what_it_knows() {
    let mut scenario = parse(STARVED).unwrap();
    scenario.lens = Lens::of(|_, _| None);
    let mut refused = 0;

    play(&scenario, Policy::Wellfed, &mut |_, decisions| {
        let verdicts = decisions.iter().map(|one| one.verdict);
        refused += verdicts.filter(|one| matches!(one, wellfed_engine::gate::Verdict::Refuse { .. })).count();
    })
    .unwrap();

    assert_eq!(refused, 0);
}
