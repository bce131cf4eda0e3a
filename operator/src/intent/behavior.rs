//! HPA's `behavior` block with HPA's defaults.

use super::Reader;
use jiff::SignedDuration;
use wellfed_crds::{Behavior, PolicyType, ScalingPolicy, ScalingRules, SelectPolicy};
use wellfed_engine::policy::{self, Amount, Pace, RatePolicy, Select};

impl Reader<'_> {
    pub(super) fn behavior(&mut self, behavior: Option<&Behavior>) -> policy::Behavior {
        let up = behavior.and_then(|behavior| behavior.scale_up.as_ref());
        let down = behavior.and_then(|behavior| behavior.scale_down.as_ref());
        let quarter = SignedDuration::from_secs(15);
        let default_up = vec![
            RatePolicy { amount: Amount::Percent(100), period: quarter },
            RatePolicy { amount: Amount::Pods(4), period: quarter },
        ];
        let default_down = vec![RatePolicy { amount: Amount::Percent(100), period: quarter }];
        policy::Behavior {
            up: self.pace("spec.behavior.scaleUp", up, SignedDuration::ZERO, default_up),
            down: self.pace("spec.behavior.scaleDown", down, SignedDuration::from_secs(300), default_down),
        }
    }

    fn pace(
        &mut self,
        path: &str,
        rules: Option<&ScalingRules>,
        window: SignedDuration,
        policies: Vec<RatePolicy>,
    ) -> Pace {
        let rules = rules.cloned().unwrap_or_default();
        let tolerance = self.quantity(&format!("{path}.tolerance"), rules.tolerance.as_ref(), 0.1);
        let window =
            rules.stabilization_window_seconds.map_or(window, |seconds| SignedDuration::from_secs(seconds.into()));
        let policies = if rules.policies.is_empty() { policies } else { rules.policies.iter().map(rate).collect() };
        let select = match rules.select_policy {
            None | Some(SelectPolicy::Max) => Select::Max,
            Some(SelectPolicy::Min) => Select::Min,
            Some(SelectPolicy::Disabled) => Select::Disabled,
        };
        Pace { window, tolerance, policies, select }
    }
}

fn rate(policy: &ScalingPolicy) -> RatePolicy {
    let value = u32::try_from(policy.value).unwrap_or(0);
    let amount = match policy.kind {
        PolicyType::Pods => Amount::Pods(value),
        PolicyType::Percent => Amount::Percent(value),
    };
    RatePolicy { amount, period: SignedDuration::from_secs(policy.period_seconds.into()) }
}
