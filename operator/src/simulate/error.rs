//! Why a scenario cannot be simulated.

use std::io;

/// Why a scenario cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// The file cannot be read.
    #[error(
        "{file}: cannot be read ({source}); give the path of a scenario, such as examples/simulate/starved-trainer.yaml"
    )]
    Read {
        /// The file.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The text is no scenario.
    #[error("{file}: {problem}\nFix the line named above; docs/simulate.md tells what a scenario holds")]
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
    /// The report cannot be written.
    #[error("{file}: cannot be written ({source}); choose another folder with --output")]
    Write {
        /// The file.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The picture cannot be drawn.
    #[error("the picture of {workload} cannot be drawn ({problem}); please report this")]
    Draw {
        /// Whose picture.
        workload: String,
        /// What the library says.
        problem: String,
    },
    /// A model panicked.
    #[error("the simulation stopped ({message}); please report this")]
    Panicked {
        /// What the panic said.
        message: String,
    },
    /// A decision panicked.
    #[error("deciding {workload} failed ({message}); please report this")]
    Decide {
        /// Whose decision.
        workload: String,
        /// What the panic said.
        message: String,
    },
}
