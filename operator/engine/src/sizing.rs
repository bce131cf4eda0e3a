//! How much GPU memory a model needs, and on which pools it fits.

use crate::money::Money;
use crate::policy::{Class, Policy};
use crate::units::PoolName;
use serde::{Deserialize, Serialize};

/// What a model's memory depends on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// Parameters.
    pub params: f64,
    /// The type of its weights.
    pub dtype: Dtype,
    /// Whether it is split over the replicas, so that more of them hold less each.
    pub sharded: bool,
}

/// The type of a model's weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Dtype {
    FP32,
    BF16,
    FP16,
    FP8,
    INT8,
    INT4,
}

/// For serving, weights grow by this with the KV cache and activations.
const SERVING: (f64, f64) = (1.5, 2.0);
/// Weights, gradients and optimizer state of Adam in mixed precision, bytes a parameter; activations come on top.
const ADAM: f64 = 16.0;

/// Gigabytes, of 10⁹ bytes, that the whole model needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// The weights alone.
    pub weights: f64,
    /// At least this much in all.
    pub least: f64,
    /// Likely no more than this; none where activations decide, which nobody knows beforehand.
    pub most: Option<f64>,
    /// What the estimate rests on.
    pub basis: Basis,
}

/// What an estimate rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// It was seen to use this much.
    Measured,
    /// Weights, KV cache and activations.
    Serving,
    /// Weights, gradients and Adam's state, before activations.
    Adam,
    /// Weights that are frozen, before what is trained beside them: nobody trains in so few bits.
    Frozen,
}

impl Dtype {
    /// Bytes a parameter.
    pub const fn bytes(self) -> f64 {
        match self {
            Self::FP32 => 4.0,
            Self::BF16 | Self::FP16 => 2.0,
            Self::FP8 | Self::INT8 => 1.0,
            Self::INT4 => 0.5,
        }
    }
}

/// What `model` needs; `peak` is what the whole model was seen to use at most, in gigabytes, where that is known.
pub fn need(model: &Model, class: Class, peak: Option<f64>) -> Need {
    let weights = model.params * model.dtype.bytes() / 1e9;
    if let Some(peak) = peak.filter(|peak| peak.is_finite() && *peak > 0.0) {
        return Need { weights, least: peak, most: Some(peak), basis: Basis::Measured };
    }
    match (class, model.dtype) {
        (Class::Inference | Class::Batch, _) => {
            let (least, most) = SERVING;
            Need { weights, least: weights * least, most: Some(weights * most), basis: Basis::Serving }
        }
        (Class::Training, Dtype::INT8 | Dtype::INT4) => {
            Need { weights, least: weights, most: None, basis: Basis::Frozen }
        }
        (Class::Training, _) => Need { weights, least: model.params * ADAM / 1e9, most: None, basis: Basis::Adam },
    }
}

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
    /// Gigabytes that the workload's model may use here: those of one replica, or of all where it is split over them.
    fn room(&self, policy: &Policy) -> Option<f64> {
        let replicas = if policy.sharded() { policy.max.0 } else { 1 };
        let gpus = f64::from(policy.gpus_per_replica.0) * f64::from(replicas);
        Some(f64::from(self.memory?) * 1_048_576.0 / 1e9 * gpus)
    }
}

/// A model that can't fit where its workload runs, and where it would.
#[derive(Clone, Debug, PartialEq)]
pub struct Misfit {
    /// What it needs.
    pub need: Need,
    /// The workload's pools that are too small, each with the gigabytes that it offers the model.
    pub small: Vec<(PoolName, f64)>,
    /// The cheapest pool that would hold it, of all those on offer.
    pub fits: Option<PoolName>,
}

impl Misfit {
    /// What is wrong and what would help, for people.
    pub fn sentence(&self) -> String {
        let small = self.small.iter().map(|(pool, room)| format!("{} GB in pool \"{pool}\"", gigabytes(*room)));
        let small = small.collect::<Vec<_>>().join(", ");
        let help = match &self.fits {
            Some(pool) => format!("pool \"{pool}\" is the cheapest that holds it"),
            None => "no pool that says its memory holds it: quantise the model, or split it over more GPUs".to_owned(),
        };
        format!("the model needs {}; its GPUs have {small}; {help}", self.need.sentence())
    }
}

impl Need {
    fn sentence(&self) -> String {
        let (weights, least) = (gigabytes(self.weights), gigabytes(self.least));
        match (self.basis, self.most.map(gigabytes)) {
            (Basis::Measured, _) => format!("{least} GB, as was measured"),
            (Basis::Serving, Some(most)) => {
                format!("about {least}–{most} GB ({weights} GB of weights, and KV cache and activations)")
            }
            (Basis::Frozen, _) => format!("more than {least} GB (its frozen weights)"),
            (Basis::Serving | Basis::Adam, _) => {
                format!("more than {least} GB (weights, gradients and Adam's state; activations come on top)")
            }
        }
    }
}

