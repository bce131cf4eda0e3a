//! Watches nodes and pods, and outlives the API server.

use crate::view::ClusterView;
use futures::{FutureExt, Stream, StreamExt, stream::select};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{
    Api, Client, Resource, ResourceExt,
    runtime::{WatchStreamExt, reflector, utils::Backoff, watcher},
};
use serde::de::DeserializeOwned;
use std::{collections::BTreeMap, fmt::Debug, pin::pin, time::Duration};
use tokio::{sync::watch, time::MissedTickBehavior};
use tokio_util::sync::CancellationToken;

/// How often a changed cluster is looked at anew.
const REFRESH: Duration = Duration::from_millis(100);
/// Shortest and longest pause before a broken watch is tried again: an API server on this machine is back in seconds.
const RETRY: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

struct Retry(Duration);

impl Iterator for Retry {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.0;
        self.0 = (pause * 2).min(RETRY.1);
        Some(pause)
    }
}

impl Backoff for Retry {
    fn reset(&mut self) {
        self.0 = RETRY.0;
    }
}

/// What the watches hold.
struct Held {
    nodes: reflector::Store<Node>,
    pods: reflector::Store<Pod>,
    node_selector: BTreeMap<String, String>,
}

impl Held {
    /// `None` until both watches have listed once.
    fn view(&self) -> Option<ClusterView> {
        self.nodes.wait_until_ready().now_or_never()?.ok()?;
        self.pods.wait_until_ready().now_or_never()?.ok()?;
        let (nodes, pods) = (self.nodes.state(), self.pods.state());
        Some(ClusterView::of(nodes.iter().map(AsRef::as_ref), pods.iter().map(AsRef::as_ref), &self.node_selector))
    }
}

/// Follows the cluster until `stop`. The view stays as it was while the API server is away.
pub fn watch(
    client: &Client,
    node_selector: BTreeMap<String, String>,
    stop: CancellationToken,
) -> watch::Receiver<ClusterView> {
    let (send, receive) = watch::channel(ClusterView::default());
    let (nodes, node_writer) = reflector::store();
    let (pods, pod_writer) = reflector::store();
    let events = select(follow(client, node_writer), follow(client, pod_writer));
    let held = Held { nodes, pods, node_selector };
    tokio::spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = tell(events, &held, &send) => {}
        }
    });
    receive
}

/// Keeps `writer`'s store in line with the API server; yields once for each change.
fn follow<K>(client: &Client, writer: reflector::store::Writer<K>) -> impl Stream<Item = watcher::Result<()>> + use<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    watcher(Api::<K>::all(client.clone()), watcher::Config::default())
        .backoff(Retry(RETRY.0))
        .modify(|object| object.managed_fields_mut().clear())
        .reflect(writer)
        .map(|event| event.map(drop))
}

/// Tells the cluster as it is now, soon after each change.
async fn tell(events: impl Stream<Item = watcher::Result<()>>, held: &Held, send: &watch::Sender<ClusterView>) {
    let mut events = pin!(events);
    let mut refresh = tokio::time::interval(REFRESH);
    refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut changed = false;
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(Ok(())) => changed = true,
                Some(Err(error)) => tracing::warn!(%error, "a watch broke and is tried again"),
                None => return,
            },
            _ = refresh.tick(), if changed => {
                if let Some(view) = held.view() {
                    send.send_if_modified(|old| std::mem::replace(old, view.clone()) != view);
                    changed = false;
                }
            }
        }
    }
}
