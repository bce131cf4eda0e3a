//! One workload and its replicas, played by hand.

#![allow(dead_code)]

use std::{collections::BTreeMap, path::Path};
use wellfed_sim::{
    scenario::Scenario,
    sim::{Replica, Sim, Stage, State, Truth, Usage, llm::LlmPool, service::ServicePool, training::TrainingRun},
};

pub struct Lab {
    pub sim: Sim,
    pub pods: BTreeMap<String, Vec<Replica>>,
    cores: Option<f64>,
}

/// One workload called `w` with this model and arrival rate; each replica may use 16 cores.
pub fn lab(model: &str, per_second: f64) -> Lab {
    let text = format!(
        "seed: 11\nworkloads:\n- name: w\n  namespace: n\n  selector: {{matchLabels: {{app: w}}}}\n  model:\n    {model}\n  \
         arrivals: {{rate: {{perSecond: {per_second}, promptTokens: 1000, outputTokens: 200}}}}\n"
    );
    let scenario = Scenario::parse(&text, "lab", Path::new(".")).unwrap();
    Lab { sim: Sim::new(&scenario).unwrap(), pods: BTreeMap::new(), cores: Some(16.0) }
}

impl Lab {
    pub fn cores(mut self, cores: Option<f64>) -> Self {
        self.cores = cores;
        self
    }

    pub fn replicas(mut self, count: usize) -> Self {
        self.scale(count);
        self
    }

    pub fn scale(&mut self, count: usize) {
        let pods = (0..count).map(|index| Replica::ready(format!("w-{index}"), 1, self.cores));
        self.pods.insert("w".into(), pods.collect());
    }

    pub fn stage(&mut self, index: usize, stage: Stage) {
        self.pods.get_mut("w").unwrap()[index].stage = stage;
    }

    pub fn set(mut self, path: &str, value: impl Into<serde_json::Value>) -> Self {
        self.change(path, value);
        self
    }

    pub fn change(&mut self, path: &str, value: impl Into<serde_json::Value>) {
        self.sim.set("w", path, &value.into()).unwrap();
    }

    pub fn run(&mut self, seconds: u32) -> Truth {
        (0..seconds * 10).for_each(|_| self.sim.step(&self.pods));
        self.truth()
    }

    pub fn truth(&self) -> Truth {
        self.sim.workloads()[0].truth()
    }

    pub fn training(&self) -> &TrainingRun {
        let State::Training(run) = &self.sim.workloads()[0].state else { panic!("a training run") };
        run
    }

    pub fn llm(&self) -> &LlmPool {
        let State::Llm(pool) = &self.sim.workloads()[0].state else { panic!("an LLM pool") };
        pool
    }

    pub fn service(&self) -> &ServicePool {
        let State::Service(pool) = &self.sim.workloads()[0].state else { panic!("a service") };
        pool
    }

    /// Work finished a second over `seconds`.
    pub fn throughput(&mut self, seconds: u32) -> f64 {
        let done = |lab: &Self| match &lab.sim.workloads()[0].state {
            State::Llm(pool) => pool.finished() as f64,
            State::Training(run) => run.samples,
            State::Service(pool) => pool.finished as f64,
        };
        let before = done(self);
        self.run(seconds);
        (done(self) - before) / f64::from(seconds)
    }

    /// What the replica used a second over `seconds`.
    pub fn rates(&mut self, replica: usize, seconds: u32) -> Usage {
        let uid = format!("w-{replica}");
        let before = self.sim.ledger(&uid).used;
        self.run(seconds);
        let after = self.sim.ledger(&uid).used;
        let rate = |after: f64, before: f64| (after - before) / f64::from(seconds);
        Usage {
            gpu_busy: rate(after.gpu_busy, before.gpu_busy),
            sm_active: rate(after.sm_active, before.sm_active),
            tensor_active: rate(after.tensor_active, before.tensor_active),
            fp32_active: rate(after.fp32_active, before.fp32_active),
            dram_bytes: rate(after.dram_bytes, before.dram_bytes),
            pcie_rx_bytes: rate(after.pcie_rx_bytes, before.pcie_rx_bytes),
            pcie_tx_bytes: rate(after.pcie_tx_bytes, before.pcie_tx_bytes),
            nvlink_rx_bytes: rate(after.nvlink_rx_bytes, before.nvlink_rx_bytes),
            nvlink_tx_bytes: rate(after.nvlink_tx_bytes, before.nvlink_tx_bytes),
            held_seconds: rate(after.held_seconds, before.held_seconds),
            cpu_seconds: rate(after.cpu_seconds, before.cpu_seconds),
            cpu_waiting: rate(after.cpu_waiting, before.cpu_waiting),
            io_waiting: rate(after.io_waiting, before.io_waiting),
            cfs_periods: rate(after.cfs_periods, before.cfs_periods),
            cfs_throttled: rate(after.cfs_throttled, before.cfs_throttled),
            net_rx_bytes: rate(after.net_rx_bytes, before.net_rx_bytes),
            net_tx_bytes: rate(after.net_tx_bytes, before.net_tx_bytes),
        }
    }
}

/// Fails unless `value` is within a share `tolerance` of `expected`.
#[track_caller]
pub fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance * expected.abs(), "{value} is not {expected}");
}
