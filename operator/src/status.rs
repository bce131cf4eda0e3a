//! A decision as `status` shows it, and what about it is worth a write.

use crate::conditions::{Aspect, why};
use crate::resolve::Resolved;
use jiff::Timestamp;
use wellfed_crds::{
    Condition, ConditionStatus, DecisionStatus, GpuWorkloadStatus, PolicyStatus, PoolStatus, StepStatus,
};
use wellfed_engine::decision::{Decision, Reason, Step};
use wellfed_engine::explain;
use wellfed_engine::gate::Verdict;
use wellfed_engine::sizing::Sizing;
use wellfed_engine::units::Replicas;

/// The conditions in order, keeping the time of those that did not change.
pub fn conditions(aspects: &[Aspect], before: &[Condition], generation: Option<i64>, now: Timestamp) -> Vec<Condition> {
    aspects
        .iter()
        .map(|aspect| {
            let old = before.iter().find(|old| old.kind == aspect.kind && old.status == aspect.status);
            Condition {
                kind: aspect.kind.to_owned(),
                status: aspect.status,
                reason: aspect.reason.clone(),
                message: aspect.message.clone(),
                last_transition_time: old.map_or(now, |old| old.last_transition_time),
                observed_generation: generation,
            }
        })
        .collect()
}

/// The whole status of a decided workload, without conditions, findings and memory.
pub fn decided(
    decision: &Decision,
    resolved: &Resolved,
    generation: Option<i64>,
    selector: Option<String>,
) -> GpuWorkloadStatus {
    GpuWorkloadStatus {
        observed_generation: generation,
        replicas: Some(count(decision.current)),
        desired_replicas: Some(count(decision.number)),
        wanted_replicas: Some(count(within_bounds(decision))),
        selector,
        conditions: Vec::new(),
        policy: Some(shown(resolved)),
        pools: decision
            .pools
            .iter()
            .map(|pool| PoolStatus {
                name: pool.pool.to_string(),
                replicas: count(pool.from),
                desired_replicas: count(pool.to),
            })
            .collect(),
        decision: Some(decision_status(decision)),
        findings: Vec::new(),
        memory: None,
    }
}

/// What is wanted once minimum and maximum have been applied: what the gate was asked, or holds back by a ceiling.
fn within_bounds(decision: &Decision) -> Replicas {
    let bounds = decision.steps.iter().find(|record| record.step == Step::Bounds);
    bounds.map_or(decision.wanted, |record| match record.reason {
        Reason::Ceiling { wanted, .. } => wanted,
        _ => record.after,
    })
}

fn count(replicas: Replicas) -> i32 {
    i32::try_from(replicas.0).unwrap_or(i32::MAX)
}

fn shown(resolved: &Resolved) -> PolicyStatus {
    let policy = &resolved.policy;
    PolicyStatus {
        gpus_per_replica: i32::try_from(policy.gpus_per_replica.0).unwrap_or(i32::MAX),
        gate_mode: format!("{:?}", policy.gate.mode),
        gate_window: explain::duration(policy.gate.window),
        on_unknown: format!("{:?}", policy.gate.on_unknown),
        scale_down_window: explain::duration(policy.behavior.down.window),
        model: resolved.sizing.as_ref().map(Sizing::summary),
        thresholds: resolved.thresholds.clone(),
        rules: policy.gate.stances.iter().map(|(rule, stance)| (rule.to_string(), format!("{stance:?}"))).collect(),
    }
}

fn decision_status(decision: &Decision) -> DecisionStatus {
    let binding = decision.binding_record();
    let steps = decision.steps.iter().map(|record| StepStatus {
        step: explain::step(record.step).to_owned(),
        before: count(record.before),
        after: count(record.after),
        message: explain::reason(&record.reason),
    });
    DecisionStatus {
        why: binding.map_or_else(String::new, |record| why_shown(decision, why(record.step, &record.reason))),
        summary: explain::sentence(decision),
        binding: format!("{:?}", decision.binding()),
        verdict: explain::verdict(decision.verdict).to_owned(),
        veto_expires: explain::expiry(decision.verdict).map(|moment| moment.0),
        steps: steps.collect(),
    }
}

