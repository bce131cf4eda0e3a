//! Kubernetes quantities, as HPA takes them: `32`, `200m`, `1.5k`, `2Gi`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// A non-negative number with an optional suffix; written back as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Quantity(pub String);

/// A plain number is as good as its text, as everywhere in Kubernetes.
impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum TextOrNumber {
            Text(String),
            Number(serde_json::Number),
        }
        Ok(match TextOrNumber::deserialize(deserializer)? {
            TextOrNumber::Text(text) => Self(text),
            TextOrNumber::Number(number) => Self(number.to_string()),
        })
    }
}

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a quantity; write a number such as \"32\", \"200m\", \"1.5k\" or \"2Gi\"")]
pub struct QuantityError(pub String);

const SUFFIXES: [(&str, f64); 15] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
];

impl Quantity {
    /// As a number. Fails where the text has another form, or is negative.
    pub fn to_f64(&self) -> Result<f64, QuantityError> {
        let suffix = SUFFIXES.iter().find_map(|(suffix, factor)| Some((self.0.strip_suffix(suffix)?, *factor)));
        let (digits, factor) = suffix.unwrap_or((&self.0, 1.0));
        let well_formed = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.');
        let number = digits.parse::<f64>().ok().filter(|_| well_formed).filter(|number| number.is_finite());
        number.map(|number| number * factor).ok_or_else(|| QuantityError(self.0.clone()))
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-kubernetes-int-or-string": true,
            "pattern": r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+|[KMGTPE]i|[numkMGTPE])?$",
            "maxLength": 32,
            "minimum": 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_mean_what_they_mean_to_kubernetes() {
        let cases =
            [("32", 32.0), ("200m", 0.2), ("1.5k", 1500.0), ("2Ki", 2048.0), ("1e3", 1000.0), ("0", 0.0), ("1E", 1e18)];
        for (text, number) in cases {
            assert_eq!(Quantity(text.into()).to_f64(), Ok(number), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_an_example() {
        for text in ["", "-1", "+1", "NaN", "inf", "ten", "1 Gi", "1e999"] {
            assert!(Quantity(text.into()).to_f64().is_err(), "{text}");
        }
        assert!(QuantityError("ten".into()).to_string().contains("\"200m\""));
    }
}
