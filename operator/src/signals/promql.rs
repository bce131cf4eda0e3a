//! Queries: understood before they are sent, and kept to what their author may read.
//!
//! A query travels as the text that its own syntax tree prints. That text is parsed once more and compared with the tree,
//! so what Prometheus evaluates is what was checked here, whatever comments, quotes or escapes the author used.

mod locate;
mod scan;
mod selectors;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::catch_unwind;

use promql_parser::label::{MatchOp, Matcher};
use promql_parser::parser::{Expr, VectorSelector, parse as parse_expr};

use selectors::{canonical, each_call, each_selector, each_selector_mut};

/// The longest query that is read, in bytes. Longer ones belong into a recording rule.
pub const MAX_BYTES: usize = 8192;
/// The most tokens that a query may have: the syntax tree is walked by recursion, so this bounds the stack.
pub const MAX_TOKENS: usize = 1024;

/// A query that was understood. Its text (`Display`, [`Query::text`]) is canonical: equal trees have equal texts, which
/// lets callers send one query for many workloads.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    expr: Expr,
    text: String,
}

/// Why a query is refused. Each is a mistake in the configuration: asking again does not help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// It is not `PromQL`.
    #[error("not PromQL at character {at} (near `{near}`): {reason}")]
    Syntax {
        /// Where the first thing stands that does not fit, counted in characters from 1.
        at: usize,
        /// The text there.
        near: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It is longer than [`MAX_BYTES`] or [`MAX_TOKENS`].
    #[error(
        "the query is too long ({bytes} bytes; at most {MAX_BYTES} bytes and {MAX_TOKENS} tokens are read): \
         put the expensive part into a recording rule and query its result"
    )]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// A selector names another namespace than its author's, or leaves it open.
    #[error(
        "the query selects {found}, but a GpuWorkload in namespace `{own}` reads only its own namespace: remove that \
         matcher (`{own}` is added to every selector), or ask the administrator to allow cluster queries"
    )]
    OtherNamespace {
        /// The matcher, as it stands in the query.
        found: String,
        /// The only namespace that it may name.
        own: String,
    },
    /// `{a="x" or b="y"}`, which Prometheus does not have.
    #[error(
        "`{found}`: `or` between matchers is not Prometheus's PromQL; write two selectors, `m{{a=\"x\"}} or m{{b=\"y\"}}`"
    )]
    OrMatchers {
        /// The selector.
        found: String,
    },
    /// `info()` joins series that no matcher of the query reaches.
    #[error(
        "`info()` reads target_info of every namespace; join it by hand instead: \
         `… * on (instance, job) group_left (…) target_info`"
    )]
    Info,
    /// The tree does not print as a text that means the same.
    #[error("the query can't be sent unchanged ({printed}): write its numbers, durations and `@` in a plainer form")]
    Unprintable {
        /// What would have been sent.
        printed: String,
    },
}

impl Query {
    /// The canonical text, as it is sent.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Prints the tree, and proves that the print means the same.
    fn of(mut expr: Expr) -> Result<Self, QueryError> {
        canonical(&mut expr);
        let text = expr.to_string();
        match understood(&text) {
            Ok(mut again) => {
                canonical(&mut again);
                if again == expr { Ok(Self { expr, text }) } else { Err(QueryError::Unprintable { printed: text }) }
            }
            Err(_) => Err(QueryError::Unprintable { printed: text }),
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads `PromQL`. Fails on anything that Prometheus would not evaluate, naming the place and the reason.
pub fn parse(text: &str) -> Result<Query, QueryError> {
    let bytes = text.len();
    if bytes > MAX_BYTES || scan::tokens(text).len() > MAX_TOKENS {
        return Err(QueryError::TooLong { bytes });
    }
    let expr = understood(text).map_err(|reason| locate::syntax_error(text, &reason))?;
    if let Some(found) = or_matchers(&expr) {
        return Err(QueryError::OrMatchers { found });
    }
    Query::of(expr)
}

/// The query with `label="namespace"` in every selector, wherever it stands.
///
/// Refuses a matcher on `label` that could mean anything else, rather than returning an empty answer that its author would
/// take for "no load". A query without selectors (`vector(1)`) is returned as it is.
pub fn enforce(query: &Query, label: &str, namespace: &str) -> Result<Query, QueryError> {
    if each_call(&query.expr).any(|name| name == "info") {
        return Err(QueryError::Info);
    }
    let mut expr = query.expr.clone();
    let own = Matcher::new(MatchOp::Equal, label, namespace);
    each_selector_mut(&mut expr, &mut |selector| keep_to(selector, &own))?;
    Query::of(expr)
}

/// The query with the administrator's `matchers` (label → value) in every selector. A matcher of the query on one of these
/// labels stays, and both must hold: the administrator narrows, never widens.
pub fn with_matchers(query: &Query, matchers: &BTreeMap<String, String>) -> Result<Query, QueryError> {
    let mut expr = query.expr.clone();
    each_selector_mut(&mut expr, &mut |selector| {
        for (label, value) in matchers {
            add(selector, Matcher::new(MatchOp::Equal, label, value));
        }
        Ok(())
    })?;
    Query::of(expr)
}

/// For each distinct selector of the query, a query for when its newest samples were taken: `timestamp(selector)`.
///
/// `offset` and `@` are left out: they choose which old sample to use on purpose, while the age asks whether the source
/// still speaks. An answer without rows means that no sample is younger than Prometheus's lookback (5 minutes). A selector
/// that spans several metric names (`{__name__=~…}`) may be refused, since `timestamp` drops the name: its age is unknown.
pub fn ages(query: &Query) -> Vec<String> {
    let texts: BTreeSet<String> = each_selector(&query.expr).map(instant_text).collect();
    texts.into_iter().map(|selector| format!("timestamp({selector})")).collect()
}

fn instant_text(selector: &VectorSelector) -> String {
    VectorSelector { offset: None, at: None, ..selector.clone() }.to_string()
}

fn keep_to(selector: &mut VectorSelector, own: &Matcher) -> Result<(), QueryError> {
    let foreign = selector.matchers.matchers.iter().find(|m| m.name == own.name && !means_exactly(m, &own.value));
    if let Some(matcher) = foreign {
        return Err(QueryError::OtherNamespace { found: matcher.to_string(), own: own.value.clone() });
    }
    selector.matchers.matchers.retain(|m| m.name != own.name);
    add(selector, own.clone());
    Ok(())
}

/// A namespace is a DNS label, so as a regular expression it matches itself alone.
fn means_exactly(matcher: &Matcher, value: &str) -> bool {
    matches!(matcher.op, MatchOp::Equal | MatchOp::Re(_)) && matcher.value == value
}

fn add(selector: &mut VectorSelector, matcher: Matcher) {
    if !selector.matchers.matchers.contains(&matcher) {
        selector.matchers.matchers.push(matcher);
    }
}

fn or_matchers(expr: &Expr) -> Option<String> {
    each_selector(expr).find(|s| !s.matchers.or_matchers.is_empty()).map(ToString::to_string)
}

/// The parser panics on a duration beyond `Duration::MAX`; a tenant's query must not be able to do that to us.
fn understood(text: &str) -> Result<Expr, String> {
    catch_unwind(|| parse_expr(text)).unwrap_or_else(|_| Err("a number or duration is out of range".to_owned()))
}
