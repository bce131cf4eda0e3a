//! Intent + cluster → what can be decided, or why not.

use crate::catalog::{Catalog, Target, TargetKey, key, price};
use crate::intent::{Intent, Measure};
use crate::refusal::{Refusal, RefusalReason, did_you_mean};
use crate::signals::SignalSource;
use std::collections::BTreeMap;
use std::sync::Arc;
use wellfed_crds::{Better, GpuPoolSpec};
use wellfed_engine::policy::{Mode, Policy};
use wellfed_engine::sizing::{Offer, Sizing, sizing};
use wellfed_engine::units::{Gpus, PoolName};

/// A workload that can be decided.
pub struct Resolved {
    /// The whole intent.
    pub policy: Policy,
    /// In the order of `policy.signals`.
    pub sources: Vec<Arc<dyn SignalSource>>,
    /// Signals that describe the work and ask for nothing.
    pub measures: Vec<(Measure, Arc<dyn SignalSource>)>,
    /// In the order of `policy.pools`.
    pub targets: Vec<(TargetKey, Target)>,
    /// `spec.replicas`.
    pub replicas: i32,
    /// Thresholds of the gate that are not as built in, as status shows them.
    pub thresholds: BTreeMap<String, String>,
    /// Who else drives a target: then nothing is written.
    pub driven: Option<Driven>,
    /// What its model needs, and where that fits; none without a model.
    pub sizing: Option<Sizing>,
}

impl Resolved {
    /// Which values of the signal of role Quality that counts are better.
    pub fn better(&self) -> Better {
        let quality = self.measures.iter().find_map(|(what, _)| match what {
            Measure::Quality(better) => Some(*better),
            Measure::Throughput | Measure::Progress => None,
        });
        quality.unwrap_or_default()
    }
}

/// Another writer of a target's replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Driven {
    /// An HPA, or the one of a `ScaledObject`.
    ByHpa {
        /// What is driven.
        target: String,
        /// Its name.
        hpa: String,
        /// Its wish.
        desired: Option<i32>,
    },
    /// A controller that owns the target.
    ByOwner {
        /// What is driven.
        target: String,
        /// The owner's kind and name.
        owner: String,
    },
}

/// Why a workload can't be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// Its spec is wrong.
    Refused(Vec<Refusal>),
    /// A target does not exist.
    NoTarget(Refusal),
}

/// Joins `intent` of a workload in `namespace` with the cluster. `peak` is the most of one GPU's memory that it was seen to use
/// under its present pod template, 0–1.
pub fn resolve(intent: &Intent, namespace: &str, catalog: &Catalog, peak: Option<f64>) -> Result<Resolved, Unresolved> {
    let refusals = pool_refusals(intent, namespace, catalog);
    if !refusals.is_empty() {
        return Err(Unresolved::Refused(refusals));
    }
    let targets = targets(intent, namespace, catalog)?;
    let gpus = gpus_per_replica(intent, &targets).map_err(|refusal| Unresolved::Refused(vec![refusal]))?;
    let driven = targets.iter().find_map(|(key, target)| driven(key, target, catalog));
    let whole_gpus = targets.iter().all(|(_, target)| target.whole);
    let policy = Policy { gpus_per_replica: gpus, whole_gpus, ..intent.policy.clone() };
    // A pool says how much memory its GPUs have, not a part of one.
    let model = policy.model.filter(|_| whole_gpus);
    let sizing = model.and_then(|_| sizing(&policy, &offers(namespace, catalog), peak));
    Ok(Resolved {
        policy,
        sources: intent.sources.clone(),
        measures: intent.measures.clone(),
        targets,
        replicas: intent.replicas,
        thresholds: intent.thresholds.clone(),
        driven,
        sizing,
    })
}

/// Every pool that workloads of `namespace` may name.
pub fn offers(namespace: &str, catalog: &Catalog) -> Vec<Offer> {
    let pools = catalog.pools.iter().filter(|(_, pool)| catalog.allows(pool, namespace));
    let offer = |(name, pool): (&String, &GpuPoolSpec)| {
        let memory = pool.gpus.as_ref().and_then(|gpus| gpus.memory);
        let memory = memory.and_then(|mebibytes| u32::try_from(mebibytes).ok());
        Offer { pool: PoolName::from(name.as_str()), memory, price: price(pool) }
    };
    pools.map(offer).collect()
}

