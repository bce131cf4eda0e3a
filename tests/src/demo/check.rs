//! Whether everything came out as it should, by the API server and its audit log alone.

use super::history::{History, Past};
use wellfed_crds::ConditionStatus;

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
    expect(findings.is_empty(), format!("chat has no finding, not {findings:?}"));
    let demand =
        past.status.decision.as_ref().and_then(|decision| decision.steps.iter().find(|one| one.step == "demand"));
    let (runs, asked) = demand.map_or((0, i32::MAX), |demand| (demand.before, demand.after));
    expect(
        asked <= runs,
        format!("chat's queue falls after growth: at the end it asks for {asked} of {runs} replicas"),
    );
}

/// Starved: refused, with the cause and what to do.
fn vision_train(past: &Past, expect: &mut impl FnMut(bool, String)) {
    let same = past.initial() == 4 && past.peak == 4 && past.last() == 4;
    let course = format!("{} → {} → {}", past.initial(), past.peak, past.last());
    expect(same, format!("vision-train stays at 4 replicas, not {course}"));
    let (verdict, findings) = said(past);
    expect(verdict == "Refuse", format!("vision-train's verdict is Refuse, not {verdict}"));
    expect(findings == ["DataLoader"], format!("vision-train's finding is DataLoader, not {findings:?}"));
    let binding = past.status.decision.as_ref().map_or("", |decision| decision.binding.as_str());
    expect(binding == "Gate", format!("vision-train is held by the gate, not by {binding}"));
    let wanted = past.status.wanted_replicas.unwrap_or(0);
    expect(wanted > 4, format!("vision-train wants more than 4 replicas, not {wanted}"));
    let remedies = past.status.findings.iter().map(|finding| finding.remedies.len()).sum::<usize>();
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
