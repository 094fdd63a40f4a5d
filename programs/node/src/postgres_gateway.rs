//! A gateway whose store is a PostgreSQL database, with a port and time: a role of `iolite serve`.
//!
//! Invariant: it ends when its store's work has, since nobody would answer its clients then.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use iolite_gateway::{Gateway, Input, Output, Settings};
use iolite_host::{Clock, Endpoint, Inbox, Mailbox, Metric, Metrics, Performer, Shutdown, drive, mailbox};
use iolite_postgres::{AuthorityError, Encryption, OpenError, PostgresSettings, PostgresStore};
use iolite_store::{Asking, Event, Reply, Request, RequestId};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::SweeperAsk;
use crate::access_commands::AccessCommands;
use crate::blob_host::BlobHost;
use crate::blob_store::{BlobStore, BlobStoreError};
use crate::blobs::asks::Asks;
use crate::client_port::{ClientPort, ClientPortError};
use crate::clients::{Doors, Ready, Welcome, settings, site};
use crate::config::{BlobsConfig, GatewayConfig, PostgresConfig, PostgresGatewayConfig, Protection};
use crate::object_commands::ObjectCommands;
use crate::operate::OperatorCommands;
use crate::password::{PasswordError, read_password};
use crate::postgres_front::{PostgresFront, PostgresInput, PostgresOutput};
use crate::server::{INBOX_BYTES_MAX, LAST_REQUESTS_WITHIN};
use crate::sessions::GatewaySessions;

/// The answer at `/objects`, and to commands about objects.
const NO_OBJECTS: &str = "This gateway serves no objects: they need the replicated store.\n";

