//! Whether a target's pods are made from its present template.

use crate::slim::TargetStatus;
use serde::{Deserialize, Serialize};

/// How the pods of a `StatefulSet` come to be made from a new template: by default all of them, one after the other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateStrategy {
    /// None with `OnDelete`: a pod is made anew when somebody deletes it.
    pub rolling_update: Option<RollingUpdate>,
}

/// Which pods are made anew.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RollingUpdate {
    /// So many pods, the first ones, stay as they are.
    #[serde(default)]
    pub partition: i32,
}

impl TargetStatus {
    /// Whether every pod that should be made from the present template is, as far as the target's controller has looked. What
    /// changed no pod at all is no rollout, whatever the partition.
    pub fn is_rolled_out(&self, strategy: &UpdateStrategy, generation: Option<i64>) -> bool {
        let kept = strategy.rolling_update.as_ref().map_or(0, |update| update.partition);
        let due = self.replicas.saturating_sub(kept).max(1).min(self.replicas);
        self.observed_generation >= generation && self.updated_replicas >= due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slim::SlimStatefulSet;
    use serde_json::{Value, json};

    fn rolled_out(strategy: &Value, replicas: i32, updated: i32) -> bool {
        let set = json!({
            "metadata": { "generation": 7 },
            "spec": { "updateStrategy": strategy },
            "status": { "observedGeneration": 7, "replicas": replicas, "updatedReplicas": updated },
        });
        let set: SlimStatefulSet = serde_json::from_value(set).unwrap();
        set.status.is_rolled_out(&set.spec.update_strategy, set.metadata.generation)
    }

    #[test]
    fn without_a_partition_every_pod_must_be_new() {
        for strategy in
            [json!({}), json!({ "type": "RollingUpdate", "rollingUpdate": {} }), json!({ "type": "OnDelete" })]
        {
            assert!(!rolled_out(&strategy, 8, 7), "{strategy}");
            assert!(rolled_out(&strategy, 8, 8), "{strategy}");
            assert!(rolled_out(&strategy, 0, 0), "{strategy}");
        }
    }

    #[test]
    fn pods_below_the_partition_stay_as_they_are() {
        let canary = |partition| json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": partition } });

        assert!(!rolled_out(&canary(6), 8, 1));
        assert!(rolled_out(&canary(6), 8, 2));
        assert!(!rolled_out(&canary(8), 8, 0), "nothing is tested on pods of which none is new");
        assert!(rolled_out(&canary(8), 0, 0));
    }

    #[test]
    fn a_status_of_before_the_change_tells_nothing() {
        let status = TargetStatus { observed_generation: Some(6), ..TargetStatus::default() };

        assert!(!status.is_rolled_out(&UpdateStrategy::default(), Some(7)));
    }
}
