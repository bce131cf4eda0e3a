//! What a pod's own metrics say: a language-model server's, a batching server's, a trainer's.

use crate::evidence::Metric;
use wellfed_sim::sim::histogram::Histogram;
use wellfed_sim::sim::llm::Engine;
use wellfed_sim::sim::service::Batcher;
use wellfed_sim::sim::training::{Progress, TrainingRun};
use wellfed_sim::sim::{Running, State};

/// What a pod says at one moment. What is not in it is not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// Numbers of now; a look shows their mean.
    pub gauges: Vec<(Metric, f64)>,
    /// Totals since the pod started; a look shows what they grew by in a second.
    pub counters: Vec<(Metric, f64)>,
    /// Sums and counts since the pod started; a look shows the mean of what was counted in it.
    pub means: Vec<(Metric, (f64, f64))>,
    /// Prompt lengths since it started.
    pub prompts: Option<Histogram>,
}

impl Said {
    /// What the pod `uid` of `workload` says; none where the lane reads none of its metrics, or it does not answer yet.
    pub fn by(workload: &Running, uid: &str) -> Option<Self> {
        match &workload.state {
            State::Llm(pool) => pool.engines.get(uid).map(of_engine),
            State::Service(pool) => pool.batchers.get(uid).map(of_batcher),
            State::Training(run) => run.progress.get(uid).map(|progress| of_trainer(run, progress)),
        }
    }
}

fn of_engine(engine: &Engine) -> Said {
    let counted = |histogram: &Histogram| (histogram.sum, histogram.total as f64);
    Said {
        gauges: vec![
            (Metric::Running, engine.running.len() as f64),
            (Metric::Waiting, engine.waiting.len() as f64),
            (Metric::Kv, engine.kv_usage().min(1.0)),
        ],
        counters: vec![
            (Metric::Preemptions, engine.preemptions as f64),
            (Metric::Progress, engine.generation_tokens as f64),
        ],
        means: vec![
            (Metric::QueueSeconds, counted(&engine.queue_time)),
            (Metric::FirstTokenSeconds, counted(&engine.first_token)),
            (Metric::WholeSeconds, counted(&engine.whole)),
            (Metric::OutputTokens, counted(&engine.answers)),
            (Metric::OutputCap, counted(&engine.caps)),
        ],
        prompts: Some(engine.prompts.clone()),
    }
}

fn of_batcher(batcher: &Batcher) -> Said {
    let (inferences, finished) = (batcher.inferences as f64, batcher.finished as f64);
    Said {
        gauges: vec![(Metric::Waiting, batcher.pending() as f64)],
        counters: vec![(Metric::Answers, inferences)],
        means: vec![
            (Metric::Batch, (inferences, batcher.executions as f64)),
            (Metric::QueueSeconds, (batcher.queue_seconds, finished)),
            (Metric::WholeSeconds, (batcher.queue_seconds + batcher.compute_seconds, finished)),
        ],
        prompts: Some(batcher.lengths.clone()),
    }
}

fn of_trainer(run: &TrainingRun, progress: &Progress) -> Said {
    let told = [
        (Metric::StepSeconds, run.pace.step),
        (Metric::DataWaitSeconds, run.pace.data_wait()),
        (Metric::Loss, run.loss),
    ];
    Said {
        // An evaluation stands there until the next one is made.
        gauges: told.into_iter().chain(run.quality.map(|quality| (Metric::Quality, quality))).collect(),
        counters: vec![(Metric::Throughput, progress.samples)],
        means: Vec::new(),
        prompts: None,
    }
}
