//! What the sampler does not read off the models yet.

use crate::case::{Pod, WORKLOAD};
use crate::watch::gpus_of;
use std::collections::BTreeMap;
use wellfed::evidence::{Metric, Slice};
use wellfed_sim::sim::{Sim, State, Usage};

/// Counters at the last look, by pod.
#[derive(Debug, Default)]
pub struct Extra {
    usage: BTreeMap<String, (f64, Usage)>,
    batches: BTreeMap<String, (u64, u64)>,
}

impl Extra {
    /// Adds what is missing in `slice`.
    pub fn add(&mut self, sim: &Sim, pods: &[Pod], slice: &mut Slice, container: &str) {
        for pod in pods {
            let uid = pod.replica.uid.clone();
            let key = (WORKLOAD.to_owned(), uid.clone());
            let (now, used) = (sim.now(), sim.ledger(&uid).used);
            if let Some((then, before)) = self.usage.insert(uid.clone(), (now, used)) {
                let rate = |value: fn(&Usage) -> f64| ((value(&used) - value(&before)) / (now - then)).clamp(0.0, 1.0);
                slice.note_container(&key, container, Metric::Pressure, rate(|used| used.cpu_waiting));
                slice.note_container(&key, container, Metric::IoPressure, rate(|used| used.io_waiting));
                for gpu in gpus_of(&pod.replica.uid, pod.replica.gpus) {
                    if slice.get(&key, &gpu, Metric::Util).is_none() {
                        continue;
                    }
                    slice.note_gpu(&key, &gpu, Metric::ClocksHeld, rate(|used| used.held_seconds));
                }
            }
            self.triton(sim, &uid, &key, slice);
        }
    }

    fn triton(&mut self, sim: &Sim, uid: &str, key: &(String, String), slice: &mut Slice) {
        let Some(State::Service(pool)) = sim.workloads().first().map(|one| &one.state) else { return };
        let Some(batcher) = pool.batchers.get(uid) else { return };
        slice.note_server(key, Metric::Waiting, batcher.pending() as f64);
        let now = (batcher.inferences, batcher.executions);
        if let Some(before) = self.batches.insert(uid.to_owned(), now)
            && now.1 > before.1
        {
            slice.note_server(key, Metric::Batch, (now.0 - before.0) as f64 / (now.1 - before.1) as f64);
            slice.note_server(key, Metric::Progress, (now.0 - before.0) as f64 / 60.0);
        }
    }
}
