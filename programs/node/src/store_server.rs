//! A replica with a disk, links and time: the store role of `iolite serve`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use iolite_host::{
    Clock, Inbox, LinkSettings, Links, LinksError, MachineJournal, Mailbox, Metrics, Performer, Shutdown, Site, drive,
    mailbox, random_seed,
};
use iolite_replication::node::{Boot, Group, ReplicaId, Split};
use iolite_replication::{Broken, Extent, RecoverError, Replica, ReplicaSettings, Retention};
use iolite_values::StoreIncarnation;
use tokio::net::TcpListener;

use crate::clients::Ready;
use crate::config::{Cluster, Faults, Kept, StoreConfig};
use crate::directory::Directory;
use crate::journal::{self, Failure};
use crate::names::{NodeNames, NodeRole};
use crate::recovery;
use crate::replica_directory::{OpenReplica, ReplicaDirectoryError, Start, open_replica};
use crate::server::INBOX_BYTES_MAX;
use crate::store_links::{FromStore, StoreLinks};
use crate::store_metrics::StoreMetrics;
use crate::{RunError, Store, StoreInput, StoreOutput};

/// What a replica's process is started with.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    pub directory: Directory,
    pub store: StoreConfig,
    pub security: iolite_host::LinkSecurity,
    /// Half of a round trip, in addition.
    pub delay: Duration,
    pub start: Start,
    pub faults: Faults,
    pub clock: Clock,
    /// A journal of fewer bytes is left without a checkpoint: replaying it takes a moment.
    pub checkpoint_bytes_min: u64,
}

/// Why a replica does not start. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreServerError {
    #[error("there is no replica {} in the cluster's file: add it, or correct the number", id.0)]
    Unknown { id: ReplicaId },
    #[error(transparent)]
    Directory(#[from] ReplicaDirectoryError),
    #[error("the data directory {} cannot be recovered: {source}", data.display())]
    Recovery { data: std::path::PathBuf, source: RecoverError },
    #[error(
        "cannot listen on {address}: {source}. Stop what listens there, or correct `listen` or the replica's address in the cluster's file"
    )]
    Listen { address: String, source: std::io::Error },
    #[error(
        "cannot listen on {address} for probes and metrics: {source}. Stop what listens there, or correct `observe`"
    )]
    Observe { address: SocketAddr, source: std::io::Error },
    #[error(transparent)]
    Links(#[from] LinksError),
    #[error("the journal's thread cannot be started: {0}")]
    Thread(std::io::Error),
}

/// A replica that has its data and its ports, and is about to serve.
pub struct StoreServer {
    store: Store,
    journal: MachineJournal,
    listeners: Vec<TcpListener>,
    observe: Option<TcpListener>,
    links: Links<StoreLinks>,
    directory: Directory,
    metrics: Metrics,
    clock: Clock,
    inbox: Inbox<StoreInput>,
    failure: Failure,
    shutdown: Shutdown,
}

impl StoreServer {
    /// Opens the data directory and the ports.
    ///
    /// # Errors
    /// [`StoreServerError`]; nothing is left running.
    pub async fn open(settings: StoreSettings, shutdown: Shutdown) -> Result<StoreServer, StoreServerError> {
        let StoreSettings { directory, store: config, security, delay, start, faults, clock, checkpoint_bytes_min } =
            settings;
        let cluster = directory.cluster();
        let Kept { group, extent } = cluster.shard_of(config.id).ok_or(StoreServerError::Unknown { id: config.id })?;
        let mut listeners = Vec::new();
        for address in &config.listen {
            let listening = |source| StoreServerError::Listen { address: address.clone(), source };
            listeners.push(TcpListener::bind(address).await.map_err(listening)?);
        }
        let observe = match config.observe {
            Some(address) => {
                let bound = TcpListener::bind(address).await;
                Some(bound.map_err(|source| StoreServerError::Observe { address, source })?)
            }
            None => None,
        };
        let owner = (cluster.store, config.id, group);
        let OpenReplica { journal, recovery, first_group } =
            open_replica(&config.data, owner, start, config.durability, &faults)?;
        // Who comes later has the rows from the others.
        let origin = cluster.origin_of(&first_group).filter(|_| first_group.contains(config.id)).cloned();
        let recovered = recover((cluster.store, config.id), (first_group, extent.clone(), origin), &recovery);
        let replica = recovered.map_err(|source| StoreServerError::Recovery { data: config.data.clone(), source })?;
        drop(recovery);

        let metrics = Metrics::default();
        let class = journal.durability().name();
        metrics.fact("iolite_durability", "What durable means in the running journal.", "class", class);
        let syncs = metrics.summary("iolite_journal_sync_seconds", "Syncs of the journal's disk.");
        let (mailbox, inbox) = mailbox(INBOX_BYTES_MAX);
        let links = links(config.id, cluster, (security, delay), mailbox.clone(), &metrics, &shutdown)?;
        let (tell, failure) = journal::tell(mailbox, StoreInput::Journal);
        let journal = MachineJournal::start(journal, syncs, tell).map_err(StoreServerError::Thread)?;
        let store = Store::new(replica, checkpoint_bytes_min);
        Ok(StoreServer {
            store,
            journal,
            listeners,
            observe,
            links,
            directory,
            metrics,
            clock,
            inbox,
            failure,
            shutdown,
        })
    }

