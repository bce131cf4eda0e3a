use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

const LONG: Duration = Duration::from_mins(10);

fn probes(cycle: Duration, api: Duration) -> Arc<Probes> {
    Arc::new(Probes::new(ProbeBounds { cycle, api }, ["pods", "nodes"]))
}

/// Serves on a free port, and gives its address and how to stop it.
async fn served(probes: &Arc<Probes>, metrics: &'static str) -> (SocketAddr, CancellationToken) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let stop = CancellationToken::new();
    tokio::spawn(serve(address, Arc::clone(probes), move || metrics.to_owned(), stop.clone()));
    while TcpStream::connect(address).await.is_err() {
        tokio::task::yield_now().await;
    }
    (address, stop)
}

async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn is(answer: &str, status: &str, body: &str) -> bool {
    answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.split_once("\r\n\r\n").is_some_and(|(_, b)| b == body)
}

#[tokio::test]
async fn an_operator_that_just_started_is_alive_and_names_what_it_waits_for() {
    let (address, _) = served(&probes(LONG, LONG), "").await;

    let (live, ready) = (get(address, "/livez").await, get(address, "/readyz").await);

    assert!(is(&live, "200", "ok\n"), "{live}");
    assert!(is(&ready, "503", "nodes: not synced yet\npods: not synced yet\nAPI server: no answer yet\n"), "{ready}");
}

#[tokio::test]
async fn it_is_ready_when_its_stores_are_synced_and_the_api_server_answers() {
    let probes = probes(LONG, LONG);
    let (address, _) = served(&probes, "").await;
    probes.store("pods", None);
    probes.store("nodes", None);
    probes.api_answered();
    let ready = get(address, "/readyz").await;
    assert!(is(&ready, "200", "ok\n"), "{ready}");

    probes.store("pods", Some("not synced yet".into()));

    let ready = get(address, "/readyz").await;
    assert!(is(&ready, "503", "pods: not synced yet\n"), "{ready}");
}

#[tokio::test]
async fn a_cycle_that_stands_still_fails_liveness_and_one_that_turns_again_heals_it() {
    let stuck = probes(Duration::ZERO, LONG);
    let (address, _) = served(&stuck, "").await;
    let live = get(address, "/livez").await;
    assert!(is(&live, "503", "the last cycle was 0.0 s ago (at most 0.0 s)\n"), "{live}");

    let turning = probes(LONG, LONG);
    turning.cycle_turned();
    assert_eq!(turning.stuck(), None);
}

#[tokio::test]
async fn an_api_server_that_fell_silent_makes_it_unready_and_leaves_it_alive() {
    let probes = Arc::new(Probes::new(ProbeBounds { cycle: LONG, api: Duration::ZERO }, Vec::<String>::new()));
    probes.api_answered();

    assert_eq!(probes.missing(), ["API server: no answer for 0.0 s"]);
    assert_eq!(probes.stuck(), None);
}

#[tokio::test]
async fn metrics_are_served_as_what_they_are() {
    for (text, kind) in [
        ("up 1\n", "text/plain; version=0.0.4; charset=utf-8"),
        ("up 1\n# EOF\n", "application/openmetrics-text; version=1.0.0; charset=utf-8"),
    ] {
        let (address, _) = served(&probes(LONG, LONG), text).await;
        let answer = get(address, "/metrics").await;
        assert!(is(&answer, "200", text), "{answer}");
        assert!(answer.contains(&format!("content-type: {kind}\r\n")), "{answer}");
    }
}

#[tokio::test]
async fn a_taken_port_is_an_error_that_names_it() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();

    let error = serve(address, probes(LONG, LONG), String::new, CancellationToken::new()).await.unwrap_err();

    assert!(error.to_string().starts_with(&format!("probes and metrics can't be served on {address} (")), "{error}");
}

#[tokio::test]
async fn it_ends_when_told_to() {
    let stop = CancellationToken::new();
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let serving = tokio::spawn(serve(listen, probes(LONG, LONG), String::new, stop.clone()));

    stop.cancel();

    assert!(serving.await.unwrap().is_ok());
}
