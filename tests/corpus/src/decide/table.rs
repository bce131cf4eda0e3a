//! The result as people read it.

use super::bench::Played;
use super::row::Row;
use super::sum::Sum;
use std::fmt::Write;

const HEAD: &str = "  arm                             GPU-h/day  cost/day  regret    over SLO (time/requests)  unserved  waited h  \
                    changes (back)  in vain  refused (times / GPU-h)";

/// How one kind of workload fared under every arm, a day of one of them.
pub fn of(one: &Played) -> String {
    let remedy = one.remedy.as_ref().map(|remedy| format!("; mended by {remedy}")).unwrap_or_default();
    let mut text = format!(
        "{} ({:?}, {} of 100, {:.2} days, {}): {}{remedy}\n{HEAD}\n",
        one.name, one.part, one.workloads, one.days, one.resolution, one.why
    );
    for row in &one.rows {
        let _ = writeln!(text, "{}", line(row));
    }
    let _ =
        writeln!(text, "  {:<30}  {:>9.1}  {:>8.0}", "optimum in hindsight", one.optimum_gpu_hours, one.optimum_cost);
    if let Some((hours, cost)) = one.mended_optimum_gpu_hours.zip(one.mended_optimum_cost) {
        let _ = writeln!(text, "  {:<30}  {hours:>9.1}  {cost:>8.0}", "optimum, mended");
    }
    text
}

fn line(row: &Row) -> String {
    format!(
        "  {:<30}  {:>9.1}  {:>8.0}  {:>6}  {:>10} / {:>8}       {:>9}  {:>8.3}  {:>6.1} ({:>5.1})  {:>7.1}  {:.1} / {:.1}",
        row.arm,
        row.gpu_hours,
        row.cost,
        percent(row.regret),
        percent(row.time_over_slo),
        percent(row.requests_over_slo),
        percent(Some(row.unserved)),
        row.waited,
        row.scale_events,
        row.reversals,
        row.gpu_hours_in_vain,
        row.refusals,
        row.gpu_hours_refused,
    )
}

/// A part of the mixture, or all of it.
pub fn summed(title: &str, sums: &[Sum]) -> String {
    let mut text = format!("{title}\n{HEAD}\n");
    for sum in sums {
        let _ = writeln!(
            text,
            "  {:<30}  {:>9.0}  {:>8.0}  {:>6}  {:>10} / {:>8}       {:>9}            {:>6.0} ({:>5.0})  {:>7.0}  {:.0}",
            sum.arm,
            sum.gpu_hours,
            sum.cost,
            percent(Some(sum.regret)),
            percent(sum.time_over_slo),
            percent(sum.requests_over_slo),
            percent(Some(sum.unserved)),
            sum.scale_events,
            sum.reversals,
            sum.gpu_hours_in_vain,
            sum.refusals,
        );
    }
    text
}

fn percent(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}
