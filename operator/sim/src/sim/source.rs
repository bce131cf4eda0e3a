//! Turns a trace or a rate into arrivals, the same ones for the same seed.

use super::lengths::Lengths;
use crate::scenario::{Arrivals, Curve, ScenarioError, Trace};
use flate2::read::GzDecoder;
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde::Deserialize;
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

/// One request on its way in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// When, on the models' clock, seconds.
    pub at: f64,
    /// Tokens of the prompt.
    pub prompt: u32,
    /// Tokens to generate.
    pub output: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    arrival_s: f64,
    prompt_tokens: u32,
    output_tokens: u32,
}

/// A stretch of the scenario's time.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Its start on the models' clock, seconds.
    pub from: f64,
    /// Its length, seconds.
    pub length: f64,
    /// Seconds since the scenario began, at its start.
    pub begun: f64,
}

/// The place in a trace, or the state of the dice.
#[derive(Debug)]
pub struct Source {
    folder: PathBuf,
    dice: StdRng,
    lengths: Lengths,
    /// Expected arrivals still to pass before the next one.
    until_next: f64,
    rows: Arc<[Row]>,
    loaded: Option<String>,
    /// File, column and curve of a series.
    curve: Option<(String, String, Curve)>,
    position: f64,
    next: usize,
}

impl Source {
    /// A source for `arrivals`; reads the trace if there is one.
    pub fn new(arrivals: &Arrivals, folder: &Path, seed: u64) -> Result<Self, ScenarioError> {
        let own = match arrivals {
            Arrivals::Rate(rate) => rate.seed,
            Arrivals::Series(series) => series.seed,
            Arrivals::Trace(_) => 0,
        };
        let mut dice = StdRng::seed_from_u64(seed ^ own.rotate_left(32));
        let until_next = exponential(&mut dice);
        let mut source = Self {
            folder: folder.into(),
            dice,
            lengths: Lengths::new(seed),
            until_next,
            rows: Arc::new([]),
            loaded: None,
            curve: None,
            position: 0.0,
            next: 0,
        };
        source.follow(arrivals)?;
        Ok(source)
    }

    /// Loads the trace or the curve that `arrivals` names now, if it is another one than before.
    pub fn follow(&mut self, arrivals: &Arrivals) -> Result<(), ScenarioError> {
        if let Arrivals::Trace(trace) = arrivals
            && self.loaded.as_ref() != Some(&trace.file)
        {
            self.rows = read(&self.folder.join(&trace.file))?.into();
            self.loaded = Some(trace.file.clone());
            self.rewind(trace);
        }
        if let Arrivals::Series(series) = arrivals {
            let same = |(file, column, _): &(String, String, Curve)| *file == series.file && *column == series.column;
            if !self.curve.as_ref().is_some_and(same) {
                let curve = Curve::read(&self.folder.join(&series.file), &series.column)?;
                self.curve = Some((series.file.clone(), series.column.clone(), curve));
            }
        }
        Ok(())
    }

    /// The requests that arrive in `stretch`, in order of time.
    pub fn requests(&mut self, arrivals: &Arrivals, stretch: Stretch) -> Vec<Arrival> {
        match arrivals {
            Arrivals::Trace(trace) => self.replay(trace, stretch),
            Arrivals::Rate(rate) => {
                let mut found = self.draw(arrivals, stretch, (rate.prompt_tokens, rate.output_tokens));
                for request in found.iter_mut().filter(|_| rate.length_spread > 0.0) {
                    *request = self.lengths.spread(*request, rate.length_spread);
                }
                found
            }
            Arrivals::Series(series) => self.draw(arrivals, stretch, (series.prompt_tokens, series.output_tokens)),
        }
    }

    /// Arrivals that a rate lets expect in `stretch`; none for a trace.
    pub fn expected(&self, arrivals: &Arrivals, stretch: Stretch) -> f64 {
        match (arrivals, &self.curve) {
            (Arrivals::Rate(rate), _) => rate.at(stretch.begun) * stretch.length,
            (Arrivals::Series(series), Some((.., curve))) => series.expected(curve, stretch.begun, stretch.length),
            (Arrivals::Series(_), None) | (Arrivals::Trace(_), _) => 0.0,
        }
    }

    fn replay(&mut self, trace: &Trace, stretch: Stretch) -> Vec<Arrival> {
        let started = self.position;
        let end = started + stretch.length * trace.time_scale;
        let mut found = Vec::new();
        while let Some(row) = self.rows.get(self.next).filter(|row| row.arrival_s < end) {
            let at = stretch.from + (row.arrival_s - started).max(0.0) / trace.time_scale;
            found.push(Arrival { at, prompt: row.prompt_tokens, output: row.output_tokens });
            self.next += 1;
        }
        self.position = end;
        if trace.repeat && self.next >= self.rows.len() {
            self.rewind(trace);
        }
        found
    }

    fn rewind(&mut self, trace: &Trace) {
        self.position = trace.from.seconds();
        self.next = self.rows.partition_point(|row| row.arrival_s < self.position);
    }

    fn draw(&mut self, arrivals: &Arrivals, stretch: Stretch, (prompt, output): (u32, u32)) -> Vec<Arrival> {
        let expected = self.expected(arrivals, stretch);
        let mut passed = 0.0;
        let mut found = Vec::new();
        while passed + self.until_next < expected {
            passed += self.until_next;
            self.until_next = exponential(&mut self.dice);
            let at = stretch.from + stretch.length * passed / expected;
            found.push(Arrival { at, prompt, output });
        }
        self.until_next -= expected - passed;
        found
    }
}

fn exponential(dice: &mut StdRng) -> f64 {
    -(1.0 - dice.random::<f64>()).ln()
}

fn read(file: &Path) -> Result<Vec<Row>, ScenarioError> {
    let problem = |problem: String| ScenarioError::Trace { file: file.display().to_string(), problem };
    let opened = File::open(file).map_err(|error| problem(format!("cannot be read ({error})")))?;
    let packed = file.extension().is_some_and(|extension| extension == "gz");
    let bytes: Box<dyn Read> = if packed { Box::new(GzDecoder::new(opened)) } else { Box::new(opened) };
    let rows: Vec<Row> = csv::Reader::from_reader(bytes)
        .into_deserialize()
        .collect::<Result<_, _>>()
        .map_err(|error| problem(error.to_string()))?;
    if rows.is_empty() {
        return Err(problem("has no rows".into()));
    }
    if let Some(at) = rows.windows(2).position(|pair| pair[0].arrival_s > pair[1].arrival_s) {
        return Err(problem(format!("row {} arrives before the one above it", at + 3)));
    }
    Ok(rows)
}
