//! The client core: one machine that holds the cache, the queue, the reactions and the session together.
//!
//! Work happens when the host polls, in this order, each step only when the one before has nothing left: rebase the pending mutations; run the
//! reactions whose answers changed; ask for data; submit; store. A host that hands over several inputs before it polls gets one rebase for
//! all of them.
//!
//! Invariants: at most one closure runs at a time; a closure sees one snapshot of its view; docs/protocols/client.md lists inputs and outputs.

mod advance;
mod batching;
mod blobs;
mod causal;
mod checkpoints;
mod declined;
mod delivery;
mod ending;
mod identity;
mod logs;
mod members;
mod moving;
mod mutations;
mod narrowing;
mod peek;
mod reactions;
mod resting;
mod rows;
mod runs;
mod sending;
mod storing;
mod tabs;
mod texts;
mod tokens;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, PersistId};
use iolite_values::{
    Attempt, ClientId, Counter, Id, Interest, LaneNumber, Schema, SchemaHash, StoreIncarnation, Timestamp,
};
use iolite_wire::message::Advance;

pub use mutations::CallError;

use crate::cache::{Cache, RowId};
use crate::interface::{Broken, Config, Input, Output, Refused};
use crate::limits::Limits;
use crate::queue::{Queue, Windows};
use crate::reactive::Reactions;
use crate::session::{Connection, Gateway, Session};
use crate::storage::{Loaded, OpenError, PendingChanges};
use crate::tabs::Leader;
use crate::text::{Authors, Documents};
use crate::transaction::RunOf;
use crate::view::{Changed, Overlay};
use batching::Batches;
use blobs::Blobs;
use causal::Causal;
use checkpoints::Checkpoints;
use delivery::Delivery;
use ending::Ended;
use identity::Identity;
use logs::Logs;
pub use logs::{JoinedLog, LeaveError, LogError};
pub use members::LogMember;
use members::Members;
use moving::Moving;
use resting::Rest;
pub use rows::ConflictError;
use rows::Rows;
pub(crate) use tokens::Need;
pub use tokens::TokenSource;
use tokens::Tokens;

pub struct Client {
    schema: Arc<Schema>,
    /// Its own: to make it is much work.
    schema_hash: SchemaHash,
    identity: Identity,
    user: String,
    tokens: Tokens,
    limits: Limits,
    batch: Duration,
    cache: Cache,
    /// The history that the cache is of.
    store: Option<StoreIncarnation>,
    /// The digest of rights that the cache is by, as the last advance that had one has told it.
    rights: Option<Id>,
    delivery: Delivery,
    logs: Logs,
    checkpoints: Checkpoints,
    batches: Batches,
    blobs: Blobs,
    rows: Rows,
    causal: Causal,
    members: Members,
    moving: Moving,
    queue: Queue,
    refused: BTreeMap<Counter, Refused>,
    reactions: Reactions,
    session: Session,
    rest: Rest,
    /// What the app was last told.
    connection: Connection,
    /// Parts of an `Advance` that is not complete yet.
    partial: Option<Advance>,
    /// The closure that runs at the moment.
    running: Option<RunOf>,
    /// What changed since the reactions were last compared with it.
    changed: Changed,
    counters: Counters,
    acknowledgement: Acknowledgement,
    disk: Disk,
    outputs: VecDeque<Output>,
    /// The pending mutations that are durable, for reactions with that view, if these are not all.
    durable: Option<Overlay>,
    /// Something may have changed since the reactions were last compared with it.
    compare_due: bool,
    broken: Broken,
    /// The tabs that follow.
    leader: Leader,
    /// Texts in order, for readers and writers.
    documents: RefCell<Documents>,
    authors: Authors,
}

/// Counters of mutations, handed out in blocks that are reserved on disk.
#[derive(Clone, Copy, Debug)]
struct Counters {
    last: Counter,
    reserved: Counter,
}

impl Counters {
    fn after(last: Counter) -> Counters {
        Counters { last, reserved: last }
    }

    /// Below the numbers of the attempts that this life of the app makes of a mutation which it found stored: no attempt of an earlier life has one
    /// of those, or one number could have two contents. A life begins with a block of counters of its own, so their last tells lives apart.
    fn attempts_base(&self) -> Attempt {
        let life = (self.last.0 / Client::RESERVE).min(u64::from(u16::MAX));
        Attempt((life as u32) << 16)
    }
}

/// Which outcomes the store may forget.
#[derive(Clone, Copy, Debug)]
struct Acknowledgement {
    /// Noted in storage.
    noted: Counter,
    /// Told to the gateway in this session.
    told: Counter,
    /// The bytes of the session up to where it was told.
    told_by: usize,
    due: Option<Instant>,
}

