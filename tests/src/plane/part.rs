//! The parts of the control plane and the order in which they need each other.

use serde::{Deserialize, Serialize};

/// One program of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Part {
    /// The store.
    Etcd,
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
    /// KWOK: plays the kubelets of the fake nodes.
    Kwok,
}

impl Part {
    /// All, each after what it needs.
    pub const ALL: [Self; 5] = [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Scheduler, Self::Kwok];

    /// The file name of its program, which also names its log.
    pub fn program(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kwok => "kwok",
        }
    }

    /// Where it says that it is ready, on its own port.
    pub(super) fn health(self, port: u16) -> String {
        match self {
            Self::Etcd => format!("http://127.0.0.1:{port}/health"),
            Self::ApiServer | Self::Scheduler => format!("https://127.0.0.1:{port}/readyz"),
            Self::ControllerManager => format!("https://127.0.0.1:{port}/healthz"),
            Self::Kwok => format!("http://127.0.0.1:{port}/healthz"),
        }
    }
}
