//! The Deployment: restricted, spread, and rolled when its configuration changes.

use serde_json::{Value, json};

use crate::rendering::{accepted, text, the};

const CHECKSUM: &str = "/spec/template/metadata/annotations/checksum~1config";

fn deployment(set: &str) -> Value {
    the("Deployment", &accepted(set)).clone()
}

#[test]
fn the_pods_meet_the_restricted_standard() {
    let deployment = deployment("defaults");
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["securityContext"], json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}}));
    assert_eq!(pod["containers"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        pod["containers"][0]["securityContext"],
        json!({"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}})
    );
}

#[test]
fn two_replicas_prefer_different_nodes_and_give_way_one_at_a_time() {
    let objects = accepted("defaults");
    let spec = &the("Deployment", &objects)["spec"];
    assert_eq!(spec["replicas"], 2);
    let spread = spec["template"]["spec"]["topologySpreadConstraints"].as_array().expect("constraints");
    let keys: Vec<_> = spread.iter().map(|constraint| text(constraint, "/topologyKey")).collect();
    assert_eq!(keys, ["kubernetes.io/hostname"]);
    assert_eq!(the("PodDisruptionBudget", &objects)["spec"]["maxUnavailable"], 1);
}

#[test]
fn every_selector_finds_the_pods() {
    let objects = accepted("defaults");
    let labels = &the("Deployment", &objects)["spec"]["template"]["metadata"]["labels"];
    let selectors = [
        ("Deployment", "/spec/selector/matchLabels"),
        ("Service", "/spec/selector"),
        ("PodDisruptionBudget", "/spec/selector/matchLabels"),
    ];
    for (kind, pointer) in selectors {
        assert_eq!(the(kind, &objects).pointer(pointer), Some(labels), "{kind}");
    }
}

#[test]
fn a_changed_configuration_rolls_the_pods_and_nothing_else_does() {
    let before = deployment("defaults");
    assert_ne!(text(&before, CHECKSUM), text(&deployment("several-prometheus"), CHECKSUM));
    assert_eq!(text(&before, CHECKSUM), text(&deployment("monitored-and-fenced"), CHECKSUM));
}

#[test]
fn the_command_line_names_the_lease_the_switch_and_the_configuration() {
    let deployment = deployment("watched-namespaces");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        container["args"],
        json!([
            "run",
            "--config=/etc/wellfed/config.yaml",
            "--listen=0.0.0.0:8080",
            "--interval=5s",
            "--signal-interval=15s",
            "--signal-timeout=5s",
            "--stale-after=2m",
            "--evidence-interval=60s",
            "--evidence-timeout=20s",
            "--identity=$(POD_NAME)",
            "--lease-namespace=wellfed-system",
            "--lease-name=wellfed",
            "--lease-duration=15s",
            "--kill-switch=wellfed-stop",
            "--watch-namespace=team-a",
            "--watch-namespace=team-b",
        ])
    );
    assert_eq!(container["volumeMounts"], json!([{"name": "config", "mountPath": "/etc/wellfed", "readOnly": true}]));
}
