//! A node with a disk, a port and time: what `iolite dev` is.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use iolite_access::Tokens;
use iolite_catalog::SchemaPolicy;
use iolite_engine::Durability;
use iolite_gateway::Gateway;
use iolite_host::{
    AppFiles, BindError, Clock, Endpoint, Hosts, Inbox, MachineJournal, Mailbox, Metrics, Origins, Performer, Shutdown,
    bind, drive, mailbox, random_seed,
};
use iolite_machine::Now;
use iolite_replication::node::Life;
use iolite_replication::{Coordinator, CoordinatorSettings, RecoverError, Retention, ShardMap};
use iolite_values::CoordinatorId;
use tokio::net::TcpListener;

use crate::access_commands::AccessCommands;
use crate::blob_host::BlobHost;
use crate::blob_store::{BlobStore, BlobStoreError};
use crate::blobs::asks::Asks;
use crate::clients::{Doors, Ready, Welcome, access, settings as gateway_settings, site, tracking};
use crate::config::{BlobsConfig, KeyAddress, KeyFileError, TokensConfig};
use crate::data_directory::{DataDirectory, DataDirectoryError, is_data_directory};
use crate::gateway_metrics::GatewayMetrics;
use crate::journal::{self, Failure};
use crate::object_commands::ObjectCommands;
use crate::object_door::ObjectDoor;
use crate::object_host::{ObjectHost, ObjectHostSettings, ObjectNews};
use crate::objects::ObjectsAddress;
use crate::operate::OperatorCommands;
use crate::recovery::recover_alone;
use crate::sessions::GatewaySessions;
use crate::store_metrics::StoreMetrics;
use crate::{Front, Node, NodeInput, NodeOutput, ObjectClasses, Store};

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Made if it is missing.
    pub data: PathBuf,
    pub durability: Durability,
    pub address: SocketAddr,
    /// The folder of the app's page, with an `index.html`.
    pub app: Option<PathBuf>,
    /// A journal of fewer bytes is left without a checkpoint: replaying it takes a moment.
    pub checkpoint_bytes_min: u64,
    /// For how long the past can be read: a minute, but in tests.
    pub history: Duration,
    /// The tokens of users, by which clients are let in. Without them they are by the token of the data directory, which is the operator's else.
    pub tokens: Option<TokensConfig>,
    /// Whether users are let in only once the store has rights, whatever is said of their tokens.
    pub needs_rights: bool,
}

/// Where the chunks of blobs are, in the data directory.
const BLOBS_FOLDER: &str = "blobs";

impl ServerSettings {
    pub const PORT: u16 = 7777;

    /// Fsync, on loopback's standard port, without a page.
    pub fn new(data: impl Into<PathBuf>) -> ServerSettings {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), ServerSettings::PORT);
        ServerSettings {
            data: data.into(),
            durability: Durability::Fsync,
            address,
            app: None,
            checkpoint_bytes_min: 64 << 20,
            history: Retention::default().age,
            tokens: None,
            needs_rights: false,
        }
    }
}

