//! A pod's own `/metrics`: vLLM's, a trainer's or a service's.

use super::text::{Kind, Text};
use crate::{
    scenario::{Llm, LlmServer, Model},
    sim::{
        Running, State,
        llm::Engine,
        service::Batcher,
        training::{Progress, TrainingRun},
    },
};

/// The page of the pod `uid`; `None` while its server does not answer yet.
pub fn page(workload: &Running, uid: &str) -> Option<String> {
    match (&workload.spec.model, &workload.state) {
        (Model::Llm(llm), State::Llm(pool)) => {
            let engine = pool.engines.get(uid)?;
            Some(match llm.server {
                LlmServer::Vllm => vllm(llm, engine),
                LlmServer::Tgi => tgi(engine),
            })
        }
        (_, State::Training(run)) => Some(training(run.progress.get(uid)?, run)),
        (_, State::Service(pool)) => match pool.batchers.get(uid) {
            Some(batcher) => Some(triton(&workload.spec.name, batcher)),
            None => pool.servers.get(uid).map(|server| service(server.finished, server.inside())),
        },
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
    let name = "vllm:request_success_total";
    text.family(name, Kind::Counter, "Count of successfully processed requests.");
    for (reason, count) in [("stop", engine.finished - engine.cut), ("length", engine.cut)] {
        let labels = [("engine", "0"), ("finished_reason", reason), ("model_name", llm.model_name.as_str())];
        text.sample(name, &labels, count as f64);
    }
    let histograms = [
        ("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.", &engine.first_token),
        ("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", &engine.whole),
        (
            "vllm:request_queue_time_seconds",
            "Histogram of time spent in WAITING phase for request.",
            &engine.queue_time,
        ),
        ("vllm:request_prompt_tokens", "Number of prefill tokens processed.", &engine.prompts),
        ("vllm:request_generation_tokens", "Number of generation tokens processed.", &engine.answers),
        ("vllm:request_params_max_tokens", "Histogram of the max_tokens request parameter.", &engine.caps),
    ];
    for (name, help, histogram) in histograms {
        text.histogram(name, help, &labels, histogram);
    }
    text.finish()
}

/// The names of text-generation-inference (huggingface.co/docs/text-generation-inference/reference/metrics).
fn tgi(engine: &Engine) -> String {
    let mut text = Text::default();
    text.one("tgi_batch_current_size", Kind::Gauge, "Current batch size", &[], engine.running.len() as f64)
        .one("tgi_queue_size", Kind::Gauge, "Current queue size", &[], engine.waiting.len() as f64)
        .one("tgi_request_count", Kind::Counter, "Total number of requests", &[], engine.finished as f64);
    let histograms = [
        ("tgi_request_queue_duration", "Time spent in the queue per request", &engine.queue_time),
        ("tgi_request_duration", "Total time spent processing the request (e2e latency)", &engine.whole),
        ("tgi_request_input_length", "Input token length per request", &engine.prompts),
        ("tgi_request_generated_tokens", "Generated tokens per request", &engine.answers),
        ("tgi_request_max_new_tokens", "Maximum new tokens per request", &engine.caps),
    ];
    for (name, help, histogram) in histograms {
        text.histogram(name, help, &[], histogram);
    }
    text.finish()
}

fn training(progress: &Progress, run: &TrainingRun) -> String {
    let rate = if run.pace.step > 0.0 { run.pace.samples / run.pace.step } else { 0.0 };
    let mut text = Text::default();
    text.one("training_samples_total", Kind::Counter, "Samples trained on.", &[], progress.samples.floor())
        .one("training_steps_total", Kind::Counter, "Steps done.", &[], progress.steps.floor())
        .one("training_samples_per_second", Kind::Gauge, "Samples a second in the last step.", &[], rate)
        .one("training_loss", Kind::Gauge, "Loss of the last step.", &[], run.loss)
        .one("training_step_seconds", Kind::Gauge, "Length of the last step.", &[], run.pace.step)
        .one(
            "training_data_wait_seconds",
            Kind::Gauge,
            "Time of the last step spent waiting for data.",
            &[],
            run.pace.data_wait(),
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

/// Triton's names (triton-inference-server/server `docs/user_guide/metrics.md`), and the lengths that the model sees.
fn triton(model: &str, batcher: &Batcher) -> String {
    let labels = [("model", model), ("version", "1")];
    let micros = |seconds: f64| (seconds * 1e6).round();
    let counters = [
        ("nv_inference_request_success", "Number of successful inference requests", batcher.finished as f64),
        ("nv_inference_count", "Number of inferences performed", batcher.inferences as f64),
        ("nv_inference_exec_count", "Number of model executions performed", batcher.executions as f64),
        (
            "nv_inference_request_duration_us",
            "Cumulative inference request duration in microseconds",
            micros(batcher.queue_seconds + batcher.compute_seconds),
        ),
        (
            "nv_inference_queue_duration_us",
            "Cumulative inference queuing duration in microseconds",
            micros(batcher.queue_seconds),
        ),
        (
            "nv_inference_compute_infer_duration_us",
            "Cumulative compute inference duration in microseconds",
            micros(batcher.compute_seconds),
        ),
    ];
    let mut text = Text::default();
    for (name, help, value) in counters {
        text.one(name, Kind::Counter, help, &labels, value);
    }
    let help = "Instantaneous number of pending requests awaiting execution per-model.";
    text.one("nv_inference_pending_request_count", Kind::Gauge, help, &labels, batcher.pending() as f64);
    text.histogram("service_request_tokens", "Tokens of a request.", &labels, &batcher.lengths);
    text.finish()
}
