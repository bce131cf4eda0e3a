//! The report as a table, for people.

use super::figures::Figures;
use super::hindsight::Hindsight;
use super::report::{Report, WorkloadReport};
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use std::fmt::Write;

const HEADER: [&str; 9] = [
    "policy",
    "GPU-hours",
    "cost",
    "over SLO\n(of time / requests)",
    "finished",
    "waiting\n(mean / most)",
    "replicas\n(mean / most)",
    "changes\n(reversals)",
    "held by the gate\n(times / GPU-hours)",
];

/// One table a workload.
pub fn table(report: &Report) -> String {
    let mut text = format!("{}: {} simulated, seed {}\n", report.scenario, length(report.seconds), report.seed);
    for workload in &report.workloads {
        let slo = workload.slo_seconds.map(|slo| format!(", SLO {slo} s")).unwrap_or_default();
        // Writing into a String can't fail.
        let _ = writeln!(text, "\n{}{slo}\n{}", workload.name, of(workload));
    }
    text
}

fn of(workload: &WorkloadReport) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Disabled).set_header(HEADER);
    for one in &workload.policies {
        table.add_row(row(one.policy.name(), &one.figures));
    }
    table.add_row(best(&workload.optimum, workload.slo_seconds.is_some()));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn best(optimum: &Hindsight, has_slo: bool) -> Vec<String> {
    let most = optimum.replicas.iter().copied().fold(0.0, f64::max);
    let mean = optimum.replicas.iter().sum::<f64>() / optimum.replicas.len().max(1) as f64;
    let mut row =
        vec!["optimum in hindsight".to_owned(), format!("{:.1}", optimum.gpu_hours), format!("{:.2}", optimum.cost)];
    row.push(if has_slo { format!("{:.2} % / –", optimum.time_over_slo * 100.0) } else { "–".to_owned() });
    row.extend(["–", "–"].map(str::to_owned));
    row.push(format!("{mean:.1} / {most:.0}"));
    row.push(format!("{} ({} starts, {} stops)", optimum.scale_events, optimum.starts, optimum.stops));
    row.push("–".to_owned());
    row
}

fn row(policy: &str, figures: &Figures) -> Vec<String> {
    let share = |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{:.2} %", share * 100.0));
    vec![
        policy.to_owned(),
        format!("{:.1}", figures.gpu_hours),
        format!("{:.2}", figures.cost),
        match (figures.time_over_slo, figures.requests_over_slo) {
            (None, None) => "–".to_owned(),
            (time, requests) => format!("{} / {}", share(time), share(requests)),
        },
        rounded(figures.done),
        format!("{} / {}", rounded(figures.queue_mean), rounded(figures.queue_max)),
        format!("{:.1} / {}", figures.replicas_mean, figures.replicas_max),
        format!("{} ({})", figures.scale_events, figures.reversals),
        match figures.refusals {
            0 => "–".to_owned(),
            times => format!("{times} / {:.1}", figures.gpu_hours_refused),
        },
    ]
}

/// Four digits, as people read them.
fn rounded(value: f64) -> String {
    match value {
        value if value >= 1e9 => format!("{:.2} G", value / 1e9),
        value if value >= 1e6 => format!("{:.2} M", value / 1e6),
        value if value >= 1e4 => format!("{:.1} k", value / 1e3),
        value if value >= 100.0 => format!("{value:.0}"),
        value => format!("{value:.1}"),
    }
}

fn length(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 86_400.0 => format!("{:.1} days", seconds / 86_400.0),
        seconds if seconds >= 3_600.0 => format!("{:.1} hours", seconds / 3_600.0),
        seconds => format!("{:.1} minutes", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optimum_shows_its_time_over_the_objective_and_its_changes() {
        let optimum = Hindsight {
            gpu_hours: 12.0,
            cost: 24.0,
            starts: 5,
            stops: 4,
            scale_events: 7,
            time_over_slo: 0.0,
            replicas: vec![1.0, 3.0],
        };

        assert_eq!(
            best(&optimum, true),
            ["optimum in hindsight", "12.0", "24.00", "0.00 % / –", "–", "–", "2.0 / 3", "7 (5 starts, 4 stops)", "–"]
        );
        assert_eq!(best(&optimum, false)[3], "–");
    }
}
