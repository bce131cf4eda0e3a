//! What mending a finding would free, against what adding GPUs would cost.

use crate::money::Money;
use crate::policy::{Policy, PoolPolicy};
use crate::units::{Gpus, PoolName, Replicas};
use crate::world::Pool;
use std::collections::BTreeMap;

/// GPUs and, where prices are known, money.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Savings {
    /// GPUs that the workload has.
    pub gpus: Gpus,
    /// Cards of work that they do, rounded down and up: 8 cards that are active 30 % of the time do 2 to 3.
    pub work: (Gpus, Gpus),
    /// GPUs that would be free if the others were busy all the time; rounded down.
    pub freed: Gpus,
    /// What those cost an hour; none where a price is not known.
    pub freed_cost: Option<Money>,
    /// GPUs that are wanted besides.
    pub adding: Gpus,
    /// What those would cost an hour; none where the price is not known, or none are wanted.
    pub adding_cost: Option<Money>,
}

/// A workload's replicas, as money sees them.
#[derive(Clone, Copy, Debug)]
pub struct Costed<'a> {
    /// Its intent.
    pub policy: &'a Policy,
    /// Replicas in each pool, in the order of `policy.pools`.
    pub replicas: &'a [Replicas],
    /// Replicas wanted in all.
    pub wanted: Replicas,
    /// All pools with their prices.
    pub pools: &'a BTreeMap<PoolName, Pool>,
}

/// Findings whose mending lets fewer GPUs do the same work: their GPUs wait. Of others a low activity proves nothing, or a
/// high one means no work.
const GPUS_WAIT: [&str; 12] = [
    "CommunicationBound",
    "CpuStage",
    "DataLoader",
    "HostDeviceTransfer",
    "Imbalance",
    "LaunchBound",
    "OversizedGpu",
    "Padding",
    "SerialRequests",
    "StorageStall",
    "ScaleOutIneffective",
    "Underused",
];

/// What mending `finding` would free, its GPUs being active this share of the time. None where it frees no whole GPU, or
/// where it is not GPUs that wait.
pub fn savings(finding: impl std::fmt::Display, activity: f64, workload: &Costed<'_>) -> Option<Savings> {
    let waits = GPUS_WAIT.contains(&finding.to_string().as_str());
    if !waits || !(0.0..=1.0).contains(&activity) {
        return None;
    }
    let each = workload.policy.gpus_per_replica;
    let replicas: Replicas = workload.replicas.iter().copied().sum();
    let gpus = replicas.times(each);
    let work = work(gpus, activity);
    let freed = gpus.minus(work.1.max(Gpus(1)));
    let adding = workload.wanted.minus(replicas).times(each);
    (freed > Gpus::ZERO).then(|| Savings {
        gpus,
        work,
        freed,
        freed_cost: workload.mean_price().map(|price| price.times(freed)),
        adding,
        adding_cost: workload.adding_price().map(|price| price.times(adding)).filter(|_| adding > Gpus::ZERO),
    })
}

/// In millionths, so that 0.3 of 10 cards is 3 cards and not a little more.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a count that fits
fn work(gpus: Gpus, activity: f64) -> (Gpus, Gpus) {
    let millionths = (activity * 1e6).round() as u64 * u64::from(gpus.0);
    let cards = |millionths: u64| Gpus(u32::try_from(millionths / 1_000_000).unwrap_or(u32::MAX));
    (cards(millionths), cards(millionths + 999_999))
}

impl Costed<'_> {
    /// What a GPU costs on average over those that run; none where one of them has no price.
    fn mean_price(&self) -> Option<Money> {
        let pools = self.policy.pools.iter().zip(self.replicas).filter(|(_, count)| **count > Replicas::ZERO);
        let costs = pools.map(|(pool, count)| Some((self.price(pool)?.times(Gpus(count.0)), u64::from(count.0))));
        let costs: Option<Vec<(Money, u64)>> = costs.collect();
        let (sum, count) = costs?.into_iter().fold((0, 0), |(sum, all), (cost, count)| (cost.0 + sum, count + all));
        (count > 0).then(|| Money(sum / count))
    }

    /// What a GPU costs where replicas are added first: in the first pool without a base, as they are split.
    fn adding_price(&self) -> Option<Money> {
        let pools = &self.policy.pools;
        self.price(pools.iter().find(|pool| pool.base.is_none()).or(pools.first())?)
    }

    fn price(&self, pool: &PoolPolicy) -> Option<Money> {
        self.pools.get(pool.pool.as_ref()?)?.price
    }
}

