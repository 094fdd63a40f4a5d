//! The gateway: its state, and who handles which input.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iolite_access::AccessError;
use iolite_catalog::Catalog;
use iolite_machine::{Instant, Machine, Now};
use iolite_values::{ClientId, StoreIncarnation, Timestamp, TransactionId};
use iolite_wire::centres::CentreName;
use iolite_wire::message::{FromClient, FromGateway, SubscriptionId};

use crate::asking::Asking;
use crate::blobs::links::Blobs;
use crate::checkpoints::Checkpoints;
use crate::delivery::Delivery;
use crate::deploying::Deploying;
use crate::explaining::Explaining;
use crate::following::index::{InterestIndex, Target};
use crate::following::load::News;
use crate::following::queries::Queries;
use crate::following::sets::{KeySets, SetUser};
use crate::interface::{Input, Output, SessionId, Settings};
use crate::members::Members;
use crate::own::Own;
use crate::schema_growth::Growing;
use crate::sessions::devices::Devices;
use crate::sessions::due::Due;
use crate::sessions::farewell::Farewell;
use crate::sessions::group::Group;
use crate::sessions::idle::Idle;
use crate::sessions::keys::KeysKnown;
use crate::sessions::revoked::Revoked;
use crate::sessions::session::{Open, Phase, Session};
use crate::sessions::timers::Timers;
use crate::store::{Home, Requests};
use crate::submissions::acknowledging::Acknowledging;
use crate::submissions::lanes::Lanes;
use crate::submissions::rights::Judging;
use crate::telling::feed::Feed;

/// The gateway's half of all sessions of one server.
#[derive(Debug)]
pub struct Gateway {
    pub(crate) settings: Settings,
    pub(crate) home: Home,
    pub(crate) requests: Requests,
    pub(crate) catalog: Catalog,
    pub(crate) growing: Option<Growing>,
    pub(crate) deploying: Deploying,
    pub(crate) explaining: Explaining,
    pub(crate) asking: Asking,
    pub(crate) own: Own,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) sessions: BTreeMap<SessionId, Session>,
    /// Sessions in the phase `Held`.
    pub(crate) held: BTreeSet<SessionId>,
    /// The open session of each client.
    pub(crate) clients: BTreeMap<ClientId, SessionId>,
    pub(crate) lanes: Lanes,
    /// Mutations of lanes that wait for rows by which they are judged.
    pub(crate) judging: Judging,
    pub(crate) acknowledging: Acknowledging,
    pub(crate) index: InterestIndex,
    pub(crate) queries: Queries,
    /// The rows that say what users may see.
    pub(crate) sets: KeySets,
    pub(crate) feed: Feed,
    pub(crate) delivery: Delivery,
    pub(crate) members: Members,
    pub(crate) due: Due,
    pub(crate) timers: Timers<SessionId>,
    pub(crate) blobs: Blobs,
    pub(crate) revoked: Revoked,
    /// The devices from which users write.
    pub(crate) devices: Devices,
    pub(crate) keys: KeysKnown,
    pub(crate) idle: Idle,
    /// The group of data centres that it is of. Then it refuses schemas with tables that do not merge.
    pub(crate) group: Option<Group>,
    /// Why nobody is served, though the store is there.
    pub(crate) out_of_service: Option<String>,
    /// What a broken gateway told before its time, and to whom.
    pub(crate) published: BTreeMap<TransactionId, BTreeSet<SessionId>>,
    outputs: VecDeque<Output>,
}

impl Gateway {
    /// A gateway whose store is not there yet: connections may come, and are served when it is.
    pub fn new(settings: Settings) -> Gateway {
        let catalog = Catalog::new(settings.schemas);
        let revoked = Revoked::of(&settings.access);
        Gateway {
            settings,
            home: Home::Away,
            requests: Requests::default(),
            catalog,
            growing: None,
            deploying: Deploying::default(),
            explaining: Explaining::default(),
            asking: Asking::default(),
            own: Own::default(),
            checkpoints: Checkpoints::default(),
            sessions: BTreeMap::new(),
            held: BTreeSet::new(),
            clients: BTreeMap::new(),
            lanes: Lanes::default(),
            judging: Judging::default(),
            acknowledging: Acknowledging::new(),
            index: InterestIndex::default(),
            queries: Queries::default(),
            sets: KeySets::default(),
            feed: Feed::default(),
            delivery: Delivery::default(),
            members: Members::default(),
            due: Due::default(),
            timers: Timers::default(),
            blobs: Blobs::default(),
            revoked,
            devices: Devices::default(),
            keys: KeysKnown::default(),
            idle: Idle::default(),
            group: None,
            out_of_service: None,
            published: BTreeMap::new(),
            outputs: VecDeque::new(),
        }
    }

    /// The same in a group of several data centres: it serves only tables that merge, as no others come to every data centre.
    #[must_use]
    pub fn in_group(mut self, name: CentreName) -> Gateway {
        self.join_group(name);
        self
    }

