//! The live table.

use super::look::{Look, Seen};
use comfy_table::{Table, presets};
use std::io::{IsTerminal, stdout};
use std::time::Duration;

/// Shows where everything stands; on a terminal in place, elsewhere one table below the other.
pub fn show(look: &Look, whole: Duration) {
    if stdout().is_terminal() {
        print!("\x1b[2J\x1b[H");
    }
    println!("\n{:>4.0} s of {} s", look.seconds.unwrap_or(0.0), whole.as_secs());
    println!("{}", table(look));
}

fn table(look: &Look) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "workload",
        "queue",
        "GPUs active",
        "replicas (Ready)",
        "by pool",
        "wanted",
        "more GPUs?",
        "what binds",
    ]);
    for (name, seen) in &look.workloads {
        table.add_row(row(name, seen));
    }
    table
}

fn row(name: &str, seen: &Seen) -> Vec<String> {
    let status = &seen.status;
    let number = |value: Option<i32>| value.map_or_else(|| "–".to_owned(), |value| value.to_string());
    let pools: Vec<_> = status.pools.iter().map(|pool| format!("{} {}", pool.name, pool.desired_replicas)).collect();
    let decision = status.decision.as_ref();
    vec![
        name.to_owned(),
        seen.queue.map_or_else(|| "no data".to_owned(), |queue| format!("{queue:.0}")),
        format!("{:.0} %", seen.activity * 100.0),
        format!("{} ({})", number(status.desired_replicas), seen.ready),
        pools.join(", "),
        number(status.wanted_replicas),
        decision.map_or_else(String::new, |decision| decision.verdict.clone()),
        decision.map_or_else(String::new, |decision| format!("{}: {}", decision.binding, decision.why)),
    ]
}
