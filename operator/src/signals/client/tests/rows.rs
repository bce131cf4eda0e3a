//! Answers that are read row by row.

use super::*;
use axum::body::{Body, Bytes};
use std::convert::Infallible;

async fn read(endpoint: &Endpoint) -> (Vec<(String, f64)>, Result<usize, FetchError>) {
    let mut rows = Vec::new();
    let take = |labels: &Labels, value: f64| rows.push((labels.label("pod").unwrap_or_default().to_owned(), value));
    let read = endpoint.rows("up", None, PATIENT, take).await;
    (rows, read)
}

/// The answer `body` in pieces of that many bytes.
async fn in_pieces(body: &'static str, bytes: usize) -> (Vec<(String, f64)>, Result<usize, FetchError>) {
    let speak = move |_| {
        let pieces = body.as_bytes().chunks(bytes).map(|piece| Ok::<_, Infallible>(Bytes::from_static(piece)));
        Body::from_stream(futures::stream::iter(pieces)).into_response()
    };
    read(&speaking(speak).await).await
}

async fn failing(status: u16, body: &'static str) -> Result<usize, ReadFailure> {
    let endpoint = speaking(move |_| (StatusCode::from_u16(status).unwrap(), body).into_response()).await;
    read(&endpoint).await.1.map_err(|error| error.failure())
}

#[tokio::test]
async fn each_row_arrives_once_however_the_answer_is_cut() {
    let body = r#"{"status":"success","data":{"resultType":"vector","result":[
        {"metric":{"pod":"chat-0"},"value":[1764460800.251,"32"]},{"metric":{"pod":"b"},"value":[1,"1.5e3"]}]}}"#;
    for bytes in [1, 7, 1_000] {
        let (rows, read) = in_pieces(body, bytes).await;

        assert_eq!(read, Ok(2));
        assert_eq!(rows, [("chat-0".to_owned(), 32.0), ("b".to_owned(), 1_500.0)]);
    }
}

#[tokio::test]
async fn each_damaged_answer_is_the_failure_that_it_is_when_it_is_read_whole() {
    for (status, body, failure) in [
        (503, "<html>upstream connect error</html>", ReadFailure::Http { status: 503 }),
        // M3 (keda #8036).
        (503, ZERO, ReadFailure::Http { status: 503 }),
        (200, "<!doctype html><title>Sign in</title>", ReadFailure::Garbled),
        (200, "", ReadFailure::Garbled),
        (200, "{}", ReadFailure::Garbled),
        (200, r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{"po"#, ReadFailure::Garbled),
        (
            200,
            r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"x"]}]}}"#,
            ReadFailure::Garbled,
        ),
        (200, r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#, ReadFailure::NotAVector),
        (200, r#"{"status":"success","data":{"resultType":"scalar","result":[1,"7"]}}"#, ReadFailure::NotAVector),
        (
            200,
            r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"1"}]}]}}"#,
            ReadFailure::NotAVector,
        ),
        (
            200,
            r#"{"status":"success","data":{"resultType":"vector","result":[]},"warnings":["store 10.0.0.7 down"]}"#,
            ReadFailure::Partial,
        ),
        (422, r#"{"status":"error","errorType":"execution","error":"many-to-many"}"#, ReadFailure::BadQuery),
        (503, r#"{"status":"error","errorType":"timeout","error":"query timed out"}"#, ReadFailure::Timeout),
        (302, "", ReadFailure::Http { status: 302 }),
    ] {
        assert_eq!(failing(status, body).await, Err(failure), "{status} {body}");
    }
}

#[tokio::test]
async fn more_rows_or_bytes_than_the_bound_are_refused() {
    let bounded = async |bytes, rows| {
        let body = r#"{"status":"success","data":{"resultType":"vector","result":[
            {"metric":{},"value":[1,"1"]},{"metric":{},"value":[1,"2"]}]}}"#;
        let endpoint = speaking(move |_| body.into_response()).await;
        let config = EndpointConfig { max_streamed_bytes: bytes, max_streamed_rows: rows, ..endpoint.config.clone() };
        read(&Endpoint { config, ..endpoint }).await.1.map_err(|error| error.to_string())
    };

    assert_eq!(bounded(4_096, 2).await, Ok(2));
    assert!(bounded(4_096, 1).await.unwrap_err().contains("more than 1 rows"));
    assert!(bounded(80, 2).await.unwrap_err().contains("more than 80 bytes"));
}

#[tokio::test]
async fn an_answer_without_end_is_late() {
    let endpoint =
        speaking(|_| Body::from_stream(futures::stream::pending::<Result<Bytes, Infallible>>()).into_response()).await;

    let read = endpoint.rows("up", None, Duration::from_millis(50), |_, _| ()).await;

    assert_eq!(read.map_err(|error| error.failure()), Err(ReadFailure::Timeout));
}
