mod rows;

use std::sync::Arc;

use axum::extract::Form;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing::post};
use tokio::net::TcpListener;
use wellfed_engine::reading::ReadFailure;

use super::*;

const PATIENT: Duration = Duration::from_secs(20);

const ZERO: &str = r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"0"]}]}}"#;

/// A server that answers every query with what `speak` makes of its form.
async fn speaking<F>(speak: F) -> Endpoint
where
    F: Fn(Vec<(String, String)>) -> Response + Clone + Send + Sync + 'static,
{
    let answer = move |Form(form): Form<Vec<(String, String)>>| async move { speak(form) };
    listening(Router::new().route("/api/v1/query", post(answer))).await
}

async fn listening(router: Router) -> Endpoint {
    // The operator's main does this once; here each test may be the first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Endpoint::new(EndpointConfig { max_bytes: 4096, max_rows: 3, ..EndpointConfig::new("main", url) }).unwrap()
}

async fn asked(status: u16, body: &'static str) -> Result<Answer, FetchError> {
    let endpoint = speaking(move |_| (StatusCode::from_u16(status).unwrap(), body).into_response()).await;
    endpoint.instant("up", None, PATIENT).await
}

fn row(labels: &[(&str, &str)], value: f64, at: &str) -> Row {
    let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Row { labels, value, at: at.parse().unwrap() }
}

#[tokio::test]
async fn a_vector_arrives_with_its_labels_numbers_and_instant() {
    let body = r#"{"status":"success","data":{"resultType":"vector","result":[
        {"metric":{"pod":"chat-0"},"value":[1764460800.251,"32"]},{"metric":{},"value":[1764460800,"1.5e3"]}]}}"#;

    let answer = asked(200, body).await.unwrap();

    assert_eq!(answer.shape, Shape::Vector);
    assert_eq!(
        answer.rows,
        [row(&[("pod", "chat-0")], 32.0, "2025-11-30T00:00:00.251Z"), row(&[], 1500.0, "2025-11-30T00:00:00Z")]
    );
}

#[tokio::test]
async fn a_scalar_is_one_row_without_labels() {
    let answer =
        asked(200, r#"{"status":"success","data":{"resultType":"scalar","result":[1764460800,"7"]}}"#).await.unwrap();

    assert_eq!((answer.shape, answer.rows), (Shape::Scalar, vec![row(&[], 7.0, "2025-11-30T00:00:00Z")]));
}

#[tokio::test]
async fn nothing_found_is_an_answer_without_rows_and_not_a_zero() {
    let answer = asked(200, r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#).await.unwrap();

    assert_eq!(answer.rows, []);
}

#[tokio::test]
async fn strange_numbers_are_handed_on_as_they_are() {
    let body = r#"{"status":"success","data":{"resultType":"vector","result":[
        {"metric":{},"value":[1,"NaN"]},{"metric":{},"value":[1,"+Inf"]},{"metric":{},"value":[1,"-Inf"]}]}}"#;

    let values: Vec<f64> = asked(200, body).await.unwrap().rows.into_iter().map(|row| row.value).collect();

    assert!(values[0].is_nan());
    assert_eq!(values[1..], [f64::INFINITY, f64::NEG_INFINITY]);
}

