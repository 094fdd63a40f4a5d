//! A hostile user: it has a good token, knows every id, and says to gateways what no client says.
//!
//! Invariant: it sits beside a gateway, so what it says comes at once. Everything that it says follows from the seed.

use std::collections::{BTreeMap, VecDeque};

use iolite_gateway::{Input, SessionId};
use iolite_machine::{Machine, Now};
use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, Counter, Decision, Element, Id, Interest, KeyRange, LaneNumber, Operation, Read,
    Timestamp, TransactionId, Value, Write,
};
use iolite_wire::message::{
    FromClient, FromGateway, Hello, Outcome, ProtocolVersion, Rejection, Submit, Subscribe, SubscriptionId, Verdict,
};

use super::events::Event;
use super::front_node::FrontNode;
use super::server::End;
use super::{Process, World};
use crate::history::Moment;
use crate::random::Random;
use crate::rights::app::{self, PAY_MOST, ROOMS, SCHEMA, recent};
use crate::rights::{Person, RightsEvent, Speaker};

const MILLISECOND: Moment = 1_000_000;
/// Sessions of links have smaller numbers.
pub const SESSIONS_FROM: u64 = 1 << 40;
/// With so much unanswered it waits.
const UNANSWERED_MAX: usize = 16;
/// Places of the feed that are remembered, to pretend that something was read then.
const TOLD_KEPT: usize = 8;

#[derive(Debug, Default)]
pub struct Hostile {
    seat: Option<Seat>,
    sessions: u64,
    /// The last mutation of each client that it was.
    counters: BTreeMap<ClientId, Counter>,
    denied: Vec<(ClientId, Submit)>,
}

/// A session.
#[derive(Debug)]
struct Seat {
    front: usize,
    life: u64,
    session: SessionId,
    client: Option<ClientId>,
    /// How far the feed was, the latest last.
    told: VecDeque<Timestamp>,
    sent: BTreeMap<Counter, Submit>,
    /// Attempts that conflicted.
    again: Vec<Submit>,
}

impl World {
    pub(super) fn act_hostile(&mut self) {
        if self.healing {
            return;
        }
        let wait = self.random.between(5, 60) * MILLISECOND;
        self.events.add(self.moment + wait, Event::Hostile);
        let Some(seat) = self.hostile.seat.take() else { return self.sit_down() };
        let is_there = matches!(self.fronts[seat.front], Process::Up(_)) && self.front_lives[seat.front] == seat.life;
        if !is_there {
            return;
        }
        if self.is_still(End::Front(seat.front)) {
            self.hostile.seat = Some(seat);
            return;
        }
        let heard = match &mut self.fronts[seat.front] {
            Process::Up(node) => std::mem::take(&mut node.hostile_hears),
            Process::Down(()) => return,
        };
        if let Some(seat) = self.hear(seat, heard) {
            self.act_from(seat);
        }
    }

    /// Says hello to some gateway, half of the time by the id of another one's device.
    fn sit_down(&mut self) {
        let front = self.random.below(self.fronts.len() as u64) as usize;
        let stolen = self.random.below(2 * self.clients.len() as u64) as usize;
        let own = ClientId(Id::from_u128(u128::from(self.random.below(3)) + 1));
        let device = self.clients.get(stolen).map(|node| node.first_device);
        if self.is_still(End::Front(front)) {
            return;
        }
        let now = self.now_of_front(front);
        let Process::Up(node) = &mut self.fronts[front] else { return };
        self.rights_events.add(RightsEvent::StolenDevice, u64::from(device.is_some()));
        self.hostile.sessions += 1;
        let session = SessionId(SESSIONS_FROM + self.hostile.sessions);
        node.hostile_hears.clear();
        node.open(now, session);
        let hello = Hello {
            oldest_version: ProtocolVersion::OLDEST_SUPPORTED,
            newest_version: ProtocolVersion::CURRENT,
            token: Speaker::User(Person::HOSTILE).token(),
            client: device.unwrap_or(own),
            schema: app::schema().hash(),
            resume: None,
            acknowledged: Counter::default(),
            centre_token: None,
            batch: std::time::Duration::ZERO,
        };
        node.say_raw(now, session, FromClient::Hello(hello));
        let (life, told) = (self.front_lives[front], VecDeque::new());
        let (client, sent, again) = (None, BTreeMap::new(), Vec::new());
        self.hostile.seat = Some(Seat { front, life, session, client, told, sent, again });
    }

