//! What the types cannot say: positive numbers, names that exist, causes that can be changed.

use super::{
    Arrivals, Batch, Change, Llm, MaxTokens, Model, NodeGroup, Rate, Router, Scenario, Series, Service, Trace, Workload,
};
use std::collections::BTreeSet;

/// The path of a field, and what is wrong with it and what to do.
pub(crate) type Problem = (String, String);

impl Scenario {
    /// Checks everything that the types cannot; the first problem is returned.
    pub(super) fn check(&self) -> Result<(), Problem> {
        positive("tick", self.tick.seconds())?;
        positive("exporter.interval", self.exporter.interval.seconds())?;
        positive("cadvisor.interval", self.cadvisor.interval.seconds())?;
        unique("workloads", self.workloads.iter().map(|workload| workload.name.as_str()))?;
        unique("nodes", self.nodes.iter().map(|group| group.prefix.as_str()))?;
        for (index, group) in self.nodes.iter().enumerate() {
            group.check().map_err(|problem| under(&format!("nodes[{index}]"), problem))?;
        }
        for (index, workload) in self.workloads.iter().enumerate() {
            workload.check().map_err(|problem| under(&format!("workloads[{index}]"), problem))?;
        }
        self.check_begin()?;
        self.check_changes()
    }

    fn check_begin(&self) -> Result<(), Problem> {
        for name in self.begin.when_ready.keys() {
            self.workload(name).map_err(|error| (format!("begin.whenReady.{name}"), error.to_string()))?;
        }
        Ok(())
    }

    /// Plays all changes in order, so that a wrong path is found at the start and not after a minute.
    fn check_changes(&self) -> Result<(), Problem> {
        let mut played = self.clone();
        for (index, Change { workload, set, .. }) in self.changes.iter().enumerate() {
            for (path, value) in set {
                let at = format!("changes[{index}].set.{path}");
                let changed = played.workload(workload).and_then(|workload| workload.with(path, value));
                let changed = changed.map_err(|error| (at, error.to_string()))?;
                played.workloads.retain(|other| other.name != *workload);
                played.workloads.push(changed);
            }
        }
        Ok(())
    }
}

impl NodeGroup {
    fn check(&self) -> Result<(), Problem> {
        if self.gpus > 16 {
            return Err((
                "gpus".into(),
                format!("{} GPUs do not fit a node; use at most 16 and more nodes", self.gpus),
            ));
        }
        Ok(())
    }
}

impl Workload {
    /// Checks one workload: the path of the first field that is wrong, from the workload on, and what to do.
    pub fn check(&self) -> Result<(), (String, String)> {
        if self.selector.match_labels.is_empty() {
            return Err(("selector.matchLabels".into(), "is empty; name at least one label of the pods".into()));
        }
        match &self.model {
            Model::Llm(llm) => llm.check().map_err(|problem| under("model.llm", problem))?,
            Model::Training(training) => training.check().map_err(|problem| under("model.training", problem))?,
            Model::Service(service) => service.check().map_err(|problem| under("model.service", problem))?,
        }
        match (&self.model, &self.arrivals) {
            (Model::Training(_), Arrivals::Trace(_)) => Err((
                "arrivals.trace".into(),
                "training takes a flow of samples; use arrivals.rate or arrivals.series".into(),
            )),
            (_, Arrivals::Trace(trace)) => trace.check().map_err(|problem| under("arrivals.trace", problem)),
            (_, Arrivals::Rate(rate)) => rate.check().map_err(|problem| under("arrivals.rate", problem)),
            (_, Arrivals::Series(series)) => series.check().map_err(|problem| under("arrivals.series", problem)),
        }
    }
}

impl Llm {
    fn check(&self) -> Result<(), Problem> {
        not_negative("prefillFixedMs", self.prefill_fixed_ms)?;
        not_negative("prefillMsPerToken", self.prefill_ms_per_token)?;
        positive("decodeFixedMs", self.decode_fixed_ms)?;
        not_negative("decodeMsPerSequence", self.decode_ms_per_sequence)?;
        positive("batchCap", f64::from(self.batch_cap))?;
        positive("batchedTokens", f64::from(self.batched_tokens))?;
        positive("kvCapacityTokens", f64::from(self.kv_capacity_tokens))?;
        not_negative("kvBytesPerToken", self.kv_bytes_per_token)?;
        positive("weightsGib", self.weights_gib)?;
        positive("tokenizer.cores", self.tokenizer.cores)?;
        not_negative("tokenizer.msPerRequest", self.tokenizer.ms_per_request)?;
        self.cpu_pool.as_ref().map_or(Ok(()), |pool| positive("cpuPool.cores", pool.cores))?;
        self.max_tokens.as_ref().map_or(Ok(()), MaxTokens::check).map_err(|problem| under("maxTokens", problem))?;
        self.router.as_ref().map_or(Ok(()), Router::check).map_err(|problem| under("router", problem))
    }
}

impl Service {
    fn check(&self) -> Result<(), Problem> {
        positive("gpuSecondsPerRequest", self.gpu_seconds_per_request)?;
        not_negative("cpuSecondsPerRequest", self.cpu_seconds_per_request)?;
        not_negative("waitSecondsPerRequest", self.wait_seconds_per_request)?;
        positive("concurrency", f64::from(self.concurrency))?;
        not_negative("gpuMemoryMib", self.gpu_memory_mib)?;
        self.cpu_pool.as_ref().map_or(Ok(()), |pool| positive("cpuPool.cores", pool.cores))?;
        self.batch.as_ref().map_or(Ok(()), Batch::check).map_err(|problem| under("batch", problem))?;
        self.router.as_ref().map_or(Ok(()), Router::check).map_err(|problem| under("router", problem))
    }
}

impl Trace {
    fn check(&self) -> Result<(), Problem> {
        positive("timeScale", self.time_scale)
    }
}

impl Rate {
    fn check(&self) -> Result<(), Problem> {
        not_negative("perSecond", self.per_second)?;
        not_negative("lengthSpread", self.length_spread)?;
        for (index, step) in self.steps.iter().enumerate() {
            not_negative(&format!("steps[{index}].perSecond"), step.per_second)?;
        }
        if self.steps.windows(2).any(|pair| pair[0].at > pair[1].at) {
            return Err(("steps".into(), "are not in order of time; sort them by at".into()));
        }
        Ok(())
    }
}

impl Series {
    fn check(&self) -> Result<(), Problem> {
        not_negative("scale", self.scale)?;
        positive("timeScale", self.time_scale)
    }
}

pub(super) fn positive(path: &str, value: f64) -> Result<(), Problem> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err((path.into(), format!("is {value}; it must be a number above 0")))
}

pub(super) fn not_negative(path: &str, value: f64) -> Result<(), Problem> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err((path.into(), format!("is {value}; it must be a number of at least 0")))
}

pub(super) fn share(path: &str, value: f64) -> Result<(), Problem> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err((path.into(), format!("is {value}; it must be a share from 0 to 1")))
}

fn unique<'a>(path: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Problem> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err((path.into(), format!("\"{name}\" is there twice; give each a name of its own")));
        }
    }
    Ok(())
}

pub(super) fn under(path: &str, (field, problem): Problem) -> Problem {
    (format!("{path}.{field}"), problem)
}
