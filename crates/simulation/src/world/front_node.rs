//! A gateway's process: the gateway machine, its coordinator, and the sessions' codecs.

use std::collections::{BTreeMap, BTreeSet};

use iolite_access::{Access, DevelopmentToken};
use iolite_catalog::SchemaPolicy;
use iolite_causal::{Centres, LinkInput, LinkOutput};
use iolite_gateway::{AccessNews, Deployed, Gateway, Input, Output, SessionId, Settings, Without};
use iolite_machine::{Instant, Machine, Now};
use iolite_replication::node::{FromReplica, Life, ReplicaId, ToReplica};
use iolite_replication::{Coordinator, CoordinatorInput, CoordinatorOutput, CoordinatorSettings, ShardMap};
use iolite_store::{Asking, Event, Request, RequestId};
use iolite_values::{
    Attempt, ClientId, CoordinatorId, Counter, Decision, Id, Level, Operation, StoreIncarnation, Timestamp,
    Transaction, TransactionId, Value, Write,
};
use iolite_wire::message::{Advance, FromClient, FromGateway, GoodbyeReason, Submit};
use iolite_wire::{SessionDecoder, SessionEncoder};

use super::checked::Checked;
use super::telling::Telling;
use crate::broken::Broken;
use crate::counts::Counts;
use crate::habits::Habits;
use crate::history::{History, OpenCalls};
use crate::occasions::Occasion;
use crate::random::Random;
use crate::rows::Synced;

pub const TOKEN: &str = "simulated";

/// The part that asked the coordinator, with its own id of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Asker {
    Gateway(RequestId),
    /// A command of an operator, of which the gateway does not know.
    Operator(u64),
}

pub struct FrontNode {
    pub gateway: Checked<Gateway>,
    pub coordinator: Checked<Coordinator>,
    /// The part in the group of data centres, if there are several.
    pub centres: Option<Checked<Centres>>,
    id: CoordinatorId,
    pub(super) sessions: BTreeMap<SessionId, Codec>,
    open_calls: OpenCalls,
    /// Up to where the feed has told.
    resolved: Option<Timestamp>,
    pub(super) number: usize,
    /// The clients that were out of the set when this was last looked at.
    pub(super) out: BTreeSet<ClientId>,
    asking: Asking<Asker>,
    /// Messages to the hostile user, which has not taken them.
    pub(super) hostile_hears: Vec<(SessionId, FromGateway)>,
    /// Deployments that came into effect.
    pub(super) deployed: u64,
    last_command: u64,
}

pub(super) struct Codec {
    encoder: SessionEncoder<FromGateway>,
    decoder: SessionDecoder<FromClient>,
    told: Timestamp,
    /// The last `Advance` said that another part follows.
    more: bool,
    /// The client, once it has said hello.
    pub(super) client: Option<ClientId>,
    /// By which it has said hello.
    pub(super) token: String,
    /// The history of the store that it was welcomed to.
    store: Option<StoreIncarnation>,
    /// The parts so far of an `Advance` that is not told whole yet.
    pub(super) telling: Telling,
}

/// What leaves a gateway's process.
pub enum Leaving {
    ToReplica(ReplicaId, ToReplica),
    ToClient(SessionId, Vec<u8>),
    Close(SessionId),
    ToCentre(LinkOutput),
}

impl FrontNode {
    pub fn start(
        now: Now,
        number: u16,
        shards: ShardMap,
        habits: &Habits,
        broken: Broken,
        random: &mut Random,
    ) -> FrontNode {
        let gateway = Gateway::new(Settings {
            client: ClientId(Id::from_u128(random.id())),
            access: Access::Development(DevelopmentToken::new(TOKEN)),
            schemas: SchemaPolicy::Grow,
            limits: habits.gateway_limits,
            broken: broken.of_gateway(),
            fresh_key: [0; 32],
            rights_required: habits.calls.first_version().has_users(),
            has_indexes: true,
            has_blob_store: false,
            without: Without::Nothing,
        });
        let id = CoordinatorId::new(number).expect("few gateways");
        let settings = CoordinatorSettings {
            read_looks_max: habits.read_looks_max,
            broken: broken.of_replica(),
            ..CoordinatorSettings::new(id, Life(random.bits()), shards)
        };
        let coordinator = Coordinator::new(now, settings);
        FrontNode {
            gateway: Checked::new(gateway),
            coordinator: Checked::new(coordinator),
            centres: None,
            id,
            sessions: BTreeMap::new(),
            open_calls: OpenCalls::default(),
            resolved: None,
            number: usize::from(number),
            out: BTreeSet::new(),
            asking: Asking::default(),
            hostile_hears: Vec::new(),
            deployed: 0,
            last_command: 0,
        }
    }

