//! The command line of each part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::credentials::{Credentials, FRONT_PROXY};
use super::{Part, Plane, PlaneError, kubeconfig, ports};
use crate::binaries::{Binaries, CONTROLPLANE};

/// KWOK renews a node's Lease four times in this many seconds.
const NODE_LEASE_SECONDS: u32 = 16;
/// A node whose kubelet fell silent is `NotReady` after this; more than a Lease, so that a busy machine kills no node.
const NODE_GRACE_SECONDS: u32 = 20;

/// Each part that talks to the API server does so as itself, so that the audit log tells them apart.
const USERS_OF_PARTS: [(Part, &str); 3] = [
    (Part::ControllerManager, "system:kube-controller-manager"),
    (Part::Scheduler, "system:kube-scheduler"),
    (Part::Kwok, "kwok"),
];

/// Everything that a plane's command lines are made of; it stays the same over restarts of a part.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The plane's state folder.
    pub state: PathBuf,
    /// Certificates and tokens.
    pub credentials: Credentials,
    /// The port of each part.
    pub ports: BTreeMap<Part, u16>,
    /// etcd's second port.
    pub etcd_peer: u16,
}

impl Layout {
    /// Chooses ports, makes the credentials, writes the kubeconfigs of the parts.
    pub fn create(state: PathBuf) -> Result<Self, PlaneError> {
        let credentials = Credentials::create(state.join("pki"))?;
        let mut ports = BTreeMap::new();
        for part in Part::ALL {
            ports.insert(part, ports::free()?);
        }
        let made = Self { state, credentials, ports, etcd_peer: ports::free()? };
        for (part, user) in USERS_OF_PARTS {
            made.write_kubeconfig(user, &made.kubeconfig(part))?;
        }
        Ok(made)
    }

    /// The plane as others see it.
    pub fn describe(&self, binaries: Binaries) -> Plane {
        Plane {
            state: self.state.clone(),
            server: self.server(),
            kubeconfig: self.state.join("kubeconfig"),
            certificate_authority: self.credentials.file("ca.crt"),
            audit_log: self.audit_log(),
            binaries,
            ports: self.ports.clone(),
        }
    }

    /// Writes a kubeconfig for one of the plane's own users.
    pub fn write_kubeconfig(&self, user: &str, path: &Path) -> Result<(), PlaneError> {
        let token = self.credentials.token(user)?;
        let user = kubeconfig::User { name: user, token: &token, namespace: "default" };
        kubeconfig::write(path, &self.server(), &self.credentials.file("ca.crt"), user)
    }

