//! Faults on the way from an application to a decision, on a real control plane and a real Prometheus: what can't be
//! believed is never taken for less load, and a user reads what is wrong.

mod absent;
mod age;
mod answers;
mod fallback;
mod outage;
mod queries;
mod rebuilt;
mod stage;
mod two;
mod values;
mod vllm;
