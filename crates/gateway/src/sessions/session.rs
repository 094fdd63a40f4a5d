//! The state that a gateway keeps of one session.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use iolite_access::Identity;
use iolite_machine::Instant;
use iolite_store::RequestId;
use iolite_values::{ClientId, Counter, Interest, Query, Schema, Timestamp};
use iolite_wire::message::{First, FromGateway, Hello, Outcome, SubscriptionId};

use crate::following::digest::SightDigests;
use crate::following::load::{AnswerSize, Load, LoadId};
use crate::following::reading::Amount;
use crate::following::sight::{PutOff, Ruled};

use crate::limits::{GREETING_TIME_MAX, Limits};
use crate::sessions::group::Revision;
use crate::sessions::revoked::Renewals;
use crate::size;
use crate::submissions::acknowledging::Acknowledged;
use crate::submissions::order::SessionLanes;
use crate::submissions::own_outcomes::OwnOutcomes;
use crate::telling::batch::Batch;
use crate::telling::untold::Untold;

#[derive(Debug)]
pub struct Session {
    pub phase: Phase,
    pub opened: Instant,
    /// When the client was last heard.
    pub heard: Instant,
    pub outbound: Outbound,
}

#[derive(Debug)]
pub enum Phase {
    /// Nothing was said yet.
    Greeting,
    /// Let in, and waiting for the store: that it is there, that it is as far as the client has seen, that it holds the client's schema.
    Held(Guest),
    /// The client was asked for its schema.
    SchemaWanted(Guest),
    Open(Box<Open>),
}

/// Someone with a good token whose session is not open yet.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The identity that the token speaks for.
    pub identity: Identity,
    /// The id of its client, which belongs to its user.
    pub client: ClientId,
    /// When it has to go, if its token runs out.
    pub ends: Option<Instant>,
    pub hello: Hello,
    /// The schema, once the client was asked for it.
    pub schema: Option<Schema>,
}

/// A session that was welcomed.
#[derive(Debug)]
pub struct Open {
    pub client: ClientId,
    /// The id that the device drew. Marks of effects are made of it.
    pub device: ClientId,
    /// The identity that was let in. Rights are asked by it.
    pub identity: Identity,
    /// When it has to go, if its token runs out.
    pub ends: Option<Instant>,
    pub renewals: Renewals,
    /// The `to` of the last advance, here or on the session that was resumed.
    pub seen: Timestamp,
    pub flow: Flow,
    pub subscriptions: BTreeMap<SubscriptionId, Subscription>,
    pub loads: BTreeMap<LoadId, Load>,
    pub next_load: LoadId,
    /// Reads that nothing waits for any more, and that the store is still at.
    pub abandoned: BTreeSet<RequestId>,
    /// Outcomes that are not told yet, each with the timestamp that the feed has to reach first.
    pub outcomes: VecDeque<(Timestamp, Outcome)>,
    pub own_outcomes: OwnOutcomes,
    pub lanes: SessionLanes,
    pub acknowledged: Acknowledged,
    pub batch: Batch,
    pub untold: Untold,
    /// Whether its client may have commits that were made before the session.
    pub has_past: bool,
    /// The digests of what its user may see.
    pub sight: SightDigests,
    /// Messages about interests that wait for key sets.
    pub put_off: VecDeque<PutOff>,
    /// Whether the next advance tells up to where its client's commits are delivered.
    pub delivered_due: bool,
    /// The clock of the group as it was last told.
    pub clock_told: Revision,
}

/// Whether changes are told as they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Nothing before it says something: the client holds what it is about to subscribe to as of `after`, and would take any
    /// advance for the answer.
    Resuming { after: Timestamp },
    /// With every segment of the feed.
    Live,
    /// Not before the changes that it missed are read: nothing else is sent.
    CatchingUp(LoadId),
    /// Its socket does not take what was sent: nothing is built for it, and it is not in the index.
    Behind { since: Instant },
}

#[derive(Clone, Debug)]
pub struct Subscription {
    /// The interest that is followed. Of a query of which not all was asked for: as it was asked for until it is answered, and then as far as the answer reached.
    pub interest: Interest,
    /// Only so much of it is wanted, and was not answered yet.
    pub first: Option<First>,
    pub standing: Standing,
    /// The query, as far as the answer reaches, once its answers are known.
    pub follows: Option<Arc<Query>>,
    /// The rule that says what of it is followed. None: there is none, and all of it is.
    pub ruled: Option<Box<Ruled>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// The client holds it as of `seen`.
    Live,
    /// What it lacks is being read.
    Loading(LoadId),
}