/// Why such a gateway does not start, or ends. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum PostgresGatewayError {
    #[error(transparent)]
    Clients(#[from] ClientPortError),
    #[error(transparent)]
    Password(#[from] PasswordError),
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error(transparent)]
    Blobs(#[from] BlobStoreError),
}

/// A gateway that has its port, and is about to serve.
pub struct PostgresGateway {
    front: PostgresFront,
    blobs: Option<BlobStore>,
    store: PostgresSettings,
    clients: ClientPort,
    config: GatewayConfig,
    metrics: Metrics,
    clock: Clock,
    mailbox: Mailbox<PostgresInput>,
    inbox: Inbox<PostgresInput>,
    shutdown: Shutdown,
}

/// How often the store's figures are looked at.
const FIGURES_EVERY: Duration = Duration::from_millis(500);

impl PostgresGateway {
    /// Opens the port. The database is looked for when it runs.
    ///
    /// # Errors
    /// [`PostgresGatewayError`]; nothing is left running.
    pub async fn open(
        config: PostgresGatewayConfig,
        shutdown: Shutdown,
    ) -> Result<PostgresGateway, PostgresGatewayError> {
        let PostgresGatewayConfig { pid_file: _, gateway: config, postgres } = config;
        let store = store_settings(&config, postgres)?;
        let clients = ClientPort::open(&config).await?;
        let (mailbox, inbox) = mailbox(INBOX_BYTES_MAX);
        let blobs = config.blobs.as_ref().map(BlobStore::open).transpose()?;
        let gateway = Gateway::new(Settings {
            has_indexes: false,
            schemas: config.schemas.into(),
            has_blob_store: blobs.is_some(),
            limits: BlobsConfig::limits(config.blobs.as_ref()),
            ..settings(clients.access(), clients.rights_required)
        });
        // The host of objects is to come, and tracking with it.
        let front = PostgresFront { gateway, tracking: None };
        let (metrics, clock) = (Metrics::default(), Clock::start());
        Ok(PostgresGateway { front, blobs, store, clients, config, metrics, clock, mailbox, inbox, shutdown })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.clients.address
    }

    /// Serves until it is told to stop. As long as the database is not there, clients wait.
    ///
    /// # Errors
    /// [`PostgresGatewayError::Store`], when somebody has to correct something.
    pub async fn run(mut self) -> Result<(), PostgresGatewayError> {
        let sessions = GatewaySessions(PostgresInput::Gateway);
        let endpoint = Endpoint::new(sessions, self.mailbox.clone(), &self.metrics, self.shutdown.listen());
        let ready = Arc::new(Ready::default());
        let (requests, asked) = mpsc::unbounded_channel();
        let sweeps = requests.clone();
        let asks = Asks::new(move |ask| match ask {
            SweeperAsk::Request(id, request) => {
                drop(sweeps.send(ForStore::Request(Asker::Sweeper(id), request)));
            }
            // The database keeps its history for a minute, whoever reads it.
            SweeperAsk::Hold(_) => {}
        });
        let (mailbox, stop) = (self.mailbox.clone(), self.shutdown.listen());
        let blobs = BlobHost::new(PostgresInput::Gateway, mailbox, self.blobs, asks.clone(), &self.metrics, stop);
        let told_token = self.config.tells_token.then_some(self.clients.token.as_str());
        let (origins, app) = (self.config.origins.clone(), self.config.app_files());
        let (metrics, welcome) = (self.metrics.clone(), Welcome::Gateway);
        let (gateway, stop) = (self.mailbox.clone(), self.shutdown.listen());
        let gateway = move |input| gateway.send(PostgresInput::Gateway(input));
        let access = AccessCommands::new(
            gateway,
            self.clients.tokens.as_ref(),
            self.config.key_address(),
            self.clock,
            &self.metrics,
            stop,
        );
        let (of_blobs, of_objects) = (blobs.commands(), ObjectCommands::new(Err(NO_OBJECTS)));
        let commands =
            OperatorCommands::new(&self.clients.token, access.clone(), of_blobs, of_objects, self.shutdown.listen());
        let site = site(
            Doors {
                sessions: endpoint.clone(),
                blobs: blobs.endpoint.clone(),
                objects: Err(NO_OBJECTS),
                commands: Arc::new(commands),
                guests: access.anonymous(),
            },
            origins,
            metrics,
            ready.clone(),
            told_token,
            app,
            welcome,
        );
        let http = tokio::spawn(site.serve(self.clients.listener, self.shutdown.listen()));
        let mut world = World { endpoint, access, blobs, requests, ready };
        let ended = self.shutdown.listen();
        let repliers = Repliers { front: self.mailbox, has_tracking: self.front.tracking.is_some(), asks };
        let work = work(self.store, asked, repliers, StoreFigures::new(&self.metrics));
        let result = tokio::select! {
            () = drive(&mut self.front, self.clock, &mut self.inbox, ended, &mut world) => Ok(()),
            Err(error) = work => Err(error.into()),
        };
        self.shutdown.begin();
        // A request that takes longer is cut off: its sender sees a lost connection either way.
        let _ = tokio::time::timeout(LAST_REQUESTS_WITHIN, http).await;
        result
    }
}

fn store_settings(gateway: &GatewayConfig, postgres: PostgresConfig) -> Result<PostgresSettings, PostgresGatewayError> {
    let PostgresConfig { address, password, protection, schema } = postgres;
    let password = read_password(&password)?;
    let encryption = match protection {
        Protection::Tls { authority } => Encryption::trusting(&authority)?,
        Protection::Plain => Encryption::None,
    };
    let settings = PostgresSettings::new(address.with_password(password.as_deref()), gateway.id);
    Ok(PostgresSettings { encryption, schema, ..settings })
}

/// The part that asked the store, with its own id of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Asker {
    Gateway(RequestId),
    Sweeper(RequestId),
    Tracking(RequestId),
}

/// The parts that are told what the store replies.
struct Repliers {
    front: Mailbox<PostgresInput>,
    has_tracking: bool,
    asks: Arc<Asks>,
}

impl Repliers {
    fn answer(&self, asker: Asker, reply: Reply) {
        match asker {
            Asker::Gateway(id) => self.front.send(PostgresInput::Gateway(Input::Store(Event::Reply(id, reply)))),
            Asker::Sweeper(id) => self.asks.answer(id, reply),
            Asker::Tracking(id) => self.track(Event::Reply(id, reply)),
        }
    }

    fn tell_all(&self, event: Event) {
        if self.has_tracking {
            self.track(event.clone());
        }
        self.front.send(PostgresInput::Gateway(Input::Store(event)));
    }

    fn track(&self, event: Event) {
        self.front.send(PostgresInput::Tracking(iolite_tracking::Input::Store(event)));
    }
}

/// What is said to the store.
enum ForStore {
    Request(Asker, Request),
    GiveUp(Asker),
}

