//! A workload, as it stands and as it wants to be.

use super::evidence::{busy_gpu, evidence, starved_gpu};
use super::{NOW, PoolBuilder, Signal, at, average, behavior, gate, unlimited_pool};
use crate::evidence::{ContainerEvidence, Evidence, GpuEvidence, OwnEvidence, ServerEvidence};
use crate::memory::{Adoption, Memory};
use crate::policy::{Class, Fallback, FallbackBehavior, GateMode, Mode, OnUnknown, Policy};
use crate::span::Span;
use crate::units::{Gpus, Replicas, WorkloadId};
use crate::world::{GateOverride, Measures, Template, Workload};

/// Built by [`server`], [`trainer`] or [`batch`].
#[derive(Clone, Debug)]
pub struct WorkloadBuilder {
    workload: Workload,
    pools: Vec<PoolBuilder>,
    signals: Vec<Signal>,
    evidence: Option<(GpuEvidence, ContainerEvidence)>,
    serving: Option<ServerEvidence>,
    own: OwnEvidence,
}

/// An inference workload.
pub fn server(name: &str) -> WorkloadBuilder {
    WorkloadBuilder::new(name, Class::Inference)
}

/// A training workload.
pub fn trainer(name: &str) -> WorkloadBuilder {
    WorkloadBuilder::new(name, Class::Training)
}

/// A batch workload.
pub fn batch(name: &str) -> WorkloadBuilder {
    WorkloadBuilder::new(name, Class::Batch)
}

impl WorkloadBuilder {
    fn new(name: &str, class: Class) -> Self {
        let policy = Policy {
            class,
            mode: Mode::Auto,
            min: Replicas(1),
            max: Replicas(100),
            gpus_per_replica: Gpus(1),
            whole_gpus: true,
            signals: Vec::new(),
            behavior: behavior(),
            gate: gate(class),
            pools: Vec::new(),
            fallback: None,
            model: None,
        };
        let id = WorkloadId { namespace: "ml".to_owned(), name: name.to_owned(), uid: format!("uid-of-{name}") };
        let memory = Memory { adoption: Adoption::Done, ..Memory::default() };
        let workload = Workload {
            id,
            created: at(-86_400),
            policy,
            pools: Vec::new(),
            signals: Vec::new(),
            measures: Measures::default(),
            opinion: None,
            template: None,
            gate_override: None,
            memory,
        };
        Self {
            workload,
            pools: Vec::new(),
            signals: Vec::new(),
            evidence: None,
            serving: None,
            own: OwnEvidence::default(),
        }
    }

    /// Changes the policy in a way that has no word of its own here.
    #[must_use]
    pub fn policy(mut self, change: impl FnOnce(&mut Policy)) -> Self {
        change(&mut self.workload.policy);
        self
    }

    /// With this memory; by default it was adopted long ago and remembers nothing else.
    #[must_use]
    pub fn remembering(mut self, memory: Memory) -> Self {
        self.workload.memory = memory;
        self
    }

    /// Never seen before.
    #[must_use]
    pub fn new_here(self) -> Self {
        self.remembering(Memory::default())
    }

    /// Made so many seconds after [`NOW`].
    #[must_use]
    pub fn created(mut self, seconds: i64) -> Self {
        self.workload.created = at(seconds);
        self
    }

    /// `minReplicas`.
    #[must_use]
    pub fn min(self, replicas: u32) -> Self {
        self.policy(|policy| policy.min = Replicas(replicas))
    }

    /// `maxReplicas`.
    #[must_use]
    pub fn max(self, replicas: u32) -> Self {
        self.policy(|policy| policy.max = Replicas(replicas))
    }

    /// GPUs a replica.
    #[must_use]
    pub fn gpus_each(self, gpus: u32) -> Self {
        self.policy(|policy| policy.gpus_per_replica = Gpus(gpus))
    }

    /// Written, recommended or paused.
    #[must_use]
    pub fn mode(self, mode: Mode) -> Self {
        self.policy(|policy| policy.mode = mode)
    }

    /// How the gate treats it.
    #[must_use]
    pub fn gate(self, mode: GateMode) -> Self {
        self.policy(|policy| policy.gate.mode = mode)
    }

    /// What no evidence means.
    #[must_use]
    pub fn on_unknown(self, then: OnUnknown) -> Self {
        self.policy(|policy| policy.gate.on_unknown = then)
    }

