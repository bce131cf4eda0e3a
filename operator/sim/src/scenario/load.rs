//! From a file to a scenario that holds together.

use super::Scenario;
use std::{fs, io, path::Path};

/// Why a scenario cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("{file}: cannot be read ({source}); give the path of a scenario file")]
    Read {
        /// The file.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The text is no scenario.
    #[error(
        "{file}: {problem}\nFix the line named above; tests/world/scenarios/demo.yaml shows every part of a scenario"
    )]
    Syntax {
        /// The file.
        file: String,
        /// What and where, with the line.
        problem: String,
    },
    /// The parts do not fit together.
    #[error("{file}: {path}: {problem}")]
    Invalid {
        /// The file.
        file: String,
        /// The path of the field.
        path: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A trace cannot be used.
    #[error(
        "{file}: {problem}; a trace is a CSV file with the header arrival_s,prompt_tokens,output_tokens, sorted by time"
    )]
    Trace {
        /// The trace's file.
        file: String,
        /// What is wrong, with the row where known.
        problem: String,
    },
    /// A curve of rates cannot be used.
    #[error("{file}: {problem}; a series is a CSV file with a column t_s, rising, and one of rates a second")]
    Series {
        /// The series' file.
        file: String,
        /// What is wrong, with the row where known.
        problem: String,
    },
}

impl Scenario {
    /// Reads and checks the scenario in `file`.
    pub fn load(file: &Path) -> Result<Self, ScenarioError> {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).map_err(|source| ScenarioError::Read { file: name.clone(), source })?;
        Self::parse(&text, &name, file.parent().unwrap_or(Path::new(".")))
    }

    /// Reads and checks the scenario in `text`; `name` stands for the file in messages, relative paths begin at `folder`.
    pub fn parse(text: &str, name: &str, folder: &Path) -> Result<Self, ScenarioError> {
        // YAML 1.2 booleans: `Off` is a word here, a state of the telemetry.
        let options = serde_saphyr::options! { strict_booleans: true };
        let mut scenario: Self = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| ScenarioError::Syntax { file: name.into(), problem: error.to_string() })?;
        scenario.folder = folder.into();
        scenario.check().map_err(|(path, problem)| ScenarioError::Invalid { file: name.into(), path, problem })?;
        Ok(scenario)
    }
}
