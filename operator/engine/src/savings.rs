//! What mending a finding would free, against what adding GPUs would cost.

mod shown;

use crate::evidence::Demand;
use crate::money::Money;
use crate::policy::{Policy, PoolPolicy};
use crate::sizing::Offer;
use crate::units::{Gpus, PoolName, Replicas};

/// GPUs and, where prices are known, money.
#[derive(Clone, Debug, PartialEq)]
pub struct Savings {
    /// GPUs that the workload has.
    pub gpus: Gpus,
    /// The work that they do. None where it is not GPUs that wait.
    pub work: Option<Work>,
    /// GPUs that would be free if the others were busy all the time; rounded down.
    pub freed: Gpus,
    /// What those cost an hour; none where a price is not known.
    pub freed_cost: Option<Money>,
    /// Replicas that the work does not need, where nobody asks for more.
    pub idle: Option<Idle>,
    /// What going back would free, where replicas were added for nothing.
    pub back: Option<Back>,
    /// A cheaper class whose memory would hold the work (its speed is not judged), and what it saves an hour.
    pub smaller: Option<(PoolName, Money)>,
    /// GPUs that are wanted besides.
    pub adding: Gpus,
    /// What those would cost an hour; none where the price is not known, or none are wanted.
    pub adding_cost: Option<Money>,
}

/// The work of some GPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Share of time that they are active, 0–1.
    pub activity: f64,
    /// GPUs that would do it if they were busy all the time, rounded down and up: 8 that are active 30 % of the time do the
    /// work of 2 to 3.
    pub of: (Gpus, Gpus),
}

/// Fewer replicas would do the work, rounded up; at least one is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idle {
    /// How many would.
    pub keep: Replicas,
    /// What keeps more.
    pub kept_by: KeptBy,
    /// GPUs of the others.
    pub freed: Gpus,
    /// What those cost an hour, or all of them where nothing is freed; none where a price is not known.
    pub cost: Option<Money>,
}

/// Why there are more replicas than the work needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptBy {
    /// The minimum.
    Minimum,
    /// The signals ask for them.
    Signals,
}

/// Going back to fewer replicas, since those that were added brought nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Back {
    /// To how many.
    pub to: Replicas,
    /// GPUs that are free then.
    pub freed: Gpus,
    /// What those cost an hour; none where a price is not known.
    pub cost: Option<Money>,
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
    /// Every pool that it may name.
    pub offers: &'a [Offer],
}

/// What a finding measured, as far as money depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Share of time that the GPUs are active, 0–1.
    pub activity: Option<f64>,
    /// GPU memory in use at its peak, 0–1.
    pub peak: Option<f64>,
    /// Replicas before those were added that brought nothing.
    pub from: Option<Replicas>,
    /// Whether anybody asks for more.
    pub demand: Demand,
}

/// Findings whose mending lets fewer GPUs do the same work: their GPUs wait. Of others a low activity proves nothing, or a
/// high one means no work.
const GPUS_WAIT: [&str; 11] = [
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
    "Underused",
];

/// A smaller class must hold this much more than what is in use.
const HEADROOM: f64 = 1.25;

/// What mending `finding` would free, and what is asked for instead would cost. None where it frees nothing that is known and
/// nothing is asked for.
pub fn savings(finding: impl std::fmt::Display, seen: Seen, workload: &Costed<'_>) -> Option<Savings> {
    let finding = finding.to_string();
    let gpus = workload.running_replicas().times(workload.policy.gpus_per_replica);
    let share = |share: Option<f64>| share.filter(|share| (0.0..=1.0).contains(share));
    let at_rest = seen.demand == Demand::Met;
    // Where nobody asks for more, what to keep is the other finding's to say.
    let waits = GPUS_WAIT.contains(&finding.as_str()) && !(at_rest && finding == "OversizedGpu");
    let work = share(seen.activity).filter(|_| waits).map(|activity| Work { activity, of: work(gpus, activity) });
    let idle = work.filter(|_| at_rest && gpus > Gpus::ZERO).map(|work| workload.idle(work.of.1));
    let freed = work.filter(|_| !at_rest).map_or(Gpus::ZERO, |work| gpus.minus(work.of.1.max(Gpus(1))));
    let smaller = share(seen.peak).filter(|_| finding == "OversizedGpu").and_then(|peak| workload.smaller(peak));
    let smaller = smaller.map(|(pool, saved)| (pool, saved.times(gpus)));
    let adding = workload.adding();
    let adding_cost = workload.adding_price().map(|price| price.times(adding)).filter(|_| adding > Gpus::ZERO);
    let freed_cost = workload.mean_price().map(|price| price.times(freed));
    let back = seen.from.and_then(|to| workload.back(to));
    let known = freed > Gpus::ZERO || idle.is_some() || smaller.is_some() || back.is_some() || adding > Gpus::ZERO;
    known.then_some(Savings { gpus, work, freed, freed_cost, idle, back, smaller, adding, adding_cost })
}