    /// The same as one of several data centres.
    pub fn with_centres(mut self, now: Now, settings: iolite_causal::Settings) -> FrontNode {
        self.gateway.join_group(settings.name.clone());
        FrontNode { centres: Some(Checked::new(Centres::new(now, settings))), ..self }
    }

    /// Something happened on a link with another data centre.
    pub fn centre(&mut self, now: Now, input: LinkInput) {
        if let Some(centres) = &mut self.centres {
            centres.handle(now, iolite_causal::Input::Link(input));
        }
    }

    /// Commits a write for an operator, who is a client of their own each time. Says whether the coordinator has opened, and takes it.
    pub fn submit_as_operator(&mut self, now: Now, client: u128, write: Write, history: &mut History) -> bool {
        let Some(snapshot) = self.resolved else { return false };
        let id = TransactionId { client: ClientId(Id::from_u128(client)), counter: Counter(1) };
        let decision = Decision::Commit([write].into());
        let transaction =
            Transaction { id, attempt: Attempt(1), snapshot, reads: Vec::new(), level: Level::Strict, decision };
        let request = Request::Commit { transaction, floor: Timestamp::ZERO, within: None };
        self.last_command += 1;
        let command = self.asking.begin(Asker::Operator(self.last_command));
        self.open_calls.note_request(command, &request);
        history.note_request(now, self.id, &request);
        self.coordinator.handle(now, CoordinatorInput::Request(command, request));
        true
    }

    pub fn open(&mut self, now: Now, session: SessionId) {
        let codec = Codec {
            encoder: SessionEncoder::new(),
            decoder: SessionDecoder::new(),
            told: Timestamp::ZERO,
            more: false,
            client: None,
            token: String::new(),
            store: None,
            telling: Telling::default(),
        };
        self.sessions.insert(session, codec);
        self.gateway.handle(now, Input::SessionOpened(session));
    }

    pub fn closed(&mut self, now: Now, session: SessionId, history: &mut History) {
        history.delivery.session_ended(now.instant.as_nanos(), session);
        if self.sessions.remove(&session).is_some() {
            self.gateway.handle(now, Input::SessionClosed(session));
        }
    }

    pub fn frame(&mut self, now: Now, session: SessionId, frame: &[u8], occasions: &mut Counts<Occasion>) {
        let Some(codec) = self.sessions.get_mut(&session) else { return };
        let input = match codec.decoder.decode(frame) {
            Ok(mut message) => {
                if let FromClient::Submit(submit) = &mut message {
                    refuse_values(submit);
                }
                note_request(&message, occasions);
                self.note_hello(session, &message);
                Input::Message(session, message)
            }
            Err(error) => Input::Garbled(session, error.to_string()),
        };
        self.gateway.handle(now, input);
    }

    pub(super) fn note_hello(&mut self, session: SessionId, message: &FromClient) {
        if let (Some(codec), FromClient::Hello(hello)) = (self.sessions.get_mut(&session), message) {
            (codec.client, codec.token) = (Some(hello.client), hello.token.clone());
        }
    }

    pub fn drained(&mut self, now: Now, session: SessionId) {
        if self.sessions.contains_key(&session) {
            self.gateway.handle(now, Input::Drained { session, messages: 1 });
        }
    }

    pub fn answer(&mut self, now: Now, message: FromReplica) {
        self.coordinator.handle(now, CoordinatorInput::FromReplica(message));
    }

    /// As a node's host does: it tells the coordinator of all that the directory has.
    pub fn read_directory(&mut self, now: Now, map: &ShardMap) {
        map.splits().for_each(|split| self.coordinator.handle(now, CoordinatorInput::Ended(split.clone())));
        map.groups().for_each(|group| self.coordinator.handle(now, CoordinatorInput::Configured(group.clone())));
    }

    pub fn deadline(&self) -> Option<Instant> {
        let centres = self.centres.as_ref().and_then(|centres| centres.deadline());
        [self.gateway.deadline(), self.coordinator.deadline(), centres].into_iter().flatten().min()
    }

    pub fn on_deadline(&mut self, now: Now) {
        self.gateway.on_deadline(now);
        self.coordinator.on_deadline(now);
        if let Some(centres) = &mut self.centres {
            centres.on_deadline(now);
        }
    }