    /// The same of one that has not begun.
    pub fn join_group(&mut self, name: CentreName) {
        self.group = Some(Group::new(name));
    }

    /// Whether the store is there and its schemas are read, so that sessions are served: what `/readyz` asks.
    pub fn is_ready(&self) -> bool {
        self.home.is_serving() && self.out_of_service.is_none()
    }

    /// The store that is served from, and how far the feed is taken. `None`: nobody is served.
    pub fn serving(&self) -> Option<(StoreIncarnation, Timestamp)> {
        Some((self.home.serving()?, self.position()))
    }

    /// How many leases of blobs there are, as far as they are known.
    pub fn blob_leases(&self) -> usize {
        self.blobs.leases.known().map_or(0, iolite_blobs::Leases::count)
    }

    /// How many sessions are open or being opened.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// How far the feed is taken.
    pub fn position(&self) -> Timestamp {
        self.home.position()
    }

    /// Ends all sessions that are open, or waiting to be, if there is a reason. Who greets later hears it, too.
    fn on_out_of_service(&mut self, now: Now, reason: Option<String>) {
        self.out_of_service = reason;
        if let Some(reason) = self.out_of_service.clone() {
            for id in self.clients.values().copied().collect::<Vec<_>>() {
                self.end(id, &Farewell::Unavailable(reason.clone()));
            }
        }
        self.retry_held(now);
    }

    fn on_opened(&mut self, now: Now, id: SessionId) {
        let session = Session::new(now.instant);
        self.timers.set(id, session.deadline(&self.settings.limits));
        let earlier = self.sessions.insert(id, session);
        assert!(earlier.is_none(), "the host used session id {id:?} twice");
    }

    fn on_message(&mut self, now: Now, id: SessionId, message: FromClient) {
        // Whatever a session says after its goodbye is for nobody.
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.heard = now.instant;
        match message {
            FromClient::Hello(hello) => self.on_hello(now, id, hello),
            FromClient::Schema(json) => self.on_schema(now, id, &json),
            FromClient::Ping(number) => self.on_ping(id, number),
            FromClient::Token(token) => self.when_open(id, |own| own.on_token(now, id, &token)),
            FromClient::Subscribe(subscribe) => self.when_open(id, |own| own.on_subscribe(now, id, subscribe)),
            FromClient::Unsubscribe(ids) => self.when_open(id, |own| {
                own.spend_token(id);
                own.on_unsubscribe(now, id, ids);
            }),
            FromClient::Submit(submit) => self.when_open(id, |own| {
                own.spend_token(id);
                own.on_submit(now, id, submit);
            }),
            FromClient::Acknowledge(through) => self.when_open(id, |own| {
                own.spend_token(id);
                own.on_acknowledge(id, through);
            }),
            FromClient::Applied(to) => self.when_open(id, |own| own.on_applied(now, id, to)),
            FromClient::LogHash(hash) => self.when_open(id, |own| {
                own.spend_token(id);
                own.on_log_hash(id, hash);
            }),
            FromClient::LogPart(part) => self.when_open(id, |own| {
                own.spend_token(id);
                own.on_log_part(id, part);
            }),
        }
    }

    fn when_open(&mut self, id: SessionId, then: impl FnOnce(&mut Gateway)) {
        if self.open_mut(id).is_some() {
            then(self);
        } else {
            self.end(id, &Farewell::Protocol("wait for the welcome before anything but hello and schema".into()));
        }
    }

    /// A client that does not read gets no pongs either, or it could make them pile up.
    fn on_ping(&mut self, id: SessionId, number: u32) {
        let most = self.settings.limits.undrained_bytes_max;
        let reads = self.sessions.get(&id).is_some_and(|own| own.outbound.bytes() <= most);
        if reads {
            self.say(id, FromGateway::Pong(number));
        }
    }

    /// Looks after a session whose timer has come.
    fn on_timer(&mut self, now: Now, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else { return };
        let batch_due = match &session.phase {
            Phase::Open(open) => open.batch_due().is_some_and(|due| due <= now.instant),
            Phase::Greeting | Phase::SchemaWanted(_) | Phase::Held(_) => false,
        };
        if batch_due {
            self.send_advance(now, id, News::default());
        }
        let Some(session) = self.sessions.get(&id) else { return };
        let deadline = session.deadline(&self.settings.limits);
        if deadline > now.instant {
            self.timers.set(id, deadline);
            return;
        }
        let has_ended = session.ends().is_some_and(|ends| ends <= now.instant);
        let farewell = match &session.phase {
            _ if has_ended => Farewell::Unauthorized(AccessError::Expired),
            Phase::Greeting | Phase::SchemaWanted(_) => Farewell::GreetingTooLong,
            Phase::Held(guest) => Farewell::Unavailable(self.home.why_held(guest)),
            Phase::Open(open) if open.is_behind() => Farewell::Slow,
            Phase::Open(_) => Farewell::Silent(self.settings.limits.silence_max),
        };
        self.end(id, &farewell);
    }

