//! Finds where a query stops making sense. The parser says only that it does.

use promql_parser::parser::lexer;

use super::scan::tokens;
use super::{QueryError, understood};

/// The parser's only message for a text that its grammar does not accept.
const GRAMMAR: &str = "invalid promql query";
/// What may follow a query that breaks off in the middle. If none makes it whole, its last token was already wrong.
const ENDINGS: [&str; 13] =
    ["", " x", "(x)", "(x)(x)", " x)", "(x, x)", "=\"v\"}", "\"v\"}", "}", "5m]", "]", " 1", "()"];
/// The longest stretch of the query that a message repeats, in characters.
const NEAR: usize = 24;

/// The parser's complaint, with its place and in plain words.
pub(super) fn syntax_error(text: &str, reason: &str) -> QueryError {
    let start = if text.trim().is_empty() { 0 } else { offset(text, reason) };
    let at = text[..start].chars().count() + 1;
    let near: String = text[start..].chars().take(NEAR).collect();
    let near = if near.trim().is_empty() { "end of the query".to_owned() } else { near };
    QueryError::Syntax { at, near, reason: plain(text, reason) }
}

fn plain(text: &str, reason: &str) -> String {
    match reason {
        _ if text.trim().is_empty() => "the query is empty".to_owned(),
        GRAMMAR => "this can't stand here; check operators, brackets and quotes just before it".to_owned(),
        other => other.to_owned(),
    }
}

/// The byte where the complaint begins.
fn offset(text: &str, reason: &str) -> usize {
    let spans = tokens(text);
    if lexer(text).is_err() {
        return unclosed(text, &spans).unwrap_or_else(|| lexical(text, reason));
    }
    named(text, &spans, reason).unwrap_or_else(|| first_misfit(text, &spans, reason))
}

/// The character from which on every longer part of the text has this same trouble.
fn lexical(text: &str, reason: &str) -> usize {
    let same = |end: usize| lexer(&text[..end]).is_err_and(|other| other == reason);
    let ends = text.char_indices().map(|(start, c)| (start, start + c.len_utf8()));
    ends.rev().take_while(|(_, end)| same(*end)).last().map_or(text.len(), |(start, _)| start)
}

/// The outermost `(` that is never closed, if closing is all that the text lacks.
fn unclosed(text: &str, spans: &[(usize, usize)]) -> Option<usize> {
    let mut open = vec![];
    for (start, end) in spans {
        match &text[*start..*end] {
            "(" => open.push(*start),
            ")" => drop(open.pop()),
            _ => {}
        }
    }
    lexer(&format!("{text}{}", ")".repeat(open.len()))).is_ok().then(|| open.first().copied()).flatten()
}

/// A complaint that quotes a name (`unknown function with name 'x'`) stands where that name first stands.
fn named(text: &str, spans: &[(usize, usize)], reason: &str) -> Option<usize> {
    let name = reason.split('\'').nth(1)?;
    spans.iter().find(|(start, end)| &text[*start..*end] == name).map(|(start, _)| *start)
}

/// The first token that can't follow those before it. Every beginning of a good beginning is good, so halving finds it.
fn first_misfit(text: &str, spans: &[(usize, usize)], reason: &str) -> usize {
    let good = spans.partition_point(|(_, end)| fits(&text[..*end], reason));
    spans.get(good).map_or(text.len(), |(start, _)| *start)
}

/// Whether some ending makes the beginning whole: parsed, or refused for something else than its grammar.
fn fits(beginning: &str, reason: &str) -> bool {
    let depth = tokens(beginning).iter().filter(|(start, end)| &beginning[*start..*end] == "(").count();
    let whole = |text: &str| understood(text).err().is_none_or(|other| other != reason && other != GRAMMAR);
    ENDINGS.iter().any(|ending| {
        let ended = format!("{beginning}{ending}");
        (0..=depth)
            .map(|missing| format!("{ended}{}", ")".repeat(missing)))
            .any(|text| lexer(&text).is_ok() && whole(&text))
    })
}