fn pool_refusals(intent: &Intent, namespace: &str, catalog: &Catalog) -> Vec<Refusal> {
    let named = intent.policy.pools.iter().enumerate().filter_map(|(at, pool)| Some((at, pool.pool.as_ref()?)));
    named
        .filter_map(|(at, name)| {
            let path = format!("spec.pools[{at}].name");
            let Some(pool) = catalog.pools.get(&name.0) else {
                let near = did_you_mean(&name.0, catalog.pools.keys().map(String::as_str));
                let hint = near.map(|near| format!(" (did you mean \"{near}\"?)")).unwrap_or_default();
                let message = format!("no GpuPool \"{name}\"{hint}");
                return Some(Refusal::at(path, RefusalReason::UnknownPool, message));
            };
            (!catalog.allows(pool, namespace)).then(|| {
                let message = format!(
                    "GpuPool \"{name}\" does not serve namespace \"{namespace}\": its namespaceSelector does not match the \
                     namespace's labels. Use another pool, or ask its administrator"
                );
                Refusal::at(path, RefusalReason::PoolNotAllowed, message)
            })
        })
        .collect()
}

fn targets(intent: &Intent, namespace: &str, catalog: &Catalog) -> Result<Vec<(TargetKey, Target)>, Unresolved> {
    let mut found = Vec::with_capacity(intent.targets.len());
    for (at, target) in intent.targets.iter().enumerate() {
        let path = target_path(intent, at);
        let supported = target.api_version == "apps/v1" && matches!(target.kind.as_str(), "Deployment" | "StatefulSet");
        if !supported {
            let message = format!(
                "wellfed does not scale {} {}; it scales apps/v1 Deployment and apps/v1 StatefulSet",
                target.api_version, target.kind
            );
            return Err(Unresolved::Refused(vec![Refusal::at(path, RefusalReason::UnsupportedKind, message)]));
        }
        let key = key(namespace, target);
        let Some(object) = catalog.targets.get(&key) else {
            let message = format!(
                "{} \"{}\" does not exist in namespace \"{namespace}\": create it, or name another",
                target.kind, target.name
            );
            return Err(Unresolved::NoTarget(Refusal::at(path, RefusalReason::Malformed, message)));
        };
        found.push((key, object.clone()));
    }
    Ok(found)
}

fn target_path(intent: &Intent, at: usize) -> String {
    match intent.policy.pools.get(at).and_then(|pool| pool.pool.as_ref()) {
        Some(_) => format!("spec.pools[{at}].scaleTargetRef"),
        None => "spec.scaleTargetRef".to_owned(),
    }
}

/// Every target's pods must ask for GPUs, and for as many.
fn gpus_per_replica(intent: &Intent, targets: &[(TargetKey, Target)]) -> Result<Gpus, Refusal> {
    let refuse = |at, message| Err(Refusal::at(target_path(intent, at), RefusalReason::NoGpus, message));
    for (at, ((_, kind, name), target)) in targets.iter().enumerate() {
        if target.gpus == 0 {
            let message = format!(
                "the pods of {kind} \"{name}\" ask for no GPU: set resources.limits[\"nvidia.com/gpu\"] (or \
                 nvidia.com/gpu.shared, nvidia.com/mig-…) on a container, or scale it with an HPA; GPUs that come by a \
                 ResourceClaim are not read yet"
            );
            return refuse(at, message);
        }
        if target.gpus != targets[0].1.gpus {
            let message = format!(
                "the pods of {kind} \"{name}\" ask for {} GPUs and those of the first target for {}: a replica must be the \
                 same everywhere",
                target.gpus, targets[0].1.gpus
            );
            return refuse(at, message);
        }
    }
    Ok(Gpus(targets.first().map_or(0, |(_, target)| target.gpus)))
}

fn driven(key: &TargetKey, target: &Target, catalog: &Catalog) -> Option<Driven> {
    let (_, kind, name) = key;
    let shown = format!("{kind} \"{name}\"");
    if let Some(hpa) = catalog.hpas.get(key) {
        return Some(Driven::ByHpa { target: shown, hpa: hpa.name.clone(), desired: hpa.desired });
    }
    let (kind, name) = target.owner.as_ref()?;
    Some(Driven::ByOwner { target: shown, owner: format!("{kind} \"{name}\"") })
}