    pub(crate) fn open_mut(&mut self, id: SessionId) -> Option<&mut Open> {
        match &mut self.sessions.get_mut(&id)?.phase {
            Phase::Open(open) => Some(open),
            Phase::Greeting | Phase::Held(_) | Phase::SchemaWanted(_) => None,
        }
    }

    pub(crate) fn open(&self, id: SessionId) -> Option<&Open> {
        match &self.sessions.get(&id)?.phase {
            Phase::Open(open) => Some(open),
            Phase::Greeting | Phase::Held(_) | Phase::SchemaWanted(_) => None,
        }
    }

    pub(crate) fn output(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    pub(crate) fn say(&mut self, id: SessionId, message: FromGateway) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.outbound.sent(&message);
        self.output(Output::Message(id, message));
    }

    /// Says goodbye and forgets the session, if it is still there.
    pub(crate) fn end(&mut self, id: SessionId, farewell: &Farewell) {
        if !self.sessions.contains_key(&id) {
            return;
        }
        self.say(id, FromGateway::Goodbye(farewell.goodbye()));
        self.output(Output::Close(id));
        self.forget(id);
    }

    /// Takes the session out of everything that names it. What is read for it is given up.
    fn forget(&mut self, id: SessionId) {
        self.timers.clear(id);
        self.held.remove(&id);
        let Some(session) = self.sessions.remove(&id) else { return };
        let Phase::Open(open) = session.phase else { return };
        self.give_up(open.requests());
        self.leave_sets(SetUser::Session(id));
        if !open.is_behind() {
            self.unlist(id, &open);
        }
        if self.clients.get(&open.client) == Some(&id) {
            self.clients.remove(&open.client);
            self.delivery.session_ended(open.client);
            self.leave_logs(open.client);
        }
        self.stop_judging(open.client);
        self.forget_device(open.client);
        self.lanes.clear(open.client);
    }

    /// Puts all interests of a session into the index. It follows no queries, for it was behind.
    pub(crate) fn list(&mut self, id: SessionId) {
        let Some(open) = self.open(id) else { return };
        let own: Vec<_> = open.subscriptions.iter().map(|(name, own)| (*name, own.interest.clone())).collect();
        for (name, interest) in own {
            self.index.insert(&interest, target(id, name));
        }
    }

    pub(crate) fn unlist(&mut self, id: SessionId, open: &Open) {
        for (name, subscription) in &open.subscriptions {
            match &subscription.follows {
                Some(query) => self.queries.unfollow(query, target(id, *name)),
                None => self.index.remove(&subscription.interest, target(id, *name)),
            }
        }
    }
}

pub fn target(session: SessionId, subscription: SubscriptionId) -> Target {
    Target { session, subscription }
}

impl Machine for Gateway {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Now, input: Input) {
        match input {
            Input::SessionOpened(id) => self.on_opened(now, id),
            Input::Message(id, message) => self.on_message(now, id, message),
            Input::Garbled(id, problem) => self.end(id, &Farewell::Protocol(problem)),
            Input::SessionClosed(id) => self.forget(id),
            Input::Drained { session, messages } => self.on_drained(now, session, messages),
            Input::Store(event) => self.on_store(now, event),
            Input::Centre(news) => self.on_centre_news(now, news),
            Input::Blobs(link, input) => self.on_blobs(now, link, input),
            Input::BlobRoom(room) => self.blobs.room = room,
            Input::RevokeLeases => self.revoke_leases(now),
            Input::Revoke(asked, revocation) => self.revoke_tokens(asked, revocation),
            Input::Deploy(asked, deploy) => self.on_deploy(asked, *deploy),
            Input::Explain(asked, explain) => self.on_explain(now, asked, &explain),
            Input::AskRight(id, ask) => self.on_ask_right(id, *ask),
            Input::ForgetRight(id) => self.on_forget_right(id),
            Input::Keys(keys) => self.set_keys(keys),
            Input::OutOfService(reason) => self.on_out_of_service(now, reason),
        }
        self.members.schedule(now);
    }

    fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        self.timers
            .first()
            .into_iter()
            .chain(self.blobs.timers.first())
            .chain(self.idle.next())
            .chain(self.delivery.deadline())
            .chain(self.members.deadline())
            .min()
    }

    fn on_deadline(&mut self, now: Now) {
        while let Some(id) = self.timers.take(now.instant) {
            self.on_timer(now, id);
        }
        while let Some(link) = self.blobs.timers.take(now.instant) {
            self.on_link_timer(now, link);
        }
        self.on_idle(now);
        self.on_delivery_due(now);
        self.members.schedule(now);
        self.on_members_due(now);
    }

    fn validate(&self) {
        self.check_invariants();
    }
}
