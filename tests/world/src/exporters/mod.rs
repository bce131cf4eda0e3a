//! Pages in the text format, as the real exporters would serve them.

pub mod cadvisor;
pub mod dcgm;
pub mod disguise;
pub mod node;
pub mod pod;
pub mod queue;
pub mod text;
