//! Every right taken away once, each from an operator of its own: how it is missed.

use std::time::Duration;

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::Api;
use kube::api::PostParams;
use wellfed_tests::fixture::GpuDeployment;
use wellfed_tests::operator::{Operator, install_crds};
use wellfed_tests::operator_fixture::Wish;
use wellfed_tests::process::Group;
use wellfed_tests::{Fixture, Plane, until};

use crate::right::{Right, listed};

/// A right is missed within this.
const SOON: Duration = Duration::from_mins(1);
/// Installations at the same time.
const AT_ONCE: usize = 4;

/// How a person sees that a right is missing.
#[derive(Debug)]
enum Symptom {
    /// `/readyz` says no, with this in its text.
    NotReady(String),
    /// The condition `AbleToScale` gives `ScaleForbidden`, and no number is written.
    ScaleForbidden,
    /// The log says this.
    Logged(String),
    /// None: the workload is scaled.
    Scaled,
}

/// What is seen without `right`.
fn symptom(right: &Right) -> Symptom {
    let (resource, verb) = (right.resource.as_str(), right.verb.as_str());
    let store = if resource == "configmaps" { "kill switch" } else { resource };
    match (verb, resource) {
        (_, "leases") => Symptom::Logged(format!("cannot {verb} resource")),
        ("list", _) => Symptom::NotReady(format!("{store}: not synced yet: {resource}")),
        ("watch", _) => Symptom::NotReady(format!("{store}: not watched any more: {resource}")),
        ("patch", "deployments/scale" | "statefulsets/scale") => Symptom::ScaleForbidden,
        ("patch", "gpuworkloads/status") => Symptom::Logged("a status could not be written".to_owned()),
        ("create", "events") => Symptom::Logged("an event was refused".to_owned()),
        _ => panic!("nobody has said how it shows that \"{right}\" is missing"),
    }
}

/// An operator without one right, and a workload of its own.
struct Cripple {
    without: Option<Right>,
    operator: Operator,
    fixture: Fixture,
}

#[tokio::test]
async fn each_right_that_is_taken_away_is_missed_where_a_person_sees_it() -> anyhow::Result<()> {
    let plane = Plane::attach()?;
    install_crds(&plane).await?;
    let home = Fixture::new(&plane, "crippled").await?;
    let group = Group::default();
    let count = listed("listed-namespaces.txt", "", "")?.len();
    let all = stream::iter(0..=count).map(|number| Cripple::new(&home, &group, number)).buffer_unordered(AT_ONCE);
    let all: Vec<Cripple> = all.try_collect().await?;

    let seen = stream::iter(&all).map(Cripple::until_missed).buffer_unordered(all.len());
    let unseen: Vec<String> =
        seen.filter_map(async |result| result.err().map(|error| format!("{error:#}"))).collect().await;

    assert_eq!(unseen.join("\n"), "");
    assert_eq!(all.len(), 26, "every line of the list, and one operator that lacks nothing");
    Ok(())
}

impl Cripple {
    /// The operator that lacks the right `number`; the one after the last lacks nothing.
    async fn new(home: &Fixture, group: &Group, number: usize) -> anyhow::Result<Self> {
        let (plane, own) = (&home.plane, home.namespace.as_str());
        let fixture = Fixture::new(plane, "crippled").await?;
        let release = format!("wellfed-{number}");
        let values = [
            format!("watchNamespaces[0]={}", fixture.namespace),
            "timing.interval=1s,rbac.aggregate=false,prometheus[0].name=default,prometheus[0].url=http://127.0.0.1:9"
                .to_owned(),
            format!("lease.name=wellfed-{number},killSwitch.configMap=wellfed-{number}-stop"),
        ];
        let mut operator = Operator::install(plane, own, &release, &values).await?;
        let without = listed("listed-namespaces.txt", own, &fixture.namespace)?.into_iter().nth(number);
        if let Some(right) = &without {
            take(right, home, &fixture, &release).await.with_context(|| right.to_string())?;
        }
        run_workload(&fixture, without.as_ref()).await?;
        operator.launch(group).await?;
        Ok(Self { without, operator, fixture })
    }