impl Driven {
    /// What is wrong, and what to do.
    pub fn message(&self, mode: Mode) -> String {
        let fix = match mode {
            Mode::Auto => "nothing is written until that ends",
            Mode::Recommend | Mode::Paused => "nothing would be written in Auto until that ends",
        };
        match self {
            Self::ByHpa { target, hpa, desired } => {
                let wish = desired.map(|desired| format!(", which wishes {desired} replicas")).unwrap_or_default();
                format!("{target} is driven by HorizontalPodAutoscaler \"{hpa}\"{wish}: delete one of the two; {fix}")
            }
            Self::ByOwner { target, owner } => {
                format!("{target} is driven by its controller {owner}: target that instead, if it has /scale; {fix}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::{Settings, intent};
    use jiff::SignedDuration;
    use serde_json::json;

    #[test]
    fn parts_of_gpus_are_accepted_and_their_memory_is_not_that_of_the_pools_gpus() {
        let mut parts = catalog(1);
        parts.targets.values_mut().for_each(|target| target.whole = false);

        let resolved = resolved(&parts, "7B", None);
        assert_eq!((resolved.policy.gpus_per_replica, resolved.policy.whole_gpus), (Gpus(1), false));
        assert!(resolved.sizing.is_none());
    }

    /// Table 3b, G11 (dcgm-exporter#411): GPUs by dynamic resource allocation leave no limit behind.
    #[test]
    fn g11_pods_whose_gpus_come_by_a_claim_are_refused_and_told_that_claims_are_not_read() {
        let template = json!({ "spec": {
            "resourceClaims": [{ "name": "gpu", "resourceClaimTemplateName": "one-h100" }],
            "containers": [{ "name": "vllm", "resources": { "claims": [{ "name": "gpu" }], "limits": { "cpu": "8" } } }],
        } });
        let template: crate::templates::Template = serde_json::from_value(template).unwrap();
        let by_claim = catalog(template.spec.gpus());

        let Err(Unresolved::Refused(refusals)) = asked(&by_claim, "7B", None) else { panic!("it was not refused") };
        assert_eq!(
            refusals[0].to_string(),
            "spec.pools[0].scaleTargetRef: the pods of Deployment \"chat\" ask for no GPU: set \
             resources.limits[\"nvidia.com/gpu\"] (or nvidia.com/gpu.shared, nvidia.com/mig-…) on a container, or scale it \
             with an HPA; GPUs that come by a ResourceClaim are not read yet"
        );
    }

    fn catalog(gpus: u32) -> Catalog {
        let target = Target {
            replicas: 1,
            resource_version: "1".into(),
            gpus,
            whole: true,
            container: "vllm".into(),
            owner: None,
            failure: None,
            selector: None,
            template: 0,
            rolled_out: true,
            revision: None,
        };
        let pool = |memory: i64, price: &str| {
            let gpus = json!({ "memory": memory });
            let pool =
                json!({ "capacityType": "Spot", "nodeSelector": { "a": "b" }, "gpus": gpus, "pricePerGpuHour": price });
            serde_json::from_value(pool).unwrap()
        };
        let mut catalog = Catalog::default();
        catalog.targets.insert(("demo".into(), "Deployment".into(), "chat".into()), target);
        catalog.pools = [("t4".to_owned(), pool(15_360, "0.53")), ("a100".to_owned(), pool(81_920, "3.43"))].into();
        catalog
    }

    fn misfit_with(gpus: u32, params: &str, peak: Option<f64>) -> Option<String> {
        resolved(&catalog(gpus), params, peak).sizing.unwrap().misfit()
    }

    fn resolved(catalog: &Catalog, params: &str, peak: Option<f64>) -> Resolved {
        asked(catalog, params, peak).ok().unwrap()
    }

    fn asked(catalog: &Catalog, params: &str, peak: Option<f64>) -> Result<Resolved, Unresolved> {
        let spec = json!({
            "maxReplicas": 4,
            "model": { "params": params, "dtype": "FP16" },
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "chat" },
            "signals": [{ "name": "replicas", "source": { "scale": {} } }],
            "pools": [{ "name": "t4" }],
        });
        let settings =
            Settings { config: crate::config::Config::default(), evidence_interval: SignedDuration::from_mins(1) };
        let intent = intent(&serde_json::from_value(spec).unwrap(), "demo", &settings).ok().unwrap();
        resolve(&intent, "demo", catalog, peak)
    }

    #[test]
    fn a_model_that_cannot_fit_is_a_warning_with_the_cheapest_pool_that_holds_it() {
        assert_eq!(
            misfit_with(1, "7B", None).as_deref(),
            Some(
                "the model needs about 21–28 GB (14 GB of weights, and KV cache and activations); its GPUs have 16 GB in pool \
                 \"t4\"; pool \"a100\" is the cheapest that holds it"
            )
        );
    }

    #[test]
    fn a_model_that_was_seen_to_fit_is_no_warning() {
        assert_eq!(misfit_with(1, "7B", Some(0.9)), None, "14.5 GB at its peak");
    }

    #[test]
    fn a_changed_template_or_model_is_looked_at_anew() {
        assert_eq!(misfit_with(2, "7B", None), None, "the template asks for two GPUs now");
        assert_eq!(misfit_with(1, "3B", None), None, "the spec names a smaller model now");
    }
}
