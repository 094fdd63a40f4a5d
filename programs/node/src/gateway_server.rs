//! A gateway with links, a port and time: the gateway role of `iolite serve`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use iolite_gateway::Without;
use iolite_host::{
    BindError, Clock, Endpoint, Inbox, LinkSecurity, LinkSettings, Links, LinksError, Mailbox, Metrics, Performer,
    Shutdown, bind, drive, mailbox, random_id, random_seed,
};
use iolite_replication::node::{Life, Term};
use iolite_replication::{Coordinator, CoordinatorSettings};
use iolite_values::{ClientId, Id};
use tokio::sync::watch;

use crate::blob_host::BlobHost;
use crate::blob_store::{BlobStore, BlobStoreError};
use crate::blobs::asks::Asks;
use crate::centre_links::{self, CentreLinks, link_centres};
use crate::centre_metrics::CentreMetrics;
use crate::client_port::{ClientPort, ClientPortError};
use crate::clients::{Doors, Ready, Welcome, gateway, site};
use crate::config::{CentreConfig, GatewayConfig};
use crate::directory::Directory;
use crate::gateway_links::{GatewayLinks, dial_replicas, follow};
use crate::gateway_metrics::GatewayMetrics;
use crate::names::{NodeNames, NodeRole};
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
    /// For measurements.
    pub without: Without,
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
}

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
        let GatewaySettings { directory, gateway: config, security, delay, clock, without } = settings;
        let clients = ClientPort::open(&config).await?;
        let metrics = Metrics::default();
        let (mailbox, inbox) = mailbox(INBOX_BYTES_MAX);
        let link_settings = LinkSettings { delay, ..LinkSettings::new(NodeRole::Gateway(config.id).name(), security) };
        let handler = GatewayLinks { own: config.id, input: FrontInput::FromReplica };
        let links = Links::new(handler, mailbox.clone(), link_settings, &metrics, shutdown.listen())?;
        dial_replicas(&links, directory.cluster());
        let (life, shards) = (Life(random_seed()), directory.cluster().shards.clone());
        let coordinator = Coordinator::new(clock.now(), CoordinatorSettings::new(config.id, life, shards));
        let blobs = config.blobs.as_ref().map(BlobStore::open).transpose()?;
        let gateway = gateway(&clients.token, config.schemas.into(), blobs.is_some(), without);
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
        Ok(GatewayServer {
            front,
            blobs,
            links,
            centres,
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

    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// [`RunError::Superseded`].
    pub async fn run(mut self) -> Result<(), RunError> {
        let (links, mailbox) = (self.links.clone(), self.mailbox.clone());
        let following = self.directory.follow(self.shutdown.listen(), move |was, is| {
            let ended = |split| mailbox.send(FrontInput::Ended(split));
            follow(&links, was, is, ended, |group| mailbox.send(FrontInput::Configured(group)));
        });
        let following = tokio::spawn(following);
        let (mailbox, stop, sweeps) = (self.mailbox.clone(), self.shutdown.listen(), self.mailbox.clone());
        let asks = Asks::new(move |ask| sweeps.send(FrontInput::Sweeper(ask)));
        let blobs = BlobHost::new(FrontInput::Gateway, mailbox, self.blobs, asks, &self.metrics, stop);
        let endpoint =
            Endpoint::new(GatewaySessions(FrontInput::Gateway), self.mailbox, &self.metrics, self.shutdown.listen());
        let ready = Arc::new(Ready::default());
        let metrics = GatewayMetrics::new(&self.metrics);
        let centre_metrics = self.config.centre.as_ref().map(|centre| CentreMetrics::new(&self.metrics, centre));
        let told_token = self.config.tells_token.then_some(self.clients.token.as_str());
        let (origins, app) = (self.config.origins.clone(), self.config.app_files());
        let (all_metrics, welcome) = (self.metrics, Welcome::Gateway);
        let site = site(
            Doors {
                sessions: endpoint.clone(),
                blobs: blobs.endpoint.clone(),
                objects: None,
                commands: blobs.commands(&self.clients.token, self.shutdown.listen()),
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
            blobs,
            links: self.links,
            centres: self.centres,
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

/// What the front's outputs go to.
struct World {
    endpoint: Endpoint<GatewaySessions<FrontInput>>,
    blobs: BlobHost<FrontInput>,
    links: Links<GatewayLinks<FrontInput>>,
    centres: Option<Links<CentreLinks>>,
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
            FrontOutput::ToSweeper(id, reply) => self.blobs.answer(id, reply),
            // Nobody asks yet: the host of objects is to come.
            FrontOutput::Tracking(news) => drop(news),
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