    /// Carries what gateway, coordinator and the part between them say to each other, until all are silent.
    pub fn settle(
        &mut self,
        now: Now,
        random: &mut Random,
        occasions: &mut Counts<Occasion>,
        history: &mut History,
    ) -> Vec<Leaving> {
        let mut leaving = Vec::new();
        // Who is taken out is out before anybody is told so.
        self.note_out(now, occasions, history);
        loop {
            if let Some(output) = self.gateway.poll() {
                match output {
                    Output::Message(session, message) => {
                        note_answer(&message, occasions);
                        self.note_rights(session, &message, history);
                        self.note_delivery(now, session, &message, history);
                        if !self.tell_hostile(now, session, &message) {
                            self.say(session, message, random, &mut leaving);
                        }
                    }
                    Output::Close(session) => {
                        self.sessions.remove(&session);
                        history.delivery.session_ended(now.instant.as_nanos(), session);
                        leaving.push(Leaving::Close(session));
                    }
                    Output::Store(id, request) => {
                        let number = self.asking.begin(Asker::Gateway(id));
                        self.open_calls.note_request(number, &request);
                        history.note_request(now, self.id, &request);
                        history.rights.note_handed(&request, self.resolved);
                        self.ask(now, number, request);
                    }
                    Output::Access(news) => self.note_access(&news),
                    Output::Blobs(_, _) => {}
                    Output::GiveUp(id) => {
                        if let Some(number) = self.asking.give_up(Asker::Gateway(id)) {
                            self.give_up(now, number);
                        }
                    }
                }
            } else if let Some(output) = self.centres.as_mut().and_then(Checked::poll) {
                self.take_from_centres(now, output, history, &mut leaving);
            } else if let Some(output) = self.coordinator.poll() {
                match output {
                    CoordinatorOutput::Event(event) => match &mut self.centres {
                        Some(centres) => centres.handle(now, iolite_causal::Input::Store(event)),
                        None => self.on_event(now, event, history),
                    },
                    CoordinatorOutput::ToReplica { to, message } => {
                        history.timeline.note_message(to, &message);
                        leaving.push(Leaving::ToReplica(to, message));
                    }
                    CoordinatorOutput::Superseded { term } => unreachable!("its earlier lives are over: {term:?}"),
                }
            } else {
                self.note_out(now, occasions, history);
                return leaving;
            }
        }
    }

    /// Encodes a message. Outcomes may be told before the state that contains them, as the protocol allows and this gateway seldom does:
    /// a client has to cope.
    fn say(&mut self, session: SessionId, message: FromGateway, random: &mut Random, leaving: &mut Vec<Leaving>) {
        let Some(codec) = self.sessions.get_mut(&session) else { return };
        let mut messages = vec![message];
        if let [FromGateway::Advance(advance)] = &mut messages[..] {
            let early = !advance.outcomes.is_empty() && !codec.more && codec.told > Timestamp::ZERO;
            let to = std::mem::replace(&mut codec.told, advance.to);
            codec.more = advance.more;
            if early && random.chance(300) {
                let outcomes = std::mem::take(&mut advance.outcomes);
                messages.insert(0, FromGateway::Advance(Advance { to, outcomes, ..Advance::default() }));
            }
        }
        for message in messages {
            let frame = codec.encoder.encode(&message).expect("the gateway limits its messages");
            leaving.push(Leaving::ToClient(session, frame));
        }
    }

    fn ask(&mut self, now: Now, number: RequestId, request: Request) {
        match &mut self.centres {
            Some(centres) => centres.handle(now, iolite_causal::Input::Request(number, request)),
            None => self.coordinator.handle(now, CoordinatorInput::Request(number, request)),
        }
    }

    fn give_up(&mut self, now: Now, number: RequestId) {
        match &mut self.centres {
            Some(centres) => centres.handle(now, iolite_causal::Input::GiveUp(number)),
            None => self.coordinator.handle(now, CoordinatorInput::GiveUp(number)),
        }
    }

    fn take_from_centres(
        &mut self,
        now: Now,
        output: iolite_causal::Output,
        history: &mut History,
        leaving: &mut Vec<Leaving>,
    ) {
        match output {
            iolite_causal::Output::Request(number, request) => {
                self.coordinator.handle(now, CoordinatorInput::Request(number, request));
            }
            iolite_causal::Output::GiveUp(number) => self.coordinator.handle(now, CoordinatorInput::GiveUp(number)),
            iolite_causal::Output::Hold(at) => self.coordinator.handle(now, CoordinatorInput::Hold(at)),
            iolite_causal::Output::Event(event) => self.on_event(now, event, history),
            iolite_causal::Output::News(news) => self.gateway.handle(now, Input::Centre(news)),
            iolite_causal::Output::Lost(reason) => self.gateway.handle(now, Input::OutOfService(reason)),
            iolite_causal::Output::Link(output) => leaving.push(Leaving::ToCentre(output)),
        }
    }

