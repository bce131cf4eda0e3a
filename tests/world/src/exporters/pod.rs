//! A pod's own `/metrics`: vLLM's, a trainer's or a service's.

use super::text::{Kind, Text};
use crate::{
    scenario::{Llm, Model},
    sim::{
        Running, State,
        llm::Engine,
        training::{Pace, Progress},
    },
};

/// The page of the pod `uid`; `None` while its server does not answer yet.
pub fn page(workload: &Running, uid: &str) -> Option<String> {
    match (&workload.spec.model, &workload.state) {
        (Model::Llm(llm), State::Llm(pool)) => Some(vllm(llm, pool.engines.get(uid)?)),
        (_, State::Training(run)) => Some(training(run.progress.get(uid)?, &run.pace)),
        (_, State::Service(pool)) => {
            let server = pool.servers.get(uid)?;
            Some(service(server.finished, server.inside()))
        }
        _ => None,
    }
}

/// vLLM v1's names (docs/design/metrics.md).
fn vllm(llm: &Llm, engine: &Engine) -> String {
    let labels = [("engine", "0"), ("model_name", llm.model_name.as_str())];
    let mut text = Text::default();
    let gauges = [
        ("vllm:num_requests_running", "Number of requests in model execution batches.", engine.running.len() as f64),
        ("vllm:num_requests_waiting", "Number of requests waiting to be processed.", engine.waiting.len() as f64),
        ("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", engine.kv_usage().min(1.0)),
    ];
    for (name, help, value) in gauges {
        text.one(name, Kind::Gauge, help, &labels, value);
    }
    let counters = [
        ("vllm:num_preemptions_total", "Cumulative number of preemption from the engine.", engine.preemptions),
        ("vllm:prompt_tokens_total", "Number of prefill tokens processed.", engine.prompt_tokens),
        ("vllm:generation_tokens_total", "Number of generation tokens processed.", engine.generation_tokens),
    ];
    for (name, help, value) in counters {
        text.one(name, Kind::Counter, help, &labels, value as f64);
    }
    let finished = [("engine", "0"), ("finished_reason", "stop"), ("model_name", llm.model_name.as_str())];
    let name = "vllm:request_success_total";
    text.one(name, Kind::Counter, "Count of successfully processed requests.", &finished, engine.finished as f64);
    let histograms = [
        ("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.", &engine.first_token),
        ("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", &engine.whole),
        (
            "vllm:request_queue_time_seconds",
            "Histogram of time spent in WAITING phase for request.",
            &engine.queue_time,
        ),
    ];
    for (name, help, histogram) in histograms {
        text.histogram(name, help, &labels, histogram);
    }
    text.finish()
}

fn training(progress: &Progress, pace: &Pace) -> String {
    let mut text = Text::default();
    text.one("training_samples_total", Kind::Counter, "Samples trained on.", &[], progress.samples.floor())
        .one("training_steps_total", Kind::Counter, "Steps done.", &[], progress.steps.floor())
        .one("training_step_seconds", Kind::Gauge, "Length of the last step.", &[], pace.step)
        .one(
            "training_data_wait_seconds",
            Kind::Gauge,
            "Time of the last step spent waiting for data.",
            &[],
            pace.data_wait(),
        );
    text.finish()
}

fn service(finished: u64, inside: usize) -> String {
    let mut text = Text::default();
    text.one("service_requests_total", Kind::Counter, "Requests answered.", &[], finished as f64).one(
        "service_requests_in_flight",
        Kind::Gauge,
        "Requests inside this replica.",
        &[],
        inside as f64,
    );
    text.finish()
}
