//! On which pools a model fits, and for how much money.

use super::{Need, gigabytes, need};
use crate::money::Money;
use crate::policy::{Policy, PoolPolicy};
use crate::units::{Gpus, PoolName, Replicas};

/// A class of GPU, as a pool offers it.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The pool.
    pub pool: PoolName,
    /// Memory of one GPU in MiB; none where the pool does not say.
    pub memory: Option<u32>,
    /// What one GPU costs an hour.
    pub price: Option<Money>,
}

impl Offer {
    /// Gigabytes of one GPU.
    fn each(&self) -> Option<f64> {
        Some(f64::from(self.memory?) * 1_048_576.0 / 1e9)
    }

    /// Gigabytes that the workload's model may use here.
    fn room(&self, policy: &Policy) -> Option<f64> {
        Some(self.each()? * f64::from(holders(policy).0))
    }
}

/// What the model of a workload needs, and where that is.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizing {
    /// What it needs.
    pub need: Need,
    /// The workload's pools that are too small, each with the gigabytes that it offers the model.
    pub small: Vec<(PoolName, f64)>,
    /// The cheapest of all pools on offer that hold it.
    pub fits: Option<Fit>,
}

/// A pool that holds a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Its name.
    pub pool: PoolName,
    /// GPUs that hold the model together.
    pub gpus: Gpus,
    /// Gigabytes of each of them.
    pub each: f64,
    /// What they cost an hour together; none where the pool does not say.
    pub cost: Option<Money>,
}

impl Sizing {
    /// In one line: what it needs, and where it fits for the least money.
    pub fn summary(&self) -> String {
        let fits = match &self.fits {
            Some(fit) => format!("cheapest pool that fits: {}", fit.sentence()),
            None => "no pool that says its memory holds it".to_owned(),
        };
        format!("{}; {fits}", self.need.summary())
    }

    /// That it can't fit on one of the workload's pools, and what would help; none where it can.
    pub fn misfit(&self) -> Option<String> {
        let small = self.small.iter().map(|(pool, room)| format!("{} GB in pool \"{pool}\"", gigabytes(*room)));
        let small = small.collect::<Vec<_>>().join(", ");
        let help = match &self.fits {
            Some(fit) => format!("pool \"{}\" is the cheapest that holds it", fit.pool),
            None => "no pool that says its memory holds it: quantise the model, or split it over more GPUs".to_owned(),
        };
        let misfit = format!("the model needs {}; its GPUs have {small}; {help}", self.need.sentence());
        (!self.small.is_empty()).then_some(misfit)
    }
}

impl Fit {
    fn sentence(&self) -> String {
        let each = gigabytes(self.each);
        let memory = if self.gpus == Gpus(1) { format!("{each} GB") } else { format!("{} × {each} GB", self.gpus) };
        let cost = self.cost.map(|cost| format!(", {cost} an hour")).unwrap_or_default();
        format!("{} ({memory}{cost})", self.pool)
    }
}

/// What the model of `policy` needs and where it fits; none without a model. `offers` are all pools that the workload may name,
/// `peak` the most of one GPU's memory that was in use since the pods are made from their template, 0–1.
pub fn sizing(policy: &Policy, offers: &[Offer], peak: Option<f64>) -> Option<Sizing> {
    let model = policy.model.as_ref()?;
    let need = need(model, policy.class, peak.and_then(|peak| taken(policy, offers, peak)));
    let ours = |offer: &&Offer| policy.pools.iter().any(|pool| pool.pool.as_ref() == Some(&offer.pool));
    let small = offers
        .iter()
        .filter(ours)
        .filter_map(|offer| Some((offer.pool.clone(), offer.room(policy)?)))
        .filter(|(_, room)| *room < need.least)
        .collect();
    Some(Sizing { need, small, fits: cheapest(policy, offers, need.least) })
}

/// Memories of GPUs that differ by no more than this are of one size: an 80 GB card has 81,559 or 81,920 MiB.
const ONE_SIZE: f64 = 1.05;

/// Gigabytes that a replica took at its peak, which is `peak` of its fullest GPU. None of a model that is split over the
/// replicas, which take less the more there are, and where it may have been on GPUs of several sizes.
fn taken(policy: &Policy, offers: &[Offer], peak: f64) -> Option<f64> {
    let of = |pool: &PoolPolicy| offers.iter().find(|offer| Some(&offer.pool) == pool.pool.as_ref())?.room(policy);
    let rooms: Option<Vec<f64>> = policy.pools.iter().map(of).collect();
    let (least, most) =
        rooms?.iter().fold((f64::MAX, 0.0_f64), |(least, most), room| (least.min(*room), most.max(*room)));
    (!policy.sharded() && most <= least * ONE_SIZE).then_some(most * peak)
}

/// The cheapest of those that hold `least`; where no price is known, the one with the least memory.
fn cheapest(policy: &Policy, offers: &[Offer], least: f64) -> Option<Fit> {
    let holds = |offer: &&Offer| offer.room(policy).is_some_and(|room| room >= least);
    let best = offers.iter().filter(holds).min_by_key(|offer| (offer.price.is_none(), offer.price, offer.memory))?;
    let gpus = holders(policy);
    let cost = best.price.map(|price| price.times(gpus));
    Some(Fit { pool: best.pool.clone(), gpus, each: best.each()?, cost })
}

