//! A way to a Prometheus that a test can break: slow, wrong, cut off.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What is wrong with the way.
#[derive(Debug, Clone, Copy, Default)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// Every answer comes this much later.
    Delay(Duration),
    /// This status and this page of HTML instead of an answer.
    Page(u16, &'static str),
    /// Only so many bytes of an answer, as if that were all.
    Cut(usize),
    /// So many bytes of an answer, then the connection breaks.
    Break(usize),
    /// The answer as this leaves it.
    Altered(fn(&mut Value)),
}

/// A proxy in front of one server, until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    fault: Arc<Mutex<Fault>>,
    address: String,
    server: JoinHandle<()>,
}

#[derive(Clone)]
struct Way {
    upstream: String,
    http: reqwest::Client,
    fault: Arc<Mutex<Fault>>,
}

impl Proxy {
    /// A sound way to `upstream`, an address without a slash at the end.
    pub async fn start(upstream: &str) -> anyhow::Result<Self> {
        crate::plane::install_tls();
        let fault = Arc::default();
        let http = reqwest::Client::builder().no_proxy().build()?;
        let way = Way { upstream: upstream.to_owned(), http, fault: Arc::clone(&fault) };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let router = Router::new().fallback(pass).with_state(way);
        let server = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        Ok(Self { fault, address, server })
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on this is wrong.
    pub fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn pass(State(way): State<Way>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let fault = *way.fault.lock().unwrap_or_else(PoisonError::into_inner);
    if let Fault::Page(status, page) = fault {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
        return (status, [(header::CONTENT_TYPE, "text/html")], page).into_response();
    }
    if let Fault::Delay(delay) = fault {
        tokio::time::sleep(delay).await;
    }
    match forward(&way, method, &uri, &headers, body).await {
        Ok((status, body)) => {
            (status, [(header::CONTENT_TYPE, "application/json")], spoiled(fault, &body)).into_response()
        }
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

async fn forward(
    way: &Way,
    method: Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: Bytes,
) -> reqwest::Result<(StatusCode, Bytes)> {
    let path = uri.path_and_query().map_or("/", axum::http::uri::PathAndQuery::as_str);
    let mut request = way.http.request(method, format!("{}{path}", way.upstream)).body(body);
    if let Some(kind) = headers.get(header::CONTENT_TYPE) {
        request = request.header(header::CONTENT_TYPE, kind);
    }
    let answer = request.send().await?;
    Ok((answer.status(), answer.bytes().await?))
}

fn spoiled(fault: Fault, whole: &Bytes) -> Body {
    let first = |bytes: usize| whole.slice(..bytes.min(whole.len()));
    match fault {
        Fault::None | Fault::Delay(_) | Fault::Page(..) => Body::from(whole.clone()),
        Fault::Cut(bytes) => Body::from(first(bytes)),
        Fault::Break(bytes) => {
            let broken = std::io::Error::other("the connection is cut on purpose");
            Body::from_stream(stream::iter([Ok(first(bytes)), Err(broken)]))
        }
        Fault::Altered(alter) => match serde_json::from_slice(whole) {
            Ok(mut value) => {
                alter(&mut value);
                Body::from(value.to_string())
            }
            Err(_) => Body::from(whole.clone()),
        },
    }
}
