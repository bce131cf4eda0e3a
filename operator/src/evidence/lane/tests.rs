use super::*;
use crate::config::Config;
use crate::signals::client::EndpointConfig;
use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::post;
use tokio::net::TcpListener;
use wellfed_engine::opinion::{Gap, Lean};

const ONE: &str = r#"{"status":"success","data":{"resultType":"vector","result":[
        {"metric":{"namespace":"demo","pod":"a","UUID":"g"},"value":[1764460800,"0.5"]}]}}"#;
const NONE: &str = r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#;
const REFUSED: &str = r#"{"status":"error","errorType":"execution","error":"too many samples"}"#;
const PARTIAL: &str = r#"{"status":"success","data":{"resultType":"vector","result":[
        {"metric":{"namespace":"demo","pod":"a","UUID":"g"},"value":[1764460800,"0.5"]}]},"warnings":["store down"]}"#;

type Answer = (StatusCode, &'static str);

/// A lane whose Prometheus answers what `answer` says to each query.
async fn lane(answer: impl Fn(&str) -> Answer + Clone + Send + Sync + 'static, recorded: bool) -> Lane {
    // The operator's main does this once; here each test may be the first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = async move |asked: String| answer(&asked).into_response();
    let router = Router::new().route("/api/v1/query", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Lane {
        endpoint: Endpoint::new(EndpointConfig::new("main", url)).unwrap(),
        matchers: BTreeMap::new(),
        config: EvidenceConfig { recorded, ..Config::default().evidence },
        watched: watch::channel(Arc::default()).1,
        verdicts: Verdicts::default(),
        shown: Shown::default(),
        interval: SignedDuration::from_mins(1),
        deadline: Duration::from_secs(5),
    }
}

/// Prometheus answers everything but questions about vLLM, to which it gives `trouble`.
async fn looking(trouble: Answer) -> Slice {
    let answer = move |asked: &str| if asked.contains("vllm") { trouble } else { (StatusCode::OK, ONE) };
    lane(answer, false).await.look(Timestamp::now(), &mut Told::default()).await.unwrap()
}

fn value(slice: &Slice, metric: Metric) -> Option<f64> {
    slice.get(&("demo".to_owned(), "a".to_owned()), "g", metric)
}

#[tokio::test]
async fn a_question_without_an_answer_leaves_the_others_theirs() {
    for trouble in [
        (StatusCode::UNPROCESSABLE_ENTITY, REFUSED),
        (StatusCode::SERVICE_UNAVAILABLE, ""),
        (StatusCode::OK, "<html>"),
        (StatusCode::OK, PARTIAL),
    ] {
        let slice = looking(trouble).await;

        for known in [Metric::Engine, Metric::Power, Metric::Batch, Metric::StepSeconds] {
            assert_eq!(value(&slice, known), Some(0.5), "{known:?}");
        }
        for spoiled in [Metric::Running, Metric::Kv, Metric::FirstTokenSeconds] {
            assert_eq!((value(&slice, spoiled), slice.series(spoiled)), (None, 0), "{spoiled:?} after {trouble:?}");
        }
    }
}

#[tokio::test]
async fn a_prometheus_that_answers_nothing_ends_the_look() {
    let lane = lane(|_| (StatusCode::SERVICE_UNAVAILABLE, ""), false).await;

    let looked = lane.look(Timestamp::now(), &mut Told::default()).await;

    assert!(matches!(looked, Err(LookError::Fetch(FetchError::Http { status: 503, .. }))), "{looked:?}");
}

#[tokio::test]
async fn what_is_recorded_is_read_by_its_recorded_name() {
    let answer = |asked: &str| (StatusCode::OK, if asked.contains("evidence_engine") { ONE } else { NONE });
    let lane = lane(answer, true).await;

    let slice = lane.look(Timestamp::now(), &mut Told::default()).await.unwrap();

    assert_eq!((value(&slice, Metric::Engine), value(&slice, Metric::Sm)), (Some(0.5), None));
}

#[tokio::test]
async fn what_was_to_be_recorded_and_is_not_is_asked_for_directly_and_that_is_said() {
    let answer = |asked: &str| (StatusCode::OK, if asked.contains("DCGM_FI_DEV_GPU_UTIL") { ONE } else { NONE });
    let lane = lane(answer, true).await;
    let mut told = Told::default();

    let slice = lane.look(Timestamp::now(), &mut told).await.unwrap();

    assert_eq!(value(&slice, Metric::Util), Some(0.005));
    assert_eq!(told.not_recorded(), [Metric::Util]);
}

#[tokio::test]
async fn a_recorded_value_is_at_most_two_intervals_old_and_nobody_sent_it() {
    let mut lane = lane(|_| (StatusCode::OK, NONE), true).await;
    lane.matchers = BTreeMap::from([("cluster".to_owned(), "a".to_owned())]);
    lane.config.gpu_matchers = BTreeMap::from([("job".to_owned(), "dcgm-exporter".to_owned())]);

    assert_eq!(
        lane.of_recorded("wellfed:evidence_sm").unwrap().text(),
        r#"wellfed:evidence_sm{cluster="a",instance=""} and last_over_time(wellfed:evidence_sm{cluster="a",instance=""}[2m])"#
    );
}

#[tokio::test]
async fn the_matchers_of_gpus_are_in_questions_about_gpus_alone() {
    let mut lane = lane(|_| (StatusCode::OK, NONE), false).await;
    lane.config.gpu_matchers = BTreeMap::from([("job".to_owned(), "dcgm-exporter".to_owned())]);

    for metric in Metric::ALL {
        let Some(question) = metric.query("60s", &lane.config) else { continue };
        let query = lane.of_exporters(&question, metric).unwrap();
        let selectors = promql::ages(&query);
        let kept = selectors.iter().filter(|selector| selector.contains(r#"job="dcgm-exporter""#)).count();
        let all = if metric.subject() == Subject::Gpu { selectors.len() } else { 0 };
        assert_eq!(kept, all, "{metric:?}: {}", query.text());
    }
}

#[test]
fn looks_are_kept_for_the_longest_window_in_use() {
    let watched = |minutes: &[i64]| -> Vec<Watched> {
        minutes.iter().map(|minutes| crate::evidence::tests::watching(SignedDuration::from_mins(*minutes))).collect()
    };

    assert_eq!(longest(&[]), SignedDuration::from_mins(30));
    assert_eq!(longest(&watched(&[10, 90])), SignedDuration::from_mins(90));
    assert_eq!(longest(&watched(&[10])), SignedDuration::from_mins(30));
}

/// dcgm-exporter #342, #349, #188: the scrape succeeds, and no series carries a pod.
#[test]
fn attribution_is_missing_where_no_pod_that_wants_to_grow_shows_a_gpu_in_the_last_look() {
    use crate::evidence::tests::{engine, history, slice, watched};
    let seen = |last: &[&str]| {
        let rows = |pods: &[&str]| pods.iter().map(|pod| engine(pod, pod, 0.2)).collect();
        history(vec![slice(1, rows(&["a", "b"])), slice(2, rows(last))])
    };
    let two = [watched(0, &[("a", -60)]), watched(0, &[("b", -60)])];

    let lean = |unattributed| judged(&[watched(1, &[("a", -60)])], &seen(&["other"]), unattributed)["u"].lean;
    assert_eq!(lean(true), Lean::Unknown(Gap::Unattributed { expected: 1 }));
    assert_eq!(lean(false), Lean::Unknown(Gap::GpusUnseen { seen: 0, expected: 1 }));
    assert!(shows_none(&two, &seen(&["other"])));
    assert!(!shows_none(&two, &seen(&["b"])), "one of them does");
    assert!(!shows_none(&[watched(0, &[])], &seen(&["other"])), "nobody should");
    assert!(!shows_none(&[], &seen(&[])));
}

#[tokio::test]
async fn the_matchers_of_nodes_are_in_questions_about_nodes_alone_which_are_never_recorded() {
    let mut lane = lane(|_| (StatusCode::OK, NONE), true).await;
    lane.config.node_matchers = BTreeMap::from([("job".to_owned(), "node-exporter".to_owned())]);

    for metric in [Metric::NodeName, Metric::Iowait, Metric::RdmaRx, Metric::LinkSpeed] {
        let query = lane.of_exporters(&metric.query("60s", &lane.config).unwrap(), metric).unwrap();
        assert!(promql::ages(&query).iter().all(|one| one.contains(r#"job="node-exporter""#)), "{}", query.text());
        assert_eq!(recorded::name(metric), None);
    }
    let cores = Metric::Cores.query("60s", &lane.config).unwrap();
    assert!(!lane.of_exporters(&cores, Metric::Cores).unwrap().text().contains("node-exporter"));
}

#[tokio::test]
async fn looks_a_minute_apart_ask_over_two_scrapes_where_scrapes_are_a_minute_apart() {
    let answer =
        |asked: &str| (StatusCode::OK, if asked.contains("%5B2m%5D") || asked.contains("[2m]") { ONE } else { NONE });
    let mut lane = lane(answer, false).await;
    let seen = async |lane: &Lane| lane.look(Timestamp::now(), &mut Told::default()).await.unwrap();

    assert_eq!(value(&seen(&lane).await, Metric::Cores), None);
    lane.config.scrape_interval = Some(wellfed_crds::GoDuration("60s".into()));
    assert_eq!(seen(&lane).await.series(Metric::Cores), 1);
}

#[tokio::test]
async fn what_was_recorded_in_another_unit_or_under_other_names_is_asked_for_directly() {
    let answer = |asked: &str| (StatusCode::OK, if asked.contains("wellfed") { NONE } else { ONE });
    let mut lane = lane(answer, true).await;
    lane.config.units = BTreeMap::from([("DCGM_FI_PROF_SM_UTIL_RATIO".to_owned(), crate::config::Unit::Percent)]);
    let mut told = Told::default();

    lane.look(Timestamp::now(), &mut told).await.unwrap();

    let missed = told.not_recorded();
    assert!(!missed.contains(&Metric::Sm) && missed.contains(&Metric::Dram), "{missed:?}");
    assert!(!missed.contains(&Metric::Iowait), "nodes are never recorded");
}
