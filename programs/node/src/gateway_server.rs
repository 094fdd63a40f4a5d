//! A gateway with links, a port and time: the gateway role of `iolite serve`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use iolite_gateway::Gateway;
use iolite_host::{
    BindError, Clock, Endpoint, Inbox, LinkSecurity, LinkSettings, Links, LinksError, Mailbox, Metrics, Performer,
    Shutdown, bind, drive, mailbox, random_id, random_seed,
};
use iolite_replication::node::{Life, Term};
use iolite_replication::{Coordinator, CoordinatorSettings};
use iolite_values::{ClientId, Id};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::access_commands::AccessCommands;
use crate::blob_host::BlobHost;
use crate::blob_store::{BlobStore, BlobStoreError};
use crate::blobs::asks::Asks;
use crate::centre_links::{self, CentreLinks, link_centres};
use crate::centre_metrics::CentreMetrics;
use crate::client_port::{ClientPort, ClientPortError};
use crate::clients::{Doors, Ready, Welcome, settings as gateway_settings, site, tracking};
use crate::config::{BlobsConfig, CentreConfig, Faults, GatewayConfig};
use crate::directory::Directory;
use crate::gateway_links::{GatewayLinks, dial_replicas, follow};
use crate::gateway_metrics::GatewayMetrics;
use crate::names::{NodeNames, NodeRole};
use crate::object_commands::ObjectCommands;
use crate::object_door::ObjectDoor;
use crate::object_host::{ObjectHost, ObjectHostSettings, ObjectNews, ObjectSessions};
use crate::object_links::{Peers, PeersError, PeersSettings};
use crate::operate::OperatorCommands;
use crate::server::{INBOX_BYTES_MAX, LAST_REQUESTS_WITHIN};
use crate::sessions::GatewaySessions;
use crate::{Front, FrontInput, FrontOutput, RunError};

/// What a gateway's process is started with.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    pub directory: Directory,
    pub gateway: GatewayConfig,
    pub security: LinkSecurity,
    /// Half of a round trip, in addition, on links to replicas.
    pub delay: Duration,
    pub clock: Clock,
    /// Mistakes that the gateway makes on purpose.
    pub faults: Faults,
}

