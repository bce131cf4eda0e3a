//! A plane whose processes are ours: start, stop, kill, start again.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use nix::sys::signal::Signal;
use serde::Serialize;

use super::launch::Layout;
use super::{DESCRIPTION, Part, Plane, PlaneError, health};
use crate::binaries::Binaries;
use crate::process::{Group, Launch, Process, ProcessId};
use crate::state::{self, StateFolder};
use crate::until;

/// A part is ready in about a second; a machine that also compiles needs longer.
const READY_WITHIN: Duration = Duration::from_mins(2);

/// A plane that this process started. Dropping it kills all parts and removes the state folder.
#[derive(Debug)]
pub struct RunningPlane {
    plane: Plane,
    layout: Layout,
    http: reqwest::Client,
    group: Group,
    parts: Mutex<BTreeMap<Part, Process>>,
    folder: StateFolder,
    turn: Option<File>,
}

impl Deref for RunningPlane {
    type Target = Plane;

    fn deref(&self) -> &Plane {
        &self.plane
    }
}

impl RunningPlane {
    /// Retries with other ports when somebody took one between the choice and the start.
    pub(super) async fn start_new(binaries: Binaries) -> Result<Self, PlaneError> {
        for _ in 0..2 {
            match Self::start_once(binaries.clone()).await {
                Err(error) if error.port_taken() => {}
                settled => return settled,
            }
        }
        Self::start_once(binaries).await
    }

    /// As `start_new`, holding the machine-wide turn of private planes.
    pub(super) async fn start_in_turn(binaries: Binaries) -> Result<Self, PlaneError> {
        let path = state::root()?.join("private-plane.lock");
        let lock = File::create(&path).map_err(PlaneError::file(&path))?;
        while let Err(taken) = lock.try_lock() {
            match taken {
                TryLockError::WouldBlock => tokio::time::sleep(Duration::from_millis(200)).await,
                TryLockError::Error(source) => return Err(PlaneError::file(path)(source)),
            }
        }
        let mut plane = Self::start_new(binaries).await?;
        plane.turn = Some(lock);
        Ok(plane)
    }

    async fn start_once(binaries: Binaries) -> Result<Self, PlaneError> {
        let plane = Self::prepare(binaries)?;
        plane.start(Part::Etcd).await?;
        plane.start(Part::ApiServer).await?;
        futures::try_join!(
            plane.start(Part::ControllerManager),
            plane.start(Part::Scheduler),
            plane.start(Part::Kwok)
        )?;
        plane.layout.write_kubeconfig("admin", &plane.kubeconfig)?;
        plane.settle().await?;
        Ok(plane)
    }

    /// Everything but the processes.
    fn prepare(binaries: Binaries) -> Result<Self, PlaneError> {
        // Named before anything is made, so that a missing program costs nothing.
        Part::ALL.iter().try_for_each(|part| binaries.path(part.program()).map(drop))?;
        let folder = StateFolder::create("plane")?;
        let layout = Layout::create(folder.path().to_owned())?;
        let plane = layout.describe(binaries);
        let http = health::client(&plane.certificate_authority)?;
        let (group, parts) = (Group::default(), Mutex::default());
        Ok(Self { plane, layout, http, group, parts, folder, turn: None })
    }

    /// Starts `part` on its own port and data, and waits until it is ready.
    pub async fn start(&self, part: Part) -> Result<(), PlaneError> {
        if self.parts().contains_key(&part) {
            return Err(PlaneError::AlreadyRunning(part));
        }
        let mut process = Process::start(&self.launch(part)?, &self.group)?;
        self.folder.remember(process.id())?;
        let url = part.health(self.layout.port(part));
        process.ready(READY_WITHIN, async || health::ask(&self.http, &url).await).await?;
        self.parts().insert(part, process);
        self.save()
    }

    /// SIGTERM, and waits until the part is gone.
    pub async fn stop(&self, part: Part) -> Result<(), PlaneError> {
        self.take(part)?.stop().await?;
        self.save()
    }

    /// SIGKILL, and waits until the part is gone.
    pub fn kill(&self, part: Part) -> Result<(), PlaneError> {
        self.take(part)?.kill();
        self.save()
    }

    /// The process of each running part.
    pub fn processes(&self) -> BTreeMap<Part, ProcessId> {
        self.parts().iter().map(|(part, process)| (*part, process.id())).collect()
    }

    /// Has a process that is not a part of the plane (the wrapper's command) ended with a killed run.
    pub fn remember(&self, process: ProcessId) -> Result<(), PlaneError> {
        Ok(self.folder.remember(process)?)
    }

    fn launch(&self, part: Part) -> Result<Launch, PlaneError> {
        Ok(Launch {
            name: part.program().to_owned(),
            program: self.plane.binaries.path(part.program())?,
            args: self.layout.args(part).into_iter().map(Into::into).collect(),
            env: Vec::new(),
            log: self.layout.log(part),
        })
    }

    /// The controllers work once the first namespace has its `ServiceAccount`.
    async fn settle(&self) -> Result<(), PlaneError> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await?, "default");
        until("the ServiceAccount default/default", READY_WITHIN, async || Ok(accounts.get("default").await?)).await?;
        Ok(())
    }

    /// Writes plane.json: the description and the process numbers of this moment.
    fn save(&self) -> Result<(), PlaneError> {
        let path = self.plane.state.join(DESCRIPTION);
        let pids: BTreeMap<Part, u32> = self.processes().into_iter().map(|(part, id)| (part, id.pid)).collect();
        let file = Described { plane: &self.plane, pids };
        serde_json::to_vec_pretty(&file)
            .map_err(std::io::Error::other)
            .and_then(|json| std::fs::write(&path, json))
            .map_err(PlaneError::file(path))
    }

    fn take(&self, part: Part) -> Result<Process, PlaneError> {
        self.parts().remove(&part).ok_or(PlaneError::NotRunning(part))
    }

    fn parts(&self) -> MutexGuard<'_, BTreeMap<Part, Process>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunningPlane {
    fn drop(&mut self) {
        // The data is thrown away, so nothing needs an orderly end; the parts are reaped as the map drops.
        self.group.signal(Signal::SIGKILL);
    }
}

/// plane.json.
#[derive(Serialize)]
struct Described<'a> {
    #[serde(flatten)]
    plane: &'a Plane,
    pids: BTreeMap<Part, u32>,
}
