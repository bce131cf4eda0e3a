//! wellfed itself: the same pure functions as in `cycle.rs`, on a virtual cluster.

use super::cluster::{CONTAINER, Cluster};
use super::error::SimulateError;
use super::lane::Lane;
use super::plant::Plant;
use super::play::Witness;
use super::scenario::{Scenario, Subject};
use crate::evidence::{Exit, ExitCause, OwnSaid, Watched, WatchedPod};
use crate::intent::Measure;
use crate::measures::latency;
use crate::outlook::watched;
use jiff::Timestamp;
use std::sync::Arc;
use wellfed_engine::decide::Decided;
use wellfed_engine::decision::Decision;
use wellfed_engine::memory::Memory;
use wellfed_engine::policy::{GateMode, PoolPolicy};
use wellfed_engine::units::Replicas;
use wellfed_engine::world::{Measures, PodState, PoolState, SignalState, Workload, World};
use wellfed_engine::{decide, plan, remember};
use wellfed_sim::scenario::End;
use wellfed_sim::sim::training::{Ended, TrainingRun};

/// The operator, and the world as it last saw it.
#[derive(Debug)]
pub struct Operator {
    /// What the next decision is made on.
    pub world: World,
    lane: Lane,
    watched: Vec<Watched>,
    /// How processes of each workload ended.
    exits: Vec<Vec<Exit>>,
    /// The cluster's version that `world` shows.
    shows: Option<u64>,
}

impl Operator {
    /// It has seen nothing yet.
    pub fn new(scenario: &Scenario) -> Self {
        let workload = |subject: &Subject| Workload {
            id: subject.id.clone(),
            created: scenario.start,
            policy: subject.policy.clone(),
            pools: Vec::new(),
            signals: Vec::new(),
            measures: Measures::default(),
            opinion: None,
            template: None,
            gate_override: None,
            memory: Memory::default(),
        };
        let workloads = scenario.workloads.iter().map(workload).collect();
        let world = World { now: scenario.start, workloads, pools: [].into(), nodes: [].into() };
        Self { world, lane: Lane::new(scenario), watched: Vec::new(), exits: Vec::new(), shows: None }
    }

    /// The same, with every workload's gate off.
    pub fn without_gate(scenario: &Scenario) -> Self {
        let mut operator = Self::new(scenario);
        operator.world.workloads.iter_mut().for_each(|workload| workload.policy.gate.mode = GateMode::Off);
        operator
    }

    /// Takes in the cluster as it is now.
    pub fn observe(&mut self, now: Timestamp, scenario: &Scenario, cluster: &Cluster) {
        self.world.now = now;
        let same = self.shows == Some(cluster.version);
        for (at, workload) in self.world.workloads.iter_mut().enumerate() {
            if same {
                for (pool, set) in workload.pools.iter_mut().zip(cluster.of(at)) {
                    pool.asked = Replicas(set.asked);
                }
            } else {
                let pools = cluster.of(at);
                workload.pools =
                    pools.map(|set| PoolState { asked: Replicas(set.asked), pods: set.seen(scenario.start) }).collect();
            }
        }
        if !same {
            (self.world.pools, self.world.nodes) = cluster.room();
            self.shows = Some(cluster.version);
        }
    }

    /// Takes in what the signals of the workload number `at` say, and how its work goes.
    pub fn read(&mut self, at: usize, subject: &Subject, signals: Vec<SignalState>, throughput: f64) {
        let workload = &mut self.world.workloads[at];
        let says = |what| subject.measures.contains(&what);
        workload.measures = Measures {
            latency: latency(&workload.policy, &signals),
            throughput: says(Measure::Throughput).then_some(throughput),
            // No model tells how good its results are.
            quality: None,
        };
        workload.signals = signals;
    }

    /// Lets the gate's lane do what is due.
    pub fn look(&mut self, seconds: f64, scenario: &Scenario, plant: &Plant, cluster: &Cluster) {
        self.lane.turn(seconds, self.world.now, &self.watched, plant, || cluster.sampled(scenario));
        let ends =
            |at| plant.run(at).map_or(&[][..], TrainingRun::ends).iter().map(|end| exit(end, scenario)).collect();
        self.exits = (0..scenario.workloads.len()).map(ends).collect();
        for workload in &mut self.world.workloads {
            let opinion = self.lane.opinions.get(&workload.id.uid).map(Arc::as_ref);
            if workload.opinion.as_ref() != opinion {
                workload.opinion = opinion.cloned();
            }
        }
    }

    /// Decides, writes and remembers; gives every decision, in the order in which it was made.
    pub fn cycle(
        &mut self,
        scenario: &Scenario,
        cluster: &mut Cluster,
        witness: Witness<'_>,
    ) -> Result<Vec<Decision>, SimulateError> {
        let decisions = decide(&self.world).into_iter().map(whole).collect::<Result<Vec<_>, _>>()?;
        witness(&self.world, &decisions);
        self.watched.clear();
        for decision in &decisions {
            let at = self.world.workloads.iter().position(|one| one.id == decision.id);
            let Some(at) = at else { continue };
            let written = write(decision, &self.world.workloads[at], at, cluster);
            let workload = &mut self.world.workloads[at];
            workload.memory = remember(decision, written, &workload.policy.behavior, self.world.now);
            let exits = self.exits.get(at).cloned().unwrap_or_default();
            let own = OwnSaid { throughput: workload.measures.throughput, ..OwnSaid::default() };
            let pods = || (ready_pods(workload, &scenario.workloads[at]), exits);
            self.watched.extend(watched(decision, &workload.policy, self.world.now, own, pods));
        }
        Ok(decisions)
    }
}

fn whole(decided: Decided) -> Result<Decision, SimulateError> {
    decided.map_err(|panicked| SimulateError::Decide { workload: panicked.id.to_string(), message: panicked.message })
}

/// Carries a decision out; whether anything was written.
fn write(decision: &Decision, workload: &Workload, at: usize, cluster: &mut Cluster) -> bool {
    let actions = plan(decision, workload.policy.mode).actions;
    let sets = cluster.sets.iter().enumerate().filter(|(_, set)| set.workload == at).map(|(number, _)| number);
    let named: Vec<_> = workload.policy.pools.iter().map(PoolPolicy::name).zip(sets).collect();
    for action in &actions {
        for (_, set) in named.iter().filter(|(name, _)| *name == action.pool) {
            cluster.ask(*set, action.to.0);
        }
    }
    !actions.is_empty()
}

/// How a process ended, as its pod's status says.
fn exit(end: &Ended, scenario: &Scenario) -> Exit {
    let cause = match end.of {
        End::GpuMemory => ExitCause::GpuMemory,
        End::HostMemory => ExitCause::HostMemory,
        End::Failed => ExitCause::Failed,
    };
    Exit { pod: end.uid.clone(), at: scenario.at(end.at), cause, shared: false }
}

/// Its Ready pods.
fn ready_pods(workload: &Workload, subject: &Subject) -> Vec<WatchedPod> {
    let pods = workload.pods().filter_map(|pod| match pod.state {
        PodState::Ready { since } => Some(WatchedPod {
            name: pod.name.0.clone(),
            ready_since: since,
            container: CONTAINER.to_owned(),
            cpu_limit: subject.pod.cpu_limit,
            cpu_at_hand: None,
            gpus: subject.pod.gpus,
            shared: false,
            node: None,
        }),
        PodState::Pending { .. } | PodState::Starting { .. } | PodState::Ended => None,
    });
    pods.collect()
}
