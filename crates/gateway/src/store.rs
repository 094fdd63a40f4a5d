//! The gateway's side of the store: whether it is there, which requests are open, and who handles which event.

use std::collections::BTreeMap;

use iolite_catalog::Catalog;
use iolite_machine::Now;
use iolite_store::{Event, Refusal, Reply, Request, RequestId};
use iolite_values::{ClientId, Counter, LaneNumber, StoreIncarnation, Timestamp, Write};
use iolite_wire::message::SubscriptionId;

use crate::Gateway;
use crate::checkpoints::Checkpoints;
use crate::explaining::ExplainId;
use crate::following::load::LoadId;
use crate::interface::{Output, SessionId};
use crate::sessions::farewell::Farewell;
use crate::sessions::group::Group;
use crate::sessions::session::{Guest, Phase};

/// Where the store is.
#[derive(Clone, Debug)]
pub enum Home {
    /// It has not been there yet.
    Away,
    /// Its schemas are being read. Changes of them since are kept.
    ReadingSchemas {
        store: StoreIncarnation,
        position: Timestamp,
        changes: Vec<Write>,
    },
    Serving {
        store: StoreIncarnation,
        position: Timestamp,
    },
    /// Its schemas cannot be understood, so nobody is served.
    Unreadable {
        /// None: they were not even read.
        store: Option<StoreIncarnation>,
        position: Timestamp,
        problem: String,
    },
}

/// Why something was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Schemas,
    Growth(Counter),
    /// A write of a log's checkpoint, by the counter of its transaction.
    Checkpoint(Counter),
    /// The heads of a log's checkpoints.
    Heads,
    /// The last page in front of the block of a checkpoint.
    LastPage,
    /// The commit of a client's mutation, the one of its lane that the store is given.
    Submit {
        client: ClientId,
        lane: LaneNumber,
        counter: Counter,
    },
    Load {
        session: SessionId,
        load: LoadId,
    },
    OwnOutcomes(SessionId),
    /// Up to where the store knows outcomes of a session's client.
    LastOutcome(SessionId),
    /// A row that may have come into queries.
    Row,
    Acknowledge(ClientId),
    /// The rows of leases and of seals.
    Leases,
    /// The rows of `_access`.
    Access,
    /// A row of `_access`, by the counter of its transaction.
    AccessRow(Counter),
    /// The rows of the device that a client writes from.
    Device(ClientId),
    /// A change of these, by the counter of its transaction.
    DeviceRow {
        client: ClientId,
        counter: Counter,
    },
    /// A row of a lease or a seal, by the counter of its transaction.
    BlobRow(Counter),
    /// The end of a lease that is over, by the counter of its transaction.
    Revocation(Counter),
    /// The count of a user's blobs.
    BlobQuota,
    /// A cell whose blob a connection to `/blobs` speaks of.
    BlobCell,
    /// A key set, by which a user's read rules are applied.
    Set(SubscriptionId),
    /// A row by which a mutation is judged.
    Rights {
        client: ClientId,
        lane: LaneNumber,
        counter: Counter,
    },
    /// A row by which something is explained to an operator.
    Explanation(ExplainId),
    /// The outcome of a mutation whose lease is gone: it may have spent it itself.
    Spent {
        client: ClientId,
        lane: LaneNumber,
        counter: Counter,
    },
}

/// The open requests.
#[derive(Debug, Default)]
pub struct Requests {
    last: u64,
    pub open: BTreeMap<RequestId, Purpose>,
}

impl Purpose {
    /// Whether nothing comes of it but the reply.
    fn reads(self) -> bool {
        match self {
            Purpose::Schemas
            | Purpose::Load { .. }
            | Purpose::OwnOutcomes(_)
            | Purpose::LastOutcome(_)
            | Purpose::Row
            | Purpose::Heads
            | Purpose::LastPage
            | Purpose::Leases
            | Purpose::Access
            | Purpose::Device(_)
            | Purpose::BlobCell
            | Purpose::BlobQuota
            | Purpose::Set(_)
            | Purpose::Rights { .. }
            | Purpose::Explanation(_)
            | Purpose::Spent { .. } => true,
            Purpose::Growth(_)
            | Purpose::Checkpoint(_)
            | Purpose::Submit { .. }
            | Purpose::Acknowledge(_)
            | Purpose::Revocation(_)
            | Purpose::AccessRow(_)
            | Purpose::DeviceRow { .. }
            | Purpose::BlobRow(_) => false,
        }
    }
}

impl Home {
    pub fn position(&self) -> Timestamp {
        match self {
            Home::Away => Timestamp::ZERO,
            Home::ReadingSchemas { position, .. }
            | Home::Serving { position, .. }
            | Home::Unreadable { position, .. } => *position,
        }
    }

    pub fn set_position(&mut self, to: Timestamp) {
        match self {
            Home::Away => unreachable!("there is no feed of a store that is away"),
            Home::ReadingSchemas { position, .. }
            | Home::Serving { position, .. }
            | Home::Unreadable { position, .. } => {
                *position = to;
            }
        }
    }