/// Opens the store, and carries requests to it and events back. A reply is for its asker, everything else for all.
async fn work(
    settings: PostgresSettings,
    mut asked: mpsc::UnboundedReceiver<ForStore>,
    repliers: Repliers,
    figures: StoreFigures,
) -> Result<Infallible, OpenError> {
    let mut last_told = String::new();
    let told = |error: &OpenError| {
        // Every new reason once: it may go on for hours.
        let text = error.to_string();
        if text != last_told {
            iolite_host::warn(&format!("waiting for the database: {text}"));
            last_told = text;
        }
    };
    let mut store = PostgresStore::open_patiently(settings, told).await?;
    let mut asking = Asking::default();
    let mut looks = interval(FIGURES_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            event = store.next_event() => match event {
                Event::Reply(number, reply) => {
                    if let Some(asker) = asking.answered(number) {
                        repliers.answer(asker, reply);
                    }
                }
                Event::Ready { .. } | Event::Feed(_) => repliers.tell_all(event),
            },
            Some(said) = asked.recv() => match said {
                ForStore::Request(asker, request) => store.request(asking.begin(asker), request),
                ForStore::GiveUp(asker) => {
                    if let Some(number) = asking.give_up(asker) {
                        store.give_up(number);
                    }
                }
            },
            _ = looks.tick() => figures.set(store.figures()),
        }
    }
}

/// What `/metrics` tells of the store.
struct StoreFigures {
    connections: Metric,
    waiting: Metric,
    repeated: Metric,
    reconnected: Metric,
    heard_at: Metric,
}

impl StoreFigures {
    fn new(metrics: &Metrics) -> StoreFigures {
        StoreFigures {
            connections: metrics.gauge("iolite_postgres_connections", "Connections with the database that are open."),
            waiting: metrics
                .gauge("iolite_postgres_requests_waiting", "What the database was asked and has not answered."),
            repeated: metrics.counter(
                "iolite_postgres_repeated_total",
                "Requests that were done again, because they came in the way of others.",
            ),
            reconnected: metrics
                .counter("iolite_postgres_reconnected_total", "What was given up and done again on a new connection."),
            // A time, and not how long ago that is, which would stand still when nobody looks.
            heard_at: metrics.gauge(
                "iolite_postgres_heard_at_milliseconds",
                "Since 1970: when the database last said how far it is. It is asked every second.",
            ),
        }
    }

    fn set(&self, figures: iolite_postgres::Figures) {
        let iolite_postgres::Figures { connections, waiting, repeated, reconnected, heard_at_millis } = figures;
        self.connections.set(connections);
        self.waiting.set(waiting);
        self.repeated.set(repeated);
        self.reconnected.set(reconnected);
        self.heard_at.set(heard_at_millis);
    }
}

/// What the gateway's outputs go to.
struct World {
    endpoint: Endpoint<GatewaySessions<PostgresInput>>,
    access: AccessCommands,
    blobs: BlobHost<PostgresInput>,
    requests: mpsc::UnboundedSender<ForStore>,
    ready: Arc<Ready>,
}

impl World {
    fn perform_gateway(&mut self, output: Output) {
        match output {
            Output::Message(session, message) => self.endpoint.send(session.0, message),
            Output::Close(session) => self.endpoint.close(session.0),
            // When the store's work has ended, so has this.
            Output::Store(id, request) => drop(self.requests.send(ForStore::Request(Asker::Gateway(id), request))),
            Output::Blobs(link, output) => self.blobs.perform(link, output),
            // There are no objects behind PostgreSQL, which would have to know.
            Output::Access(news) => drop(self.access.take(news)),
            Output::GiveUp(id) => drop(self.requests.send(ForStore::GiveUp(Asker::Gateway(id)))),
        }
    }

    fn perform_tracking(&mut self, output: iolite_tracking::Output) {
        use iolite_tracking::Output;
        match output {
            Output::Request(id, request) => drop(self.requests.send(ForStore::Request(Asker::Tracking(id), request))),
            Output::GiveUp(id) => drop(self.requests.send(ForStore::GiveUp(Asker::Tracking(id)))),
            // Nobody asks yet: the host of objects is to come.
            Output::News(news) => drop(news),
        }
    }
}

impl Performer<PostgresFront> for World {
    fn perform(&mut self, output: PostgresOutput) {
        match output {
            PostgresOutput::Gateway(output) => self.perform_gateway(output),
            PostgresOutput::Tracking(output) => self.perform_tracking(output),
        }
    }

    fn settled(&mut self, front: &PostgresFront) {
        self.ready.set(front.gateway.is_ready());
        self.blobs.settled(&front.gateway);
    }
}