/// Why a gateway does not start. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum GatewayServerError {
    #[error(transparent)]
    Clients(#[from] ClientPortError),
    #[error(transparent)]
    Links(#[from] LinksError),
    #[error(transparent)]
    Blobs(#[from] BlobStoreError),
    #[error("the address of `listen` in [centre]: {0}")]
    Centre(#[from] BindError),
    #[error(transparent)]
    Objects(#[from] PeersError),
}

/// The answer at `/objects`, where the gateway serves none.
const NO_OBJECTS: &str = "This gateway serves no objects: write [objects] into its file.\n";

fn settings_of(config: &CentreConfig) -> iolite_causal::Settings {
    iolite_causal::Settings {
        group: config.group.clone(),
        name: config.name.clone(),
        peers: config.peer_names(),
        k: config.k,
        outbox_bytes_max: iolite_causal::limits::OUTBOX_BYTES_MAX,
        client: ClientId(Id::from_u128(random_id())),
        broken: iolite_causal::Broken::Nothing,
    }
}

/// A gateway that has its port, and is about to serve.
pub struct GatewayServer {
    front: Front,
    blobs: Option<BlobStore>,
    links: Links<GatewayLinks<FrontInput>>,
    centres: Option<Links<CentreLinks>>,
    objects: Option<ObjectHost>,
    directory: Directory,
    clients: ClientPort,
    config: GatewayConfig,
    metrics: Metrics,
    clock: Clock,
    mailbox: Mailbox<FrontInput>,
    inbox: Inbox<FrontInput>,
    shutdown: Shutdown,
}

impl GatewayServer {
    /// Opens the port, and dials the replicas.
    ///
    /// # Errors
    /// [`GatewayServerError`]; nothing is left running.
    pub async fn open(settings: GatewaySettings, shutdown: Shutdown) -> Result<GatewayServer, GatewayServerError> {
        let GatewaySettings { directory, gateway: config, security, delay, clock, faults } = settings;
        let clients = ClientPort::open(&config).await?;
        let metrics = Metrics::default();
        let (mailbox, inbox) = mailbox(INBOX_BYTES_MAX);
        let link_settings =
            LinkSettings { delay, ..LinkSettings::new(NodeRole::Gateway(config.id).name(), security.clone()) };
        let handler = GatewayLinks { own: config.id, input: FrontInput::FromReplica };
        let links = Links::new(handler, mailbox.clone(), link_settings, &metrics, shutdown.listen())?;
        dial_replicas(&links, directory.cluster());
        let (life, shards) = (Life(random_seed()), directory.cluster().shards.clone());
        let coordinator = Coordinator::new(clock.now(), CoordinatorSettings::new(config.id, life, shards));
        let blobs = config.blobs.as_ref().map(BlobStore::open).transpose()?;
        let gateway = Gateway::new(iolite_gateway::Settings {
            schemas: config.schemas.into(),
            has_blob_store: blobs.is_some(),
            limits: BlobsConfig::limits(config.blobs.as_ref()),
            without: faults.without,
            ..gateway_settings(clients.access(), clients.rights_required)
        });
        let front = Front::new(clock.now(), gateway, coordinator);
        let (front, centres) = match &config.centre {
            None => (front, None),
            Some(centre) => {
                let listener = match centre.listen {
                    Some(address) => Some(bind(address).await?),
                    None => None,
                };
                let stop = shutdown.listen();
                let centres = link_centres(centre, listener, mailbox.clone(), &metrics, stop)?;
                (front.with_centres(settings_of(centre)), Some(centres))
            }
        };
        let (front, objects) = match &config.objects {
            None => (front, None),
            Some(objects) => {
                let peers = PeersSettings { own: config.id, objects, security, delay };
                let door = ObjectDoor::new(clients.access(), &clients.token, faults.deny_class);
                let host = open_objects(peers, door, &mailbox, clock, &metrics, &shutdown).await?;
                (front.with_tracking(tracking(true)), Some(host))
            }
        };
        Ok(GatewayServer {
            front,
            blobs,
            links,
            centres,
            objects,
            directory,
            clients,
            config,
            metrics,
            clock,
            mailbox,
            inbox,
            shutdown,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.clients.address
    }

    pub fn token(&self) -> &str {
        &self.clients.token
    }

    /// Tells of changes of the cluster, until the server stops.
    fn follow_directory(&self) -> JoinHandle<()> {
        let (links, mailbox) = (self.links.clone(), self.mailbox.clone());
        let following = self.directory.clone().follow(self.shutdown.listen(), move |was, is| {
            let ended = |split| mailbox.send(FrontInput::Ended(split));
            follow(&links, was, is, ended, |group| mailbox.send(FrontInput::Configured(group)));
        });
        tokio::spawn(following)
    }

    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// [`RunError::Superseded`].
    pub async fn run(mut self) -> Result<(), RunError> {
        let following = self.follow_directory();
        let (mailbox, stop, sweeps) = (self.mailbox.clone(), self.shutdown.listen(), self.mailbox.clone());
        let asks = Asks::new(move |ask| sweeps.send(FrontInput::Sweeper(ask)));
        let blobs = BlobHost::new(FrontInput::Gateway, mailbox, self.blobs, asks, &self.metrics, stop);
        let (gateway, stop) = (self.mailbox.clone(), self.shutdown.listen());
        let gateway = move |input| gateway.send(FrontInput::Gateway(input));
        let access = AccessCommands::new(
            gateway,
            self.clients.tokens.as_ref(),
            self.config.key_address(),
            self.clock,
            &self.metrics,
            stop,
        );
        let endpoint =
            Endpoint::new(GatewaySessions(FrontInput::Gateway), self.mailbox, &self.metrics, self.shutdown.listen());
        let ready = Arc::new(Ready::default());
        let metrics = GatewayMetrics::new(&self.metrics);
        let centre_metrics = self.config.centre.as_ref().map(|centre| CentreMetrics::new(&self.metrics, centre));
        let told_token = self.config.tells_token.then_some(self.clients.token.as_str());
        let (origins, app) = (self.config.origins.clone(), self.config.app_files());
        let (all_metrics, welcome) = (self.metrics, Welcome::Gateway);
        let questions = self.objects.as_ref().map(ObjectHost::questions).ok_or(NO_OBJECTS);
        let (of_blobs, of_objects) = (blobs.commands(), ObjectCommands::new(questions));
        let commands =
            OperatorCommands::new(&self.clients.token, access.clone(), of_blobs, of_objects, self.shutdown.listen());
        let (objects, news) = self.objects.map(run_objects).unzip();
        let site = site(
            Doors {
                sessions: endpoint.clone(),
                blobs: blobs.endpoint.clone(),
                objects: objects.ok_or(NO_OBJECTS),
                commands: Arc::new(commands),
                guests: access.anonymous(),
            },
            origins,
            all_metrics,
            ready.clone(),
            told_token,
            app,
            welcome,
        );
        let http = tokio::spawn(site.serve(self.clients.listener, self.shutdown.listen()));
        let (superseded, mut other) = watch::channel(None);
        let mut world = World {
            endpoint,
            access,
            blobs,
            links: self.links,
            centres: self.centres,
            objects: news,
            names: NodeNames::default(),
            ready,
            metrics,
            centre_metrics,
            superseded,
        };
        let ended = self.shutdown.listen();
        let term = tokio::select! {
            () = drive(&mut self.front, self.clock, &mut self.inbox, ended, &mut world) => None,
            term = async { other.wait_for(Option::is_some).await.map(|term| *term) } => term.ok().flatten(),
        };
        self.shutdown.begin();
        // A request that takes longer is cut off: its sender sees a lost connection either way.
        let _ = tokio::time::timeout(LAST_REQUESTS_WITHIN, http).await;
        let _ = following.await;
        term.map_or(Ok(()), |_| Err(RunError::Superseded { gateway: self.config.id }))
    }
}

/// A gateway's part in objects, with its links to others. It does not run yet.
async fn open_objects(
    peers: PeersSettings<'_>,
    door: ObjectDoor,
    front: &Mailbox<FrontInput>,
    clock: Clock,
    metrics: &Metrics,
    shutdown: &Shutdown,
) -> Result<ObjectHost, PeersError> {
    let settings = ObjectHostSettings { gateway: peers.own, door, classes: None, has_leases: true, clock };
    let (tracking, gateway) = (front.clone(), front.clone());
    let ask = move |id, question| tracking.send(FrontInput::Tracking(id, question));
    let to_gateway = move |input| gateway.send(FrontInput::Gateway(input));
    let host = ObjectHost::new(settings, ask, to_gateway, metrics, shutdown.listen());
    let peers = Peers::listen(peers, host.mailbox(), metrics, shutdown.listen()).await?;
    Ok(host.with_peers(peers))
}

fn run_objects(host: ObjectHost) -> (Endpoint<ObjectSessions>, ObjectNews) {
    let (endpoint, news) = (host.endpoint.clone(), host.news());
    tokio::spawn(host.run());
    (endpoint, news)
}

/// What the front's outputs go to.
struct World {
    endpoint: Endpoint<GatewaySessions<FrontInput>>,
    access: AccessCommands,
    blobs: BlobHost<FrontInput>,
    links: Links<GatewayLinks<FrontInput>>,
    centres: Option<Links<CentreLinks>>,
    objects: Option<ObjectNews>,
    names: NodeNames,
    ready: Arc<Ready>,
    metrics: GatewayMetrics,
    centre_metrics: Option<CentreMetrics>,
    superseded: watch::Sender<Option<Term>>,
}

impl Performer<Front> for World {
    fn perform(&mut self, output: FrontOutput) {
        match output {
            FrontOutput::Message(session, message) => self.endpoint.send(session.0, message),
            FrontOutput::Close(session) => self.endpoint.close(session.0),
            FrontOutput::Blobs(link, output) => self.blobs.perform(link, output),
            FrontOutput::Access(news) => {
                if let (Some(news), Some(objects)) = (self.access.take(news), &self.objects) {
                    objects.of_users(news);
                }
            }
            FrontOutput::ToSweeper(id, reply) => self.blobs.answer(id, reply),
            FrontOutput::Tracking(news) => {
                if let Some(objects) = &self.objects {
                    objects.tell(news);
                }
            }
            FrontOutput::Centre(output) => {
                if let Some(links) = &self.centres {
                    centre_links::perform(links, &output);
                }
            }
            FrontOutput::ToReplica(to, message) => self.links.send_to(self.names.of(NodeRole::Store(to)), &message),
            FrontOutput::Superseded(term) => drop(self.superseded.send_replace(Some(term))),
        }
    }

    fn settled(&mut self, front: &Front) {
        self.ready.set(front.is_ready());
        self.blobs.settled(front.gateway());
        self.metrics.set(front);
        if let (Some(metrics), Some(centres)) = (&mut self.centre_metrics, front.centres()) {
            metrics.set(&centres.figures());
        }
    }
}