/// Sizes of the messages that the socket has not taken yet, oldest first.
#[derive(Debug, Default)]
pub struct Outbound {
    sizes: VecDeque<usize>,
    bytes: usize,
}

impl Session {
    pub fn new(now: Instant) -> Session {
        Session { phase: Phase::Greeting, opened: now, heard: now, outbound: Outbound::default() }
    }

    /// When it is to be looked at, if nothing happens before.
    pub fn deadline(&self, limits: &Limits) -> Instant {
        let due = match &self.phase {
            Phase::Greeting | Phase::Held(_) | Phase::SchemaWanted(_) => self.opened + GREETING_TIME_MAX,
            Phase::Open(open) => match open.flow {
                Flow::Resuming { .. } | Flow::Live | Flow::CatchingUp(_) => {
                    let silent = self.heard + limits.silence_max;
                    open.batch_due().map_or(silent, |due| due.min(silent))
                }
                Flow::Behind { since } => (self.heard + limits.silence_max).min(since + limits.slow_time_max),
            },
        };
        self.ends().map_or(due, |ends| due.min(ends))
    }

    /// When its token runs out, if it does.
    pub fn ends(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Greeting => None,
            Phase::Held(guest) | Phase::SchemaWanted(guest) => guest.ends,
            Phase::Open(open) => open.ends,
        }
    }

    /// The identity that it speaks for, once it has said so.
    pub fn identity(&self) -> Option<&Identity> {
        match &self.phase {
            Phase::Greeting => None,
            Phase::Held(guest) | Phase::SchemaWanted(guest) => Some(&guest.identity),
            Phase::Open(open) => Some(&open.identity),
        }
    }
}

impl Subscription {
    /// The interest that its client has asked for.
    pub fn asked(&self) -> &Interest {
        self.ruled.as_ref().map_or(&self.interest, |ruled| &ruled.asked)
    }

    /// Whether changes do not tell all of it: it is read again to see what is in it.
    pub fn is_read_again(&self) -> bool {
        matches!(self.interest, Interest::Query(_)) || self.ruled.is_some()
    }

    /// Whether the client holds nothing of it that is told by changes.
    pub fn is_stale(&self) -> bool {
        self.ruled.as_ref().is_some_and(|ruled| ruled.is_stale)
    }

    /// Notes that it was told, as far as the answer reaches.
    fn answered(&mut self) {
        let first = self.first.take();
        let Some(ruled) = &mut self.ruled else {
            if let Some(query) = &self.follows {
                self.interest = Interest::Query(query.clone());
            }
            return;
        };
        (ruled.is_stale, ruled.first) = (false, ruled.first.or(first));
        let Some(query) = &self.follows else { return };
        let was_cut = matches!(&self.interest, Interest::Query(asked) if asked.range != query.range);
        self.interest = Interest::Query(query.clone());
        if let (Interest::Query(asked), true) = (&ruled.asked, was_cut) {
            ruled.asked = Interest::Query(Arc::new(asked.with_range(query.range.clone())));
            ruled.first = None;
        }
    }
}

impl Open {
    /// Resumes after `held_from`, if that is a timestamp of this history.
    pub fn new(guest: &Guest, held_from: Option<Timestamp>) -> Open {
        Open {
            client: guest.client,
            device: guest.hello.client,
            identity: guest.identity.clone(),
            ends: guest.ends,
            renewals: Renewals::default(),
            seen: held_from.unwrap_or_default(),
            flow: held_from.map_or(Flow::Live, |after| Flow::Resuming { after }),
            subscriptions: BTreeMap::new(),
            loads: BTreeMap::new(),
            next_load: LoadId::default(),
            abandoned: BTreeSet::new(),
            outcomes: VecDeque::new(),
            own_outcomes: OwnOutcomes::Known,
            acknowledged: Acknowledged::default(),
            batch: Batch::new(guest.hello.batch),
            untold: Untold::default(),
            has_past: held_from.is_some() || guest.hello.acknowledged > Counter::default(),
            lanes: SessionLanes::default(),
            sight: SightDigests::new(guest.hello.resume.filter(|_| held_from.is_some()).and_then(|own| own.rights)),
            put_off: VecDeque::new(),
            delivered_due: false,
            clock_told: Revision::default(),
        }
    }