    /// The store that sessions are served from, if they are.
    pub fn serving(&self) -> Option<StoreIncarnation> {
        match self {
            Home::Serving { store, .. } => Some(*store),
            Home::Away | Home::ReadingSchemas { .. } | Home::Unreadable { .. } => None,
        }
    }

    pub fn is_serving(&self) -> bool {
        self.serving().is_some()
    }

    /// Why this guest is let in, and has to wait.
    pub fn why_held(&self, guest: &Guest) -> String {
        match self {
            Home::Away => "the store is not there yet".into(),
            Home::ReadingSchemas { .. } => "the store is starting".into(),
            Home::Serving { .. } if guest.schema.is_some() => {
                "the store could not be given what is new in this client's schema yet".into()
            }
            Home::Serving { store, .. } if guest.hello.resume.is_some_and(|resume| resume.store != *store) => {
                "this data centre does not have yet all that this client has seen in another one".into()
            }
            Home::Serving { .. } => "this gateway is not yet as far as what this client has seen elsewhere".into(),
            Home::Unreadable { problem, .. } => problem.clone(),
        }
    }
}

impl Requests {
    pub fn next(&mut self, purpose: Purpose) -> RequestId {
        self.last += 1;
        let id = RequestId(self.last);
        self.open.insert(id, purpose);
        id
    }
}

impl Gateway {
    pub(crate) fn ask(&mut self, purpose: Purpose, request: Request) -> RequestId {
        let id = self.requests.next(purpose);
        self.output(Output::Store(id, request));
        id
    }

    /// Nobody waits for these any more. Replies that are on their way already say nothing.
    pub(crate) fn give_up(&mut self, requests: impl IntoIterator<Item = RequestId>) {
        for id in requests {
            if self.requests.open.remove(&id).is_some() {
                self.output(Output::GiveUp(id));
            }
        }
    }

    /// The session waits for these no more, and asks for others. They count among its reads until the store is done with them: otherwise whoever asks and
    /// leaves in a loop would have as much read as it likes.
    pub(crate) fn abandon(&mut self, session: SessionId, reads: Vec<RequestId>) {
        let open: Vec<_> = reads.into_iter().filter(|id| self.requests.open.contains_key(id)).collect();
        if let Some(own) = self.open_mut(session) {
            own.abandoned.extend(open);
        }
    }

    pub(crate) fn on_store(&mut self, now: Now, event: Event) {
        match event {
            Event::Ready { store, resolved } => self.on_ready(store, resolved),
            Event::Reply(id, reply) => self.on_reply(now, id, reply),
            Event::Feed(segment) => self.on_segment(now, segment),
        }
    }

    /// The store is there, perhaps with another history than before: whoever had seen the old one begins anew.
    fn on_ready(&mut self, store: StoreIncarnation, resolved: Timestamp) {
        let welcomed = |phase: &Phase| match phase {
            Phase::Open(_) => true,
            Phase::Greeting | Phase::Held(_) | Phase::SchemaWanted(_) => false,
        };
        let open: Vec<SessionId> =
            self.sessions.iter().filter(|(_, session)| welcomed(&session.phase)).map(|(id, _)| *id).collect();
        for id in open {
            self.end(id, &Farewell::Unavailable("the store has started again: come back".into()));
        }
        let reads = self.requests.open.iter().filter(|(_, purpose)| purpose.reads()).map(|(id, _)| *id);
        self.give_up(reads.collect::<Vec<_>>());
        self.requests.open.clear();
        self.feed.clear();
        self.group.iter_mut().for_each(Group::clear);
        self.lanes.clear_all();
        self.judging.clear();
        self.devices.clear();
        self.acknowledging.clear();
        self.due.clear();
        self.published.clear();
        self.growing = None;
        self.forget_deployment();
        self.forget_explanations();
        self.withdraw_rights();
        self.own.clear();
        self.checkpoints = Checkpoints::default();
        self.end_links();
        self.forget_access();
        self.catalog = Catalog::new(self.settings.schemas);
        self.home = Home::ReadingSchemas { store, position: resolved, changes: Vec::new() };
        self.read_schemas();
    }

