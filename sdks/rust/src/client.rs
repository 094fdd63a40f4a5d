//! A client: the app's view of shared state.

use std::num::NonZeroU16;
use std::sync::{Arc, Weak};
use std::time::Duration;

use iolite_client::{
    CallError, Centre, Client as Core, Config, Connection, LogError, MutationStatus, PendingMutation, Refused, Splice,
    View,
};
use iolite_host::{Clock, JournalNews, random_id, random_seed};
use iolite_values::{Cell, ClientId, Counter, DeviceSecret, Id, Schema, Timestamp, Value};
use serde::Serialize;
use tokio::sync::{Notify, mpsc, watch};

use crate::arguments;
use crate::blob_link;
use crate::blobs::Blobs;
use crate::chunks::Chunks;
use crate::conflicts::Conflicts;
use crate::error::{OpenError, Result as ClosureResult};
use crate::link;
use crate::live::LiveError;
use crate::log::Log;
use crate::mutation::MutationHandle;
use crate::options::{Options, Storage};
use crate::pump::Inner;
use crate::reaction::{Reaction, Registration, Watched};
use crate::shared::{Shared, tell_persisted};
use crate::storage::{OpenDirectory, StorageWriter};
use crate::token::{self, Token};
use crate::traffic::Traffic;
use crate::transact::{Shelved, TransactError, committed};
use crate::transaction::Transaction;

/// A client of a server. Clones are the same client; it is closed when the last one is dropped.
///
/// Calls do their work on the caller's thread, and none of them waits for the network unless it is `async`.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

/// A mutation that ended, also one that was called before a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Which.
    pub counter: Counter,
    /// How.
    pub status: MutationStatus,
}

/// No gateway tells of changes more seldom: the bound of [`Options::batch`].
pub const BATCH_MAX: Duration = Duration::from_secs(10);

impl Client {
    /// Opens a client, which then connects by itself, and again whenever the link is lost. Works offline: it does not wait for the server.
    ///
    /// `url` is a server's WebSocket address, like `ws://127.0.0.1:7777/sync`; `token` the one that `iolite dev` printed, one of a user, or a [`Token`] that
    /// asks the app for it.
    ///
    /// # Errors
    /// [`OpenError`], when the storage cannot be used, the address is none, a mutator has a name that begins with `$`, or [`Options::batch`] is more than
    /// [`BATCH_MAX`].
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn connect(url: &str, token: impl Into<Token>, schema: Schema, options: Options) -> Result<Client, OpenError> {
        Client::connect_to_one_of(&[url], token, schema, options)
    }