    async fn until_missed(&self) -> anyhow::Result<()> {
        let (what, symptom) = match &self.without {
            Some(right) => (format!("\"{right}\" to be missed"), symptom(right)),
            None => ("an operator that lacks nothing to scale".to_owned(), Symptom::Scaled),
        };
        until(&what, SOON, async || self.shows(&symptom).await).await?;
        Ok(())
    }

    async fn shows(&self, symptom: &Symptom) -> anyhow::Result<()> {
        match symptom {
            Symptom::NotReady(text) => {
                let (ready, said) = self.operator.ready().await?;
                ensure!(!ready && said.contains(text), "no {text:?} in /readyz: {said}");
            }
            Symptom::Logged(text) => {
                let log = std::fs::read_to_string(self.operator.log())?;
                ensure!(log.contains(text), "no {text:?} in the log:\n{log}");
            }
            Symptom::ScaleForbidden => {
                let conditions = self.kubectl("gpuw", "{.status.conditions}").await?;
                ensure!(conditions.contains("ScaleForbidden"), "{conditions}");
                ensure!(self.replicas().await? == "1", "it was scaled");
            }
            Symptom::Scaled => {
                let (now, (ready, said)) = (self.replicas().await?, self.operator.ready().await?);
                ensure!(now == "2" && ready, "{now} replicas; {said}");
            }
        }
        Ok(())
    }

    async fn replicas(&self) -> anyhow::Result<String> {
        self.kubectl("deployments,statefulsets", "{.items[0].spec.replicas}").await
    }

    async fn kubectl(&self, what: &str, path: &str) -> anyhow::Result<String> {
        let name: &[&str] = if what == "gpuw" { &["chat"] } else { &[] };
        let output = format!("jsonpath={path}");
        let args = [&["-n", self.fixture.namespace.as_str(), "get", what], name, &["-o", &output]].concat();
        Ok(self.fixture.plane.kubectl()?.run(&args).await?)
    }
}

/// `chat`, which wants two replicas and has one; a `StatefulSet` where that is what the right is about.
async fn run_workload(fixture: &Fixture, right: Option<&Right>) -> anyhow::Result<()> {
    let kubectl = fixture.plane.kubectl()?;
    let create = async |manifest: &str| {
        kubectl.run_with_input(&["-n", &fixture.namespace, "create", "-f", "-"], manifest).await.map(drop)
    };
    let wish = Wish::of("chat").asking(2);
    if right.is_some_and(|right| right.resource == "statefulsets/scale") {
        create(STATEFUL_SET).await?;
        create(&wish.with("spec.scaleTargetRef.kind", "StatefulSet").manifest()).await?;
    } else {
        fixture.deploy(&GpuDeployment::new("chat")).await?;
        create(&wish.manifest()).await?;
    }
    Ok(())
}

const STATEFUL_SET: &str = r#"{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "chat"}, "spec": {
"serviceName": "chat", "replicas": 1, "selector": {"matchLabels": {"app": "chat"}}, "template": {
"metadata": {"labels": {"app": "chat"}}, "spec": {"containers": [
{"name": "main", "image": "fake", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}}"#;

/// Takes `right` from the roles of `release`.
async fn take(right: &Right, home: &Fixture, fixture: &Fixture, release: &str) -> anyhow::Result<()> {
    let right =
        &Right { name: if right.name.is_empty() { String::new() } else { "its own".to_owned() }, ..right.clone() };
    let client = home.client();
    let cluster_name = format!("{}:{release}", home.namespace);
    if right.scope == "cluster" {
        let api: Api<ClusterRole> = Api::all(client);
        let mut role = api.get(&cluster_name).await?;
        role.rules = Some(taken(right, role.rules)?);
        api.replace(&cluster_name, &PostParams::default(), &role).await?;
        return Ok(());
    }
    let api: Api<Role> = Api::namespaced(client, &right.scope);
    let name = if right.scope == fixture.namespace { cluster_name.as_str() } else { release };
    let mut role = api.get(name).await?;
    role.rules = Some(taken(right, role.rules)?);
    api.replace(name, &PostParams::default(), &role).await?;
    Ok(())
}

fn taken(right: &Right, rules: Option<Vec<PolicyRule>>) -> anyhow::Result<Vec<PolicyRule>> {
    let (left, held) = right.taken_from(rules.unwrap_or_default());
    ensure!(held == 1, "{held} rules hold {right}");
    Ok(left)
}
