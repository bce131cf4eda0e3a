//! The way back to the pod template of before, for people.

use crate::catalog::{Target, TargetKey};
use crate::templates::which;
use wellfed_engine::gate::Retest;

/// The revisions of the targets in one word, for the memory; none where no target has a number.
pub fn revisions(targets: &[(TargetKey, Target)]) -> Option<String> {
    let entry = |((_, kind, name), target): &(TargetKey, Target)| {
        Some(format!("{:08x}:{}", which(kind, name), target.revision?))
    };
    let entries: Vec<_> = targets.iter().filter_map(entry).collect();
    (!entries.is_empty()).then(|| entries.join(","))
}

/// How to go back to what `targets` were made from before `retest`, to follow "or". None where they are made from that.
pub fn undo(targets: &[(TargetKey, Target)], retest: Option<&Retest>) -> Option<String> {
    let before = retest.and_then(|retest| retest.revisions.as_deref()).unwrap_or_default();
    let ways: Vec<_> = targets.iter().filter_map(|(key, target)| Way::of(key, target, before)).collect();
    let commands = ways.iter().map(|way| format!("`{}`", way.command)).collect::<Vec<_>>().join(" and ");
    let sure = ways.iter().all(|way| way.numbered);
    let hint = match (sure, retest.is_some_and(|retest| retest.again)) {
        (false, true) => {
            ", with `--to-revision=` of the template of before, which `rollout history` lists: it has changed more than once since"
        }
        (false, false) if targets.len() > 1 => ", for each whose template changed",
        _ => "",
    };
    (!ways.is_empty()).then(|| format!("go back with {commands}{hint}"))
}

/// Back for one target.
struct Way {
    command: String,
    /// It names the revision.
    numbered: bool,
}

impl Way {
    fn of((namespace, kind, name): &TargetKey, target: &Target, before: &str) -> Option<Self> {
        let entry = format!("{:08x}:", which(kind, name));
        let number = before.split(',').find_map(|one| one.strip_prefix(&entry)?.parse::<u64>().ok());
        if number.is_some() && number == target.revision {
            return None;
        }
        let command = format!("kubectl -n {namespace} rollout undo {}/{name}", kind.to_lowercase());
        Some(match number {
            Some(number) => Self { command: format!("{command} --to-revision={number}"), numbered: true },
            None => Self { command, numbered: false },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use wellfed_engine::figures::Figures;
    use wellfed_engine::memory::Moment;

    fn target(kind: &str, name: &str, revision: Option<u64>) -> (TargetKey, Target) {
        let key = ("ml".to_owned(), kind.to_owned(), name.to_owned());
        (key, Target { revision, ..Target::default() })
    }

    fn retest(revisions: Option<String>, again: bool) -> Retest {
        Retest {
            at: Moment(Timestamp::UNIX_EPOCH),
            settled: None,
            lapsed: false,
            again,
            before: Figures::default(),
            revisions,
            lives: Vec::new(),
        }
    }

    #[test]
    fn a_deployment_goes_back_to_the_revision_of_before_however_often_it_changed_since() {
        let before = revisions(&[target("Deployment", "train", Some(3))]);
        let now = [target("Deployment", "train", Some(5))];

        for again in [false, true] {
            assert_eq!(
                undo(&now, Some(&retest(before.clone(), again))).as_deref(),
                Some("go back with `kubectl -n ml rollout undo deployment/train --to-revision=3`")
            );
        }
    }

    #[test]
    fn what_has_no_number_goes_back_by_one_unless_it_changed_more_than_once() {
        let now = [target("StatefulSet", "train", None)];
        let plain = "go back with `kubectl -n ml rollout undo statefulset/train`";

        assert_eq!(undo(&now, Some(&retest(None, false))).as_deref(), Some(plain));
        assert_eq!(
            undo(&now, Some(&retest(None, true))),
            Some(format!(
                "{plain}, with `--to-revision=` of the template of before, which `rollout history` lists: it has changed more than \
                 once since"
            ))
        );
    }

    #[test]
    fn of_several_targets_those_that_changed_have_a_command_each() {
        let was = [("a", 3), ("b", 7), ("c", 2)].map(|(name, number)| target("Deployment", name, Some(number)));
        let now = [("a", 4), ("b", 7), ("c", 4)].map(|(name, number)| target("Deployment", name, Some(number)));

        assert_eq!(
            undo(&now, Some(&retest(revisions(&was), true))).as_deref(),
            Some(
                "go back with `kubectl -n ml rollout undo deployment/a --to-revision=3` and `kubectl -n ml rollout undo \
                 deployment/c --to-revision=2`"
            )
        );
        let sets = ["a", "b"].map(|name| target("StatefulSet", name, None));
        assert_eq!(
            undo(&sets, Some(&retest(None, false))).as_deref(),
            Some(
                "go back with `kubectl -n ml rollout undo statefulset/a` and `kubectl -n ml rollout undo statefulset/b`, for each \
                 whose template changed"
            )
        );
    }

    #[test]
    fn what_is_made_from_it_again_needs_no_way_back() {
        let same = [target("Deployment", "train", Some(3))];

        assert_eq!(undo(&same, Some(&retest(revisions(&same), false))), None);
    }
}