    /// Takes what the gateway has said. Nothing, if the session is over.
    fn hear(&mut self, mut seat: Seat, heard: Vec<(SessionId, FromGateway)>) -> Option<Seat> {
        let own = heard.into_iter().filter(|(session, _)| *session == seat.session);
        for (_, message) in own.collect::<Vec<_>>() {
            match message {
                FromGateway::SchemaWanted => self.say_hostile(&seat, FromClient::Schema(SCHEMA.into())),
                FromGateway::Welcome(welcome) => {
                    seat.client = Some(welcome.client);
                    let interest = Interest::Range { table: app::rooms(), range: KeyRange::all() };
                    let interests = vec![(SubscriptionId(1), interest)];
                    let subscribe = Subscribe { held: false, interests, first: BTreeMap::new() };
                    self.say_hostile(&seat, FromClient::Subscribe(subscribe));
                }
                FromGateway::Advance(advance) => {
                    if !advance.more {
                        seat.told.push_back(advance.to);
                        seat.told.drain(..seat.told.len().saturating_sub(TOLD_KEPT));
                    }
                    advance.outcomes.into_iter().for_each(|outcome| self.take_outcome(&mut seat, outcome));
                }
                FromGateway::Goodbye(_) => return None,
                FromGateway::Pong(_)
                | FromGateway::LogWanted(_)
                | FromGateway::LogDiffers(_)
                | FromGateway::Stored(_)
                | FromGateway::Renewed(_) => {}
            }
        }
        Some(seat)
    }

    fn take_outcome(&mut self, seat: &mut Seat, outcome: Outcome) {
        let (Some(sent), Some(client)) = (seat.sent.remove(&outcome.counter), seat.client) else { return };
        let name = (TransactionId { client, counter: sent.counter }, sent.attempt);
        match outcome.verdict {
            Verdict::Committed(_) if self.history.rights.probes.contains_key(&name) => {
                self.rights_events.add(RightsEvent::Probed, 1);
            }
            Verdict::Committed(_) => self.rights_events.add(RightsEvent::HostileCommitted, 1),
            Verdict::Conflict(_) => seat.again.push(sent),
            Verdict::Rejected(Rejection::Denied(_)) => {
                self.rights_events.add(RightsEvent::HostileDenied, 1);
                self.hostile.denied.push((client, sent));
            }
            Verdict::Aborted | Verdict::Rejected(Rejection::Invalid(_) | Rejection::Forgotten) => {}
        }
    }

    fn act_from(&mut self, mut seat: Seat) {
        let (Some(client), Some(latest)) = (seat.client, seat.told.back().copied()) else {
            self.hostile.seat = Some(seat);
            return;
        };
        for _ in 0..self.random.between(0, 2) {
            if seat.sent.len() >= UNANSWERED_MAX {
                break;
            }
            let submit = self.next_submit(&mut seat, client, latest);
            seat.sent.insert(submit.counter, submit.clone());
            self.say_hostile(&seat, FromClient::Submit(submit));
        }
        // It leaves now and then, to be somebody else.
        if self.random.chance(15) {
            let now = self.now_of_front(seat.front);
            if let Process::Up(node) = &mut self.fronts[seat.front] {
                node.closed(now, seat.session, &mut self.history);
            }
            return;
        }
        self.hostile.seat = Some(seat);
    }

    fn next_submit(&mut self, seat: &mut Seat, client: ClientId, latest: Timestamp) -> Submit {
        let draw = self.random.below(100);
        if let (0..=29, Some(own)) = (draw, seat.again.pop()) {
            return Submit { attempt: Attempt(own.attempt.0 + 1), snapshot: latest, ..own };
        }
        let denied = self.hostile.denied.iter().filter(|(own, _)| *own == client).map(|(_, submit)| submit);
        let denied: Vec<&Submit> = denied.collect();
        if let (30..=49, Some(last)) = (draw, denied.len().checked_sub(1)) {
            self.rights_events.add(RightsEvent::DeniedSentAgain, 1);
            let own = denied[last - (self.random.below(8) as usize).min(last)].clone();
            let attempt = Attempt(own.attempt.0 + self.random.below(2) as u32);
            return Submit { attempt, snapshot: latest, ..own };
        }
        let counter = self.hostile.counters.entry(client).or_default();
        *counter = Counter(counter.0 + 1);
        let place = self.random.below(seat.told.len() as u64) as usize;
        let snapshot = if self.random.chance(400) { latest } else { seat.told[place] };
        let own = Submit {
            counter: *counter,
            attempt: Attempt(1),
            snapshot,
            reads: Vec::new(),
            decision: Decision::Commit(Vec::new()),
            acknowledged: None,
            lane: LaneNumber::STRONG,
            follows: None,
        };
        if draw >= 80 {
            let of = Person(self.random.below(u64::from(Person::HOSTILE.0)) as u8);
            let name = (TransactionId { client, counter: own.counter }, own.attempt);
            self.history.rights.probes.insert(name, of);
            return Submit { reads: hidden(of, &mut self.random), ..own };
        }
        self.next_element += 1;
        let mut writes = drawn(&mut self.random, self.next_element);
        if self.random.chance(150) {
            self.next_element += 1;
            writes.extend(drawn(&mut self.random, self.next_element));
        }
        Submit { decision: Decision::Commit(writes), ..own }
    }

