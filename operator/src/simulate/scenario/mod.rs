//! A scenario of `wellfed simulate`: pools, workloads with their manifests, and how their work behaves.

mod check;
mod file;
mod manifest;
mod reader;

pub use file::{Measured, PodShape, PoolShape, Resolution, Targets};
pub use manifest::LOOK_EVERY;
pub use reader::Reader;

use super::error::SimulateError;
use super::lens::Lens;
use crate::intent::Measure;
use check::Checked;
use jiff::Timestamp;
use std::fs;
use std::path::{Path, PathBuf};
use wellfed_engine::policy::Policy;
use wellfed_engine::units::WorkloadId;
use wellfed_sim::scenario::{Change, Exporter, Workload};

/// A scenario that holds together.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is called: its file's name.
    pub name: String,
    /// Simulated time, seconds.
    pub length: f64,
    /// Time between cycles, seconds.
    pub cycle: f64,
    /// Seed of all chance.
    pub seed: u64,
    /// The instant at which it starts.
    pub start: Timestamp,
    /// How finely work is played.
    pub resolution: Resolution,
    /// Step of the request-level models, seconds.
    pub tick: f64,
    /// From a node to Ready, seconds.
    pub start_up: f64,
    /// dcgm-exporter's settings.
    pub exporter: Exporter,
    /// Where replicas run.
    pub pools: Vec<PoolShape>,
    /// What runs.
    pub workloads: Vec<Subject>,
    /// Causes that change.
    pub changes: Vec<Change>,
    /// Relative paths begin here.
    pub folder: PathBuf,
    /// What the gate's lane sees through; no file can say it.
    pub lens: Lens,
}

/// One workload: what is wanted of it, and how it behaves.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Which.
    pub id: WorkloadId,
    /// Its manifest, resolved as the operator does it.
    pub policy: Policy,
    /// In the order of `policy.pools`: the scenario's pool, and the name of the target there.
    pub targets: Vec<(usize, String)>,
    /// In the order of `policy.signals`.
    pub readers: Vec<Reader>,
    /// What its signals say of its work besides asking for replicas.
    pub measures: Vec<Measure>,
    /// Replicas at the start.
    pub replicas: u32,
    /// What each of its pods asks for.
    pub pod: PodShape,
    /// What the other autoscalers aim at.
    pub rivals: Targets,
    /// The longest that a request should take, seconds.
    pub slo: Option<f64>,
    /// How it behaves.
    pub work: Workload,
}

impl Scenario {
    /// Reads and checks the scenario in `file`.
    pub fn load(file: &Path) -> Result<Self, SimulateError> {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).map_err(|source| SimulateError::Read { file: name.clone(), source })?;
        Self::parse(&text, &name, file.parent().unwrap_or(Path::new(".")))
    }

    /// Reads and checks the scenario in `text`; `name` stands for the file in messages, relative paths begin at `folder`.
    pub fn parse(text: &str, name: &str, folder: &Path) -> Result<Self, SimulateError> {
        let file = file::File::parse(text)
            .map_err(|problem| SimulateError::Syntax { file: name.to_owned(), problem: problem.to_string() })?;
        let Checked { workloads } =
            file.check().map_err(|(path, problem)| SimulateError::Invalid { file: name.to_owned(), path, problem })?;
        Ok(Self {
            name: Path::new(name).file_stem().map_or(name.to_owned(), |stem| stem.to_string_lossy().into_owned()),
            length: file.length.seconds(),
            cycle: file.cycle.seconds(),
            seed: file.seed,
            start: file.start,
            resolution: file.resolution,
            tick: file.tick.seconds(),
            start_up: file.start_up.seconds(),
            exporter: Exporter {
                sm_active: file.exporter.sm_active,
                further_counters: file.exporter.further_counters,
                ..Exporter::default()
            },
            pools: file.pools,
            workloads,
            changes: file.changes,
            folder: folder.to_path_buf(),
            lens: Lens::default(),
        })
    }

    /// The instant `seconds` after the start, to the millisecond.
    #[allow(clippy::cast_possible_truncation)] // milliseconds of any simulated time fit
    pub fn at(&self, seconds: f64) -> Timestamp {
        let since = jiff::SignedDuration::from_millis((seconds * 1000.0).round() as i64);
        self.start.saturating_add(since).unwrap_or(self.start)
    }
}
