//! The pods of one target, kept at the number asked for as a `ReplicaSet` does.

use super::instant;
use super::node::NodePool;
use super::pod::{GRACE, Phase, VirtualPod};
use crate::simulate::sampler::SampledPod;
use crate::simulate::scenario::{PodShape, Subject};
use jiff::Timestamp;
use wellfed_engine::units::PodName;
use wellfed_engine::world::{Pod, PodState};
use wellfed_sim::sim::training::Outage;
use wellfed_sim::sim::{Replica, Stage};

/// What runs at the start has run for this long, seconds.
const BEFORE: f64 = 3600.0;

/// The pods of one target.
#[derive(Clone, Debug)]
pub struct Set {
    /// The workload's position.
    pub workload: usize,
    /// The pool's position.
    pub pool: usize,
    /// `spec.replicas`.
    pub asked: u32,
    target: String,
    shape: PodShape,
    pods: Vec<VirtualPod>,
    made: u64,
    process: Process,
}

/// The processes in the pods, which live and end together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Process {
    /// They run since this second, or since their pods are Ready.
    Up(f64),
    /// They ended, and are not started again yet.
    Down,
}

impl Set {
    /// No pod yet.
    pub fn new(workload: usize, pool: usize, target: &str, subject: &Subject, asked: u32) -> Self {
        let mut set = Self {
            workload,
            pool,
            asked,
            target: target.to_owned(),
            shape: subject.pod.clone(),
            pods: Vec::new(),
            made: 0,
            process: Process::Up(f64::NEG_INFINITY),
        };
        (0..asked).for_each(|_| set.make(-BEFORE));
        set
    }

    fn make(&mut self, now: f64) {
        let name = format!("{}-{:05}", self.target, self.made);
        self.made += 1;
        self.pods.push(VirtualPod { name, made: now, seat: None, phase: Phase::Pending });
    }

    /// What has a node at the start is Ready.
    pub fn begin_ready(&mut self) {
        for pod in self.pods.iter_mut().filter(|pod| pod.seat.is_some()) {
            pod.phase = Phase::Ready(-BEFORE);
        }
    }

    /// Pods whose grace is over are gone.
    pub fn end(&mut self, nodes: &mut NodePool, now: f64) -> bool {
        let before = self.pods.len();
        self.pods.retain(|pod| {
            let over = matches!(pod.phase, Phase::Draining(until) if until <= now);
            if over && let Some(seat) = &pod.seat {
                nodes.leave(seat, now);
            }
            !over
        });
        self.pods.len() < before
    }

    /// The node is gone, and its pods with it.
    pub fn lose(&mut self, node: u64) {
        self.pods.retain(|pod| pod.seat.as_ref().is_none_or(|seat| seat.node != node));
    }

    /// Makes what is missing and deletes what is too much.
    pub fn follow(&mut self, nodes: &mut NodePool, now: f64) -> bool {
        let live = self.pods.iter().filter(|pod| pod.is_live()).count();
        let asked = self.asked as usize;
        for _ in live..asked {
            self.make(now);
        }
        for _ in asked..live {
            self.delete_one(nodes, now);
        }
        live != asked
    }

    fn delete_one(&mut self, nodes: &mut NodePool, now: f64) {
        let order = |at: &usize| self.pods[*at].dispensable();
        let live = (0..self.pods.len()).filter(|at| self.pods[*at].is_live());
        let Some(at) = live.min_by(|one, other| {
            let (one, other) = (order(one), order(other));
            one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
        }) else {
            return;
        };
        if matches!(self.pods[at].phase, Phase::Ready(_)) {
            self.pods[at].phase = Phase::Draining(now + GRACE);
        } else {
            let pod = self.pods.remove(at);
            pod.seat.iter().for_each(|seat| nodes.leave(seat, now));
        }
    }

    /// Gives nodes to pods that wait for one.
    pub fn place(&mut self, nodes: &mut NodePool, now: f64, start_up: f64) -> bool {
        let mut changed = false;
        for pod in self.pods.iter_mut().filter(|pod| pod.phase == Phase::Pending) {
            let Some(seat) = nodes.seat(self.shape.gpus, now) else { continue };
            pod.seat = Some(seat);
            pod.phase = Phase::Starting(now + start_up);
            changed = true;
        }
        changed
    }

    /// Pods that have loaded are Ready.
    pub fn ready(&mut self, now: f64) -> bool {
        let mut changed = false;
        for pod in &mut self.pods {
            if let Phase::Starting(until) = pod.phase
                && until <= now
            {
                pod.phase = Phase::Ready(now);
                changed = true;
            }
        }
        changed
    }

    /// Takes in when the processes of the pods ended; whether that changes what is seen of them.
    pub fn restarts(&mut self, outage: Option<Outage>, now: f64) -> bool {
        let process = match outage {
            Some(outage) if now < outage.until => Process::Down,
            Some(outage) => Process::Up(outage.until),
            None => Process::Up(f64::NEG_INFINITY),
        };
        std::mem::replace(&mut self.process, process) != process
    }

    /// GPUs that its pods hold.
    pub fn held(&self) -> u32 {
        let seated = self.pods.iter().filter(|pod| pod.seat.is_some()).count();
        u32::try_from(seated).unwrap_or(u32::MAX).saturating_mul(self.shape.gpus)
    }

    /// Ready pods.
    pub fn ready_pods(&self) -> u32 {
        let ready = self.pods.iter().filter(|pod| matches!(pod.phase, Phase::Ready(_))).count();
        u32::try_from(ready).unwrap_or(u32::MAX)
    }

    /// Its pods as a decision sees them.
    pub fn seen(&self, start: Timestamp) -> Vec<Pod> {
        let seen = |pod: &VirtualPod| {
            let made = instant(start, pod.made);
            let state = match pod.phase {
                Phase::Pending => PodState::Pending { since: made },
                Phase::Starting(_) => PodState::Starting { since: made },
                Phase::Ready(since) => match self.process {
                    Process::Up(up) => PodState::Ready { since: instant(start, since.max(up)) },
                    Process::Down => PodState::Starting { since: made },
                },
                Phase::Draining(_) => PodState::Ended,
            };
            Pod { name: PodName(pod.name.clone()), state, bound: pod.seat.is_some() }
        };
        self.pods.iter().map(seen).collect()
    }

    /// Its pods on nodes as the models see them.
    pub fn replicas(&self) -> impl Iterator<Item = Replica> {
        self.pods.iter().filter_map(|pod| self.replica(pod))
    }

    fn replica(&self, pod: &VirtualPod) -> Option<Replica> {
        let stage = match pod.phase {
            Phase::Pending => return None,
            Phase::Starting(_) => Stage::Starting,
            Phase::Ready(_) => Stage::Ready,
            Phase::Draining(_) => Stage::Draining,
        };
        Some(Replica { uid: pod.name.clone(), stage, gpus: self.shape.gpus, cpu_limit: self.shape.cpu_limit })
    }

    /// Its pods on nodes as exporters know them.
    pub fn sampled(&self, subject: &Subject, nodes: &NodePool) -> Vec<SampledPod> {
        let sampled = |pod: &VirtualPod| {
            Some(SampledPod {
                workload: subject.id.name.clone(),
                key: (subject.id.namespace.clone(), pod.name.clone()),
                container: super::CONTAINER.to_owned(),
                replica: self.replica(pod)?,
                product: nodes.product.clone(),
                gpus: nodes.uuids(pod.seat.as_ref()?),
            })
        };
        self.pods.iter().filter_map(sampled).collect()
    }
}
