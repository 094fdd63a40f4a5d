//! What a tab runs that does not lead: the surface of [`crate::Client`] for apps, served from a mirror of the leader's state.
//!
//! Invariants:
//! - an update is applied whole, and only behind the one before it; otherwise the tab joins again, from nothing;
//! - mutations never run here: they are stored in the outbox, told to the leader, and shown once it has run them;
//! - reactions run here, on one state of the leader.
//!
//! docs/protocols/tabs.md lists inputs and outputs.

mod applying;
mod calls;
mod joining;
mod peek;
mod reactions;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use iolite_machine::{Instant, Machine, Now, PersistId};
use iolite_values::{ClientId, Counter, DeviceSecret, Schema, Timestamp};
use iolite_wire::message::SubscriptionId;
use iolite_wire::tabs::{JoinNumber, TabUpdate};

use super::mirror::Mirror;
use super::{CallStatus, Ticket};
use crate::cache::Cache;
use crate::interface::{MutationStatus, PendingMutation, Refused};
use crate::limits::Limits;
use crate::reactive::{ReactionId, Reactions};
use crate::session::Connection;
use crate::storage::StorageChange;
use crate::text::{Authors, Documents};
use crate::transaction::RunOf;
use crate::view::Changed;

pub use calls::CallAgain;
use calls::{Late, OwnCall};
use joining::Link;

/// What a follower is opened with.
#[derive(Clone, Debug)]
pub struct FollowerConfig {
    pub schema: Arc<Schema>,
    pub limits: Limits,
}

/// What happens to a follower.
#[derive(Clone, Debug)]
pub enum FollowerInput {
    /// A message of the leader to this tab.
    FromLeader(Vec<u8>),
    /// Another tab leads from now on. (If nobody says so, it is found out.)
    LeaderChanged,
    /// Storage has everything of this tab up to here.
    Persisted(PersistId),
}

/// What a follower asks of its host, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowerOutput {
    /// Hand this to the tab that leads, whichever it is.
    Send(Vec<u8>),
    /// Apply these changes to the storage that all tabs share, all or none; then say so.
    Persist { id: PersistId, changes: Vec<StorageChange> },
    /// Run this closure now: [`Follower::begin`], the closure, [`Follower::finish`]. It is always a reaction's.
    Run(RunOf),
    /// A call of this tab got on, or ended.
    Call { ticket: Ticket, status: CallStatus },
    /// A mutation of any tab got on, or ended.
    Mutation { counter: Counter, status: MutationStatus },
    /// The connection is another one than before.
    Connection(Connection),
    /// A reactive transaction needs data that is not on this device, and there is no connection. It runs once there is.
    Unavailable(ReactionId),
    /// A reactive transaction failed and stays as it was; the message is for the developer.
    ReactionFailed { reaction: ReactionId, message: String },
}

pub struct Follower {
    schema: Arc<Schema>,
    limits: Limits,
    /// The client that all tabs share, and the device's secret.
    identity: ClientId,
    secret: DeviceSecret,
    cache: Cache,
    mirror: Mirror,
    refused: BTreeMap<Counter, Refused>,
    reactions: Reactions,
    link: Link,
    join: JoinNumber,
    /// The interests that the join asked for.
    asked: Vec<SubscriptionId>,
    /// The interests of which the leader said that they cannot come at the moment.
    unavailable: BTreeSet<SubscriptionId>,
    /// Parts of an update that is not complete yet.
    partial: Option<TabUpdate>,
    heard: Instant,
    /// How the leader stands to its gateway.
    leaders: Connection,
    /// What the app was last told.
    connection: Connection,
    /// The calls of this tab that have not ended, in order.
    calls: VecDeque<OwnCall>,
    late: Late,
    persists: PersistId,
    running: Option<RunOf>,
    /// What changed since the reactions were last compared with it.
    changed: Changed,
    compare_due: bool,
    outputs: VecDeque<FollowerOutput>,
    documents: RefCell<Documents>,
    /// Who inserts into texts here, since it first did.
    authors: Option<Authors>,
}

