//! A coordinator in this process, for programs that speak to the store itself: operators' tools, and measurements.
//!
//! Invariant: a request is answered once, or its caller is told that the client has ended.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_host::{
    Clock, Inbox, LinkSecurity, LinkSettings, Links, LinksError, Mailbox, Metrics, Performer, Shutdown, drive, mailbox,
    random_seed,
};
use iolite_replication::node::{Life, ReplicaId, Report};
use iolite_replication::{Coordinator, CoordinatorOutput, CoordinatorSettings, Tally};
use iolite_store::{Event, Reply, Request, RequestId};
use iolite_values::{CoordinatorId, StoreIncarnation, Timestamp};
use tokio::sync::{oneshot, watch};

use crate::directory::Directory;
use crate::gateway_links::{GatewayLinks, dial_replicas, follow};
use crate::inquirer::{Inquirer, InquirerInput, InquirerOutput};
use crate::names::{NodeNames, NodeRole};
use crate::server::INBOX_BYTES_MAX;

/// What a client of the store is made with.
#[derive(Clone, Debug)]
pub struct StoreClientSettings {
    pub directory: Directory,
    /// As of a gateway: no other process may have it at this time.
    pub id: CoordinatorId,
    pub security: LinkSecurity,
    /// Half of a round trip, in addition, on links to replicas.
    pub delay: Duration,
    pub clock: Clock,
    /// Where messages are counted.
    pub metrics: Metrics,
}

/// Where the store's feed stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub store: StoreIncarnation,
    /// Nothing more commits at or below it.
    pub resolved: Timestamp,
}

/// Why a client has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreClientEnd {
    #[error("it was closed")]
    Closed,
    #[error("another process has the number {} of this one: choose another", id.number())]
    Superseded { id: CoordinatorId },
}

/// Asks the store. Cheap to clone; it ends with the last clone.
#[derive(Clone, Debug)]
pub struct StoreClient {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    id: CoordinatorId,
    mailbox: Mailbox<InquirerInput>,
    waiting: Arc<Waiting>,
    last_request: AtomicU64,
    standing: watch::Receiver<Option<Standing>>,
    reports: watch::Sender<BTreeMap<ReplicaId, Report>>,
    tally: watch::Receiver<Tally>,
    end: watch::Receiver<Option<StoreClientEnd>>,
    shutdown: Shutdown,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

/// Who waits for a reply; nobody can any more where there is no list.
#[derive(Debug)]
struct Waiting(Mutex<Option<BTreeMap<RequestId, oneshot::Sender<Reply>>>>);

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Option<BTreeMap<RequestId, oneshot::Sender<Reply>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, id: RequestId) -> Option<oneshot::Receiver<Reply>> {
        let (sender, reply) = oneshot::channel();
        self.lock().as_mut()?.insert(id, sender);
        Some(reply)
    }

    fn answer(&self, id: RequestId, reply: Reply) {
        let waiting = self.lock().as_mut().and_then(|waiting| waiting.remove(&id));
        if let Some(waiting) = waiting {
            // Who has given up does not mind.
            let _ = waiting.send(reply);
        }
    }

    fn end(&self) {
        *self.lock() = None;
    }
}

impl StoreClient {
    /// Dials the replicas. Requests wait until a majority of every shard answers.
    ///
    /// # Errors
    /// [`LinksError`], about certificates.
    pub fn open(settings: StoreClientSettings) -> Result<StoreClient, LinksError> {
        let (life, shards) = (Life(random_seed()), settings.directory.cluster().shards.clone());
        let coordinator = Coordinator::new(settings.clock.now(), CoordinatorSettings::new(settings.id, life, shards));
        let inquirer = Inquirer::new(settings.id, life, Some(coordinator));
        StoreClient::start(settings, inquirer)
    }

    /// Dials the replicas only to inquire. It opens no term, so whoever has the same number goes on; no request is ever answered.
    ///
    /// # Errors
    /// [`LinksError`], about certificates.
    pub fn observe(settings: StoreClientSettings) -> Result<StoreClient, LinksError> {
        let inquirer = Inquirer::new(settings.id, Life(random_seed()), None);
        StoreClient::start(settings, inquirer)
    }

    fn start(settings: StoreClientSettings, inquirer: Inquirer) -> Result<StoreClient, LinksError> {
        let StoreClientSettings { directory, id, security, delay, clock, metrics } = settings;
        let shutdown = Shutdown::new();
        let (mailbox, inbox) = mailbox(INBOX_BYTES_MAX);
        let link_settings = LinkSettings { delay, ..LinkSettings::new(NodeRole::Gateway(id).name(), security) };
        let handler = GatewayLinks { own: id, input: InquirerInput::FromReplica };
        let links = Links::new(handler, mailbox.clone(), link_settings, &metrics, shutdown.listen())?;
        dial_replicas(&links, directory.cluster());
        let (tell, dialled) = (mailbox.clone(), links.clone());
        tokio::spawn(directory.follow(shutdown.listen(), move |was, is| {
            let ended = |split| tell.send(InquirerInput::Ended(split));
            follow(&dialled, was, is, ended, |group| tell.send(InquirerInput::Configured(group)));
        }));
        let waiting = Arc::new(Waiting(Mutex::new(Some(BTreeMap::new()))));
        let (standings, standing) = watch::channel(None);
        let reports = watch::Sender::new(BTreeMap::new());
        let (tallies, tally) = watch::channel(Tally::default());
        let (ends, end) = watch::channel(None);
        let world = World {
            id,
            links,
            names: NodeNames::default(),
            waiting: waiting.clone(),
            standings,
            reports: reports.clone(),
            tallies,
            ends,
        };
        tokio::spawn(run(inquirer, clock, inbox, shutdown.listen(), world));
        let last_request = AtomicU64::new(0);
        Ok(StoreClient {
            inner: Arc::new(Inner { id, mailbox, waiting, last_request, standing, reports, tally, end, shutdown }),
        })
    }

