//! Reads what came back: a Prometheus's answer, its refusal, or something else altogether.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp, Unit};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::{EndpointConfig, FetchError};

/// Notes of Prometheus that say nothing about samples left out. Any other note makes the answer partial.
const HARMLESS: [&str; 2] = ["metric might not be a counter", "needed to be fixed for monotonicity"];

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What kind of result it was.
    pub shape: Shape,
    /// One row a series; a scalar is one row without labels. Empty means that nothing matched, which is not zero.
    pub rows: Vec<Row>,
    /// Harmless notes of the server about the query, for its author.
    pub notes: Vec<String>,
    /// How far our clock is behind the server's, at least: what was found at our now is that much older.
    pub behind: SignedDuration,
}

/// The kinds of result that hold numbers about one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One number a series.
    Vector,
    /// One number.
    Scalar,
}

/// One number and what it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The labels of the series.
    pub labels: BTreeMap<String, String>,
    /// The number as it came; may be NaN or infinite.
    pub value: f64,
    /// The instant of the evaluation, *not* that of the sample: ask `timestamp(…)` for that.
    pub at: Timestamp,
}

#[derive(Deserialize)]
struct Reply<R> {
    status: String,
    data: Option<Data<R>>,
    #[serde(default, rename = "errorType")]
    error_type: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    infos: Vec<String>,
    /// `VictoriaMetrics` says so when some of its storage did not answer.
    #[serde(default, rename = "isPartial")]
    is_partial: bool,
}

#[derive(Deserialize)]
struct Data<R> {
    #[serde(rename = "resultType")]
    result_type: String,
    result: R,
}

