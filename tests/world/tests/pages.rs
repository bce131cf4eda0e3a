//! What a scraper sees, over real HTTP, with the cluster told by hand.

#![allow(clippy::unwrap_used, clippy::panic, clippy::float_cmp)]

use serde_json::Value;
use std::{collections::BTreeMap, path::Path, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use wellfed_world::{
    World, WorldHandle,
    scenario::Scenario,
    sim::{Replica, Stage},
    view::{ClusterView, NodeView, PodView},
};

const SCENARIO: &str = "
tick: 50ms
exporter: {interval: 100ms, smActive: true, furtherCounters: true}
cadvisor: {interval: 100ms}
workloads:
- name: chat
  namespace: demo
  selector: {matchLabels: {app: chat}}
  model: {llm: {modelName: m, prefillFixedMs: 15, prefillMsPerToken: 0.08, decodeFixedMs: 14, decodeMsPerSequence: 0.3,
    batchCap: 64, kvCapacityTokens: 150000, weightsGib: 31, tokenizer: {cores: 4, msPerRequest: 4}}}
  arrivals: {rate: {perSecond: 50}}
- name: hub
  namespace: demo
  selector: {matchLabels: {app: hub}}
  model: {llm: {modelName: m, prefillFixedMs: 15, prefillMsPerToken: 0.08, decodeFixedMs: 14, decodeMsPerSequence: 0.3,
    batchCap: 2, kvCapacityTokens: 150000, weightsGib: 31, tokenizer: {cores: 4, msPerRequest: 4}, server: Tgi}}
  arrivals: {rate: {perSecond: 50}}
- name: train
  namespace: demo
  selector: {matchLabels: {app: train}}
  model: {training: {gpuSecondsPerStep: 0.25, samplesPerStep: 512, backlog: 100000,
    loader: {workers: 9, cpuSecondsPerSample: 0.02, bytesPerSample: 150000}}}
  arrivals: {rate: {perSecond: 10}}
- name: rank
  namespace: demo
  selector: {matchLabels: {app: rank}}
  model: {service: {gpuSecondsPerRequest: 0.03, concurrency: 4, batch: {max: 1, secondsPerBatch: 0.03, secondsPerItem: 0.002}}}
  arrivals: {rate: {perSecond: 100}}
- name: sync
  namespace: demo
  selector: {matchLabels: {app: sync}}
  model: {training: {gpuSecondsPerStep: 0.25, samplesPerStep: 512, globalBatch: 1024, precision: Fp32, backlog: 100000000,
    loader: {workers: 16, cpuSecondsPerSample: 0.001, bytesPerSample: 150000}, storage: {bytesPerSecond: 1.0e8},
    exchange: {bytesPerStep: 1.0e9, bytesPerSecond: 5.0e9, over: NvLink}, slow: {replicas: 1, clock: 0.6, thermal: true}}}
  arrivals: {rate: {perSecond: 0}}
";

struct Scraper {
    world: WorldHandle,
    views: watch::Sender<ClusterView>,
    http: reqwest::Client,
}

impl Scraper {
    async fn start(pods: Vec<PodView>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let node = NodeView { gpus: 4, product: "NVIDIA-H100-80GB-HBM3".into(), memory_mib: 81_559.0, cpus: 16 };
        let (views, told) = watch::channel(ClusterView::default());
        views.send_replace(ClusterView { nodes: BTreeMap::from([("n1".into(), node)]), pods });
        let scenario = Scenario::parse(SCENARIO, "pages", Path::new(".")).unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let world = World::start_with(scenario, told, listen, CancellationToken::new()).await.unwrap();
        Self { world, views, http: reqwest::Client::new() }
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let answer = self.http.get(format!("{}{path}", self.world.url)).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    async fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path).await.1).unwrap()
    }

    /// The page, once it satisfies `wanted`.
    async fn until(&self, path: &str, wanted: impl Fn(u16, &str) -> bool) -> String {
        for _ in 0..400 {
            let (status, body) = self.get(path).await;
            if wanted(status, &body) {
                return body;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{path} never became as wanted: {:?}", self.get(path).await)
    }
}

fn pod(name: &str, app: &str, gpus: u32, started: i64) -> PodView {
    PodView {
        namespace: "demo".into(),
        name: name.into(),
        labels: BTreeMap::from([("app".into(), app.into())]),
        node: "n1".into(),
        container: "main".into(),
        image: "image:1".into(),
        running: true,
        started,
        replica: Replica::ready(format!("uid-{name}"), gpus, Some(8.0)),
    }
}

/// The value of the one series of `family` whose labels contain `part`.
fn value(body: &str, family: &str, part: &str) -> Option<f64> {
    let line = body.lines().find(|line| line.starts_with(&format!("{family}{{")) && line.contains(part))?;
    line.rsplit_once("} ")?.1.split(' ').next()?.parse().ok()
}

fn has(body: &str, family: &str, part: &str) -> bool {
    value(body, family, part).is_some_and(|value| value > 0.0)
}

#[tokio::test]
async fn a_busy_gpu_carries_its_pod_and_an_idle_one_does_not() {
    let scraper = Scraper::start(vec![pod("chat-0", "chat", 1, 1)]).await;

    let busy = |_, body: &str| value(body, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gpu=\"0\"").is_some_and(|busy| busy > 0.8);
    let page = scraper.until("/nodes/n1/dcgm", busy).await;

    let first = page.lines().find(|line| line.starts_with("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"")).unwrap();
    let labels = "pci_bus_id=\"00000000:18:00.0\",device=\"nvidia0\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"n1\",\
                  DCGM_FI_DRIVER_VERSION=\"570.133.20\",container=\"main\",namespace=\"demo\",pod=\"chat-0\"}";
    assert!(first.contains(labels) && first.contains("UUID=\"GPU-"), "{first}");
    let second = page.lines().find(|line| line.starts_with("DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"")).unwrap();
    assert!(!second.contains("pod=") && second.ends_with("\"} 0"), "{second}");
    assert_eq!(page.lines().filter(|line| line.starts_with("DCGM_FI_PROF_SM_ACTIVE{")).count(), 4);
}

#[tokio::test]
async fn a_server_may_show_the_metrics_of_text_generation_inference() {
    let scraper = Scraper::start(vec![pod("hub-0", "hub", 1, 1)]).await;

    let queued = |_, body: &str| body.contains("tgi_batch_current_size 2\n") && !body.contains("tgi_queue_size 0\n");
    let page = scraper.until("/pods/demo/hub-0/metrics", queued).await;

    for family in
        ["tgi_request_queue_duration_sum", "tgi_request_input_length_bucket", "tgi_request_generated_tokens_sum"]
    {
        assert!(page.contains(family), "{family} is not in {page}");
    }
    assert!(!page.contains("vllm:"));
}

#[tokio::test]
async fn the_pages_of_a_starved_trainer_agree_with_each_other() {
    let scraper = Scraper::start(vec![pod("train-0", "train", 2, 1)]).await;

    let gpu = |_, body: &str| has(body, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "pod=\"train-0\"");
    let page = scraper.until("/nodes/n1/dcgm", gpu).await;
    assert!(value(&page, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gpu=\"1\"").unwrap() < 0.30);

    let throttled = |_, body: &str| has(body, "container_cpu_cfs_throttled_periods_total", "pod=\"train-0\"");
    let page = scraper.until("/nodes/n1/cadvisor", throttled).await;
    assert_eq!(value(&page, "container_spec_cpu_quota", "pod=\"train-0\""), Some(800_000.0));

    let (_, own) = scraper.get("/pods/demo/train-0/metrics").await;
    assert!(own.contains("training_data_wait_seconds 1."), "{own}");
    let (_, queue) = scraper.get("/queues/demo/train/metrics").await;
    assert!(value(&queue, "training_backlog_samples", "queue=\"train\"").unwrap() > 90_000.0, "{queue}");
}

#[tokio::test]
async fn a_group_of_trainers_shows_its_links_its_pipes_its_heat_and_what_it_waits_for() {
    let scraper = Scraper::start(vec![pod("sync-0", "sync", 1, 1), pod("sync-1", "sync", 1, 2)]).await;

    let linked = |_, body: &str| has(body, "DCGM_FI_PROF_NVLINK_TX_BYTES", "pod=\"sync-1\"");
    let page = scraper.until("/nodes/n1/dcgm", linked).await;
    let both = |family| ["sync-0", "sync-1"].map(|pod| value(&page, family, pod).unwrap());
    assert_eq!(both("DCGM_FI_DEV_CLOCKS_EVENT_REASONS"), [32.0, 0.0]);
    assert_eq!(both("DCGM_FI_DEV_SM_CLOCK"), [1188.0, 1980.0]);
    assert_eq!(both("DCGM_FI_DEV_ENFORCED_POWER_LIMIT"), [700.0, 700.0]);
    assert!(has(&page, "DCGM_FI_PROF_PIPE_FP32_ACTIVE", "sync-1"));
    assert_eq!(value(&page, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "sync-1"), Some(0.0));

    let waits = |_, body: &str| has(body, "container_pressure_io_waiting_seconds_total", "pod=\"sync-0\"");
    let page = scraper.until("/nodes/n1/cadvisor", waits).await;
    assert_eq!(value(&page, "container_pressure_cpu_waiting_seconds_total", "sync-0"), Some(0.0));
    // 1 024 samples of 150 000 bytes at 1e8 a second.
    let (_, own) = scraper.get("/pods/demo/sync-0/metrics").await;
    assert!(own.contains("training_step_seconds 1.536\n") && own.contains("\ntraining_loss 1"), "{own}");
}

#[tokio::test]
async fn a_nodes_page_shows_the_wait_of_its_pods_and_its_network_card() {
    let scraper = Scraper::start(vec![pod("sync-0", "sync", 1, 1), pod("sync-1", "sync", 1, 2)]).await;

    let waits = |_, body: &str| value(body, "node_cpu_seconds_total", "cpu=\"0\",mode=\"iowait\"").unwrap_or(0.0) > 0.0;
    let page = scraper.until("/nodes/n1/node", waits).await;

    assert_eq!(page.lines().filter(|line| line.starts_with("node_cpu_seconds_total{")).count(), 16 * 3);
    assert_eq!(value(&page, "node_uname_info", "nodename=\"n1\""), Some(1.0));
    assert_eq!(value(&page, "node_network_speed_bytes", "eth0"), Some(3.125e9));
    assert!(!page.contains("infiniband"), "no RDMA");
    let address = &scraper.json("/sd/node").await[0]["labels"];
    assert_eq!((&address["instance"], &address["node"]), (&Value::from("10.0.0.1:9100"), &Value::Null));
}

#[tokio::test]
async fn a_service_that_takes_requests_one_by_one_counts_as_many_executions_as_inferences() {
    let scraper = Scraper::start(vec![pod("rank-0", "rank", 1, 1)]).await;

    let waiting = |_, body: &str| has(body, "nv_inference_pending_request_count", "model=\"rank\",version=\"1\"");
    let page = scraper.until("/pods/demo/rank-0/metrics", waiting).await;

    let of = |family| value(&page, family, "model=\"rank\"").unwrap();
    assert!(of("nv_inference_count") > 0.0 && of("nv_inference_count") == of("nv_inference_exec_count"));
    assert!(of("nv_inference_queue_duration_us") < of("nv_inference_request_duration_us"));
}

#[tokio::test]
async fn lengths_and_caps_of_requests_are_histograms() {
    let scraper = Scraper::start(vec![pod("chat-0", "chat", 1, 1)]).await;
    scraper.world.set("chat", "arrivals.rate.outputTokens", 2).unwrap();
    scraper.world.set("chat", "model.llm.maxTokens", serde_json::json!({"asked": 3, "runOn": 1})).unwrap();

    let answered = |_, body: &str| has(body, "vllm:request_success_total", "finished_reason=\"length\"");
    let page = scraper.until("/pods/demo/chat-0/metrics", answered).await;

    let at_most = |family: &str, bound: &str| value(&page, family, &format!("le=\"{bound}\"")).unwrap();
    assert!(
        at_most("vllm:request_params_max_tokens_bucket", "5") > at_most("vllm:request_params_max_tokens_bucket", "2")
    );
    assert!(at_most("vllm:request_prompt_tokens_bucket", "1000") > at_most("vllm:request_prompt_tokens_bucket", "500"));
    assert!(has(&page, "vllm:request_generation_tokens_count", "model_name=\"m\""));
}

#[tokio::test]
async fn discovery_names_each_target_with_the_labels_of_its_exporter() {
    let scraper = Scraper::start(vec![pod("chat-0", "chat", 1, 1), pod("other", "other", 1, 2)]).await;
    scraper.until("/sd/pods", |_, body| body.contains("chat-0")).await;

    let dcgm = &scraper.json("/sd/dcgm").await[0];
    assert_eq!(dcgm["labels"]["__metrics_path__"], "/nodes/n1/dcgm");
    assert_eq!(
        (&dcgm["labels"]["namespace"], &dcgm["labels"]["container"]),
        (&"gpu-operator".into(), &"nvidia-dcgm-exporter".into())
    );
    assert_eq!(format!("http://{}", dcgm["targets"][0].as_str().unwrap()), scraper.world.url);
    assert_eq!(scraper.json("/sd/cadvisor").await[0]["labels"]["metrics_path"], "/metrics/cadvisor");
    let pods = scraper.json("/sd/pods").await;
    let paths: Vec<&str> =
        pods.as_array().unwrap().iter().filter_map(|one| one["labels"]["__metrics_path__"].as_str()).collect();
    let queues = ["/queues/demo/train/metrics", "/queues/demo/rank/metrics", "/queues/demo/sync/metrics"];
    assert_eq!(paths, [&["/pods/demo/chat-0/metrics"][..], &queues].concat());
}

#[tokio::test]
async fn a_server_does_not_answer_before_its_model_is_loaded() {
    let mut loading = pod("chat-0", "chat", 1, 1);
    loading.replica.stage = Stage::Starting;
    let scraper = Scraper::start(vec![loading]).await;
    scraper.until("/pods/demo/chat-0/metrics", |status, _| status == 503).await;

    scraper.views.send_modify(|view| view.pods[0].replica.stage = Stage::Ready);

    let page = scraper.until("/pods/demo/chat-0/metrics", |status, body| {
        status == 200 && has(body, "vllm:num_requests_running", "model_name=\"m\"")
    });
    assert!(page.await.contains("vllm:time_to_first_token_seconds_bucket{engine=\"0\",model_name=\"m\",le=\"0.001\"}"));
}

#[tokio::test]
async fn metrics_that_go_off_fail_the_scrape_and_come_back() {
    let scraper = Scraper::start(vec![pod("chat-0", "chat", 1, 1)]).await;
    let path = "/pods/demo/chat-0/metrics";
    scraper.until(path, |status, _| status == 200).await;

    scraper.world.set("chat", "telemetry.metrics", "Off").unwrap();
    assert_eq!(scraper.get(path).await.0, 503);

    scraper.world.set("chat", "telemetry.metrics", "Normal").unwrap();
    assert_eq!(scraper.get(path).await.0, 200);
}

#[tokio::test]
async fn frozen_and_old_pages_stand_still_and_only_old_ones_say_since_when() {
    let scraper = Scraper::start(vec![pod("chat-0", "chat", 1, 1)]).await;
    let path = "/pods/demo/chat-0/metrics";
    scraper.until(path, |_, body| has(body, "vllm:generation_tokens_total", "m")).await;

    scraper.world.set("chat", "telemetry.metrics", "Frozen").unwrap();
    let (_, frozen) = scraper.get(path).await;
    let before = scraper.world.truth().workloads["chat"].arrivals;
    scraper.until("/truth", |_, _| scraper.world.truth().workloads["chat"].arrivals > before).await;
    assert_eq!(scraper.get(path).await.1, frozen);

    scraper.world.set("chat", "telemetry.metrics", "Old").unwrap();
    let (_, old) = scraper.get(path).await;
    let sample = old.lines().find(|line| line.starts_with("vllm:num_requests_running")).unwrap();
    assert_eq!(sample.split(' ').count(), 3, "series, value and time: {sample}");
}

#[tokio::test]
async fn gpu_rows_can_lose_their_pod_or_vanish() {
    let scraper = Scraper::start(vec![pod("chat-0", "chat", 1, 1)]).await;
    scraper.until("/nodes/n1/dcgm", |_, body| body.contains("pod=\"chat-0\"")).await;

    scraper.world.set("chat", "telemetry.gpu", "Unattributed").unwrap();
    let bare = scraper.until("/nodes/n1/dcgm", |_, body| !body.contains("pod=")).await;
    assert!(bare.contains("gpu=\"0\""));

    scraper.world.set("chat", "telemetry.gpu", "Off").unwrap();
    scraper.until("/nodes/n1/dcgm", |_, body| !body.contains("gpu=\"0\"") && body.contains("gpu=\"1\"")).await;
}

#[tokio::test]
async fn workloads_come_and_go_by_the_levers() {
    let scraper = Scraper::start(vec![]).await;
    let workload = serde_json::json!({
        "name": "late", "namespace": "demo", "selector": {"matchLabels": {"app": "late"}},
        "model": {"service": {"gpuSecondsPerRequest": 0.03, "concurrency": 4}}, "arrivals": {"rate": {"perSecond": 5}}
    });
    let add = || scraper.http.post(format!("{}/control/workloads", scraper.world.url)).json(&workload).send();

    assert_eq!(add().await.unwrap().status(), 204);
    assert_eq!(add().await.unwrap().status(), 422, "a name exists once");
    assert_eq!(scraper.get("/queues/demo/late/metrics").await.0, 200);

    let set = serde_json::json!({"workload": "late", "path": "arrivals.rate.perSecond", "value": -1});
    let refused = scraper.http.post(format!("{}/control/set", scraper.world.url)).json(&set).send().await.unwrap();
    assert_eq!(refused.status(), 422);
    assert_eq!(
        refused.text().await.unwrap(),
        "arrivals.rate.perSecond: -1 does not fit: is -1; it must be a number of at least 0\n"
    );
    assert!(scraper.world.remove("late"));
    assert_eq!(scraper.get("/queues/demo/late/metrics").await.0, 404);
}

#[tokio::test]
async fn a_stopped_world_frees_its_port() {
    let scraper = Scraper::start(vec![]).await;
    let address = scraper.world.url.trim_start_matches("http://").to_owned();

    scraper.world.stop().await;

    assert!(tokio::net::TcpListener::bind(address).await.is_ok());
}