    pub fn id(&self) -> CoordinatorId {
        self.inner.id
    }

    /// What its coordinator has done up to now.
    pub fn tally(&self) -> Tally {
        *self.inner.tally.borrow()
    }

    /// Asks, and waits for the answer, however long that takes.
    ///
    /// # Errors
    /// [`StoreClientEnd`]: what became of the request is not known then.
    ///
    /// Giving up the wait takes nothing back.
    pub async fn request(&self, request: Request) -> Result<Reply, StoreClientEnd> {
        let id = RequestId(self.inner.last_request.fetch_add(1, Ordering::Relaxed) + 1);
        let reply = self.inner.waiting.begin(id).ok_or_else(|| self.end())?;
        self.inner.mailbox.send(InquirerInput::Request(id, request));
        reply.await.map_err(|_| self.end())
    }

    /// Asks a replica where it stands. The answer is among the reports, if it comes.
    pub fn inquire(&self, replica: ReplicaId) {
        self.inner.mailbox.send(InquirerInput::Inquire(replica));
    }

    /// Reports from now on: the last one of each replica that has answered.
    pub fn forget_reports(&self) -> watch::Receiver<BTreeMap<ReplicaId, Report>> {
        self.inner.reports.send_replace(BTreeMap::new());
        self.inner.reports.subscribe()
    }

    /// Why it has ended, if it has: who only inquires is answered no more, and told nothing.
    pub fn ended(&self) -> Option<StoreClientEnd> {
        self.inner.end.borrow().clone()
    }

    fn end(&self) -> StoreClientEnd {
        self.ended().unwrap_or(StoreClientEnd::Closed)
    }

    /// Has every replica keep the history behind `at` for a while, so that the store can be copied as of then. Said again every few seconds.
    pub fn hold(&self, at: Timestamp) {
        self.inner.mailbox.send(InquirerInput::Hold(at));
    }

    /// Waits until the store is open, and tells where its feed stands now.
    ///
    /// # Errors
    /// [`StoreClientEnd`].
    pub async fn standing(&self) -> Result<Standing, StoreClientEnd> {
        self.wait_for(|_| true).await
    }

    /// Waits until everything at or below `at` is resolved.
    ///
    /// # Errors
    /// [`StoreClientEnd`].
    pub async fn resolved_through(&self, at: Timestamp) -> Result<Standing, StoreClientEnd> {
        self.wait_for(|standing| standing.resolved >= at).await
    }

    async fn wait_for(&self, mut reached: impl FnMut(&Standing) -> bool) -> Result<Standing, StoreClientEnd> {
        let mut standing = self.inner.standing.clone();
        let found = standing.wait_for(|standing| standing.as_ref().is_some_and(&mut reached)).await.map(|found| *found);
        found.ok().flatten().ok_or_else(|| self.end())
    }
}

async fn run(
    mut inquirer: Inquirer,
    clock: Clock,
    mut inbox: Inbox<InquirerInput>,
    ended: iolite_host::Stop,
    mut world: World,
) {
    let mut superseded = world.ends.subscribe();
    tokio::select! {
        () = drive(&mut inquirer, clock, &mut inbox, ended, &mut world) => {}
        _ = superseded.wait_for(Option::is_some) => {}
    }
    // Whoever waits is told.
    world.waiting.end();
}

/// What the coordinator's outputs go to.
struct World {
    id: CoordinatorId,
    links: Links<GatewayLinks<InquirerInput>>,
    names: NodeNames,
    waiting: Arc<Waiting>,
    standings: watch::Sender<Option<Standing>>,
    reports: watch::Sender<BTreeMap<ReplicaId, Report>>,
    tallies: watch::Sender<Tally>,
    ends: watch::Sender<Option<StoreClientEnd>>,
}

impl Performer<Inquirer> for World {
    fn perform(&mut self, output: InquirerOutput) {
        match output {
            InquirerOutput::Reported(replica, report) => {
                self.reports.send_modify(|reports| drop(reports.insert(replica, report)));
            }
            InquirerOutput::Coordinator(output) => self.perform_for_coordinator(output),
        }
    }

    fn settled(&mut self, inquirer: &Inquirer) {
        self.tallies.send_replace(inquirer.tally());
    }
}

impl World {
    fn perform_for_coordinator(&mut self, output: CoordinatorOutput) {
        match output {
            CoordinatorOutput::ToReplica { to, message } => {
                self.links.send_to(self.names.of(NodeRole::Store(to)), &message);
            }
            CoordinatorOutput::Event(Event::Ready { store, resolved }) => {
                self.standings.send_replace(Some(Standing { store, resolved }));
            }
            CoordinatorOutput::Event(Event::Feed(segment)) => self.standings.send_modify(|standing| {
                if let Some(standing) = standing {
                    standing.resolved = segment.to;
                }
            }),
            CoordinatorOutput::Event(Event::Reply(id, reply)) => {
                self.waiting.answer(id, reply);
            }
            CoordinatorOutput::Superseded { term: _ } => {
                self.ends.send_replace(Some(StoreClientEnd::Superseded { id: self.id }));
            }
        }
    }
}