impl Follower {
    /// Opens a follower, which looks for a leader at once.
    pub fn open(config: FollowerConfig, now: Now) -> Follower {
        let mut follower = Follower {
            schema: config.schema,
            limits: config.limits,
            identity: ClientId::default(),
            secret: DeviceSecret([0; 16]),
            cache: Cache::default(),
            mirror: Mirror::default(),
            refused: BTreeMap::new(),
            reactions: Reactions::default(),
            link: Link::Joining { again: now.instant },
            join: JoinNumber::NONE,
            asked: Vec::new(),
            unavailable: BTreeSet::new(),
            partial: None,
            heard: now.instant,
            leaders: Connection::Connecting,
            connection: Connection::Connecting,
            authors: None,
            calls: VecDeque::new(),
            late: Late::default(),
            documents: RefCell::new(Documents::new()),
            persists: PersistId::START,
            running: None,
            changed: Changed::default(),
            compare_due: false,
            outputs: VecDeque::new(),
        };
        follower.begin_join(now.instant);
        follower
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Who the shared client is to the store; nothing before the first leader was found.
    pub fn identity(&self) -> ClientId {
        self.identity
    }

    /// The timestamp of the confirmed state.
    pub fn at(&self) -> Timestamp {
        self.cache.at()
    }

    /// How the shared client stands to its gateway. `Connecting` while no leader is known; `Refused` with the reason `Version` or `Schema` when
    /// a tab with another version of the app leads.
    pub fn connection(&self) -> Connection {
        match &self.link {
            Link::Joining { .. } | Link::Welcomed => Connection::Connecting,
            Link::Following { .. } => self.leaders.clone(),
            Link::Refused { reason, message } => Connection::Refused { reason: *reason, message: message.clone() },
        }
    }

    /// Whether what is shown is the leader's, up to what is on its way.
    pub fn is_following(&self) -> bool {
        matches!(self.link, Link::Following { .. })
    }

    /// What is pending in all tabs, in order. Calls that the leader does not have yet are in [`Follower::calls`].
    pub fn pending(&self) -> impl Iterator<Item = &PendingMutation> {
        self.mirror.pending()
    }

    /// One of those.
    pub fn mutation(&self, counter: Counter) -> Option<&PendingMutation> {
        self.mirror.get(counter)
    }

    /// What ended without effect and was not dismissed yet.
    pub fn refused(&self) -> impl Iterator<Item = &Refused> {
        self.refused.values()
    }

    fn work(&mut self) -> bool {
        self.running.is_none() && (self.react() || self.ask() || self.tell_calls())
    }

    fn note_connection(&mut self) {
        let connection = self.connection();
        if connection != self.connection {
            self.connection = connection.clone();
            self.outputs.push_back(FollowerOutput::Connection(connection));
        }
    }
}

impl Machine for Follower {
    type Input = FollowerInput;
    type Output = FollowerOutput;

    fn handle(&mut self, now: Now, input: FollowerInput) {
        match input {
            FollowerInput::FromLeader(message) => self.on_message(now.instant, &message),
            FollowerInput::LeaderChanged => self.begin_join(now.instant),
            FollowerInput::Persisted(id) => self.on_persisted(id),
        }
        self.note_connection();
    }

    fn poll(&mut self) -> Option<FollowerOutput> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return Some(output);
            }
            if !self.work() {
                return None;
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.join_deadline()
    }

    fn on_deadline(&mut self, now: Now) {
        self.on_join_due(now.instant);
        self.note_connection();
    }

    fn validate(&self) {
        self.cache.validate();
        self.reactions.validate();
        let ended = self.calls.iter().any(OwnCall::has_ended);
        assert!(!ended, "a call that has ended is not kept");
    }
}
