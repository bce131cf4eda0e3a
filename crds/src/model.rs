//! The model of a workload, as far as its memory depends on it.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// What a model's memory depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Parameters, such as `7B`.
    pub params: Params,
    /// The type of its weights.
    pub dtype: Dtype,
    /// Whether it is split over the replicas (ZeRO-3, FSDP, pipeline stages), so that more of them hold less each.
    #[serde(default)]
    pub sharded: bool,
}

/// The type of a model's weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Dtype {
    /// 4 bytes a parameter.
    FP32,
    /// 2 bytes.
    BF16,
    /// 2 bytes.
    FP16,
    /// 1 byte.
    FP8,
    /// 1 byte.
    INT8,
    /// Half a byte.
    INT4,
}

/// A count of parameters as models are named: `70M`, `7B`, `1.5T`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Params(pub String);

/// Why a text is no count of parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no count of parameters above zero; write one such as \"350M\", \"7B\" or \"1.5T\"")]
pub struct ParamsError(pub String);

impl Params {
    /// As a number, above zero.
    pub fn to_f64(&self) -> Result<f64, ParamsError> {
        let suffixes = [("K", 1e3), ("M", 1e6), ("B", 1e9), ("T", 1e12)];
        let known = suffixes.iter().find_map(|(suffix, factor)| Some((self.0.strip_suffix(suffix)?, factor)));
        let number = known.filter(|(digits, _)| digits.starts_with(|first: char| first.is_ascii_digit()));
        let number = number.and_then(|(digits, factor)| Some(digits.parse::<f64>().ok()? * factor));
        number.filter(|number| number.is_finite() && *number > 0.0).ok_or_else(|| ParamsError(self.0.clone()))
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for Params {
    fn schema_name() -> Cow<'static, str> {
        "Params".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?[KMBT]$", "maxLength": 16 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_counted_as_models_are_named() {
        let cases = [("7B", 7e9), ("350M", 3.5e8), ("1.5T", 1.5e12), ("800K", 8e5)];
        for (text, number) in cases {
            assert_eq!(Params(text.into()).to_f64(), Ok(number), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_an_example() {
        for text in ["", "B", "7", "7b", "0B", "-7B", "infB", "7 B", "7GB"] {
            assert!(Params(text.into()).to_f64().unwrap_err().to_string().contains("\"7B\""), "{text}");
        }
    }
}
