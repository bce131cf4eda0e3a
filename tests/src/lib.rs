//! The real control plane that the tests and the demo run on, and what they need to use it.
//!
//! - [`plane`]: etcd, kube-apiserver, controller-manager, scheduler and KWOK, started, stopped, killed and restarted.
//! - [`prometheus`]: a real Prometheus that scrapes the GPU world.
//! - [`fixture`]: a namespace and fake GPU nodes of a test's own; [`until`](mod@until): waits that say what they saw.
//! - [`operator`]: the operator as its charts install it, run outside with its `ServiceAccount`'s token.
//! - [`operator_fixture`]: a test's own operator, Prometheus and metrics; [`source`] exposes those, [`proxy`] breaks the way.
//! - [`world`]: the GPU world as a process.
//! - [`demo`]: what `make demo` plays, shows and checks.
//! - [`audit`]: who wrote and read what, from the API server's audit log.
//! - [`tools`]: the pinned `kubectl` and `helm`.

pub mod audit;
pub mod binaries;
pub mod demo;
pub mod fixture;
pub mod operator;
pub mod operator_fixture;
pub mod plane;
pub mod process;
pub mod prometheus;
pub mod proxy;
pub mod source;
pub mod state;
pub mod supervise;
pub mod tools;
pub mod until;
pub mod world;

pub use fixture::Fixture;
pub use operator_fixture::OperatorFixture;
pub use plane::{Part, Plane, RunningPlane};
pub use prometheus::Prometheus;
pub use until::until;
