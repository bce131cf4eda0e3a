//! `wellfed simulate`: the models of GPU work behind the real judge, decide, plan and remember, in simulated time.

pub mod sampler;