/// In millionths, so that 0.3 of 10 cards is 3 cards and not a little more.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a count that fits
fn work(gpus: Gpus, activity: f64) -> (Gpus, Gpus) {
    let millionths = (activity * 1e6).round() as u64 * u64::from(gpus.0);
    let cards = |millionths: u64| Gpus(u32::try_from(millionths / 1_000_000).unwrap_or(u32::MAX));
    (cards(millionths), cards(millionths + 999_999))
}

impl Costed<'_> {
    fn running_replicas(&self) -> Replicas {
        self.replicas.iter().copied().sum()
    }

    fn adding(&self) -> Gpus {
        self.wanted.minus(self.running_replicas()).times(self.policy.gpus_per_replica)
    }

    /// Whole replicas, and those that do not run cost nothing.
    fn idle(&self, busy: Gpus) -> Idle {
        let (running, each) = (self.running_replicas(), self.policy.gpus_per_replica);
        let keep = Replicas(busy.0.div_ceil(each.0.max(1)).max(1)).min(running);
        let kept_by = if running > self.policy.min { KeptBy::Signals } else { KeptBy::Minimum };
        let freed = running.minus(keep).times(each);
        let paid = if freed > Gpus::ZERO { freed } else { running.times(each) };
        Idle { keep, kept_by, freed, cost: self.mean_price().map(|price| price.times(paid)) }
    }

    /// None where nothing more runs.
    fn back(&self, to: Replicas) -> Option<Back> {
        let freed = self.running_replicas().minus(to).times(self.policy.gpus_per_replica);
        let cost = self.mean_price().map(|price| price.times(freed));
        (freed > Gpus::ZERO).then_some(Back { to, freed, cost })
    }

    /// The pools that have replicas, each with its offer and how many; none where one of them is not on offer.
    fn running(&self) -> Option<Vec<(&Offer, Replicas)>> {
        let pools = self.policy.pools.iter().zip(self.replicas).filter(|(_, count)| **count > Replicas::ZERO);
        pools.map(|(pool, count)| Some((self.offer(pool)?, *count))).collect()
    }

    /// What a GPU costs on average over those that run; none where one of them has no price, nor of parts of GPUs.
    fn mean_price(&self) -> Option<Money> {
        if !self.policy.whole_gpus {
            return None;
        }
        let costs = self.running()?.into_iter().map(|(offer, count)| Some((offer.price?.times(Gpus(count.0)), count)));
        let costs: Option<Vec<(Money, Replicas)>> = costs.collect();
        let (sum, count) = costs?.into_iter().fold((0, 0), |(sum, all), (cost, count)| (sum + cost.0, all + count.0));
        (count > 0).then(|| Money(sum / u64::from(count)))
    }

    /// What a GPU costs where replicas are added first: in the first pool without a base, as they are split.
    fn adding_price(&self) -> Option<Money> {
        if !self.policy.whole_gpus {
            return None;
        }
        let pools = &self.policy.pools;
        self.offer(pools.iter().find(|pool| pool.base.is_none()).or(pools.first())?)?.price
    }

    /// The cheapest pool that holds the peak with a fifth to spare, and what a GPU there costs less.
    fn smaller(&self, used: f64) -> Option<(PoolName, Money)> {
        let memories: Option<Vec<u32>> = self.running()?.into_iter().map(|(offer, _)| offer.memory).collect();
        let needed = f64::from(memories?.into_iter().max()?) * used * HEADROOM;
        let price = self.mean_price()?;
        let holds = self.offers.iter().filter(|offer| offer.memory.is_some_and(|memory| f64::from(memory) >= needed));
        let cheapest = holds.filter(|offer| offer.price.is_some()).min_by_key(|offer| offer.price)?;
        let saved = price.minus(cheapest.price?);
        (saved > Money::ZERO).then(|| (cheapest.pool.clone(), saved))
    }

    fn offer(&self, pool: &PoolPolicy) -> Option<&Offer> {
        let name = pool.pool.as_ref()?;
        self.offers.iter().find(|offer| offer.pool == *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{in_pool, trainer, unlimited_pool};

    /// Pools with their running replicas of one GPU and their prices; all have 80 GB.
    fn of(finding: &str, pools: &[(&str, u32, Option<f64>)], wanted: u32, seen: Seen) -> Option<Savings> {
        let workload =
            pools.iter().fold(trainer("train"), |all, (pool, running, _)| all.pool(in_pool(pool).running(*running)));
        let policy = workload.build().0.policy;
        let offer = |pool: &str, memory, price: Option<f64>| Offer {
            pool: PoolName::from(pool),
            memory: Some(memory),
            price: price.and_then(Money::of),
        };
        let mut offers: Vec<_> = pools.iter().map(|(pool, _, price)| offer(pool, 81_920, *price)).collect();
        offers.extend([offer("l4", 23_034, Some(0.8)), offer("t4", 15_360, Some(0.5))]);
        let replicas: Vec<_> = pools.iter().map(|(_, count, _)| Replicas(*count)).collect();
        savings(
            finding,
            seen,
            &Costed { policy: &policy, replicas: &replicas, wanted: Replicas(wanted), offers: &offers },
        )
    }

    fn active(activity: f64) -> Seen {
        Seen { activity: Some(activity), ..Seen::default() }
    }

    #[test]
    fn eight_cards_that_are_active_three_tenths_of_the_time_do_the_work_of_two_to_three() {
        let saved = of("DataLoader", &[("od", 8, Some(2.1))], 12, active(0.30)).unwrap();

        assert_eq!((saved.work.map(|work| work.of), saved.freed), (Some((Gpus(2), Gpus(3))), Gpus(5)));
        assert_eq!(
            saved.sentence(),
            "30 % active on 8 GPUs is the work of 2–3: mending it frees 5, 10.50 an hour; adding 4 would cost 8.40 an hour"
        );
    }

    #[test]
    fn an_unknown_price_is_no_money_rather_than_none_to_pay() {
        let saved = of("DataLoader", &[("od", 8, None)], 12, active(0.30)).unwrap();

        assert_eq!((saved.freed_cost, saved.adding_cost), (None, None));
        assert_eq!(
            saved.sentence(),
            "30 % active on 8 GPUs is the work of 2–3: mending it frees 5; 4 more are asked for"
        );
    }

    #[test]
    fn one_pool_without_a_price_makes_the_sum_unknown() {
        let saved = of("DataLoader", &[("od", 4, Some(2.0)), ("spot", 4, None)], 8, active(0.25)).unwrap();

        assert_eq!((saved.freed, saved.freed_cost), (Gpus(6), None));
    }

    #[test]
    fn over_two_pools_a_freed_gpu_costs_what_a_gpu_costs_on_average() {
        let saved = of("DataLoader", &[("od", 4, Some(3.0)), ("spot", 4, Some(1.0))], 8, active(0.25)).unwrap();

        assert_eq!(saved.sentence(), "25 % active on 8 GPUs is the work of 2: mending it frees 6, 12.00 an hour");
    }

    #[test]
    fn a_workload_without_pools_has_no_price() {
        let policy = trainer("train").pool(unlimited_pool().running(8)).build().0.policy;
        let workload = Costed { policy: &policy, replicas: &[Replicas(8)], wanted: Replicas(8), offers: &[] };

        let saved = savings("DataLoader", active(0.3), &workload).unwrap();
        assert_eq!(saved.sentence(), "30 % active on 8 GPUs is the work of 2–3: mending it frees 5");
    }

    #[test]
    fn what_frees_no_whole_gpu_is_not_shown() {
        let one = |running, activity| of("DataLoader", &[("od", running, Some(2.0))], running, active(activity));

        assert_eq!(one(8, 0.9), None);
        assert_eq!(one(1, 0.0), None, "one is kept for the work there is");
        assert_eq!(one(8, f64::NAN), None);
        assert_eq!(of("DataLoader", &[("od", 8, Some(2.0))], 8, Seen::default()), None, "not measured is not idle");
    }

    #[test]
    fn whole_cards_of_work_are_not_rounded_up() {
        assert_eq!(work(Gpus(10), 0.3), (Gpus(3), Gpus(3)));
    }

    #[test]
    fn what_frees_nothing_when_it_is_mended_says_what_adding_would_cost() {
        let idle = ["Stalled", "Straggler", "Throttled", "MemoryBound", "GpuOutOfMemory", "RunNotProgressing"];
        for finding in idle.into_iter().chain(["LatencyNotQueueBound", "ScaleOutIneffective"]) {
            let saved = of(finding, &[("od", 8, Some(2.1))], 12, active(0.3)).unwrap();
            assert_eq!((saved.freed, saved.work), (Gpus::ZERO, None), "{finding}");
            assert_eq!(saved.sentence(), "adding 4 would cost 8.40 an hour", "{finding}");
            assert_eq!(of(finding, &[("od", 8, Some(2.1))], 8, active(0.3)), None, "nothing is asked for");
        }
    }

    #[test]
    fn replicas_that_were_added_for_nothing_are_free_once_they_are_taken_back() {
        let seen = Seen { from: Some(Replicas(4)), ..Seen::default() };
        let saved = |running, price| of("ScaleOutIneffective", &[("od", running, price)], 12, seen);

        assert_eq!(
            saved(8, Some(2.1)).unwrap().sentence(),
            "going back to 4 replicas frees 4 of 8 GPUs, 8.40 an hour; adding 4 would cost 8.40 an hour"
        );
        assert_eq!(
            saved(8, None).unwrap().sentence(),
            "going back to 4 replicas frees 4 of 8 GPUs; 4 more are asked for"
        );
        assert_eq!(saved(4, Some(2.1)).unwrap().back, None, "they are gone");
    }

    #[test]
    fn a_card_that_is_mostly_empty_is_told_the_cheapest_class_that_holds_what_is_in_use() {
        let nearly_empty = Seen { peak: Some(0.15), ..active(0.1) };
        let saved = of("OversizedGpu", &[("a100", 1, Some(3.4))], 1, nearly_empty).unwrap();

        assert_eq!(
            saved.sentence(),
            "the GPUs of pool \"t4\" would hold it, check their speed first; they save 2.90 an hour"
        );
        let full_at_times = Seen { peak: Some(0.9), ..nearly_empty };
        assert_eq!(of("OversizedGpu", &[("a100", 1, Some(3.4))], 1, full_at_times), None);
        let a_little_more = Seen { peak: Some(0.2), ..nearly_empty };
        let saved = of("OversizedGpu", &[("a100", 1, Some(3.4))], 1, a_little_more).unwrap();
        assert_eq!(saved.smaller, Some((PoolName::from("l4"), Money(2_600_000))), "with a quarter to spare");
    }

    fn at_rest(finding: &str, running: u32, min: u32, seen: Seen) -> Option<String> {
        let policy = trainer("chat").pool(in_pool("od").running(running)).min(min).gpus_each(2).build().0.policy;
        let offer = |pool: &str, memory, price| Offer {
            pool: PoolName::from(pool),
            memory: Some(memory),
            price: Money::of(price),
        };
        let offers = [offer("od", 81_920, 2.1), offer("t4", 15_360, 0.5)];
        let (replicas, wanted) = ([Replicas(running)], Replicas(running.min(1)));
        let workload = Costed { policy: &policy, replicas: &replicas, wanted, offers: &offers };
        savings(finding, Seen { demand: Demand::Met, ..seen }, &workload).map(|saved| saved.sentence())
    }

    #[test]
    fn where_nobody_asks_for_more_it_is_said_what_keeps_what_the_work_does_not_need() {
        assert_eq!(
            at_rest("Underused", 4, 4, active(0.05)).unwrap(),
            "5 % active on 8 GPUs is the work of 0–1: minReplicas 1 or a schedule frees 6, 12.60 an hour"
        );
        assert_eq!(
            at_rest("Underused", 4, 1, active(0.29)).unwrap(),
            "29 % active on 8 GPUs is the work of 2–3: 2 replicas, by a higher target of its signals, or a schedule \
             frees 4, 8.40 an hour"
        );
        assert_eq!(
            at_rest("Underused", 1, 1, active(0.05)).unwrap(),
            "5 % active on 2 GPUs is the work of 0–1 and costs 4.20 an hour: a schedule or a part of a GPU frees most of it"
        );
        assert_eq!(at_rest("Underused", 0, 0, active(0.05)), None, "nothing runs");
    }

    #[test]
    fn a_gpu_that_is_too_large_at_rest_counts_no_gpus_that_are_too_many() {
        let nearly_empty = Seen { peak: Some(0.15), ..active(0.05) };

        assert_eq!(
            at_rest("OversizedGpu", 4, 4, nearly_empty).unwrap(),
            "the GPUs of pool \"t4\" would hold it, check their speed first; they save 12.80 an hour"
        );
        assert_eq!(at_rest("OversizedGpu", 4, 4, active(0.05)), None, "its peak is not known");
    }

    #[test]
    fn growth_that_is_justified_shows_its_price() {
        let saved = of("AddingJustified", &[("od", 8, Some(2.1))], 12, active(0.95)).unwrap();

        assert_eq!(saved.sentence(), "adding 4 would cost 8.40 an hour");
        let unpriced = of("AddingJustified", &[("od", 8, None)], 12, active(0.95)).unwrap();
        assert_eq!(unpriced.sentence(), "4 more are asked for");
    }
}
