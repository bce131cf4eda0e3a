//! How much GPU memory a model needs, and on which pools it fits.

mod place;

use crate::policy::Class;
use serde::{Deserialize, Serialize};

pub use place::{Fit, Offer, Sizing, sizing};

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

impl Need {
    fn summary(&self) -> String {
        let (weights, least) = (gigabytes(self.weights), gigabytes(self.least));
        match (self.basis, self.most.map(gigabytes)) {
            (Basis::Measured, _) => format!("{weights} GB of weights, {least} GB measured at the peak"),
            (Basis::Serving, Some(most)) => {
                format!("{weights} GB of weights, {least}–{most} GB with KV cache and activations")
            }
            (Basis::Frozen, _) => format!("{weights} GB of frozen weights, and what is trained beside them"),
            (Basis::Serving | Basis::Adam, _) => {
                format!("{weights} GB of weights, {least} GB with gradients and Adam's state, and activations on top")
            }
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    const fn model(params: f64, dtype: Dtype, sharded: bool) -> Model {
        Model { params, dtype, sharded }
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
}
