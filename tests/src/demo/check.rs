//! Whether everything came out as it should, by the API server and its audit log alone.

use super::history::{History, Past};
use jiff::SignedDuration;
use wellfed_crds::{ConditionStatus, FiguresStatus};

/// An event is written after the write that it explains, in the same cycle.
const LATE: SignedDuration = SignedDuration::from_secs(5);

/// Everything that is not as it should be, in words.
pub fn check(history: &History) -> Vec<String> {
    let mut failures = Vec::new();
    let mut expect = |holds: bool, text: String| {
        if !holds {
            failures.push(text);
        }
    };
    chat(&history.workloads["chat"], &mut expect);
    vision_train(&history.workloads["vision-train"], &mut expect);
    search(&history.workloads["search"], &mut expect);
    expect(history.strays.is_empty(), format!("the operator writes nothing else, but: {}", history.strays.join("; ")));
    failures
}

/// Saturated: grows across both pools, its base on demand and the rest on spot, and its queue falls.
fn chat(past: &Past, expect: &mut impl FnMut(bool, String)) {
    expect(past.initial() == 2, format!("chat starts with 2 replicas, not {}", past.initial()));
    expect(past.peak >= 4, format!("chat grows to at least 4 replicas: its most was {}", past.peak));
    expect(past.peak <= 8, format!("chat never exceeds maxReplicas 8: its most was {}", past.peak));
    let pool = |name: &str| past.pools.get(name).copied().unwrap_or_default();
    let (od, spot) = (pool("h100-od"), pool("h100-spot"));
    expect(
        od.peak == 2 && od.last == 2,
        format!("chat keeps its base of 2 on h100-od: most {}, last {}", od.peak, od.last),
    );
    expect(spot.peak >= 2, format!("chat's burst runs on h100-spot: its most there was {}", spot.peak));
    let (verdict, findings) = said(past);
    expect(verdict == "Allow", format!("chat's verdict is Allow, not {verdict}"));
    // That adding is justified is said too, and is no fault.
    let faults: Vec<_> = findings.into_iter().filter(|rule| *rule != "AddingJustified").collect();
    expect(faults.is_empty(), format!("chat has no finding, not {faults:?}"));
    let demand =
        past.status.decision.as_ref().and_then(|decision| decision.steps.iter().find(|one| one.step == "demand"));
    let (runs, asked) = demand.map_or((0, i32::MAX), |demand| (demand.before, demand.after));
    expect(
        asked <= runs,
        format!("chat's queue falls after growth: at the end it asks for {asked} of {runs} replicas"),
    );
}

/// Starved: held at first, with the cause and what to do; once that is done, measured again, and free to grow.
fn vision_train(past: &Past, expect: &mut impl FnMut(bool, String)) {
    // That adding is justified is found too, once the trainer is fed.
    let of_it = || past.turns.iter().filter(|(_, _, note)| note.contains("DataLoader"));
    let turns: Vec<&str> = of_it().map(|(_, turn, _)| turn.as_str()).collect();
    let course = ["FindingOpened", "FindingRetesting", "FindingResolved"];
    expect(turns == course, format!("vision-train's DataLoader goes {course:?}, not {turns:?}: {:?}", past.turns));
    let resolved = of_it().find(|(_, turn, _)| turn == "FindingResolved").map(|(at, ..)| *at);
    let first = past.first_written;
    let waits = first.zip(resolved).is_some_and(|(first, resolved)| first >= resolved - LATE);
    expect(waits, format!("vision-train grows only once its finding is resolved: at {first:?}, {resolved:?}"));
    expect(past.initial() == 4, format!("vision-train starts with 4 replicas, not {}", past.initial()));
    expect(past.peak > 4 && past.peak <= 8, format!("vision-train then grows, up to 8 replicas: {}", past.peak));
    before_and_after(past, expect);
}

/// The status keeps both figures, and the gain is real.
fn before_and_after(past: &Past, expect: &mut impl FnMut(bool, String)) {
    let finding = past.status.findings.iter().find(|finding| finding.rule == "DataLoader");
    let state = finding.map(|finding| finding.state.as_str());
    expect(state == Some("Resolved"), format!("vision-train's DataLoader is Resolved at the end, not {state:?}"));
    let figure = |figures: Option<&FiguresStatus>| figures?.throughput.as_deref()?.parse::<f64>().ok();
    let (before, after) = finding.map_or((None, None), |it| (figure(it.before.as_ref()), figure(it.after.as_ref())));
    let gain = before.zip(after).map(|(before, after)| after / before);
    let doubled = gain.is_some_and(|gain| gain >= 2.0);
    expect(doubled, format!("a replica of vision-train does at least twice as much after: {before:?}, {after:?}"));
    let remedies = finding.map_or(0, |finding| finding.remedies.len());
    expect(remedies >= 2, format!("vision-train is told at least 2 remedies, not {remedies}"));
}

/// Without metrics: held, and said.
fn search(past: &Past, expect: &mut impl FnMut(bool, String)) {
    let same = past.initial() == 3 && past.peak == 3 && past.last() == 3;
    let course = format!("{} → {} → {}", past.initial(), past.peak, past.last());
    expect(same, format!("search stays at 3 replicas, not {course}"));
    let healthy = past.status.conditions.iter().find(|condition| condition.kind == "SignalsHealthy");
    let status = healthy.map(|condition| condition.status);
    expect(status == Some(ConditionStatus::False), format!("search's SignalsHealthy is False, not {status:?}"));
    let named = healthy.is_some_and(|condition| condition.message.contains("requests"));
    expect(named, "search says which signal is gone".to_owned());
    let why = past.status.decision.as_ref().map_or("", |decision| decision.why.as_str());
    expect(why == "SignalsUnavailable", format!("search is held by SignalsUnavailable, not by {why}"));
}

fn said(past: &Past) -> (&str, Vec<&str>) {
    let verdict = past.status.decision.as_ref().map_or("", |decision| decision.verdict.as_str());
    (verdict, past.status.findings.iter().map(|finding| finding.rule.as_str()).collect())
}