impl Savings {
    /// In one line, for people.
    pub fn sentence(&self) -> String {
        let cost = |cost: Option<Money>| cost.map(|cost| format!("{cost} an hour"));
        let freed = format!("frees {} of {} GPUs", self.freed, self.gpus);
        let freed = cost(self.freed_cost).map_or_else(|| freed.clone(), |cost| format!("{freed}, {cost}"));
        match (self.adding, cost(self.adding_cost)) {
            (Gpus::ZERO, _) => freed,
            (adding, Some(cost)) => format!("{freed}; adding {adding} would cost {cost}"),
            (adding, None) => format!("{freed}; {adding} more are asked for"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{in_pool, trainer, unlimited_pool};

    fn policy(pools: &[(&str, u32)]) -> Policy {
        let workload = pools
            .iter()
            .fold(trainer("train"), |workload, (pool, running)| workload.pool(in_pool(pool).running(*running)));
        workload.build().0.policy
    }

    fn prices(prices: &[(&str, Option<f64>)]) -> BTreeMap<PoolName, Pool> {
        let pool = |price: Option<f64>| Pool { nodes: Vec::new(), limit: None, price: price.and_then(Money::of) };
        prices.iter().map(|(name, price)| (PoolName::from(*name), pool(*price))).collect()
    }

    fn of(pools: &[(&str, u32)], known: &[(&str, Option<f64>)], wanted: u32, activity: f64) -> Option<Savings> {
        let policy = policy(pools);
        let replicas: Vec<_> = pools.iter().map(|(_, count)| Replicas(*count)).collect();
        let workload = Costed { policy: &policy, replicas: &replicas, wanted: Replicas(wanted), pools: &prices(known) };
        savings("DataLoader", activity, &workload)
    }

    #[test]
    fn eight_cards_that_are_active_three_tenths_of_the_time_do_the_work_of_two_to_three() {
        let saved = of(&[("od", 8)], &[("od", Some(2.1))], 12, 0.30).unwrap();

        assert_eq!((saved.work, saved.freed), ((Gpus(2), Gpus(3)), Gpus(5)));
        assert_eq!(saved.sentence(), "frees 5 of 8 GPUs, 10.50 an hour; adding 4 would cost 8.40 an hour");
    }

    #[test]
    fn an_unknown_price_is_no_money_rather_than_none_to_pay() {
        let saved = of(&[("od", 8)], &[("od", None)], 12, 0.30).unwrap();

        assert_eq!((saved.freed_cost, saved.adding_cost), (None, None));
        assert_eq!(saved.sentence(), "frees 5 of 8 GPUs; 4 more are asked for");
    }

    #[test]
    fn one_pool_without_a_price_makes_the_sum_unknown() {
        let saved = of(&[("od", 4), ("spot", 4)], &[("od", Some(2.0)), ("spot", None)], 8, 0.25).unwrap();

        assert_eq!((saved.freed, saved.freed_cost), (Gpus(6), None));
    }

    #[test]
    fn over_two_pools_a_freed_gpu_costs_what_a_gpu_costs_on_average() {
        let saved = of(&[("od", 4), ("spot", 4)], &[("od", Some(3.0)), ("spot", Some(1.0))], 8, 0.25).unwrap();

        assert_eq!(saved.sentence(), "frees 6 of 8 GPUs, 12.00 an hour");
    }

    #[test]
    fn a_workload_without_pools_has_no_price() {
        let policy = trainer("train").pool(unlimited_pool().running(8)).build().0.policy;
        let workload =
            Costed { policy: &policy, replicas: &[Replicas(8)], wanted: Replicas(8), pools: &BTreeMap::new() };

        assert_eq!(savings("DataLoader", 0.3, &workload).unwrap().sentence(), "frees 5 of 8 GPUs");
    }

    #[test]
    fn what_frees_no_whole_gpu_is_not_shown() {
        assert_eq!(of(&[("od", 8)], &[("od", Some(2.0))], 8, 0.9), None);
        assert_eq!(of(&[("od", 1)], &[("od", Some(2.0))], 8, 0.0), None, "one is kept for the work there is");
        assert_eq!(of(&[("od", 8)], &[("od", Some(2.0))], 8, f64::NAN), None);
    }

    #[test]
    fn whole_cards_of_work_are_not_rounded_up() {
        assert_eq!(work(Gpus(10), 0.3), (Gpus(3), Gpus(3)));
    }

    #[test]
    fn low_clocks_free_nothing_when_they_are_mended() {
        let policy = policy(&[("od", 8)]);
        let workload =
            Costed { policy: &policy, replicas: &[Replicas(8)], wanted: Replicas(8), pools: &BTreeMap::new() };

        assert_eq!(savings("Throttled", 0.3, &workload), None);
    }
}