    /// After more than `failure_threshold` failures.
    #[must_use]
    pub fn fallback(self, failure_threshold: u32, replicas: u32, behavior: FallbackBehavior) -> Self {
        let fallback = Fallback { failure_threshold, replicas: Replicas(replicas), behavior };
        self.policy(|policy| policy.fallback = Some(fallback))
    }

    /// So many Ready replicas in the implicit pool.
    #[must_use]
    pub fn running(self, replicas: u32) -> Self {
        self.pool(unlimited_pool().running(replicas))
    }

    /// One more pool.
    #[must_use]
    pub fn pool(mut self, pool: PoolBuilder) -> Self {
        self.pools.push(pool);
        self
    }

    /// One more signal.
    #[must_use]
    pub fn signal(mut self, signal: Signal) -> Self {
        self.signals.push(signal);
        self
    }

    /// A signal named `load` that asks for so many replicas.
    #[must_use]
    pub fn wanting(self, replicas: u32) -> Self {
        self.signal(average("load", f64::from(replicas) * 10.0, 10.0))
    }

    /// Each GPU busy with real work.
    #[must_use]
    pub fn busy(mut self) -> Self {
        self.evidence = Some((busy_gpu(), ContainerEvidence::default()));
        self
    }

    /// The share of time that each GPU is active.
    #[must_use]
    pub fn gpu_activity(self, share: f64) -> Self {
        let activity = Some(Span::exact(share));
        self.seen(|gpu, _| *gpu = GpuEvidence { util: activity, engine: activity, ..starved_gpu() })
    }

    /// CPU used over its limit of 8 cores.
    #[must_use]
    pub fn cpu_of_limit(self, share: f64) -> Self {
        self.seen(|_, container| {
            container.limit = Some(8.0);
            container.cores = Some(Span::exact(share * 8.0));
        })
    }

    /// Throttled periods.
    #[must_use]
    pub fn throttled(self, share: f64) -> Self {
        self.seen(|_, container| container.throttled = Some(Span::exact(share)))
    }

    /// Changes what is seen of each GPU and of its container.
    #[must_use]
    pub fn seen(mut self, change: impl FnOnce(&mut GpuEvidence, &mut ContainerEvidence)) -> Self {
        let (gpu, container) = self.evidence.get_or_insert((starved_gpu(), ContainerEvidence::default()));
        change(gpu, container);
        self
    }

    /// What each Ready replica says of its own serving.
    #[must_use]
    pub fn serving(mut self, says: ServerEvidence) -> Self {
        self.serving = Some(says);
        self
    }

    /// What its own signals say of its work.
    #[must_use]
    pub fn told(mut self, own: OwnEvidence) -> Self {
        self.own = own;
        self
    }

    /// Made from a pod template of this digest, every replica of it.
    #[must_use]
    pub fn template(mut self, digest: &str) -> Self {
        self.workload.template = Some(Template { digest: digest.to_owned(), rolled_out: true, revisions: None });
        self
    }

    /// Made from a new pod template of this digest, and some replicas still from an older one.
    #[must_use]
    pub fn rolling_out(mut self, digest: &str) -> Self {
        self.workload.template = Some(Template { digest: digest.to_owned(), rolled_out: false, revisions: None });
        self
    }

    /// A person overrides the gate until so many seconds after [`NOW`].
    #[must_use]
    pub fn overridden(mut self, reason: &str, until: i64) -> Self {
        self.workload.gate_override = Some(GateOverride { reason: reason.to_owned(), until: at(until) });
        self
    }

    /// The workload, and what is seen of it if anything is.
    pub fn build(mut self) -> (Workload, Option<Evidence>) {
        if self.pools.is_empty() {
            self.pools.push(unlimited_pool());
        }
        let workload = &mut self.workload;
        let pools = self.pools.iter().map(|pool| pool.build(&workload.id.name));
        (workload.policy.pools, workload.pools) = pools.unzip();
        let signals: Vec<_> = self.signals.iter().map(|signal| signal.build(workload.pods())).collect();
        (workload.policy.signals, workload.signals) = signals.into_iter().unzip();
        let ready = workload.pods().filter(|pod| pod.is_ready()).count();
        let policy = &workload.policy;
        let seen = self.evidence.map(|(gpu, container)| {
            let gpus = vec![gpu; ready * policy.gpus_per_replica.0 as usize];
            let servers = self.serving.map_or_else(Vec::new, |serving| vec![serving; ready]);
            let of_all = evidence(policy.class, &gpus, &vec![container; ready]);
            Evidence { gate: policy.gate, at: NOW, servers, own: self.own, ..of_all }
        });
        (self.workload, seen)
    }
}
