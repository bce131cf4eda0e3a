//! What a pod's own metrics say, for those kinds of pods whose metrics the gate's lane knows.

use wellfed_sim::sim::{Running, State};

/// What a model server says at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Said {
    /// Requests in the batch.
    pub running: f64,
    /// Requests that wait.
    pub waiting: f64,
    /// KV cache in use, 0–1.
    pub kv: f64,
    /// Requests thrown out of the KV cache since it started; none where that is not known.
    pub preemptions: Option<f64>,
    /// Tokens generated since it started; none where that is not known.
    pub progress: Option<f64>,
}

impl Said {
    /// What the pod `uid` of `workload` says; none where it serves no language model, or does not serve yet.
    pub fn by(workload: &Running, uid: &str) -> Option<Self> {
        let State::Llm(pool) = &workload.state else { return None };
        let engine = pool.engines.get(uid)?;
        Some(Self {
            running: engine.running.len() as f64,
            waiting: engine.waiting.len() as f64,
            kv: engine.kv_usage().min(1.0),
            preemptions: Some(engine.preemptions as f64),
            progress: Some(engine.generation_tokens as f64),
        })
    }
}
