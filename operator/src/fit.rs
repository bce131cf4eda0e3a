//! A status stays within its 16 KiB: of too many findings the later ones say less.

use wellfed_crds::{FindingStatus, GpuWorkloadStatus};

/// The most that a status may take, as JSON.
const MOST: usize = 16 * 1024;
/// Kept for the memory, which grows without the rest being written anew.
const MEMORY: usize = 4 * 1024;

/// Shortens findings, the last first, until the status fits: first its commands, then all remedies but the best, then what
/// the line of evidence says too, then the best remedy, then figures. If nothing is left to leave out, the last finding goes.
pub fn fit(status: &mut GpuWorkloadStatus) {
    while size(status) > MOST - MEMORY {
        if !status.findings.iter_mut().rev().any(shorten) && status.findings.pop().is_none() {
            return;
        }
    }
}

/// Without the memory, which has room of its own.
fn size(status: &GpuWorkloadStatus) -> usize {
    let memory = status.memory.as_ref().map_or(0, String::len);
    serde_json::to_string(status).map_or(0, |text| text.len().saturating_sub(memory))
}

/// Whether there was something left to leave out.
fn shorten(finding: &mut FindingStatus) -> bool {
    if !finding.commands.is_empty() {
        finding.commands.clear();
    } else if finding.remedies.len() > 1 {
        finding.remedies.truncate(1);
    } else if !finding.measured.is_empty() {
        finding.measured.clear();
    } else if !finding.remedies.is_empty() {
        finding.remedies.clear();
    } else if finding.before.is_some() || finding.after.is_some() {
        (finding.before, finding.after) = (None, None);
    } else {
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use wellfed_crds::{CommandStatus, Condition, ConditionStatus, FiguresStatus, Measured};
    use wellfed_engine::commands::{Subject, commands};
    use wellfed_engine::policy::Class;
    use wellfed_engine::remedies::remedies;

    /// As long as it gets: the finding with the most remedies, long names, every measure.
    fn finding(number: usize) -> FindingStatus {
        let class = Class::Training;
        let pod = format!("{}-{number}", "p".repeat(100));
        let subject = Subject { namespace: "n".repeat(63), pod, container: "c".repeat(63), class };
        let measured = |at| Measured {
            name: format!("QuantityOfSomething{at}"),
            value: "123456789".into(),
            threshold: Some("0.85".into()),
        };
        let figures = || FiguresStatus {
            throughput: Some("123456789".into()),
            gpu_activity: Some("0.123".into()),
            latency: Some("123.456".into()),
            gpu_memory: Some("0.987".into()),
            quality: Some("0.123".into()),
        };
        FindingStatus {
            id: "0123abcd".into(),
            severity: "Medium".into(),
            state: "Regressed".into(),
            before: Some(figures()),
            after: Some(figures()),
            way_back: Some("w".repeat(200)),
            checklist: Vec::new(),
            rule: "MemoryBound".into(),
            weight: "Veto".into(),
            confidence: "Medium".into(),
            evidence: "x".repeat(300),
            measured: (0..8).map(measured).collect(),
            remedies: remedies("MemoryBound", class).map(ToString::to_string).collect(),
            commands: commands("DataLoader", &subject)
                .into_iter()
                .map(|one| CommandStatus { shows: one.shows, run: one.run })
                .collect(),
            savings: Some(
                "frees 10000 of 10000 GPUs, 10000.00 an hour; adding 10000 would cost 10000.00 an hour".into(),
            ),
            first_seen: Timestamp::UNIX_EPOCH,
            last_seen: Some(Timestamp::UNIX_EPOCH),
            since: Timestamp::UNIX_EPOCH,
        }
    }

    fn condition(number: usize) -> Condition {
        Condition {
            kind: format!("Condition{number}"),
            status: ConditionStatus::True,
            reason: "AReasonInOneWord".into(),
            message: "m".repeat(200),
            last_transition_time: Timestamp::UNIX_EPOCH,
            observed_generation: Some(1),
        }
    }

    /// With eight conditions and a memory that has its full size once its quotation marks are escaped.
    fn with(findings: usize) -> GpuWorkloadStatus {
        GpuWorkloadStatus {
            findings: (0..findings).map(finding).collect(),
            conditions: (0..8).map(condition).collect(),
            memory: Some("m".repeat(MEMORY)),
            ..GpuWorkloadStatus::default()
        }
    }

    #[test]
    fn ten_findings_at_their_longest_fit_and_the_first_still_says_what_to_do() {
        let mut status = with(10);
        assert!(serde_json::to_string(&status).unwrap().len() > 2 * MOST, "the case is a case");

        fit(&mut status);

        assert!(serde_json::to_string(&status).unwrap().len() <= MOST);
        assert_eq!(status.findings.len(), 10);
        assert_eq!(status.findings[0].remedies.first(), finding(0).remedies.first());
        assert_eq!(status.findings[9].commands, []);
    }

    #[test]
    fn one_finding_is_left_as_it_is() {
        let mut status = with(1);

        fit(&mut status);

        assert_eq!(status, with(1));
    }
}