    /// Serves until it is told to stop. What was said is durable, and the data directory free, when this returns.
    ///
    /// # Errors
    /// [`RunError`], when the disk fails.
    pub async fn run(mut self) -> Result<(), RunError> {
        let mut listening = Vec::new();
        for listener in std::mem::take(&mut self.listeners) {
            let accepting = self.links.listen(listener).map_err(|error| RunError::Links(error.to_string()))?;
            listening.push(tokio::spawn(accepting));
        }
        let (links, own) = (self.links.clone(), self.store.id());
        let following = self.directory.follow(self.shutdown.listen(), move |was, is| dial_peers(&links, own, was, is));
        listening.push(tokio::spawn(following));
        let ready = Arc::new(Ready::default());
        let metrics = StoreMetrics::new(&self.metrics);
        let observed = self.observe.map(|listener| {
            let site = Site::new(self.metrics.clone(), ready.clone());
            tokio::spawn(site.serve(listener, self.shutdown.listen()))
        });
        let mut world = World { links: self.links, names: NodeNames::default(), journal: self.journal, ready, metrics };
        let ended = self.shutdown.listen();
        let failed = tokio::select! {
            () = drive(&mut self.store, self.clock, &mut self.inbox, ended, &mut world) => None,
            reason = journal::failed(&mut self.failure) => Some(reason),
        };
        self.shutdown.begin();
        world.journal.end();
        // They end by themselves; each closes what it has open.
        for listening in listening {
            let _ = listening.await;
        }
        if let Some(observed) = observed {
            let _ = observed.await;
        }
        failed.map_or(Ok(()), |reason| Err(RunError::Journal(reason)))
    }
}

fn recover(
    (store, id): (StoreIncarnation, ReplicaId),
    (group, extent, origin): (Group, Extent, Option<Split>),
    found: &iolite_engine::Recovery,
) -> Result<Replica, RecoverError> {
    let settings = ReplicaSettings {
        id,
        group,
        extent,
        origin,
        store,
        boot: Boot(random_seed()),
        retention: Retention::default(),
        broken: Broken::Nothing,
    };
    recovery::recover(settings, found)
}

/// Links to the other replicas of the shard; gateways dial by themselves.
fn links(
    own: ReplicaId,
    cluster: &Cluster,
    (security, delay): (iolite_host::LinkSecurity, Duration),
    mailbox: Mailbox<StoreInput>,
    metrics: &Metrics,
    shutdown: &Shutdown,
) -> Result<Links<StoreLinks>, LinksError> {
    let settings = LinkSettings { delay, ..LinkSettings::new(NodeRole::Store(own).name(), security) };
    let links = Links::new(StoreLinks { own }, mailbox, settings, metrics, shutdown.listen())?;
    for (peer, address) in peers(own, cluster) {
        links.dial(&NodeRole::Store(peer).name(), address);
    }
    Ok(links)
}

/// The other replicas of its shard, and those of its parts, or of the shard that it is a part of.
fn peers(own: ReplicaId, cluster: &Cluster) -> BTreeMap<ReplicaId, &str> {
    let kin = cluster.shard_of(own).map(|kept| cluster.kin_of(kept.group.shard)).unwrap_or_default();
    kin.into_iter().flat_map(|shard| cluster.replicas_of(shard)).filter(|(peer, _)| *peer != own).collect()
}

fn dial_peers(links: &Links<StoreLinks>, own: ReplicaId, was: &Cluster, is: &Cluster) {
    let now = peers(own, is);
    for gone in peers(own, was).keys().filter(|peer| !now.contains_key(peer)) {
        links.hang_up(&NodeRole::Store(*gone).name());
    }
    for (peer, address) in now {
        links.dial(&NodeRole::Store(peer).name(), address);
    }
}

/// What the store's outputs go to.
struct World {
    links: Links<StoreLinks>,
    names: NodeNames,
    journal: MachineJournal,
    ready: Arc<Ready>,
    metrics: StoreMetrics,
}

impl Performer<Store> for World {
    fn perform(&mut self, output: StoreOutput) {
        match output {
            StoreOutput::ToCoordinator(message) => {
                let gateway = self.names.of(NodeRole::Gateway(message.to));
                self.links.send_to(gateway, &FromStore::ToCoordinator(message));
            }
            StoreOutput::ToPeer(message) => {
                let peer = self.names.of(NodeRole::Store(message.to));
                self.links.send_to(peer, &FromStore::ToPeer(message));
            }
            StoreOutput::Journal(output) => journal::perform(&mut self.journal, output),
        }
    }

    fn settled(&mut self, store: &Store) {
        self.journal.settled();
        self.ready.set(store.is_ready());
        self.metrics.set(store.figures());
    }
}