impl Acknowledgement {
    fn noted(noted: Counter) -> Acknowledgement {
        Acknowledgement { noted, told: Counter(0), told_by: 0, due: None }
    }
}

/// What the host's storage has, and what is on its way there.
#[derive(Debug)]
struct Disk {
    changes: PendingChanges,
    last: PersistId,
    done: PersistId,
    /// The batches that are on their way, without what they hold of the cache.
    unstored: VecDeque<(PersistId, PendingChanges)>,
    /// The batch that only removes the stored cache, once there was no room.
    removal: Option<PersistId>,
    /// A batch is to go out now, rather than when the disk is idle.
    due: bool,
    /// With each batch that is not stored yet: everything up to which counter has ended, and is stored as ended with it.
    ended: VecDeque<(PersistId, Counter)>,
    /// Ends that are told once they are stored.
    untold: VecDeque<Ended>,
    /// The batch with which everything is stored that ended in the history before.
    ends_before_history: PersistId,
    /// Rows that changed since they were last stored, and the interests as they were stored.
    changed_rows: BTreeSet<RowId>,
    /// Logs that were replayed since their positions were last stored.
    changed_logs: BTreeSet<LaneNumber>,
    stored_interests: BTreeSet<Interest>,
    /// False where nobody would read it, and once there was no room for it, or a row was too large to store: nothing of it is stored then.
    stores_cache: bool,
}

impl Client {
    /// Opens a client on what its host has stored for it: nothing, the first time.
    ///
    /// # Errors
    /// [`OpenError`] when the storage cannot be read whole. It is left as it is.
    pub fn open(
        config: Config,
        stored: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>,
        now: Now,
    ) -> Result<Client, OpenError> {
        let mut loaded = Loaded::read(stored)?;
        loaded.check_user(&config.user)?;
        let (schema_hash, has_blobs) = (config.schema.hash(), config.schema.has_blobs());
        let stored_interests = loaded.interests.iter().cloned().collect();
        let holds_rows = loaded.is_of(schema_hash);
        let (store, cache, unused) = loaded.take_cache(schema_hash);
        let meta = loaded.meta.as_ref();
        let fresh = config.fresh_client.0.as_u128();
        let last = meta.map_or(Counter(0), |meta| meta.next_counter);
        let life = last.0;
        let unsent_after = meta.and_then(|meta| meta.unsent_after).unwrap_or(last);
        let identity = Identity::of(&config, meta);
        let authors = Authors::of(identity.secret, [fresh as u64, (fresh >> 64) as u64, config.seed, life]);
        let mut client = Client {
            delivery: Delivery::opened(&config.schema, meta.is_some()),
            schema: config.schema,
            schema_hash,
            identity,
            user: config.user,
            tokens: Tokens::of(config.token, config.seed),
            limits: config.limits,
            batch: config.batch,
            cache,
            store,
            rights: store.and(meta.and_then(|meta| meta.rights)),
            logs: Logs::default(),
            checkpoints: Checkpoints::default(),
            batches: Batches::default(),
            blobs: Blobs::new(config.seed, has_blobs),
            rows: Rows::default(),
            causal: Causal::opened(now.wall, unsent_after),
            members: Members::new(),
            moving: Moving::restored(meta.and_then(|meta| meta.centre_token.clone())),
            queue: Queue::new(Windows { strong: config.limits.strong_ahead, ..Windows::default() }),
            refused: BTreeMap::new(),
            reactions: Reactions::default(),
            session: Session::new(now.instant, &config.gateways, config.seed, config.limits),
            rest: Rest::new(config.seed),
            connection: Connection::Offline,
            partial: None,
            running: None,
            changed: Changed::default(),
            counters: Counters::after(last),
            acknowledgement: Acknowledgement::noted(meta.map_or(Counter(0), |meta| meta.acknowledged)),
            disk: Disk::opened(stored_interests, unused, config.stores_cache),
            outputs: VecDeque::new(),
            durable: None,
            compare_due: false,
            broken: Broken::Nothing,
            leader: Leader::restored(loaded.ends),
            documents: RefCell::new(Documents::new()),
            authors,
        };
        client.restore_logs(loaded.logs, holds_rows);
        client.restore_mutations(loaded.mutations, loaded.refused);
        client.restore_kept(&loaded.kept, loaded.kept_calls)?;
        client.reserve_counters();
        client.adopt_all(loaded.outbox);
        Ok(client)
    }