/// To a tenth where that matters.
fn gigabytes(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0;
    if value < 10.0 { format!("{tenths}") } else { format!("{value:.0}") }
}

/// Whether the model of `policy` can't fit on one of its pools. None where it can, or where it can't be told: no model, or
/// pools that do not say their memory. `offers` are all pools that the workload may name.
pub fn misfit(policy: &Policy, offers: &[Offer], peak: Option<f64>) -> Option<Misfit> {
    let need = need(policy.model.as_ref()?, policy.class, peak);
    let ours = |offer: &&Offer| policy.pools.iter().any(|pool| pool.pool.as_ref() == Some(&offer.pool));
    let small: Vec<_> = offers
        .iter()
        .filter(ours)
        .filter_map(|offer| Some((offer.pool.clone(), offer.room(policy)?)))
        .filter(|(_, room)| *room < need.least)
        .collect();
    (!small.is_empty()).then(|| Misfit { need, small, fits: cheapest(policy, offers, need.least) })
}

/// The cheapest of those that hold `least`; where no price is known, the one with the least memory.
fn cheapest(policy: &Policy, offers: &[Offer], least: f64) -> Option<PoolName> {
    let holds = |offer: &&Offer| offer.room(policy).is_some_and(|room| room >= least);
    let best = offers.iter().filter(holds).min_by_key(|offer| (offer.price.is_none(), offer.price, offer.memory));
    best.map(|offer| offer.pool.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{in_pool, server, trainer};
    use crate::units::Gpus;

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

    #[test]
    fn seven_billion_parameters_in_two_bytes_are_fourteen_gigabytes_and_half_as_much_again_to_serve() {
        let need = need(&model(7e9, Dtype::FP16, false), Class::Inference, None);

        assert_eq!((need.weights, need.least, need.most), (14.0, 21.0, Some(28.0)));
    }

    #[test]
    fn adam_in_mixed_precision_takes_sixteen_bytes_a_parameter_before_activations() {
        let need = need(&model(7e9, Dtype::BF16, false), Class::Training, None);

        assert_eq!((need.least, need.most), (112.0, None));
    }

    #[test]
    fn frozen_quantised_weights_take_what_they_take() {
        let need = need(&model(7e9, Dtype::INT4, false), Class::Training, None);

        assert_eq!((need.least, need.basis), (3.5, Basis::Frozen));
    }

    #[test]
    fn what_was_measured_outranks_the_estimate() {
        let measured = need(&model(7e9, Dtype::FP16, false), Class::Inference, Some(18.5));

        assert_eq!((measured.least, measured.basis), (18.5, Basis::Measured));
        assert_eq!(need(&model(7e9, Dtype::FP16, false), Class::Inference, Some(f64::NAN)).basis, Basis::Serving);
    }

    #[test]
    fn a_model_that_is_too_large_for_its_pool_is_told_the_cheapest_that_holds_it() {
        let misfit = misfit(&policy_in("t4", model(7e9, Dtype::FP16, false)), &offers(), None).unwrap();

        assert_eq!(
            misfit.sentence(),
            "the model needs about 21–28 GB (14 GB of weights, and KV cache and activations); its GPUs have 16 GB in pool \
             \"t4\"; pool \"l4\" is the cheapest that holds it"
        );
    }

    #[test]
    fn a_model_that_fits_or_whose_pool_says_nothing_is_no_misfit() {
        let seven = model(7e9, Dtype::FP16, false);

        assert_eq!(misfit(&policy_in("l4", seven), &offers(), None), None);
        assert_eq!(misfit(&policy_in("odd", model(7e12, Dtype::FP16, false)), &offers(), None), None);
    }

    #[test]
    fn more_gpus_a_replica_hold_more() {
        let mut policy = policy_in("t4", model(7e9, Dtype::FP16, false));
        policy.gpus_per_replica = Gpus(2);

        assert_eq!(misfit(&policy, &offers(), None), None);
    }

    #[test]
    fn only_a_split_model_may_use_the_memory_of_other_replicas() {
        let trainer = |sharded| {
            let wanted = trainer("llm").pool(in_pool("a100").running(1)).max(8).gpus_each(1);
            wanted.policy(|policy| policy.model = Some(model(7e9, Dtype::BF16, sharded))).build().0.policy
        };

        assert_eq!(misfit(&trainer(true), &offers(), None), None);
        let whole = misfit(&trainer(false), &offers(), None).unwrap();
        assert_eq!(whole.fits, None, "112 GB are on no single card");
    }

    #[test]
    fn a_pool_without_a_price_is_not_called_the_cheapest() {
        let offers =
            [offer("mystery", Some(81_559), 0.0), offer("h100", Some(81_559), 6.88), offer("t4", Some(15_360), 0.5)];

        let misfit = misfit(&policy_in("t4", model(13e9, Dtype::FP16, false)), &offers, None).unwrap();
        assert_eq!(misfit.fits, Some(PoolName::from("h100")));
    }
}
