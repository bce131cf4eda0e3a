//! Values that the schema lets through, and several mistakes at once.

use crate::stage::{Stage, chat};

#[tokio::test(flavor = "multi_thread")]
async fn values_beyond_all_measure_are_refused_with_their_place_all_at_once() -> anyhow::Result<()> {
    let stage = Stage::set("values").await?;
    let wrong = chat()
        .with("spec.signals.0.target.averageValue", "1e999")
        .with("spec.gate.window", "99999999999999999999h")
        .with("spec.gate.thresholds.busyFrom", "70")
        .signal("second", "rate(requests)", "5");

    let said = stage.refused(&wrong, "BadValue").await?;

    assert_eq!(
        said,
        "spec.signals[0].target.averageValue: \"1e999\" is not a quantity; write a number such as \"32\", \"200m\", \"1.5k\" or \
         \"2Gi\"; spec.signals[1].source.prometheus.query: not PromQL at character 1 (near `rate(requests)`): expected type \
         matrix in call to function 'rate', got vector; spec.gate.window: \"99999999999999999999h\" is not a duration; write \
         one such as \"90s\", \"3m\" or \"1h30m\"; spec.gate.thresholds.busyFrom: 70 is no share; write one from 0 to 1, \
         such as \"700m\" for 70 %. The workload keeps its replicas until this is fixed."
    );
    stage.search_goes_on_and_chat_is_left_alone(2).await?;
    stage.accepted_and_scaled(&chat()).await
}