/// Why a server does not start. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error(transparent)]
    Data(#[from] DataDirectoryError),
    #[error("the data directory {} cannot be recovered: {source}", data.display())]
    Recovery { data: PathBuf, source: RecoverError },
    #[error(transparent)]
    Blobs(#[from] BlobStoreError),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("the app directory {} has no index.html: build the app first, or choose another with --app", app.display())]
    NoApp { app: PathBuf },
    #[error(transparent)]
    Key(#[from] KeyFileError),
    #[error("the journal's thread cannot be started: {0}")]
    Thread(std::io::Error),
}

/// Why a server ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("{0}")]
    Journal(String),
    #[error("{0}")]
    Links(String),
    #[error("another process has the number {} of this gateway: give each gateway its own", gateway.number())]
    Superseded { gateway: CoordinatorId },
}

/// A server that has its data and its port, and is about to serve.
pub struct Server {
    node: Node,
    blobs: BlobStore,
    journal: MachineJournal,
    listener: TcpListener,
    address: SocketAddr,
    token: String,
    tokens: Option<Tokens>,
    key_address: Option<KeyAddress>,
    app: Option<AppFiles>,
    metrics: Metrics,
    clock: Clock,
    mailbox: Mailbox<NodeInput>,
    inbox: Inbox<NodeInput>,
    failure: Failure,
    classes: Option<ObjectClasses>,
}

/// Bytes of messages that wait for what runs in the process.
pub(crate) const INBOX_BYTES_MAX: usize = 64 << 20;

/// How long requests that are being answered may take when the server stops.
pub(crate) const LAST_REQUESTS_WITHIN: Duration = Duration::from_secs(2);

impl Server {
    /// Opens the data directory and the port.
    ///
    /// # Errors
    /// [`ServerError`]; nothing is left running.
    pub async fn open(settings: ServerSettings) -> Result<Server, ServerError> {
        if let Some(app) = settings.app.as_ref().filter(|app| !app.join("index.html").is_file()) {
            return Err(ServerError::NoApp { app: app.clone() });
        }
        let tokens = settings.tokens.as_ref().map(TokensConfig::open).transpose()?;
        let listener = bind(settings.address).await?;
        let address = listener.local_addr().map_err(|source| BindError::Io { address: settings.address, source })?;
        let data = DataDirectory::open(&settings.data, settings.durability)?;
        let blobs = BlobStore::open(&BlobsConfig::at(ObjectsAddress::Folder(settings.data.join(BLOBS_FOLDER))))?;
        let failed = |source| ServerError::Recovery { data: settings.data.clone(), source };
        let retention = Retention { age: settings.history, ..Retention::default() };
        let replica = recover_alone(&data.recovery, retention).map_err(failed)?;
        let clock = Clock::start();
        let of_tokens = settings.tokens.as_ref().is_some_and(|tokens| tokens.rights_required);
        let rights_required = settings.needs_rights || of_tokens;
        let gateway = Gateway::new(iolite_gateway::Settings {
            schemas: SchemaPolicy::Grow,
            has_blob_store: true,
            ..gateway_settings(access(&data.token, tokens.as_ref()), rights_required)
        });
        let front = Front::new(clock.now(), gateway, coordinator(clock.now())).with_tracking(tracking(false));
        let node = Node::new(clock.now(), front, Store::new(replica, settings.checkpoint_bytes_min));
        let metrics = Metrics::default();
        let class = data.journal.durability().name();
        metrics.fact("iolite_durability", "What durable means in the running journal.", "class", class);
        let syncs = metrics.summary("iolite_journal_sync_seconds", "Syncs of the journal's disk.");
        let (mailbox, inbox) = mailbox(INBOX_BYTES_MAX);
        let (tell, failure) = journal::tell(mailbox.clone(), NodeInput::Journal);
        let journal = MachineJournal::start(data.journal, syncs, tell).map_err(ServerError::Thread)?;
        let (token, hosts) = (data.token, if address.ip().is_loopback() { Hosts::Loopback } else { Hosts::Any });
        let secrets = vec![settings.data];
        let app = settings.app.map(|folder| AppFiles { folder, secrets, is_secret: is_data_directory, hosts });
        let (classes, key_address) = (None, settings.tokens.and_then(|tokens| tokens.key_address));
        Ok(Server {
            node,
            blobs,
            journal,
            listener,
            address,
            token,
            tokens,
            key_address,
            app,
            metrics,
            clock,
            mailbox,
            inbox,
            failure,
            classes,
        })
    }

    /// The same with classes of objects that this process runs.
    #[must_use]
    pub fn with_objects(self, classes: ObjectClasses) -> Server {
        Server { classes: Some(classes), ..self }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for people.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The address for clients.
    pub fn sync_url(&self) -> String {
        format!("ws://{}/sync", self.address)
    }

    /// The token of the data directory. Clients are let in by it, unless that is by the tokens of users: then it is the operator's.
    pub fn token(&self) -> &str {
        &self.token
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Serves until it is told to stop. What was acknowledged is durable, and the data directory free, when this returns.
    ///
    /// # Errors
    /// [`RunError`], when the disk fails.
    pub async fn run(mut self, shutdown: Shutdown) -> Result<(), RunError> {
        let sessions = GatewaySessions(NodeInput::Gateway);
        let endpoint = Endpoint::new(sessions, self.mailbox.clone(), &self.metrics, shutdown.listen());
        let ready = Arc::new(Ready::default());
        let (tracking, questions) = (self.mailbox.clone(), self.mailbox.clone());
        let objects = ObjectHost::new(
            ObjectHostSettings {
                gateway: CoordinatorId::default(),
                door: ObjectDoor::new(access(&self.token, self.tokens.as_ref()), &self.token, None),
                classes: self.classes,
                has_leases: false,
                clock: self.clock,
            },
            move |id, ask| tracking.send(NodeInput::Tracking(id, ask)),
            move |input| questions.send(NodeInput::Gateway(input)),
            &self.metrics,
            shutdown.listen(),
        );
        let (mailbox, stop, sweeps) = (self.mailbox.clone(), shutdown.listen(), self.mailbox.clone());
        let asks = Asks::new(move |ask| sweeps.send(NodeInput::Sweeper(ask)));
        let blobs = BlobHost::new(NodeInput::Gateway, mailbox, Some(self.blobs), asks, &self.metrics, stop);
        let (gateway, stop) = (self.mailbox.clone(), shutdown.listen());
        let gateway = move |input| gateway.send(NodeInput::Gateway(input));
        let access = AccessCommands::new(
            gateway,
            self.tokens.as_ref(),
            self.key_address.as_ref(),
            self.clock,
            &self.metrics,
            stop,
        );
        let (of_blobs, of_objects) = (blobs.commands(), ObjectCommands::new(Ok(objects.questions())));
        let commands = OperatorCommands::new(&self.token, access.clone(), of_blobs, of_objects, shutdown.listen());
        let site = site(
            Doors {
                sessions: endpoint.clone(),
                blobs: blobs.endpoint.clone(),
                objects: Ok(objects.endpoint.clone()),
                commands: Arc::new(commands),
                guests: access.anonymous(),
            },
            Origins::default(),
            self.metrics.clone(),
            ready.clone(),
            self.tokens.is_none().then_some(self.token.as_str()),
            self.app,
            Welcome::Dev,
        );
        let http = tokio::spawn(site.serve(self.listener, shutdown.listen()));
        let (gateway, store) = (GatewayMetrics::new(&self.metrics), StoreMetrics::new(&self.metrics));
        let news = objects.news();
        tokio::spawn(objects.run());
        let mut world = World { endpoint, access, blobs, objects: news, journal: self.journal, ready, gateway, store };
        let ended = shutdown.listen();
        let failed = tokio::select! {
            () = drive(&mut self.node, self.clock, &mut self.inbox, ended, &mut world) => None,
            reason = journal::failed(&mut self.failure) => Some(reason),
        };
        shutdown.begin();
        world.journal.end();
        // A request that takes longer is cut off: its sender sees a lost connection either way.
        let _ = tokio::time::timeout(LAST_REQUESTS_WITHIN, http).await;
        failed.map_or(Ok(()), |reason| Err(RunError::Journal(reason)))
    }
}

fn coordinator(now: Now) -> Coordinator {
    let life = Life(random_seed());
    Coordinator::new(now, CoordinatorSettings::new(CoordinatorId::default(), life, ShardMap::alone()))
}

/// What the node's outputs go to.
struct World {
    endpoint: Endpoint<GatewaySessions<NodeInput>>,
    access: AccessCommands,
    blobs: BlobHost<NodeInput>,
    objects: ObjectNews,
    journal: MachineJournal,
    ready: Arc<Ready>,
    gateway: GatewayMetrics,
    store: StoreMetrics,
}

impl Performer<Node> for World {
    fn perform(&mut self, output: NodeOutput) {
        match output {
            NodeOutput::Message(session, message) => self.endpoint.send(session.0, message),
            NodeOutput::Close(session) => self.endpoint.close(session.0),
            NodeOutput::Blobs(link, output) => self.blobs.perform(link, output),
            NodeOutput::Access(news) => {
                if let Some(news) = self.access.take(news) {
                    self.objects.of_users(news);
                }
            }
            NodeOutput::ToSweeper(id, reply) => self.blobs.answer(id, reply),
            NodeOutput::Tracking(news) => self.objects.tell(news),
            NodeOutput::Centre(output) => unreachable!("it is no data centre of a group: {output:?}"),
            NodeOutput::Journal(output) => journal::perform(&mut self.journal, output),
        }
    }

    fn settled(&mut self, node: &Node) {
        self.journal.settled();
        self.ready.set(node.is_ready());
        self.blobs.settled(node.front().gateway());
        self.gateway.set(node.front());
        self.store.set(node.store().figures());
    }
}