    fn say_hostile(&mut self, seat: &Seat, message: FromClient) {
        let now = self.now_of_front(seat.front);
        if let Process::Up(node) = &mut self.fronts[seat.front] {
            node.say_raw(now, seat.session, message);
        }
    }
}

/// Reads of the account of somebody else.
fn hidden(of: Person, random: &mut Random) -> Vec<Read> {
    let cell = app::balance(of);
    match random.below(3) {
        0 => vec![Read::Cell { cell, element: Element::Whole }],
        1 => vec![Read::Range { table: app::accounts(), range: KeyRange::one(&cell.row) }],
        _ => {
            let cells = (0..Person::HOSTILE.0).map(|other| app::balance(Person(other)));
            cells.map(|cell| Read::Cell { cell, element: Element::Whole }).collect()
        }
    }
}

/// Writes that nobody's app makes, and some that apps make. New rows are called by `element`.
fn drawn(random: &mut Random, element: i64) -> Vec<Write> {
    let (room, other, me) = (random.below(ROOMS) as i64, Person::random(random), Person::HOSTILE);
    let id = recent(random, element);
    let put = |cell: Cell, value: Value| Write { cell, operation: Operation::Put(value) };
    let message = |id: i64, author: Person| {
        let cell = |column: &str| app::message_cell(id, column);
        vec![
            Write { cell: Cell::row(app::messages(), app::message_key(id)), operation: Operation::Create },
            put(cell("room"), Value::Int(room)),
            put(cell("author"), Value::string(author.name())),
            put(cell("text"), Value::string("hostile")),
        ]
    };
    let life = |table, key, operation| Write { cell: Cell::row(table, key), operation };
    let owner = |of: Person| {
        let cell = Cell { column: ColumnId::of("owner"), ..Cell::row(app::rooms(), app::room_key(room)) };
        put(cell, Value::string(of.name()))
    };
    match random.below(14) {
        0 => message(element, other),
        1..=4 => message(element, me),
        5 => vec![put(app::message_cell(id, "text"), Value::string("stolen"))],
        6 => vec![Write { cell: app::message_cell(id, "likes"), operation: Operation::Add(1) }],
        7 => {
            vec![Write { cell: app::message_cell(id, "likes"), operation: Operation::Add(random.between(2, 9) as i64) }]
        }
        8 => vec![life(app::members(), app::member_key(room, me), Operation::Create)],
        9 => vec![life(app::members(), app::member_key(room, other), Operation::Delete)],
        10 => vec![Write { cell: app::balance(other), operation: Operation::Add(PAY_MOST) }],
        11 => vec![owner(me)],
        12 => vec![
            life(app::rooms(), app::room_key(room), Operation::Create),
            owner(me),
            life(app::members(), app::member_key(room, me), Operation::Create),
        ],
        // Another one's message in its own name.
        _ => [vec![life(app::messages(), app::message_key(id), Operation::Delete)], message(id, me)].concat(),
    }
}

impl FrontNode {
    /// Takes a message as it is, from whom no link leads.
    fn say_raw(&mut self, now: Now, session: SessionId, message: FromClient) {
        self.note_hello(session, &message);
        self.gateway.handle(now, Input::Message(session, message));
    }

    /// Whether a message is for the hostile user, who has it at once.
    pub(super) fn tell_hostile(&mut self, now: Now, session: SessionId, message: &FromGateway) -> bool {
        let is_hostile = session.0 >= SESSIONS_FROM;
        if is_hostile {
            self.hostile_hears.push((session, message.clone()));
            self.gateway.handle(now, Input::Drained { session, messages: 1 });
        }
        is_hostile
    }
}