    /// When changes that wait are to be told; later, if the session can be told nothing before.
    pub fn batch_due(&self) -> Option<Instant> {
        self.batch.due().filter(|_| self.is_live())
    }

    pub fn add_load(&mut self, load: Load) -> LoadId {
        let id = self.next_load;
        self.next_load = id.next();
        for subscription in &load.subscriptions {
            let own = self.subscriptions.get_mut(subscription).expect("a load is made of subscriptions");
            own.standing = Standing::Loading(id);
        }
        self.loads.insert(id, load);
        id
    }

    /// Takes a load whose answer is complete and may be sent now.
    pub fn take_answered(&mut self) -> Option<Load> {
        if self.own_outcomes != OwnOutcomes::Known {
            return None;
        }
        let id = match self.flow {
            Flow::Live => self.loads.iter().find(|(_, load)| load.is_answered()).map(|(id, _)| *id),
            Flow::CatchingUp(id) => self.loads.get(&id).is_some_and(Load::is_answered).then_some(id),
            Flow::Resuming { .. } | Flow::Behind { .. } => None,
        }?;
        let load = self.loads.remove(&id)?;
        self.flow = Flow::Live;
        for subscription in &load.subscriptions {
            let own = self.subscriptions.get_mut(subscription).expect("a load is made of subscriptions");
            own.standing = Standing::Live;
            own.answered();
        }
        Some(load)
    }

    /// What is read for it.
    pub fn requests(&self) -> Vec<RequestId> {
        let of_loads = self.loads.values().flat_map(Load::requests);
        of_loads.chain(self.own_outcomes.request()).chain(self.abandoned.iter().copied()).collect()
    }

    /// What all loads have read so far.
    pub fn answer_size(&self) -> AnswerSize {
        self.loads.values().map(Load::answer_size).fold(AnswerSize::default(), AnswerSize::plus)
    }

    /// The next interest of a load that is to be read by this amount, unless as many as may be are open: `most`, or `reads_open_max` with those that were
    /// abandoned.
    pub fn next_read(
        &mut self,
        amount: Amount,
        most: usize,
        reads_open_max: usize,
    ) -> Option<(LoadId, SubscriptionId)> {
        let open: usize = self.loads.values_mut().filter_map(Load::reading).map(|reading| reading.open(amount)).sum();
        if open >= most || open + self.abandoned.len() >= reads_open_max {
            return None;
        }
        self.loads.iter_mut().find_map(|(load, own)| Some((*load, own.reading()?.next(amount)?)))
    }

    /// Takes the outcomes that may be told at `position`.
    pub fn take_outcomes(&mut self, position: Timestamp) -> Vec<Outcome> {
        let (due, later) = self.outcomes.drain(..).partition::<Vec<_>, _>(|(at, _)| *at <= position);
        self.outcomes = later.into();
        due.into_iter().map(|(_, outcome)| outcome).collect()
    }

    pub fn has_outcomes(&self, position: Timestamp) -> bool {
        self.outcomes.iter().any(|(at, _)| *at <= position)
    }

    /// Whether it may be told something as soon as it happens.
    pub fn is_live(&self) -> bool {
        match self.flow {
            Flow::Live => self.own_outcomes == OwnOutcomes::Known,
            Flow::Resuming { .. } | Flow::CatchingUp(_) | Flow::Behind { .. } => false,
        }
    }

    /// Whether its next message is to say what it holds.
    pub fn is_resuming(&self) -> bool {
        match self.flow {
            Flow::Resuming { .. } => true,
            Flow::Live | Flow::CatchingUp(_) | Flow::Behind { .. } => false,
        }
    }

    pub fn is_behind(&self) -> bool {
        match self.flow {
            Flow::Behind { .. } => true,
            Flow::Resuming { .. } | Flow::Live | Flow::CatchingUp(_) => false,
        }
    }
}

impl Outbound {
    pub fn sent(&mut self, message: &FromGateway) {
        self.push(size::message(message));
    }

    /// A message of so many bytes was sent.
    pub fn push(&mut self, bytes: usize) {
        self.sizes.push_back(bytes);
        self.bytes += bytes;
    }

    /// More messages than were sent count as all of them.
    pub fn drained(&mut self, messages: usize) {
        let messages = messages.min(self.sizes.len());
        self.bytes -= self.sizes.drain(..messages).sum::<usize>();
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn validate(&self) {
        assert_eq!(self.sizes.iter().sum::<usize>(), self.bytes, "undrained bytes are counted");
    }
}
