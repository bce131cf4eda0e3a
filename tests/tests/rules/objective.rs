//! A latency objective that is exceeded, and what the queue has to do with it.

use crate::exposition::{Labels, Replica};
use crate::meters::DECODING_FOR_ONE;
use crate::refusal::Refusal;
use crate::stage::{Case, Stage, wish};
use anyhow::ensure;
use serde_json::json;
use wellfed_crds::ConditionStatus::True;
use wellfed_tests::operator_fixture::Wish;

/// Truth table, row 6: batches of one beside a queue. Two requests a second, five seconds to the first token, four of them
/// in the queue.
const QUEUEING: Replica = Replica {
    gpu: DECODING_FOR_ONE,
    container: &[],
    server: &[
        ("vllm:num_requests_running", 1.0),
        ("vllm:num_requests_waiting", 25.0),
        ("vllm:kv_cache_usage_perc", 0.03),
    ],
    counters: &[
        ("vllm:request_queue_time_seconds_sum", 8.0),
        ("vllm:request_queue_time_seconds_count", 2.0),
        ("vllm:time_to_first_token_seconds_sum", 10.0),
        ("vllm:time_to_first_token_seconds_count", 2.0),
    ],
};

/// Half a second to the first token, a hundredth of one in the queue.
const SLOW: Replica = Replica {
    gpu: DECODING_FOR_ONE,
    container: &[],
    server: &[
        ("vllm:num_requests_running", 1.0),
        ("vllm:num_requests_waiting", 0.0),
        ("vllm:kv_cache_usage_perc", 0.03),
    ],
    counters: &[
        ("vllm:request_queue_time_seconds_sum", 0.02),
        ("vllm:request_queue_time_seconds_count", 2.0),
        ("vllm:time_to_first_token_seconds_sum", 1.0),
        ("vllm:time_to_first_token_seconds_count", 2.0),
    ],
};

const QUEUED: Case = Case { name: "queued", class: "Inference", replicas: &[QUEUEING; 2], labels: Labels::Exported };

const UNQUEUED: Refusal = Refusal {
    case: Case { name: "slow", class: "Inference", replicas: &[SLOW; 2], labels: Labels::Honoured },
    rule: "LatencyNotQueueBound",
    measured: "the queue is 2 % of the latency",
    remedy: "quantised weights",
};

/// With the objective of half a second, which asks for one more after two seconds.
fn hurried(case: &Case) -> Wish {
    wish(case).any_signal(json!({
        "name": "p95",
        "role": "Latency",
        "source": {"prometheus": {"query": format!(r#"latency_seconds{{queue="{}"}}"#, case.name)}},
        "slo": {"value": "500m", "breachFor": "2s", "step": 1},
    }))
}

fn takes(stage: &Stage, case: &Case, seconds: f64) {
    stage.source.set(&format!(r#"latency_seconds{{queue="{}"}} {seconds}"#, case.name));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_objective_lets_one_step_pass_where_requests_queue_and_none_where_the_model_is_slow() -> anyhow::Result<()> {
    let stage = Stage::set("objective", &[QUEUED, UNQUEUED.case]).await?;
    takes(&stage, &QUEUED, 0.2);
    takes(&stage, &UNQUEUED.case, 2.0);
    stage.demands("slow", 2);
    let told = async {
        stage.apply(&hurried(&QUEUED)).await?;
        // Before the queue's share is known one more would pass, so it is looked at first.
        stage.apply(&hurried(&UNQUEUED.case).with("spec.mode", "Recommend")).await?;
        let starved = stage.until_condition("queued", "Starved", True).await?;
        ensure!(starved.reason == "SerialRequests", "{starved:?}");
        takes(&stage, &QUEUED, 5.0);
        stage.until_replicas("queued", 3).await?;
        let why = "signal p95 is above its objective and 80 % of the latency is queueing: one step a window is let pass \
                   against SerialRequests";
        stage.until_told("queued", "Scaled", why).await?;
        ensure!(stage.finding("queued", "SerialRequests").await?.state == "Open", "the finding stays");

        UNQUEUED.is_told(&stage).await?;
        stage.apply(&hurried(&UNQUEUED.case)).await?;
        stage.after_cycles(5).await
    };
    stage.during(told).await?;
    UNQUEUED.holds(&stage).await
}