/// GPUs that hold the model together: those of one replica, or of all where it is split over them.
fn holders(policy: &Policy) -> Gpus {
    let replicas = if policy.sharded() { policy.max } else { Replicas(1) };
    replicas.times(policy.gpus_per_replica)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizing::{Basis, Dtype, Model};
    use crate::testing::{in_pool, server, trainer};

    const fn model(params: f64, dtype: Dtype, sharded: bool) -> Model {
        Model { params, dtype, sharded }
    }

    fn offer(pool: &str, memory: Option<u32>, price: f64) -> Offer {
        Offer { pool: PoolName::from(pool), memory, price: Money::of(price) }
    }

    /// Cards as the driver counts them: 16 GB, 24 GB, 80 GB.
    fn offers() -> Vec<Offer> {
        vec![
            offer("h100", Some(81_559), 6.88),
            offer("a100", Some(81_920), 3.43),
            offer("t4", Some(15_360), 0.53),
            offer("l4", Some(23_034), 0.80),
            offer("odd", None, 0.10),
        ]
    }

    fn policy_in(pool: &str, model: Model) -> Policy {
        server("chat").pool(in_pool(pool).running(1)).policy(|policy| policy.model = Some(model)).build().0.policy
    }

    fn misfit(policy: &Policy) -> Option<String> {
        sizing(policy, &offers(), None).unwrap().misfit()
    }

    #[test]
    fn a_model_that_fits_says_so_in_one_line_with_the_cheapest_pool() {
        let shown = |policy: &Policy, peak| sizing(policy, &offers(), peak).unwrap().summary();
        let chat = policy_in("l4", model(7e9, Dtype::FP16, false));

        assert_eq!(
            shown(&chat, None),
            "14 GB of weights, 21–28 GB with KV cache and activations; cheapest pool that fits: l4 (24 GB, 0.80 an hour)"
        );
        assert_eq!(
            shown(&chat, Some(0.6)),
            "14 GB of weights, 14 GB measured at the peak; cheapest pool that fits: t4 (16 GB, 0.53 an hour)"
        );
        let large = trainer("llm").pool(in_pool("l4").running(1)).policy(|policy| {
            policy.model = Some(model(70e9, Dtype::BF16, false));
        });
        assert_eq!(
            shown(&large.build().0.policy, None),
            "140 GB of weights, 1120 GB with gradients and Adam's state, and activations on top; no pool that says its memory \
             holds it"
        );
        assert_eq!(sizing(&server("plain").running(1).build().0.policy, &offers(), None), None, "it names no model");
    }

    #[test]
    fn a_measured_peak_counts_only_where_it_tells_what_one_replica_takes() {
        let basis = |policy: &Policy| sizing(policy, &offers(), Some(0.5)).unwrap().need.basis;
        let seven = model(7e9, Dtype::FP16, false);
        let over = |one: &str, other: &str| {
            let chat = server("chat").pool(in_pool(one).running(1)).pool(in_pool(other).running(1));
            chat.policy(|policy| policy.model = Some(seven)).build().0.policy
        };

        assert_eq!(basis(&policy_in("l4", seven)), Basis::Measured);
        assert_eq!(basis(&over("h100", "a100")), Basis::Measured, "both are called 80 GB");
        assert_eq!(basis(&over("t4", "a100")), Basis::Serving, "half of which?");
        assert_eq!(basis(&policy_in("odd", seven)), Basis::Serving, "half of what?");
        assert_eq!(basis(&policy_in("l4", Model { sharded: true, ..seven })), Basis::Serving);
    }

    #[test]
    fn a_model_that_is_too_large_for_its_pool_is_told_the_cheapest_that_holds_it() {
        let sizing = sizing(&policy_in("t4", model(7e9, Dtype::FP16, false)), &offers(), None).unwrap();

        assert_eq!(
            sizing.misfit().unwrap(),
            "the model needs about 21–28 GB (14 GB of weights, and KV cache and activations); its GPUs have 16 GB in pool \
             \"t4\"; pool \"l4\" is the cheapest that holds it"
        );
    }

    #[test]
    fn a_model_that_fits_or_whose_pool_says_nothing_is_no_misfit() {
        let seven = model(7e9, Dtype::FP16, false);

        assert_eq!(misfit(&policy_in("l4", seven)), None);
        assert_eq!(misfit(&policy_in("odd", model(7e12, Dtype::FP16, false))), None);
    }

    #[test]
    fn more_gpus_a_replica_hold_more() {
        let mut policy = policy_in("t4", model(7e9, Dtype::FP16, false));
        policy.gpus_per_replica = Gpus(2);

        assert_eq!(misfit(&policy), None);
        let shown = sizing(&policy, &offers(), None).unwrap().summary();
        assert!(shown.ends_with("cheapest pool that fits: t4 (2 × 16 GB, 1.06 an hour)"), "{shown}");
    }

    #[test]
    fn only_a_split_model_may_use_the_memory_of_other_replicas() {
        let trainer = |sharded| {
            let wanted = trainer("llm").pool(in_pool("a100").running(1)).max(8).gpus_each(1);
            wanted.policy(|policy| policy.model = Some(model(7e9, Dtype::BF16, sharded))).build().0.policy
        };

        assert_eq!(misfit(&trainer(true)), None);
        let whole = sizing(&trainer(false), &offers(), None).unwrap();
        assert_eq!(whole.fits, None, "112 GB are on no single card");
    }

    #[test]
    fn a_pool_without_a_price_is_not_called_the_cheapest() {
        let offers =
            [offer("mystery", Some(81_559), 0.0), offer("h100", Some(81_559), 6.88), offer("t4", Some(15_360), 0.5)];

        let sizing = sizing(&policy_in("t4", model(13e9, Dtype::FP16, false)), &offers, None).unwrap();
        assert_eq!(sizing.fits.map(|fit| fit.pool), Some(PoolName::from("h100")));
    }
}