    /// Opens a client of a server that has several gateways. It stays with one that works, and goes on at another when that is gone: nothing is lost with
    /// it, and nothing done twice. Many clients spread over the gateways.
    ///
    /// # Errors
    /// As [`Client::connect`], of any address, and [`OpenError::Addresses`] when there is none.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn connect_to_one_of<U: AsRef<str>>(
        urls: &[U],
        token: impl Into<Token>,
        schema: Schema,
        options: Options,
    ) -> Result<Client, OpenError> {
        let (mut urls, first) = addresses(urls)?;
        let mut gateways = vec![first];
        for centre in &options.centres {
            let (further, count) = addresses(centre)?;
            urls.extend(further);
            gateways.push(count);
        }
        options.check()?;
        let (token, provider) = token.into().parts();
        let clock = Clock::start();
        let directory = match &options.storage {
            Storage::Memory => None,
            Storage::Directory(directory) => Some(OpenDirectory::open(directory)?),
        };
        let chunks = match &options.storage {
            Storage::Memory => Chunks::in_memory(),
            Storage::Directory(directory) => {
                let failed = |source| OpenError::Chunks { directory: directory.clone(), source };
                Chunks::beside(directory).map_err(failed)?
            }
        };
        let config = Config {
            schema: Arc::new(schema),
            fresh_client: ClientId(Id::from_u128(random_id())),
            fresh_secret: DeviceSecret(random_id().to_be_bytes()),
            token,
            user: options.user,
            gateways,
            batch: options.batch,
            stores_cache: directory.is_some(),
            seed: random_seed(),
            limits: options.limits,
        };
        let stored = directory.iter().flat_map(|directory| directory.entries.clone());
        let core = Core::open(config, stored, clock.now())?;
        let (wake, (persisted, news)) = (Arc::new(Notify::new()), mpsc::unbounded_channel());
        let storage = match directory {
            None => StorageWriter::Memory,
            Some(directory) => directory.start(tell(persisted))?,
        };
        let inner = Inner::new(core, options.mutators, options.closures, storage);
        let shared = Arc::new(Shared::new(inner, clock, wake.clone(), chunks.clone()));
        let blob_wake = shared.blob_wake.clone();
        tokio::spawn(blob_link::run(Arc::downgrade(&shared), urls.clone(), chunks, blob_wake));
        tokio::spawn(link::run(Arc::downgrade(&shared), urls, clock, wake));
        if let Some(provider) = provider {
            tokio::spawn(token::run(Arc::downgrade(&shared), provider, shared.token_wake.clone()));
        }
        tokio::spawn(take_news(Arc::downgrade(&shared), news));
        // The first storing and the first deadline are due.
        shared.happened([]);
        Ok(Client { shared })
    }

    /// Closes the client, and returns when its storage may be opened again: when every clone is closed or dropped.
    ///
    /// Cancel safe: it is closed also when the wait is given up.
    pub async fn close(self) {
        let mut released = self.shared.released.subscribe();
        drop(self);
        // Nothing is ever sent: it ends with the client.
        while released.changed().await.is_ok() {}
    }

    /// Calls a named mutation. Its effect is in the optimistic view when this returns.
    ///
    /// # Errors
    /// [`CallError`], when it was not called: inside a closure, too large, too many are pending, or the arguments have no JSON, as NaN or a
    /// map whose keys are structs.
    pub fn mutate<A: Serialize + ?Sized>(&self, name: &str, arguments: &A) -> Result<MutationHandle, CallError> {
        self.shared.mutate(name, &arguments::encode(arguments)?)
    }

    /// Large values of rows: put onto this device, and read piece by piece.
    pub fn blobs(&self) -> Blobs {
        Blobs::new(self.shared.clone())
    }

    /// The conflicts of a causal table, which a person decides.
    pub fn conflicts<T: crate::table::Table>(&self) -> Conflicts<T> {
        Conflicts::new(self.shared.clone())
    }

    /// Joins a log, or finds it joined: it is replayed here from now on, across restarts of a client with a directory. `instance` says which log of this name
    /// it is: the value of the first column of its tables' keys.
    ///
    /// # Errors
    /// [`LogError`].
    pub fn log(&self, name: &str, instance: impl Into<Value>) -> Result<Log, LogError> {
        Log::join(self.shared.clone(), name, &instance.into())
    }

    pub(crate) fn call(&self, name: &str, arguments: &str) -> Result<MutationHandle, CallError> {
        self.shared.mutate(name, arguments)
    }

    pub(crate) fn edit(&self, cell: &Cell, splice: &Splice<'_>) -> Result<MutationHandle, LiveError> {
        self.shared.edit(cell, splice)
    }

    /// The schema that the client was opened with.
    pub fn schema(&self) -> Arc<Schema> {
        self.shared.with(|inner| inner.core.schema().clone())
    }

    /// Runs a closure as a transaction, again after each conflict, and returns what the run that took effect returned. Online only: use a named
    /// mutation for what has to survive a lost connection.
    ///
    /// # Errors
    /// [`TransactError`]: offline, or it ended without effect; `abort` in the closure is [`crate::MutationEnd::Rejected`].
    ///
    /// Not cancel safe: after the wait was given up, the transaction may take effect or not.
    pub async fn transact<T, F>(&self, closure: F) -> Result<T, TransactError>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> ClosureResult<T> + Send + 'static,
    {
        let (closure, results) = Shelved::new(closure);
        let handle = self.shared.transact(Box::new(closure))?;
        handle.confirmed().await?;
        Ok(committed(&results)?)
    }

    /// Runs a closure as a reactive transaction: now, and again whenever an answer that it had is another, each time on one snapshot.
    ///
    /// ```no_run
    /// # async fn example(client: iolite::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut likes = client.react(iolite::View::Confirmed, |tx| tx.counter("notes", "first", "likes"));
    /// println!("{} likes", likes.next().await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// Inside a closure, of this client or another.
    pub fn react<T, F>(&self, view: View, closure: F) -> Reaction<T>
    where
        T: Send + Sync + 'static,
        F: FnMut(&mut Transaction<'_>) -> ClosureResult<T> + Send + 'static,
    {
        let (closure, values) = Watched::new(closure);
        let id = self.shared.react(view, Box::new(closure));
        Reaction::new(values, Registration { id, client: Arc::downgrade(&self.shared) })
    }

    /// Reads once: a reaction that ends with its first value.
    ///
    /// # Errors
    /// [`crate::ReactionError`], as [`Reaction::next`].
    ///
    /// Cancel safe: giving up the wait ends the reaction, and changes nothing.
    pub async fn read<T, F>(&self, view: View, closure: F) -> Result<Arc<T>, crate::ReactionError>
    where
        T: Send + Sync + 'static,
        F: FnMut(&mut Transaction<'_>) -> ClosureResult<T> + Send + 'static,
    {
        self.react(view, closure).next().await
    }

    /// Keeps on this device what a closure reads, for as long as the returned reaction is kept: it is there for other reads at once, also offline, and
    /// does not leave the cache for others.
    ///
    /// # Panics
    /// Inside a closure, of this client or another.
    pub fn pin<F>(&self, mut closure: F) -> Reaction<()>
    where
        F: FnMut(&mut Transaction<'_>) -> ClosureResult<()> + Send + 'static,
    {
        self.react(View::Confirmed, move |tx| closure(tx))
    }

    /// Follows a mutation that is pending, such as one from before a restart.
    pub fn mutation(&self, counter: Counter) -> Option<MutationHandle> {
        self.shared.handle_of(counter)
    }

    /// What is pending, in order.
    pub fn pending(&self) -> Vec<PendingMutation> {
        self.shared.with(|inner| inner.core.pending().collect())
    }

    /// What ended without effect and was not dismissed yet, with its payload.
    pub fn refused(&self) -> Vec<Refused> {
        self.shared.with(|inner| inner.core.refused().cloned().collect())
    }

    /// Forgets a refused mutation.
    pub fn dismiss(&self, counter: Counter) {
        self.shared.with(|inner| inner.core.dismiss(counter));
    }

    /// Takes a mutation back; false when something of it was sent already.
    pub fn cancel(&self, counter: Counter) -> bool {
        self.shared.with(|inner| inner.core.cancel(counter))
    }

    /// Every mutation that ends from now on.
    pub fn settled(&self) -> mpsc::UnboundedReceiver<Settled> {
        self.shared.on_settled()
    }

    /// How the client stands to its server, as a value that can be watched.
    pub fn connection(&self) -> watch::Receiver<Connection> {
        self.shared.connection.clone()
    }

    /// The data centre that serves the client, as a value that can be watched. None: none of a group has yet.
    pub fn centre(&self) -> watch::Receiver<Option<Centre>> {
        self.shared.centre.clone()
    }

    /// Waits until everything that is subscribed is current.
    ///
    /// # Errors
    /// [`Connection::Refused`], when the server refuses: the token, the schema or the version.
    ///
    /// Cancel safe: giving up the wait changes nothing.
    pub async fn online(&self) -> Result<(), Connection> {
        let mut connection = self.connection();
        let settled = |state: &Connection| matches!(state, Connection::Online | Connection::Refused { .. });
        match connection.wait_for(settled).await.map(|state| state.clone()) {
            Ok(Connection::Online) => Ok(()),
            Ok(other) => Err(other),
            Err(_) => Err(Connection::Offline),
        }
    }

    /// Why the storage failed, once it did: nothing more becomes durable, so nothing more is sent, until the client is opened again.
    pub fn storage_failure(&self) -> watch::Receiver<Option<String>> {
        self.shared.storage_failure.subscribe()
    }

    /// Drops the link, and stays offline until [`Client::go_online`].
    pub fn go_offline(&self) {
        self.shared.with(|inner| inner.core.go_offline());
    }

    /// Connects now, instead of after the pause.
    pub fn go_online(&self) {
        let now = self.shared.clock.now().instant;
        self.shared.with(|inner| inner.core.go_online(now));
    }

    /// Uses another token from now on, also in the session that is open. It has to be of the same user as the data on this device: else the connection is
    /// refused, reason [`OtherUser`](iolite_wire::message::GoodbyeReason::OtherUser), nothing is sent, and calls are held.
    pub fn set_token(&self, token: &str) {
        let now = self.shared.clock.now().instant;
        self.shared.with(|inner| inner.core.set_token(now, token.to_owned()));
    }

    /// The timestamp of the confirmed state.
    pub fn confirmed_at(&self) -> Timestamp {
        self.shared.with(|inner| inner.core.at())
    }

    /// What it has sent and received.
    pub fn traffic(&self) -> Traffic {
        self.shared.traffic.read()
    }

    /// How many attempts of mutations were submitted: more than were confirmed, where some conflicted.
    pub fn attempts(&self) -> u64 {
        self.shared.with(|inner| inner.attempts_total)
    }
}

fn addresses<U: AsRef<str>>(urls: &[U]) -> Result<(Vec<String>, NonZeroU16), OpenError> {
    let count = u16::try_from(urls.len()).ok().and_then(NonZeroU16::new);
    let count = count.ok_or(OpenError::Addresses { count: urls.len() })?;
    let check = |url: &U| {
        let url = url.as_ref().to_owned();
        if is_address(&url) { Ok(url) } else { Err(OpenError::Url { url }) }
    };
    Ok((urls.iter().map(check).collect::<Result<_, _>>()?, count))
}

/// Whether it is an address of a server.
pub(crate) fn is_address(url: &str) -> bool {
    let path = url.strip_prefix("ws://").and_then(|rest| rest.split_once('/')).map(|(_, path)| path);
    path.is_some_and(|path| !path.is_empty())
}

fn tell(persisted: mpsc::UnboundedSender<JournalNews>) -> impl FnMut(JournalNews) + Send + 'static {
    move |news| drop(persisted.send(news))
}

/// Takes the disk's news to the core.
async fn take_news(client: Weak<Shared>, mut news: mpsc::UnboundedReceiver<JournalNews>) {
    while let Some(piece) = news.recv().await {
        match piece {
            JournalNews::Synced { through, .. } => tell_persisted(&client, through),
            JournalNews::ChunkTaken | JournalNews::CheckpointFinished { .. } => {}
            JournalNews::Failed(reason) => {
                tracing::error!(reason, "the client's storage failed: nothing more becomes durable");
                if let Some(client) = client.upgrade() {
                    client.storage_failure.send_replace(Some(reason));
                }
                return;
            }
        }
    }
}
