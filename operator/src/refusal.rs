//! Why a workload is not accepted, in words a person can act on.

use std::fmt;

/// One thing that is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// In one word, as the condition shows it.
    pub reason: RefusalReason,
    /// Where in the object.
    pub path: String,
    /// What is wrong, and what to do.
    pub message: String,
}

/// Every way to be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalReason {
    /// The object can't be read at all.
    Malformed,
    /// A quantity, duration or percentage has another form.
    BadValue,
    /// A query is no `PromQL`.
    BadQuery,
    /// A query asks for another namespace.
    OtherNamespace,
    /// No Prometheus of that name is configured.
    UnknownEndpoint,
    /// No pool of that name exists.
    UnknownPool,
    /// The pool does not serve this namespace.
    PoolNotAllowed,
    /// wellfed does not scale this kind.
    UnsupportedKind,
    /// One target twice, in one workload or in two.
    DuplicateTarget,
    /// The target's pods ask for no GPU.
    NoGpus,
    /// The gate has no threshold of that name.
    UnknownThreshold,
    /// The gate has no rule of that name, or none that can be overruled.
    UnknownRule,
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl Refusal {
    /// A refusal of what stands at `path`.
    pub fn at(path: impl Into<String>, reason: RefusalReason, message: impl Into<String>) -> Self {
        Self { reason, path: path.into(), message: message.into() }
    }
}

/// The known name that `name` most likely means, if one is near.
pub fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|other| (distance(name, other), other))
        .filter(|(distance, _)| *distance <= 2)
        .min()
        .map(|(_, other)| other)
}

/// The `most` known names that are nearest to `name`, nearest first.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let folded = name.to_lowercase();
    let mut known: Vec<_> = known.map(|other| (distance(&folded, &other.to_lowercase()), other)).collect();
    known.sort_unstable();
    known.into_iter().take(most).map(|(_, other)| other).collect()
}

/// Edits from one to the other: insertions, deletions, replacements.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keyboard_is_recognised() {
        let known = || ["h100-od", "h100-spot"].into_iter();

        assert_eq!(did_you_mean("h100-spt", known()), Some("h100-spot"));
        assert_eq!(did_you_mean("a10", known()), None);
    }
}
