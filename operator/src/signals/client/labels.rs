//! The labels of one series, however they are kept.

use std::collections::BTreeMap;

/// Something with labels.
pub trait Labelled {
    /// The value of a label, if it is there.
    fn label(&self, name: &str) -> Option<&str>;
}

impl Labelled for BTreeMap<String, String> {
    fn label(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }
}

/// Labels of one row after another, in one buffer that is used again.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    text: String,
    /// Where each name and each value ends.
    ends: Vec<usize>,
}

impl Labels {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Adds a name or, after it, its value.
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    fn part(&self, at: usize) -> Option<&str> {
        let from = if at == 0 { 0 } else { *self.ends.get(at - 1)? };
        self.text.get(from..*self.ends.get(at)?)
    }
}

impl Labelled for Labels {
    fn label(&self, name: &str) -> Option<&str> {
        let names = (0..self.ends.len()).step_by(2);
        names.into_iter().find(|at| self.part(*at) == Some(name)).and_then(|at| self.part(at + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_name_and_not_by_another_value() {
        let mut labels = Labels::default();
        for part in ["pod", "namespace", "namespace", "demo", "UUID", ""] {
            labels.push(part);
        }

        assert_eq!(
            ["pod", "namespace", "UUID", "demo"].map(|name| labels.label(name)),
            [Some("namespace"), Some("demo"), Some(""), None]
        );
        labels.clear();
        assert_eq!(labels.label("pod"), None);
    }
}