/// A refusal names its cause: `GateRefused: DataLoader`.
fn why_shown(decision: &Decision, why: &str) -> String {
    match decision.verdict {
        Verdict::Refuse { rule, .. } if why == "GateRefused" => format!("{why}: {rule}"),
        _ => why.to_owned(),
    }
}

/// What of a condition's sentence is worth a write of its own: for the same reason it may name another mistake, another
/// signal or other counts than before, and it carries no value that moves at rest. Why there is no verdict is told with
/// counts and times, which move: another cause is worth a write, another number is not.
fn words_that_matter(condition: &Condition) -> Option<String> {
    match condition.kind.as_str() {
        "Accepted" | "SignalsHealthy" | "GateOverridden" => Some(condition.message.clone()),
        "Starved" if condition.status == ConditionStatus::Unknown => {
            let words =
                condition.message.split(' ').filter(|word| !word.starts_with(|first: char| first.is_ascii_digit()));
            Some(words.collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

/// What about a status is worth a write. Most sentences are not: they carry live values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worth {
    generation: Option<i64>,
    numbers: [Option<i32>; 3],
    pools: Vec<PoolStatus>,
    conditions: Vec<(String, ConditionStatus, String, Option<String>)>,
    /// Why, by which step, and the verdict; each evaluation that shows its cause moves the end of a veto.
    decision: Option<[String; 3]>,
    /// Which, in what state, since when, and whether it is known what was measured.
    findings: Vec<(String, String, Timestamp, bool)>,
    /// The first command of the first finding: the pod that it names may be gone.
    command: Option<String>,
    selector: Option<String>,
    /// What the model needs, and where it fits: neither moves at rest.
    model: Option<String>,
}

impl Worth {
    /// Of `status`.
    pub fn of(status: &GpuWorkloadStatus) -> Self {
        Self {
            generation: status.observed_generation,
            numbers: [status.replicas, status.desired_replicas, status.wanted_replicas],
            pools: status.pools.clone(),
            conditions: status
                .conditions
                .iter()
                .map(|condition| {
                    let words = words_that_matter(condition);
                    (condition.kind.clone(), condition.status, condition.reason.clone(), words)
                })
                .collect(),
            decision: status
                .decision
                .as_ref()
                .map(|decision| [&decision.why, &decision.binding, &decision.verdict].map(String::clone)),
            findings: status
                .findings
                .iter()
                .map(|one| (one.id.clone(), one.state.clone(), one.since, one.evidence.is_empty()))
                .collect(),
            command: status.findings.first().and_then(|finding| Some(finding.commands.first()?.run.clone())),
            selector: status.selector.clone(),
            model: status.policy.as_ref().and_then(|policy| policy.model.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;
    use wellfed_engine::opinion::Gap;

    fn unjudged(gap: Gap) -> Worth {
        let condition = Condition {
            kind: "Starved".to_owned(),
            status: ConditionStatus::Unknown,
            reason: "NoVerdict".to_owned(),
            message: explain::gap(gap),
            observed_generation: None,
            last_transition_time: Timestamp::UNIX_EPOCH,
        };
        Worth::of(&GpuWorkloadStatus { conditions: vec![condition], ..GpuWorkloadStatus::default() })
    }

    /// Kills: a status that says for ever why there was no verdict first.
    #[test]
    fn another_cause_of_no_verdict_is_worth_a_write_and_another_number_is_not() {
        let short = |seconds| Gap::TooShort {
            covered: SignedDuration::from_secs(seconds),
            needed: SignedDuration::from_mins(5),
        };
        let unseen = |seen| Gap::GpusUnseen { seen, expected: 8 };

        assert_ne!(unjudged(Gap::NotAsked), unjudged(unseen(0)));
        assert_ne!(unjudged(unseen(0)), unjudged(Gap::Contradiction { gpus: 8 }));
        assert_eq!(unjudged(unseen(0)), unjudged(unseen(3)));
        assert_eq!(unjudged(short(60)), unjudged(short(90)));
    }
}