    /// Breaks the client, for a simulation that shows that its checks find it.
    pub fn break_for_simulation(&mut self, broken: Broken) {
        self.broken = broken;
        self.documents.borrow_mut().broken = broken;
        self.queue.broken = broken;
        self.identity.broken = broken;
        self.rows.break_for_simulation(broken);
        if broken == Broken::RunAgainAfterSent {
            self.run_restored_again();
        }
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Who this client is to the store: that of the last welcome. Before the first one, what the device drew.
    pub fn identity(&self) -> ClientId {
        self.identity.client()
    }

    /// The history of the store that the confirmed state is of; none before the first welcome.
    pub fn store(&self) -> Option<StoreIncarnation> {
        self.store
    }

    /// The timestamp of the confirmed state.
    pub fn at(&self) -> Timestamp {
        self.cache.at()
    }

    /// How the client stands to its gateway.
    pub fn connection(&self) -> Connection {
        self.session.connection()
    }

    /// The gateway that it has a link to, or tries, or tried last.
    pub fn gateway(&self) -> Gateway {
        self.session.gateway()
    }

    /// Does one piece of work; false when there is nothing to do.
    fn work(&mut self) -> bool {
        if self.running.is_some() {
            return false;
        }
        self.replay()
            || self.rebase()
            || self.react()
            || self.want_token()
            || self.renew_token()
            || self.tell_applied()
            || self.ask()
            || self.tell_hashes()
            || self.upload()
            || self.link_blobs()
            || self.send_kept()
            || self.tell_conflicts()
            || self.submit()
            || self.store_changes()
            || self.inform_tabs()
    }

    fn note_connection(&mut self) {
        let connection = self.session.connection();
        if connection != self.connection {
            self.connection = connection.clone();
            self.leader.note_connection();
            self.outputs.push_back(Output::Connection(connection));
        }
        self.note_centre();
        if self.session.has_lost_hope() {
            self.outputs.extend(self.reactions.missing().map(Output::Unavailable));
        }
    }
}

impl Machine for Client {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Now, input: Input) {
        self.session.is_at(now.instant);
        self.causal.is_at(now.wall);
        // The timers of a hidden page come late, and frames may come before them.
        self.rest.on_due(now.instant);
        match input {
            Input::Linked => self.on_linked(now),
            Input::LinkLost => self.on_link_lost(now),
            Input::Frame(frame) => {
                self.on_frame(now, &frame);
                self.begin_batches(now.instant);
            }
            Input::Persisted(id) => self.on_persisted(now, id),
            Input::StorageFull => self.on_storage_full(),
            Input::FromTab(tab, message) => self.on_from_tab(now, tab, &message),
            Input::TabGone(tab) => self.on_tab_gone(tab),
            Input::Outbox(entries) => self.on_outbox(entries),
            Input::Blobs(input) => self.on_blobs(now, input),
        }
        self.renew_identity(now.instant);
        self.note_connection();
    }

    fn poll(&mut self) -> Option<Output> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return Some(output);
            }
            if !self.work() {
                return None;
            }
            // What is asked or submitted may be more than any gateway takes, which refuses the connection.
            self.note_connection();
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let own = [self.session.deadline(), self.acknowledgement.due, self.leader.deadline(), self.rest.deadline()];
        let tokens = self.tokens.deadline(self.session.token_need());
        let others = [self.batches.deadline(), self.blobs.deadline(), self.causal.deadline(), tokens];
        own.into_iter().chain(others).flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        self.session.is_at(now.instant);
        self.causal.is_at(now.wall);
        self.on_session_due(now);
        self.tokens.on_due(now.instant, self.session.token_need());
        self.on_acknowledgement_due(now.instant);
        self.renew_identity(now.instant);
        self.rest.on_due(now.instant);
        self.causal.on_due(now.instant);
        self.batches.on_due(now.instant);
        self.on_blobs_due(now.instant);
        self.on_tabs_due(now);
        self.note_connection();
    }

    fn validate(&self) {
        self.cache.validate();
        self.queue.validate(&self.cache);
        self.delivery.validate(&self.cache, self.logs.lanes());
        self.validate_logs();
        self.validate_kept();
        self.validate_identity();
        self.tokens.validate();
        self.reactions.validate();
        self.leader.validate();
        self.validate_stored();
        assert!(self.counters.last <= self.counters.reserved, "a counter is used only when reserved");
        assert!(
            self.acknowledgement.told <= self.acknowledgement.noted,
            "only what is stored as ended is acknowledged"
        );
        let first = self.queue.first_open().map(|entry| entry.counter());
        assert!(first.is_none_or(|first| first > self.acknowledgement.noted), "what is pending is not acknowledged");
    }
}
