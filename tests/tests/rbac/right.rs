//! One line of `tests/chart/permissions`: one verb on one resource.

use std::fmt;
use std::fs;

use anyhow::Context;
use k8s_openapi::api::rbac::v1::PolicyRule;
use wellfed_tests::audit::Event;
use wellfed_tests::operator::repository;

/// One right.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// `cluster`, or a namespace.
    pub scope: String,
    pub verb: String,
    pub group: String,
    /// With its subresource, if any.
    pub resource: String,
    /// The only object that it holds for; empty: all.
    pub name: String,
}

/// The release's namespace, and that of the workloads, in the lists.
const OWN: &str = "wellfed-system";
const WORKLOADS: &str = "team-a";
/// A second namespace of workloads: the same rights again.
const MORE_WORKLOADS: &str = "team-b";

/// The rights of a list, for a release in the namespace `own` that watches the namespace `workloads`.
pub fn listed(list: &str, own: &str, workloads: &str) -> anyhow::Result<Vec<Right>> {
    let text = fs::read_to_string(repository().join("tests/chart/permissions").join(list))?;
    let lines = text.lines().filter(|line| !line.starts_with(MORE_WORKLOADS));
    lines.map(|line| Right::parse(line, own, workloads).with_context(|| format!("{list}: {line:?}"))).collect()
}

impl Right {
    fn parse(line: &str, own: &str, workloads: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let scope = match words.next()? {
            OWN => own,
            WORKLOADS => workloads,
            other => other,
        };
        let verb = words.next()?;
        let (group, resource) = words.next()?.split_once('/')?;
        let (resource, name) = resource.split_once(':').unwrap_or((resource, ""));
        let group = if group == "core" { "" } else { group };
        let [scope, verb, group, resource, name] = [scope, verb, group, resource, name].map(str::to_owned);
        Some(Self { scope, verb, group, resource, name })
    }

    /// Whether it allows what was asked for.
    pub fn allows(&self, event: &Event) -> bool {
        let object = &event.object_ref;
        let resource = match object.subresource.as_str() {
            "" => object.resource.clone(),
            sub => format!("{}/{sub}", object.resource),
        };
        (self.scope == "cluster" || self.scope == object.namespace)
            && self.verb == event.verb
            && self.group == object.api_group
            && self.resource == resource
            && (self.name.is_empty() || self.name == object.name)
    }

    /// `rules` without it, and how many of them held it.
    pub fn taken_from(&self, rules: Vec<PolicyRule>) -> (Vec<PolicyRule>, usize) {
        let holds = |rule: &PolicyRule| {
            let has = |all: &Option<Vec<String>>, one: &String| all.iter().flatten().any(|any| any == one);
            let named = self.name.is_empty() == rule.resource_names.is_none();
            named
                && has(&rule.api_groups, &self.group)
                && has(&rule.resources, &self.resource)
                && rule.verbs.contains(&self.verb)
        };
        let (held, mut kept): (Vec<_>, Vec<_>) = rules.into_iter().partition(holds);
        for rule in &held {
            let without =
                |all: &[String], one: &String| all.iter().filter(|any| *any != one).cloned().collect::<Vec<_>>();
            let others = without(rule.resources.as_deref().unwrap_or_default(), &self.resource);
            kept.push(PolicyRule { resources: Some(others), ..rule.clone() });
            let (resources, verbs) = (Some(vec![self.resource.clone()]), without(&rule.verbs, &self.verb));
            kept.push(PolicyRule { resources, verbs, ..rule.clone() });
        }
        kept.retain(|rule| !rule.verbs.is_empty() && rule.resources.as_ref().is_some_and(|all| !all.is_empty()));
        (kept, held.len())
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}/{}", self.scope, self.verb, self.group, self.resource)?;
        if self.name.is_empty() { Ok(()) } else { write!(f, ":{}", self.name) }
    }
}
