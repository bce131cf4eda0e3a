//! A rate that follows a recorded curve, as a day or a fortnight of a service does.

use super::arrivals::{one, output_tokens, prompt_tokens};
use super::{ScenarioError, Span};
use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};
use std::{fs::File, io::Read, path::Path};

/// Column with the time of each point, seconds.
const TIME: &str = "t_s";

/// Arrivals at a rate from a CSV file (or `.csv.gz`), linear between its points: Poisson requests (LLM, service) or a
/// steady flow of samples (training).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Series {
    /// Path of the file, relative to the scenario's. It has the columns `t_s`, rising, and `column`.
    pub file: String,
    /// Column with the rate, a second.
    #[serde(default = "column")]
    pub column: String,
    /// Factor on every rate.
    #[serde(default = "one")]
    pub scale: f64,
    /// Seconds of the curve in one real second: 4 plays a day in six hours, at the same rates.
    #[serde(default = "one")]
    pub time_scale: f64,
    /// Where in the curve to begin.
    #[serde(default)]
    pub from: Span,
    /// Begin again at the first row when the curve ends; else nothing arrives after it.
    #[serde(default, rename = "loop")]
    pub repeat: bool,
    /// Seed of the arrival times; the scenario's own is mixed in.
    #[serde(default)]
    pub seed: u64,
    /// Prompt tokens of each request.
    #[serde(default = "prompt_tokens")]
    pub prompt_tokens: u32,
    /// Output tokens of each request.
    #[serde(default = "output_tokens")]
    pub output_tokens: u32,
}

impl Series {
    /// Arrivals to expect in the `length` seconds that start `begun` seconds after the scenario began.
    pub fn expected(&self, curve: &Curve, begun: f64, length: f64) -> f64 {
        let place = |seconds: f64| self.from.seconds() + seconds * self.time_scale;
        let area = curve.area(place(begun + length), self.repeat) - curve.area(place(begun), self.repeat);
        self.scale * area.max(0.0) / self.time_scale
    }
}

/// A curve of rates. Time zero is its first row.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    points: Vec<Point>,
    /// Seconds from the first row to where it comes again: the last row counts as long as the one before it.
    period: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    at: f64,
    rate: f64,
    /// Arrivals from the first row to here.
    area: f64,
}

impl Curve {
    /// Reads the curve in `column` of `file`.
    pub fn read(file: &Path, column: &str) -> Result<Self, ScenarioError> {
        let problem = |problem: String| ScenarioError::Series { file: file.display().to_string(), problem };
        let opened = File::open(file).map_err(|error| problem(format!("cannot be read ({error})")))?;
        let packed = file.extension().is_some_and(|extension| extension == "gz");
        let bytes: Box<dyn Read> = if packed { Box::new(GzDecoder::new(opened)) } else { Box::new(opened) };
        rows(bytes, column).and_then(|rows| Self::through(&rows)).map_err(problem)
    }

    /// The curve through `rows` of (seconds, rate), or what is wrong with them.
    pub fn through(rows: &[(f64, f64)]) -> Result<Self, String> {
        let ([first, ..], [.., before, last]) = (rows, rows) else { return Err("has fewer than two rows".into()) };
        Self::between(rows, first.0, last.0 - before.0)
    }

    fn between(rows: &[(f64, f64)], start: f64, last_step: f64) -> Result<Self, String> {
        let mut points: Vec<Point> = Vec::with_capacity(rows.len());
        for (index, (at, rate)) in rows.iter().enumerate() {
            if !at.is_finite() || !rate.is_finite() || *rate < 0.0 {
                return Err(format!("row {} is {at},{rate}; it must be a time and a rate of at least 0", index + 2));
            }
            let area = match points.last() {
                Some(before) if before.at >= at - start => {
                    return Err(format!("row {} is not later than the one above it", index + 2));
                }
                Some(before) => before.area + (at - start - before.at) * f64::midpoint(before.rate, *rate),
                None => 0.0,
            };
            points.push(Point { at: at - start, rate: *rate, area });
        }
        let period = points.last().map_or(0.0, |last| last.at) + last_step;
        Ok(Self { points, period })
    }

    /// Arrivals from the first row to `at`.
    fn area(&self, at: f64, repeat: bool) -> f64 {
        if !repeat {
            return self.within(at);
        }
        let rounds = (at / self.period).floor();
        rounds * self.within(self.period) + self.within(at - rounds * self.period)
    }

    /// The same in one round; the last rate holds to the end of the round.
    fn within(&self, at: f64) -> f64 {
        let index = self.points.partition_point(|point| point.at <= at).saturating_sub(1);
        let Some(from) = self.points.get(index) else { return 0.0 };
        let at = at.min(self.period);
        let rate = self
            .points
            .get(index + 1)
            .map_or(from.rate, |to| from.rate + (to.rate - from.rate) * (at - from.at) / (to.at - from.at));
        from.area + (at - from.at) * f64::midpoint(from.rate, rate)
    }
}

fn rows(bytes: impl Read, column: &str) -> Result<Vec<(f64, f64)>, String> {
    let mut reader = csv::Reader::from_reader(bytes);
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let place = |name: &str| {
        let found = header.iter().position(|other| other.trim() == name);
        found.ok_or_else(|| format!("has no column \"{name}\" among {}", header.iter().collect::<Vec<_>>().join(", ")))
    };
    let (time, rate) = (place(TIME)?, place(column)?);
    let number = |row: &csv::StringRecord, place: usize| {
        let text = row.get(place).unwrap_or_default().trim();
        let line = row.position().map_or(0, csv::Position::line);
        text.parse::<f64>().map_err(|_| format!("line {line}: \"{text}\" is no number"))
    };
    reader
        .records()
        .map(|row| {
            let row = row.map_err(|error| error.to_string())?;
            Ok((number(&row, time)?, number(&row, rate)?))
        })
        .collect()
}

fn column() -> String {
    "per_second".into()
}
