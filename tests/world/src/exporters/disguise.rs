//! Broken telemetry: what a scraper gets instead of the true page.

use crate::scenario::Metrics;

/// The page that was true when the telemetry broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The body.
    pub body: String,
    /// When, ms since the epoch.
    pub at: i64,
}

/// What the scraper gets; `None` means that the scrape fails.
pub fn disguise(body: String, state: Metrics, kept: Option<&Kept>) -> Option<String> {
    match (state, kept) {
        (Metrics::Normal, _) => Some(body),
        (Metrics::Off, _) => None,
        (Metrics::NaN, _) => Some(rewrite(&body, |series, _| format!("{series} NaN"))),
        (Metrics::Frozen, kept) => kept.map(|kept| kept.body.clone()),
        (Metrics::Old, kept) => kept.map(|kept| dated(&kept.body, kept.at)),
    }
}

/// The page with the time `at`, ms since the epoch, on every sample.
pub fn dated(body: &str, at: i64) -> String {
    rewrite(body, |series, value| format!("{series} {value} {at}"))
}

fn rewrite(body: &str, line: impl Fn(&str, &str) -> String) -> String {
    let rewritten = body.lines().map(|text| match text.rsplit_once(' ') {
        Some((series, value)) if !text.starts_with('#') => line(series, value),
        _ => text.into(),
    });
    rewritten.fold(String::new(), |all, text| all + &text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "# HELP q Depth.\n# TYPE q gauge\nq{queue=\"a b\"} 7\n";

    fn kept() -> Kept {
        Kept { body: BODY.into(), at: 1_700_000_000_000 }
    }

    #[test]
    fn old_samples_carry_the_time_at_which_they_were_true() {
        let page = disguise("q 9\n".into(), Metrics::Old, Some(&kept()));

        assert_eq!(page.unwrap(), "# HELP q Depth.\n# TYPE q gauge\nq{queue=\"a b\"} 7 1700000000000\n");
    }

    #[test]
    fn frozen_samples_look_new() {
        assert_eq!(disguise("q 9\n".into(), Metrics::Frozen, Some(&kept())).unwrap(), BODY);
    }

    #[test]
    fn a_pod_that_is_younger_than_the_fault_has_nothing_to_show() {
        assert_eq!(disguise("q 9\n".into(), Metrics::Frozen, None), None);
    }

    #[test]
    fn nan_keeps_the_series() {
        let page = disguise(BODY.into(), Metrics::NaN, None);

        assert_eq!(page.unwrap(), "# HELP q Depth.\n# TYPE q gauge\nq{queue=\"a b\"} NaN\n");
    }

    #[test]
    fn off_fails_the_scrape() {
        assert_eq!(disguise(BODY.into(), Metrics::Off, Some(&kept())), None);
    }
}
