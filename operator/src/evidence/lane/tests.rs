use super::*;
use crate::config::Config;
use crate::signals::client::EndpointConfig;
use axum::Router;
use axum::extract::Form;
use axum::http::StatusCode;
use axum::http::header::DATE;
use axum::response::IntoResponse;
use axum::routing::post;
use jiff::fmt::rfc2822::DateTimePrinter;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::net::TcpListener;
use wellfed_engine::memory::Moment;
use wellfed_engine::opinion::{Gap, Lean};

const ONE: &str = r#"{"status":"success","data":{"resultType":"vector","result":[
        {"metric":{"namespace":"demo","pod":"a","UUID":"g"},"value":[1764460800,"0.5"]}]}}"#;
const LESS: &str = r#"{"status":"success","data":{"resultType":"vector","result":[
        {"metric":{"namespace":"demo","pod":"a","UUID":"g"},"value":[1764460800,"0.4"]}]}}"#;
const NONE: &str = r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#;
const REFUSED: &str = r#"{"status":"error","errorType":"execution","error":"too many samples"}"#;
const PARTIAL: &str = r#"{"status":"success","data":{"resultType":"vector","result":[
        {"metric":{"namespace":"demo","pod":"a","UUID":"g"},"value":[1764460800,"0.5"]}]},"warnings":["store down"]}"#;

type Answer = (StatusCode, &'static str);

/// A lane whose Prometheus answers what `answer` says to each query.
async fn lane(answer: impl Fn(&str) -> Answer + Clone + Send + Sync + 'static, recorded: bool) -> Lane {
    let answer = async move |asked: String| answer(&asked).into_response();
    lane_of(Router::new().route("/api/v1/query", post(answer)), recorded).await
}

async fn lane_of(prometheus: Router, recorded: bool) -> Lane {
    // The operator's main does this once; here each test may be the first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, prometheus).await.unwrap() });
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
    lane(answer, false).await.look(Timestamp::now(), SignedDuration::ZERO, &mut Told::default()).await.unwrap()
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

    let looked = lane.look(Timestamp::now(), SignedDuration::ZERO, &mut Told::default()).await;

    assert!(matches!(looked, Err(LookError::Fetch(FetchError::Http { status: 503, .. }))), "{looked:?}");
}

/// Kills: opinions that stay as they are while nobody answers.
#[tokio::test]
async fn opinions_get_old_while_prometheus_answers_nothing_and_say_since_when() {
    let down = Arc::new(AtomicBool::new(false));
    let is_down = Arc::clone(&down);
    // Activity that stands still would be a frozen exporter.
    let asked_before = Arc::new(AtomicUsize::new(0));
    let answer = move |asked: &str| match (is_down.load(Ordering::Relaxed), asked.contains("GR_ENGINE_ACTIVE")) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, ""),
        (false, true) if asked_before.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) => (StatusCode::OK, ONE),
        (false, true) => (StatusCode::OK, LESS),
        (false, false) => (StatusCode::OK, NONE),
    };
    let workload = crate::evidence::tests::watched(0, &[("a", -60)]);
    let lane = Lane { watched: watch::channel(Arc::new(vec![workload.clone()])).1, ..lane(answer, false).await };
    let (mut history, mut told) = (History::every(lane.interval), Told::default());
    let minute = |minute: i64| workload.since.unwrap() + SignedDuration::from_mins(minute);
    for look in 1..=10 {
        lane.turn(&mut history, &mut told, minute(look)).await;
    }
    let seen = || lane.verdicts.snapshot()["u"].clone();
    let since = seen().at;
    let mut unanswered = vec![seen().lean];
    down.store(true, Ordering::Relaxed);
    for look in 11..=13 {
        lane.turn(&mut history, &mut told, minute(look)).await;
        assert_eq!(seen().at, since, "nothing newer was seen");
        unanswered.push(seen().lean);
    }

    let since = Moment::of(since);
    let says_so: Vec<_> = unanswered.iter().map(|lean| *lean == Lean::Unknown(Gap::Unanswered { since })).collect();
    assert_eq!(says_so, [false, false, false, true], "80 % of the samples must be left: {unanswered:?}");
    assert_eq!(lane.shown.age().to_string(), "180");
}

/// A Prometheus whose clock is so many seconds ahead of ours, and which knows of its last minute only.
async fn ahead(seconds: i64) -> Lane {
    let answer = async move |Form(form): Form<BTreeMap<String, String>>| {
        let now = Timestamp::now() + SignedDuration::from_secs(seconds);
        let asked: f64 = form.get("time").map_or(0.0, |time| time.parse().unwrap());
        let age = now.as_millisecond() as f64 / 1000.0 - asked;
        let body = if (-2.0..60.0).contains(&age) { ONE } else { NONE };
        ([(DATE, DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap())], body)
    };
    lane_of(Router::new().route("/api/v1/query", post(answer)), false).await
}

/// Kills: questions at our own time.
#[tokio::test]
async fn a_look_is_at_the_time_of_prometheus_however_far_our_clock_is_from_it() {
    for seconds in [-3_600, -600, 0, 600, 3_600] {
        let lane = ahead(seconds).await;
        let (mut history, mut told) = (History::every(lane.interval), Told::default());
        let now = Timestamp::now();

        lane.turn(&mut history, &mut told, now).await;

        assert!(history.shows_gpus_of("demo", "a"), "{seconds}");
        assert_eq!(history.last_answer(), Some(now), "what is kept, is kept by our clock");
    }
}

/// Kills: Ready times of the API server by a clock that is ahead of it: a model that loads for ten minutes would be warm.
#[test]
fn a_pod_is_warm_no_earlier_for_a_clock_that_is_ahead_of_all_others() {
    let watched = Arc::new(vec![crate::evidence::tests::watched(0, &[("a", 5)])]);
    let later = |minutes: i64| {
        let shifted = by_our_clock(&watched, SignedDuration::from_mins(minutes));
        shifted[0].pods[0].ready_since.duration_since(watched[0].pods[0].ready_since).as_mins()
    };

    assert_eq!([-10, 0, 10].map(later), [10, 0, 0]);
}

#[tokio::test]
async fn what_is_recorded_is_read_by_its_recorded_name() {
    let answer = |asked: &str| (StatusCode::OK, if asked.contains("evidence_engine") { ONE } else { NONE });
    let lane = lane(answer, true).await;

    let slice = lane.look(Timestamp::now(), SignedDuration::ZERO, &mut Told::default()).await.unwrap();

    assert_eq!((value(&slice, Metric::Engine), value(&slice, Metric::Sm)), (Some(0.5), None));
}

#[tokio::test]
async fn what_was_to_be_recorded_and_is_not_is_asked_for_directly_and_that_is_said() {
    let answer = |asked: &str| (StatusCode::OK, if asked.contains("DCGM_FI_DEV_GPU_UTIL") { ONE } else { NONE });
    let lane = lane(answer, true).await;
    let mut told = Told::default();

    let slice = lane.look(Timestamp::now(), SignedDuration::ZERO, &mut told).await.unwrap();

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
    let seen =
        async |lane: &Lane| lane.look(Timestamp::now(), SignedDuration::ZERO, &mut Told::default()).await.unwrap();

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

    lane.look(Timestamp::now(), SignedDuration::ZERO, &mut told).await.unwrap();

    let missed = told.not_recorded();
    assert!(!missed.contains(&Metric::Sm) && missed.contains(&Metric::Dram), "{missed:?}");
    assert!(!missed.contains(&Metric::Iowait), "nodes are never recorded");
}