    /// The store cannot serve a request, whoever is at fault.
    fn on_refused(&mut self, now: Now, id: RequestId, purpose: Purpose, refusal: &Refusal) {
        match purpose {
            Purpose::Schemas => self.on_unreadable(refusal.to_string()),
            Purpose::Growth(counter) => self.on_growth_refused(now, counter, refusal),
            Purpose::Checkpoint(counter) => self.on_checkpoint_failed(counter),
            Purpose::Heads => self.on_heads(id, None),
            Purpose::LastPage => self.on_last_page(id, None),
            Purpose::Submit { client, lane, counter } => self.on_submit_refused(now, client, lane, counter, refusal),
            Purpose::Load { session, load: _ } | Purpose::OwnOutcomes(session) => {
                self.end(session, &Farewell::Unavailable(refusal.to_string()))
            }
            Purpose::LastOutcome(session) => self.on_no_last_outcome(session),
            Purpose::Row => self.on_row_refused(now, id, &refusal.to_string()),
            Purpose::Acknowledge(client) => self.on_acknowledged(client),
            Purpose::Leases => self.on_leases_refused(),
            Purpose::Revocation(counter) => self.on_revoked(now, counter),
            Purpose::Access => self.on_access(now, id, None),
            Purpose::AccessRow(counter) => self.on_access_row(counter, None),
            Purpose::Device(client) => self.device_is_unknown(client),
            Purpose::DeviceRow { client, counter } => {
                self.own_ended(counter);
                self.device_is_unknown(client);
            }
            Purpose::BlobRow(counter) => self.on_row_commit_refused(now, counter),
            Purpose::BlobCell => self.on_cell_refused(now, id),
            Purpose::BlobQuota => self.on_quota(now, id, None),
            Purpose::Spent { client, lane, counter } => self.on_spent(now, client, lane, counter, None),
            Purpose::Set(number) => self.on_set_refused(number, &refusal.to_string()),
            Purpose::Rights { client, .. } => self.on_judged_by_nothing(client, refusal),
            Purpose::Explanation(asked) => self.on_explained_by_nothing(asked, refusal),
        }
    }

    fn on_reply(&mut self, now: Now, id: RequestId, reply: Reply) {
        // Requests to the store before it started again are forgotten.
        let Some(purpose) = self.requests.open.remove(&id) else { return };
        if let Purpose::Load { session, load: _ } = purpose
            && self.open_mut(session).is_some_and(|open| open.abandoned.remove(&id))
        {
            return self.finish_loads(now, session);
        }
        match (purpose, reply) {
            (Purpose::Schemas, Reply::ReadAt(reply)) => self.on_schemas(now, reply),
            (Purpose::Growth(counter), Reply::Commit(reply)) => self.on_growth(now, counter, &reply),
            (Purpose::Checkpoint(counter), Reply::Commit(reply)) => self.on_checkpoint_stored(counter, &reply),
            (Purpose::Heads, Reply::ReadAt(reply)) => self.on_heads(id, reply.ok()),
            (Purpose::LastPage, Reply::ReadAt(reply)) => self.on_last_page(id, reply.ok()),
            (Purpose::Submit { client, lane, counter }, Reply::Commit(reply)) => {
                if !self.judges_again(now, (client, lane), &reply) {
                    self.on_commit_reply(now, client, lane, counter, &reply);
                }
            }
            (Purpose::Load { session, load }, Reply::ReadAt(reply)) => self.on_rows(now, session, load, id, reply),
            (Purpose::Load { session, load }, Reply::Changes(reply)) => self.on_commits(now, session, load, id, reply),
            (Purpose::OwnOutcomes(session), Reply::Completions(reply)) => self.on_completions(now, session, id, reply),
            (Purpose::LastOutcome(session), Reply::LastOutcome(reply)) => match reply {
                Ok(last) => self.on_last_outcome(session, Some(last)),
                Err(_too_old) => self.on_no_last_outcome(session),
            },
            (Purpose::Row, Reply::ReadAt(reply)) => self.on_row(now, id, reply),
            (Purpose::Acknowledge(client), Reply::Acknowledged) => self.on_acknowledged(client),
            (Purpose::Leases, Reply::ReadAt(reply)) => self.on_leases(now, id, reply),
            (Purpose::Revocation(counter), Reply::Commit(_)) => self.on_revoked(now, counter),
            (Purpose::Access, Reply::ReadAt(reply)) => self.on_access(now, id, Some(reply)),
            (Purpose::AccessRow(counter), Reply::Commit(reply)) => self.on_access_row(counter, Some(&reply)),
            (Purpose::Device(client), Reply::ReadAt(reply)) => self.on_device(now, client, id, reply),
            (Purpose::DeviceRow { client, counter }, Reply::Commit(reply)) => {
                self.on_device_row(now, client, counter, &reply);
            }
            (Purpose::BlobRow(counter), Reply::Commit(reply)) => self.on_row_committed(now, counter, &reply),
            (Purpose::BlobQuota, Reply::ReadAt(reply)) => self.on_quota(now, id, Some(reply)),
            (Purpose::BlobCell, Reply::ReadAt(reply)) => self.on_cell(now, id, reply),
            (Purpose::Set(number), Reply::ReadAt(reply)) => self.on_set(now, number, reply),
            (Purpose::Rights { client, lane, counter }, Reply::ReadAt(reply)) => {
                self.on_judged_by(now, (client, lane, counter), id, reply);
            }
            (Purpose::Explanation(asked), Reply::ReadAt(reply)) => self.on_explained_by(now, asked, id, reply),
            (Purpose::Spent { client, lane, counter }, Reply::Completions(reply)) => {
                self.on_spent(now, client, lane, counter, reply.ok());
            }
            (purpose, Reply::Refused(refusal)) => self.on_refused(now, id, purpose, &refusal),
            (purpose, reply) => panic!("the store answered {purpose:?} with {reply:?}"),
        }
    }
}
