//! A scenario that needs every right, and the audit log of it.

use wellfed_crds::ConditionStatus::True;
use wellfed_tests::operator_fixture::{SOON, Wish};
use wellfed_tests::{OperatorFixture, Plane, until};

use crate::right::{Right, listed};

#[tokio::test]
async fn for_listed_namespaces_it_asks_for_all_that_it_may_do_and_for_nothing_else() -> anyhow::Result<()> {
    let stage = OperatorFixture::start(&Plane::attach()?, "rights").await?;

    exercise(&stage).await?;

    let rights = listed("listed-namespaces.txt", stage.operator.namespace(), &stage.namespace)?;
    assert_exactly(&stage, &rights)
}

/// On a plane of its own: it would serve the workloads of all other tests too.
#[tokio::test]
async fn for_all_namespaces_it_asks_for_all_that_it_may_do_and_for_nothing_else() -> anyhow::Result<()> {
    let plane = Plane::start_private().await?;
    let stage = OperatorFixture::start_with(&plane, "rights", &["watchNamespaces=null"]).await?;

    exercise(&stage).await?;

    let rights = listed("all-namespaces.txt", stage.operator.namespace(), &stage.namespace)?;
    assert_exactly(&stage, &rights)
}

/// Scales a Deployment and a `StatefulSet`, stops all writes and resumes them.
async fn exercise(stage: &OperatorFixture) -> anyhow::Result<()> {
    stage.run(&Wish::of("chat").asking(3), 1).await?;
    stage.create(STATEFUL_SET).await?;
    stage.apply(&Wish::of("train").asking(2).with("spec.scaleTargetRef.kind", "StatefulSet")).await?;
    stage.until_replicas("chat", 3).await?;
    until("two replicas of train", SOON, async || {
        let now = stage.kubectl(&["get", "statefulset", "train", "-o", "jsonpath={.spec.replicas}"]).await?;
        anyhow::ensure!(now == "2", "{now}");
        Ok(())
    })
    .await?;
    let (kubectl, own) = (stage.plane.kubectl()?, stage.operator.namespace());
    kubectl.run(&["-n", own, "create", "configmap", "wellfed-stop", "--from-literal=stop=true"]).await?;
    stage.until_reason("chat", "AbleToScale", "KillSwitch").await?;
    kubectl.run(&["-n", own, "delete", "configmap", "wellfed-stop"]).await?;
    stage.until_condition("chat", "AbleToScale", True).await?;
    stage.until_event("chat", "Scaled").await?;
    Ok(())
}

const STATEFUL_SET: &str = r"
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: train}
spec:
  serviceName: train
  replicas: 1
  selector: {matchLabels: {app: train}}
  template:
    metadata: {labels: {app: train}}
    spec:
      containers:
      - {name: main, image: fake, resources: {limits: {nvidia.com/gpu: 1}}}
";

fn assert_exactly(stage: &OperatorFixture, rights: &[Right]) -> anyhow::Result<()> {
    let user = stage.operator.user();
    let asked = stage.plane.audit()?.since(stage.since).filter(|event| event.user.username == user);

    let forbidden = asked.clone().filter(|event| event.response_status.code == 403);
    assert_eq!(forbidden.summary(), "");
    let beyond = asked.clone().filter(|event| !rights.iter().any(|right| right.allows(event)));
    assert_eq!(beyond.summary(), "", "asked for, and not in the list");
    let idle: Vec<_> = rights.iter().filter(|right| !asked.events().iter().any(|event| right.allows(event))).collect();
    let idle: Vec<_> = idle.iter().map(ToString::to_string).collect();
    assert_eq!(idle, Vec::<String>::new(), "granted, and never used");
    Ok(())
}