#[derive(Deserialize)]
struct Series {
    metric: BTreeMap<String, String>,
    value: Option<Sample>,
    histogram: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Sample(f64, String);

/// The answer in `body`, or what is wrong with it.
pub(super) fn parse(config: &EndpointConfig, status: u16, body: &[u8]) -> Result<Answer, FetchError> {
    let endpoint = config.name.clone();
    let (result_type, notes) = envelope(config, status, body)?;
    let (shape, series) = series(&endpoint, &result_type, body)?;
    if series.len() > config.max_rows {
        return Err(FetchError::TooMuch { endpoint, limit: format!("{} rows", config.max_rows) });
    }
    let rows = series.into_iter().map(|series| row(&endpoint, series)).collect::<Result<_, _>>()?;
    Ok(Answer { shape, rows, notes, behind: SignedDuration::ZERO })
}

/// That `body`, whose rows were read already, is the whole of a vector.
pub(super) fn vector_around(config: &EndpointConfig, status: u16, body: &[u8]) -> Result<(), FetchError> {
    match envelope(config, status, body)?.0.as_str() {
        "vector" => Ok(()),
        other => Err(FetchError::NotAVector { endpoint: config.name.clone(), found: other.to_owned() }),
    }
}

/// The type of the result and the server's notes; whatever the result is, it stands inside.
fn envelope(config: &EndpointConfig, status: u16, body: &[u8]) -> Result<(String, Vec<String>), FetchError> {
    let endpoint = config.name.clone();
    let Ok(reply) = serde_json::from_slice::<Reply<IgnoredAny>>(body) else {
        return Err(foreign(endpoint, status, body));
    };
    if reply.status != "success" {
        return Err(refusal(endpoint, status, reply));
    }
    if let Some(warning) = doubt(&reply) {
        return Err(FetchError::Partial { endpoint, warning });
    }
    match reply.data {
        Some(data) if (200..300).contains(&status) => Ok((data.result_type, reply.infos)),
        _ => Err(foreign(endpoint, status, body)),
    }
}

fn series(endpoint: &str, result_type: &str, body: &[u8]) -> Result<(Shape, Vec<Series>), FetchError> {
    match result_type {
        "vector" => Ok((Shape::Vector, result(endpoint, body)?)),
        "scalar" => {
            let value = Some(result(endpoint, body)?);
            Ok((Shape::Scalar, vec![Series { metric: BTreeMap::new(), value, histogram: None }]))
        }
        other => Err(FetchError::NotAVector { endpoint: endpoint.to_owned(), found: other.to_owned() }),
    }
}

fn result<R: DeserializeOwned>(endpoint: &str, body: &[u8]) -> Result<R, FetchError> {
    let reply = serde_json::from_slice::<Reply<R>>(body);
    let reason = reply.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let garbled =
        || FetchError::Garbled { endpoint: endpoint.to_owned(), body: format!("unreadable samples ({reason})") };
    reply.ok().and_then(|reply| reply.data).map(|data| data.result).ok_or_else(garbled)
}

fn row(endpoint: &str, series: Series) -> Result<Row, FetchError> {
    let endpoint = || endpoint.to_owned();
    let Some(Sample(seconds, text)) = series.value else {
        let found = if series.histogram.is_some() { "native histogram" } else { "series without a value" };
        return Err(FetchError::NotAVector { endpoint: endpoint(), found: found.to_owned() });
    };
    let unreadable = || FetchError::Garbled {
        endpoint: endpoint(),
        body: format!("a sample that can't be read (`{text}` at {seconds})"),
    };
    let value = text.parse().map_err(|_| unreadable())?;
    // Milliseconds are all that Prometheus has; the rest is noise of the floating point.
    let at = SignedDuration::try_from_secs_f64(seconds).and_then(Timestamp::from_duration);
    let at = at.and_then(|at| at.round(Unit::Millisecond)).map_err(|_| unreadable())?;
    Ok(Row { labels: series.metric, value, at })
}

/// The first sign that samples were left out.
fn doubt(reply: &Reply<IgnoredAny>) -> Option<String> {
    let notes = reply.infos.iter().filter(|note| !HARMLESS.iter().any(|harmless| note.contains(harmless)));
    let partial = reply.is_partial.then(|| "isPartial".to_owned());
    reply.warnings.iter().chain(notes).next().cloned().or(partial)
}

/// Prometheus's own refusal, by its error type.
fn refusal(endpoint: String, status: u16, reply: Reply<IgnoredAny>) -> FetchError {
    match reply.error_type.as_str() {
        "bad_data" | "execution" => FetchError::BadQuery { endpoint, message: reply.error },
        // The deadline itself is known to the caller only, who puts it in.
        "timeout" | "canceled" => FetchError::Timeout { endpoint, deadline: std::time::Duration::ZERO },
        _ => {
            let body = format!("Prometheus's error {} ({})", reply.error_type, reply.error);
            FetchError::Http { endpoint, status, body, hint: hint(status) }
        }
    }
}

/// Something that is not Prometheus's.
pub(super) fn foreign(endpoint: String, status: u16, body: &[u8]) -> FetchError {
    let body = kind(body);
    match status {
        200..=299 => FetchError::Garbled { endpoint, body },
        _ => FetchError::Http { endpoint, status, body, hint: hint(status) },
    }
}

fn kind(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4096)]);
    let start = text.trim_start();
    match start.chars().next() {
        None => "an empty body".to_owned(),
        Some('<') => "HTML from a proxy or another server".to_owned(),
        Some('{') => "JSON that is broken off or not Prometheus's".to_owned(),
        Some(_) => {
            format!("the text `{}`", start.lines().next().unwrap_or_default().chars().take(80).collect::<String>())
        }
    }
}

fn hint(status: u16) -> &'static str {
    match status {
        300..=399 => "it redirects, to a login page most often; give the final address",
        401 | 403 => "it wants other credentials",
        404 => "the address lacks a path prefix, or has one too many",
        429 => "it is asked too often; lower the rate or raise its limits",
        500.. => "it, or a proxy before it, is failing; look at its logs",
        _ => "check its address and what stands before it",
    }
}
