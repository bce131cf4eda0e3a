//! What a container asks for, and has: CPU and GPUs, under the names that whole ones, shared ones and instances have.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The resource that a whole GPU is asked for by.
pub const GPU: &str = "nvidia.com/gpu";
/// How the resource of a GPU that several pods share ends, where its device plugin renames it.
pub const SHARED: &str = ".shared";
/// How the resources of MIG instances begin.
const MIG: &str = "nvidia.com/mig-";

/// Whether `resource` is a GPU, a part of one, or a place on one.
pub fn is_gpu(resource: &str) -> bool {
    resource.strip_suffix(SHARED).unwrap_or(resource) == GPU || resource.starts_with(MIG)
}

/// Of requests and limits what is read: CPU and GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Listed")]
pub struct Resources {
    /// Thousandths of a core that it may use; none without a limit.
    pub cpu_limit: Option<u32>,
    /// Thousandths of a core that it is promised.
    pub cpu_request: Option<u32>,
    /// GPUs by resource, in the order of their names; a GPU's request equals its limit.
    pub gpus: Vec<(String, u32)>,
}

/// As the API server sends them.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Listed {
    requests: BTreeMap<String, String>,
    limits: BTreeMap<String, String>,
}

impl From<Listed> for Resources {
    fn from(Listed { requests, limits }: Listed) -> Self {
        let mut gpus: BTreeMap<&String, &String> = requests.iter().filter(|(name, _)| is_gpu(name)).collect();
        gpus.extend(limits.iter().filter(|(name, _)| is_gpu(name)));
        let asked =
            |(name, count): (&String, &String)| Some((name.clone(), count.parse().ok().filter(|count| *count > 0)?));
        Self {
            cpu_limit: limits.get("cpu").and_then(|cores| thousandths(cores)),
            cpu_request: requests.get("cpu").and_then(|cores| thousandths(cores)),
            gpus: gpus.into_iter().filter_map(asked).collect(),
        }
    }
}

/// None for what is no quantity.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, which is more cores than there are
fn thousandths(quantity: &str) -> Option<u32> {
    let cores = wellfed_crds::Quantity(quantity.to_owned()).to_f64().ok()?;
    Some((cores * 1000.0).round() as u32)
}

/// Cores, of thousandths.
pub fn cores(thousandths: u32) -> f64 {
    f64::from(thousandths) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn resources(text: &serde_json::Value) -> Resources {
        serde_json::from_value(text.clone()).unwrap()
    }

    #[test]
    fn whole_gpus_shared_ones_and_instances_are_asked_for_by_resources_of_their_own() {
        let of = |name: &str| resources(&json!({ "limits": { name: "2", "memory": "8Gi" } })).gpus;
        let two = |name: &str| vec![(name.to_owned(), 2)];

        for name in
            ["nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb", "nvidia.com/mig-1g.10gb.shared"]
        {
            assert_eq!(of(name), two(name));
        }
        for name in ["nvidia.com/gpumem", "nvidia.com/hostdev", "amd.com/gpu", "cpu"] {
            assert_eq!(of(name), [], "{name}");
        }
        assert_eq!(resources(&json!({ "limits": { "nvidia.com/gpu": "0" } })).gpus, []);
        assert_eq!(resources(&json!({ "requests": { "nvidia.com/gpu": "2" } })).gpus, two("nvidia.com/gpu"));
    }

    #[test]
    fn cores_are_read_in_each_spelling_of_a_quantity() {
        let of = |limit: &str| resources(&json!({ "limits": { "cpu": limit }, "requests": { "cpu": "1" } }));

        assert_eq!(
            (of("7500m").cpu_limit, of("8").cpu_limit, of("0.5").cpu_limit),
            (Some(7_500), Some(8_000), Some(500))
        );
        assert_eq!((of("many").cpu_limit, of("8").cpu_request), (None, Some(1_000)));
    }
}