#[tokio::test]
async fn each_damaged_answer_is_a_failure_of_its_own_kind() {
    for (status, body, failure) in [
        (503, "<html>upstream connect error</html>", ReadFailure::Http { status: 503 }),
        // M3 (keda #8036): a body that reads like a queue of zero, under a status that is not success.
        (503, ZERO, ReadFailure::Http { status: 503 }),
        (404, ZERO, ReadFailure::Http { status: 404 }),
        (200, "<!doctype html><title>Sign in</title>", ReadFailure::Garbled),
        (200, "", ReadFailure::Garbled),
        (200, "{}", ReadFailure::Garbled),
        (200, r#"{"status":"success"}"#, ReadFailure::Garbled),
        (200, r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{"po"#, ReadFailure::Garbled),
        (
            200,
            r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"x"]}]}}"#,
            ReadFailure::Garbled,
        ),
        (
            200,
            r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1e300,"1"]}]}}"#,
            ReadFailure::Garbled,
        ),
        (200, r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#, ReadFailure::NotAVector),
        (200, r#"{"status":"success","data":{"resultType":"string","result":[1,"a"]}}"#, ReadFailure::NotAVector),
        (
            200,
            r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"1"}]}]}}"#,
            ReadFailure::NotAVector,
        ),
        (400, r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#, ReadFailure::BadQuery),
        (422, r#"{"status":"error","errorType":"execution","error":"many-to-many"}"#, ReadFailure::BadQuery),
        (503, r#"{"status":"error","errorType":"timeout","error":"query timed out"}"#, ReadFailure::Timeout),
        (500, r#"{"status":"error","errorType":"internal","error":"tsdb"}"#, ReadFailure::Http { status: 500 }),
        (302, "", ReadFailure::Http { status: 302 }),
        (401, "Unauthorized", ReadFailure::Http { status: 401 }),
    ] {
        assert_eq!(asked(status, body).await.map_err(|error| error.failure()), Err(failure), "{status} {body}");
    }
}

#[tokio::test]
async fn a_warning_makes_the_whole_answer_unusable_because_a_part_of_a_sum_is_a_wrong_sum() {
    let whole = r#""status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"5"]}]}"#;
    for (extra, warning) in [
        (r#""warnings":["fetch series: store 10.0.0.7 unavailable"]"#, "fetch series: store 10.0.0.7 unavailable"),
        (
            r#""infos":["PromQL info: ignored histogram in sum aggregation"]"#,
            "PromQL info: ignored histogram in sum aggregation",
        ),
        (r#""isPartial":true"#, "isPartial"),
    ] {
        let body: &'static str = Box::leak(format!("{{{whole},{extra}}}").into_boxed_str());
        let expected = FetchError::Partial { endpoint: "main".into(), warning: warning.into() };
        assert_eq!(asked(200, body).await, Err(expected));
    }
}

#[tokio::test]
async fn a_remark_about_a_metrics_name_does_not() {
    let body = r#"{"status":"success","data":{"resultType":"vector","result":[]},
        "infos":["PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: \"q\" (1:6)"]}"#;

    assert_eq!(asked(200, body).await.unwrap().notes.len(), 1);
}

#[tokio::test]
async fn too_many_rows_and_too_many_bytes_are_refused() {
    let series = r#"{"metric":{},"value":[1,"1"]}"#;
    let rows =
        format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{}]}}}}"#, [series; 4].join(","));
    let rows: &'static str = Box::leak(rows.into_boxed_str());
    let bytes: &'static str = Box::leak(" ".repeat(5000).into_boxed_str());

    assert_eq!(asked(200, rows).await, Err(FetchError::TooMuch { endpoint: "main".into(), limit: "3 rows".into() }));
    assert_eq!(
        asked(200, bytes).await,
        Err(FetchError::TooMuch { endpoint: "main".into(), limit: "4096 bytes".into() })
    );
}

#[tokio::test]
async fn a_slow_server_is_given_up_at_the_deadline() {
    let endpoint = listening(Router::new().fallback(std::future::pending::<()>)).await;
    let deadline = Duration::from_millis(100);

    let error = endpoint.instant("up", None, deadline).await.unwrap_err();

    assert_eq!(error, FetchError::Timeout { endpoint: "main".into(), deadline });
    assert_eq!(error.failure(), ReadFailure::Timeout);
}

#[tokio::test]
async fn nobody_listening_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);

    let error =
        Endpoint::new(EndpointConfig::new("main", url)).unwrap().instant("up", None, PATIENT).await.unwrap_err();

    assert_eq!(error.failure(), ReadFailure::Unreachable);
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn the_server_is_asked_for_the_instant_to_the_millisecond_and_told_the_deadline() {
    let heard = Arc::new(std::sync::Mutex::new(vec![]));
    let note = Arc::clone(&heard);
    let endpoint = speaking(move |form| {
        *note.lock().unwrap() = form;
        StatusCode::NO_CONTENT.into_response()
    })
    .await;

    let at = "2025-11-30T00:00:00.25Z".parse().unwrap();
    let answer = endpoint.instant(r#"sum(a{b="+&%"})"#, Some(at), PATIENT).await;

    assert_eq!(answer.unwrap_err().failure(), ReadFailure::Garbled);
    let expected = [("query", r#"sum(a{b="+&%"})"#), ("timeout", "20000ms"), ("time", "1764460800.250")];
    assert_eq!(*heard.lock().unwrap(), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[tokio::test]
async fn messages_say_what_to_do() {
    for (status, body, message) in [
        (
            503,
            "<html>",
            "endpoint main answered HTTP 503 with HTML from a proxy or another server: it, or a proxy before it, is failing; \
             look at its logs",
        ),
        (
            200,
            "<html>",
            "endpoint main answered HTTP 200 with HTML from a proxy or another server: check that its address is a \
             Prometheus, not a proxy's page",
        ),
        (
            400,
            r#"{"status":"error","errorType":"bad_data","error":"unknown function"}"#,
            "endpoint main refused the query: unknown function: try it on that Prometheus, and correct it",
        ),
    ] {
        assert_eq!(asked(status, body).await.unwrap_err().to_string(), message);
    }
}

#[tokio::test]
async fn a_wrong_address_is_refused_before_anything_is_sent() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    for url in ["", "prometheus:9090", "file:///etc/passwd"] {
        let error = Endpoint::new(EndpointConfig::new("main", url)).err().unwrap();
        assert!(matches!(error, FetchError::Address { .. }), "{url}: {error}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let endpoint = speaking(|_| (StatusCode::FOUND, [(header::LOCATION, "/login")]).into_response()).await;

    let error = endpoint.instant("up", None, PATIENT).await.unwrap_err();

    assert_eq!(error.failure(), ReadFailure::Http { status: 302 });
    assert!(error.to_string().ends_with("it redirects, to a login page most often; give the final address"), "{error}");
}