    /// A reply is for its asker, everything else for all.
    fn on_event(&mut self, now: Now, event: Event, history: &mut History) {
        if let Event::Reply(id, reply) = &event
            && let Some((transaction, completion)) = self.open_calls.completed(*id, reply)
        {
            history.note_report(now, self.id, transaction, &completion);
        }
        self.note_fed(now, &event, history);
        self.note_resolved(&event);
        let event = match event {
            Event::Reply(number, reply) => match self.asking.answered(number) {
                Some(Asker::Gateway(id)) => Event::Reply(id, reply),
                Some(Asker::Operator(_)) | None => return,
            },
            Event::Ready { .. } | Event::Feed(_) => event,
        };
        self.gateway.handle(now, Input::Store(event));
    }

    /// The hostile user's and everybody's sessions are told who they are, and how their mutations ended.
    fn note_rights(&mut self, session: SessionId, message: &FromGateway, history: &mut History) {
        let Some(codec) = self.sessions.get_mut(&session).filter(|_| history.rights.is_on) else { return };
        match message {
            FromGateway::Welcome(welcome) => {
                (codec.client, codec.store) = (Some(welcome.client), Some(welcome.store));
                history.rights.note_welcome(welcome.client, &codec.token, session);
            }
            FromGateway::Advance(advance) => {
                if let (Some(client), Some(store)) = (codec.client, codec.store) {
                    history.rights.note_outcomes(store, client, &advance.outcomes);
                }
            }
            FromGateway::SchemaWanted
            | FromGateway::Goodbye(_)
            | FromGateway::Pong(_)
            | FromGateway::LogWanted(_)
            | FromGateway::LogDiffers(_)
            | FromGateway::Stored(_)
            | FromGateway::Renewed(_) => {}
        }
    }

    fn note_access(&mut self, news: &AccessNews) {
        if let AccessNews::Deployed(_, Ok(Deployed { changes: Some(_), .. })) = news {
            self.deployed += 1;
        }
    }

    fn note_resolved(&mut self, event: &Event) {
        match event {
            Event::Ready { resolved, .. } => self.resolved = Some(*resolved),
            Event::Feed(segment) => self.resolved = Some(segment.to),
            Event::Reply(..) => {}
        }
    }

    pub fn validate(&mut self) {
        self.gateway.validate();
        self.coordinator.validate();
        if let Some(centres) = &mut self.centres {
            centres.validate();
        }
    }
}

/// A note with a value below zero is none that the server takes: it comes to the gateway as one of another type. This stands for a rule of the server.
fn refuse_values(submit: &mut Submit) {
    let Decision::Commit(writes) = &mut submit.decision else { return };
    let is_of_none = |write: &&mut Write| {
        write.cell.table == Synced::Notes.table() && matches!(write.operation, Operation::Put(Value::Int(..0)))
    };
    writes.iter_mut().filter(is_of_none).for_each(|write| write.operation = Operation::Add(1));
}

fn note_request(message: &FromClient, occasions: &mut Counts<Occasion>) {
    match message {
        FromClient::Subscribe(subscribe) if subscribe.held => occasions.add(Occasion::Resumed, 1),
        FromClient::Unsubscribe(_) => occasions.add(Occasion::Unsubscribed, 1),
        FromClient::Subscribe(_)
        | FromClient::Hello(_)
        | FromClient::Schema(_)
        | FromClient::Submit(_)
        | FromClient::Acknowledge(_)
        | FromClient::Ping(_)
        | FromClient::Applied(_)
        | FromClient::LogHash(_)
        | FromClient::LogPart(_)
        | FromClient::Token(_) => {}
    }
}

fn note_answer(message: &FromGateway, occasions: &mut Counts<Occasion>) {
    match message {
        FromGateway::Advance(advance) if advance.more => occasions.add(Occasion::AdvanceInParts, 1),
        FromGateway::Goodbye(goodbye) if goodbye.reason == GoodbyeReason::Slow => {
            occasions.add(Occasion::SaidSlow, 1);
        }
        FromGateway::Advance(_)
        | FromGateway::Goodbye(_)
        | FromGateway::Welcome(_)
        | FromGateway::SchemaWanted
        | FromGateway::Pong(_)
        | FromGateway::LogWanted(_)
        | FromGateway::LogDiffers(_)
        | FromGateway::Stored(_)
        | FromGateway::Renewed(_) => {}
    }
}
