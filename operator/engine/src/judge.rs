//! Evidence → opinion: whether more GPUs would help, and if not, why.

use crate::evidence::Evidence;
use crate::opinion::{Confidence, Finding, Gap, Lean, Measure, Opinion, Quantity, Weight};
use crate::rules::{RULES, RuleName, Says};

/// One look at one workload. The same evidence gives the same opinion.
pub fn judge(seen: &Evidence) -> Opinion {
    let mut findings = Vec::new();
    let mut unexplained = Vec::new();
    let mut gap: Option<Gap> = None;
    for rule in RULES {
        match rule.judge(seen) {
            Says::NotMine => {}
            Says::Invalid(why) => gap = gap.or(Some(why)),
            Says::Found(weight, measured) => findings.push(finding(rule.name(), weight, measured, seen)),
            Says::Unexplained(weight, measured) => unexplained.push(finding(rule.name(), weight, measured, seen)),
        }
    }
    if let Some(gap) = gap {
        return Opinion { at: seen.at, lean: Lean::Unknown(gap), findings: Vec::new() };
    }
    if !findings.iter().any(|finding| finding.weight == Weight::Veto) {
        findings.append(&mut unexplained);
    }
    findings.sort_by_key(|finding| finding.weight);
    let lean = findings
        .iter()
        .find(|finding| finding.weight == Weight::Veto)
        .map_or(Lean::Allow, |finding| Lean::Refuse(finding.rule));
    Opinion { at: seen.at, lean, findings }
}

fn finding(rule: RuleName, weight: Weight, mut measured: Vec<Measure>, seen: &Evidence) -> Finding {
    let judged = u32::try_from(seen.gpus.len()).unwrap_or(u32::MAX);
    measured.push(Measure { what: Quantity::GpusJudged, value: f64::from(judged), threshold: None });
    let sharp = seen.gpu_mean(|gpu| gpu.sm).is_some();
    let confidence = if sharp { Confidence::High } else { Confidence::Medium };
    // A device that several pods share can't be attributed to one of them: such a finding only advises.
    let weight = if seen.gpus.iter().any(|gpu| gpu.shared) { Weight::Advice } else { weight };
    Finding { rule, weight, confidence, measured, window: seen.covered }
}
