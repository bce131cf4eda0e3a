//! One row of a vector, read into buffers that are used again.

use super::labels::Labels;
use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// What a row holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number, as it came; may be NaN or infinite.
    Number(f64),
    /// Another kind of sample, or none.
    NoNumber(&'static str),
}

/// Reads `text`, one row, and puts its labels into `labels`.
pub fn read(text: &[u8], labels: &mut Labels) -> Result<Value, serde_json::Error> {
    labels.clear();
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = deserializer.deserialize_map(Row(labels))?;
    deserializer.end()?;
    Ok(value)
}

struct Row<'a>(&'a mut Labels);

impl<'de> Visitor<'de> for Row<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a series with its labels and its value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut value = Value::NoNumber("series without a value");
        while let Some(key) = map.next_key_seed(Key)? {
            match key {
                Part::Metric => map.next_value_seed(Metric(self.0))?,
                Part::Value => value = Value::Number(map.next_value_seed(Sample)?),
                Part::Histogram => {
                    map.next_value::<IgnoredAny>()?;
                    value = Value::NoNumber("native histogram");
                }
                Part::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(value)
    }
}

enum Part {
    Metric,
    Value,
    Histogram,
    Other,
}

struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Part;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Part, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part of a series")
    }

    fn visit_str<E>(self, text: &str) -> Result<Part, E> {
        Ok(match text {
            "metric" => Part::Metric,
            "value" => Part::Value,
            "histogram" => Part::Histogram,
            _ => Part::Other,
        })
    }
}

struct Metric<'a>(&'a mut Labels);

impl<'de> DeserializeSeed<'de> for Metric<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Metric<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("labels")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key_seed(Text(self.0))?.is_some() {
            map.next_value_seed(Text(self.0))?;
        }
        Ok(())
    }
}

struct Text<'a>(&'a mut Labels);

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Text<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.push(text);
        Ok(())
    }
}

/// `[instant, "number"]`.
struct Sample;

impl<'de> DeserializeSeed<'de> for Sample {
    type Value = f64;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Sample {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an instant and a number in quotes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<f64, A::Error> {
        parts.next_element::<f64>()?.ok_or_else(|| A::Error::custom("no instant"))?;
        parts.next_element_seed(Number)?.ok_or_else(|| A::Error::custom("no number"))
    }
}

struct Number;

impl<'de> DeserializeSeed<'de> for Number {
    type Value = f64;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number in quotes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        text.parse().map_err(|_| E::custom(format_args!("`{text}` is no number")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::labels::Labelled;
    use super::*;

    #[test]
    fn labels_and_the_value_are_read_in_any_order() {
        let mut labels = Labels::default();
        let value = read(br#"{"value":[1.5,"NaN"],"more":[{}],"metric":{"pod":"a\"b"}}"#, &mut labels).unwrap();

        assert!(matches!(value, Value::Number(number) if number.is_nan()));
        assert_eq!(labels.label("pod"), Some("a\"b"));
        let value = read(br#"{"metric":{},"value":[1,"+Inf"]}"#, &mut labels).unwrap();
        assert_eq!((value, labels.label("pod")), (Value::Number(f64::INFINITY), None));
    }

    #[test]
    fn what_holds_no_number_says_what_it_holds() {
        let mut labels = Labels::default();
        let mut read = |text: &str| read(text.as_bytes(), &mut labels);

        assert_eq!(read(r#"{"metric":{},"histogram":[1,{}]}"#).unwrap(), Value::NoNumber("native histogram"));
        assert_eq!(read(r#"{"metric":{}}"#).unwrap(), Value::NoNumber("series without a value"));
        for damaged in [r#"{"metric":{},"value":[1,"x"]}"#, r#"{"metric":{},"value":[1]}"#, r#"{"metric":{}"#] {
            assert!(read(damaged).is_err(), "{damaged}");
        }
    }
}