    /// The API server's address.
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.port(Part::ApiServer))
    }

    /// The kubeconfig that `part` is started with.
    pub fn kubeconfig(&self, part: Part) -> PathBuf {
        self.state.join(format!("{}.kubeconfig", part.program()))
    }

    /// Where `part` logs.
    pub fn log(&self, part: Part) -> PathBuf {
        self.state.join(format!("{}.log", part.program()))
    }

    /// The audit log of the API server.
    pub fn audit_log(&self) -> PathBuf {
        self.state.join("audit.log")
    }

    /// The port of `part`.
    pub fn port(&self, part: Part) -> u16 {
        self.ports.get(&part).copied().unwrap_or_default()
    }

    /// The arguments of `part`.
    pub fn args(&self, part: Part) -> Vec<String> {
        match part {
            Part::Etcd => self.etcd(),
            Part::ApiServer => self.api_server(),
            Part::ControllerManager => self.controller_manager(),
            Part::Scheduler => self.client_of_api_server(part),
            Part::Kwok => self.kwok(),
        }
    }

    fn etcd(&self) -> Vec<String> {
        let client = format!("http://127.0.0.1:{}", self.port(Part::Etcd));
        let peer = format!("http://127.0.0.1:{}", self.etcd_peer);
        vec![
            flag("data-dir", self.state.join("etcd").display()),
            flag("listen-client-urls", &client),
            flag("advertise-client-urls", &client),
            flag("listen-peer-urls", &peer),
            flag("initial-advertise-peer-urls", &peer),
            flag("initial-cluster", format!("default={peer}")),
            flag("log-level", "warn"),
            // A killed etcd loses nothing without fsync: only a crash of the machine would, and that ends the run too.
            flag("unsafe-no-fsync", true),
        ]
    }

    fn api_server(&self) -> Vec<String> {
        let mut args = vec![
            flag("etcd-servers", format!("http://127.0.0.1:{}", self.port(Part::Etcd))),
            flag("authorization-mode", "RBAC"),
            flag("token-auth-file", self.pki("tokens.csv")),
            flag("service-cluster-ip-range", "10.0.0.0/24"),
            flag("service-account-issuer", "https://kubernetes.default.svc"),
            flag("service-account-key-file", self.pki("service-accounts.pub")),
            flag("service-account-signing-key-file", self.pki("service-accounts.key")),
            flag("audit-policy-file", format!("{CONTROLPLANE}/audit-policy.yaml")),
            flag("audit-log-path", self.audit_log().display()),
            // No rotation: a test may ask about anything since the start.
            flag("audit-log-maxsize", 0),
            // Ends the watches at a stop: left open, they hold it up for a minute.
            flag("shutdown-watch-termination-grace-period", "1s"),
        ];
        args.extend(self.serving(Part::ApiServer));
        args.extend(self.front_proxy());
        args
    }

    /// What aggregated API servers (metrics adapters) trust the API server by.
    fn front_proxy(&self) -> [String; 7] {
        [
            flag("requestheader-client-ca-file", self.pki("front-proxy-ca.crt")),
            flag("requestheader-allowed-names", FRONT_PROXY),
            flag("requestheader-username-headers", "X-Remote-User"),
            flag("requestheader-group-headers", "X-Remote-Group"),
            flag("requestheader-extra-headers-prefix", "X-Remote-Extra-"),
            flag("proxy-client-cert-file", self.pki(&format!("{FRONT_PROXY}.crt"))),
            flag("proxy-client-key-file", self.pki(&format!("{FRONT_PROXY}.key"))),
        ]
    }

    fn controller_manager(&self) -> Vec<String> {
        let mut args = self.client_of_api_server(Part::ControllerManager);
        args.extend([
            flag("use-service-account-credentials", true),
            flag("service-account-private-key-file", self.pki("service-accounts.key")),
            flag("root-ca-file", self.pki("ca.crt")),
            flag("node-monitor-period", "1s"),
            flag("node-monitor-grace-period", format!("{NODE_GRACE_SECONDS}s")),
            flag("horizontal-pod-autoscaler-sync-period", "5s"),
        ]);
        args
    }

    fn kwok(&self) -> Vec<String> {
        vec![
            flag("kubeconfig", self.kubeconfig(Part::Kwok).display()),
            flag("config", format!("{CONTROLPLANE}/stages.yaml")),
            flag("manage-all-nodes", true),
            flag("node-ip", "127.0.0.1"),
            flag("cidr", "10.244.0.0/16"),
            flag("node-lease-duration-seconds", NODE_LEASE_SECONDS),
            flag("server-address", format!("127.0.0.1:{}", self.port(Part::Kwok))),
        ]
    }

    /// Shared by the controller-manager and the scheduler. The client limits allow runs with thousands of pods.
    fn client_of_api_server(&self, part: Part) -> Vec<String> {
        let mut args = vec![
            flag("kubeconfig", self.kubeconfig(part).display()),
            flag("leader-elect", false),
            flag("authentication-skip-lookup", true),
            flag("kube-api-qps", 500),
            flag("kube-api-burst", 1000),
        ];
        args.extend(self.serving(part));
        args
    }

    fn serving(&self, part: Part) -> [String; 4] {
        [
            flag("bind-address", "127.0.0.1"),
            flag("secure-port", self.port(part)),
            flag("tls-cert-file", self.pki("serving.crt")),
            flag("tls-private-key-file", self.pki("serving.key")),
        ]
    }

    fn pki(&self, name: &str) -> String {
        self.credentials.file(name).display().to_string()
    }
}

fn flag(name: &str, value: impl std::fmt::Display) -> String {
    format!("--{name}={value}")
}
