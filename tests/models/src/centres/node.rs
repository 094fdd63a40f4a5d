//! One data centre: the real `Centres`, its store, and what its gateway was told.
//!
//! Invariant: what a gateway is told joins, has nothing of the system's own, and is counted by what the transactions write, not by their names.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use iolite_causal::limits::OUTBOX_BYTES_MAX;
use iolite_causal::{
    CentreName, CentreNews, Centres, FromCentre, Input, LinkId, LinkInput, LinkOutput, LinkSide, Output, Settings,
};
use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_store::{Commit, Event, Request, RequestId};
use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, Counter, Decision, Effect, Id, Level, Mark, Operation, RowKey, TableId,
    Timestamp, Transaction, TransactionId, Value, Write,
};

use super::plan::{Broken, CENTRES, Call, Centre, Plan};
use super::store::{FIRST_OWN, Store};

/// Transactions, one bit each.
pub type Calls = u8;

/// An input of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Opened {
        link: LinkId,
        peer: Centre,
        side: Side,
    },
    Closed(LinkId),
    Message(LinkId, u32),
    /// A client hands over a transaction, and has seen so many entries of the outbox.
    Submit {
        call: Call,
        session: u8,
        seen: usize,
    },
    Acknowledge {
        client: usize,
        through: u64,
        session: u8,
    },
    /// A commit that waits happens.
    Perform(usize),
    Conflict(usize),
    Timer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Dialled,
    Accepted,
}

/// An output of a node for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Message(LinkId, FromCentre),
    Closed(LinkId),
}

#[derive(Debug)]
pub struct Node {
    pub centre: Centre,
    /// Lives before this one.
    pub life: u8,
    pub machine: Centres,
    pub store: Store,
    pub told: Told,
    now: u64,
}

/// The news and the feed of the gateway.
#[derive(Clone, Debug)]
pub struct Told {
    pub is_ready: bool,
    pub shown: Calls,
    pub position: Timestamp,
    /// The last news that the position has reached, and those after it.
    pub news: VecDeque<CentreNews>,
    pub lost: Option<String>,
}

/// When every process begins.
const BEGIN: u64 = 1_000_000_000;

pub fn name(centre: Centre) -> CentreName {
    CentreName::new(["asia", "eu", "us"][centre]).expect("a name")
}

pub fn client(client: usize) -> ClientId {
    ClientId(Id::from_u128(1 + client as u128))
}

/// The name of a transaction: the client counts its own.
pub fn id(plan: &Plan, call: Call) -> TransactionId {
    let own = plan.calls[..=call].iter().filter(|own| own.client == plan.calls[call].client);
    TransactionId { client: client(plan.calls[call].client), counter: Counter(own.count() as u64) }
}

fn table() -> TableId {
    TableId::of("people")
}

fn effects(call: Call) -> Vec<Write> {
    let row = RowKey::new(&[Value::Int(call as i64)]).expect("a number is short");
    let effect = Effect::Insert { value: Value::Int(1), mark: Mark(7) };
    let cell = Cell { table: table(), row, column: ColumnId::of("names") };
    vec![Write { cell, operation: Operation::Merge(Arc::new(effect)) }]
}

/// The transaction that has made these writes, whatever it was called.
pub fn call_of(writes: &[Write]) -> Option<Call> {
    let own = writes.iter().find(|write| write.cell.table == table())?;
    let values = own.cell.row.values().ok()?;
    let Some(Value::Int(call)) = values.first() else { return None };
    usize::try_from(*call).ok()
}

impl Node {
    pub fn new(plan: &Plan, centre: Centre, life: u8, store: Store) -> Node {
        let peers = (0..CENTRES).filter(|other| *other != centre).map(name).collect();
        let broken = match plan.broken {
            Broken::Centres(broken) => broken,
            Broken::Nothing | Broken::Gateway(_) => iolite_causal::Broken::Nothing,
        };
        let own = ClientId(Id::from_u128(FIRST_OWN + 10 * u128::from(life) + centre as u128));
        let settings = Settings {
            group: "shop".into(),
            name: name(centre),
            peers,
            k: plan.k,
            outbox_bytes_max: OUTBOX_BYTES_MAX,
            client: own,
            broken,
        };
        let told = Told { is_ready: false, shown: 0, position: Timestamp::ZERO, news: VecDeque::new(), lost: None };
        let machine = Centres::new(time(BEGIN), settings);
        let mut node = Node { centre, life, machine, store, told, now: BEGIN };
        node.store.open();
        node
    }

    pub fn now(&self) -> u64 {
        self.now
    }

    /// Whether a mark comes by waiting. What is held back is looked after every ten seconds, which changes nothing here.
    pub fn has_timer(&self) -> bool {
        let soon = time(self.now).instant + Duration::from_secs(1);
        self.machine.deadline().is_some_and(|at| at < soon)
    }

    /// Lets something happen. `message`: of a step that brings one.
    pub fn take(&mut self, plan: &Plan, step: &Step, message: Option<FromCentre>) -> Vec<Said> {
        match *step {
            Step::Opened { link, peer, side } => {
                let side = match side {
                    Side::Dialled => LinkSide::Dialled,
                    Side::Accepted => LinkSide::Accepted,
                };
                self.input(Input::Link(LinkInput::Opened { link, peer: name(peer), side }));
            }
            Step::Closed(link) => self.input(Input::Link(LinkInput::Closed { link })),
            Step::Message(link, _) => {
                let message = message.expect("a step that brings one has it");
                self.input(Input::Link(LinkInput::Message { link, message }));
            }
            Step::Submit { call, session, seen } => self.submit(plan, call, session, seen),
            Step::Acknowledge { client: whose, through, session } => {
                let request = Request::Acknowledge { client: client(whose), through: Counter(through) };
                let number = 1000 + 100 * u64::from(session) + 10 * through + whose as u64;
                self.input(Input::Request(RequestId(number), request));
            }
            Step::Perform(which) => self.perform(which, false),
            Step::Conflict(which) => self.perform(which, true),
            Step::Timer => {
                let deadline = self.machine.deadline().unwrap_or(time(self.now).instant);
                self.now = self.now.max(deadline.as_nanos());
                self.machine.on_deadline(time(self.now));
            }
        }
        self.run()
    }

    fn input(&mut self, input: Input) {
        self.machine.handle(time(self.now), input);
    }

    fn submit(&mut self, plan: &Plan, call: Call, session: u8, seen: usize) {
        // As a gateway hands it over: above all that the client has seen.
        let floor = seen.checked_sub(1).map_or(Timestamp::ZERO, |last| self.store.entries[last].0);
        let transaction = Transaction {
            id: id(plan, call),
            attempt: Attempt(1),
            snapshot: floor,
            reads: Vec::new(),
            level: Level::ReadCommitted,
            decision: Decision::Commit(effects(call)),
        };
        let request = Request::Commit { transaction, floor, within: None };
        self.input(Input::Request(RequestId(10 * u64::from(session) + call as u64), request));
    }

    fn perform(&mut self, which: usize, conflicts: bool) {
        let number = self.store.pending.keys().nth(which).copied();
        number.into_iter().for_each(|number| self.store.perform(number, conflicts));
    }

    /// Lets the machine and its store come to rest.
    pub fn run(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        loop {
            self.machine.validate();
            if let Some(output) = self.machine.poll() {
                match output {
                    Output::Request(number, request) => self.store.request(number, request),
                    Output::GiveUp(_) | Output::Hold(_) => {}
                    Output::Event(event) => self.tell(event),
                    Output::News(news) => self.told.news.push_back(news),
                    Output::Lost(reason) => self.told.lost = reason,
                    Output::Link(LinkOutput::Send { link, message }) => said.push(Said::Message(link, message)),
                    Output::Link(LinkOutput::Close { link, reason: _ }) => said.push(Said::Closed(link)),
                }
            } else if let Some(event) = self.store.events.pop_front() {
                self.input(Input::Store(event));
            } else {
                break;
            }
        }
        let due = self.told.news.iter().filter(|news| news.at <= self.told.position).count();
        self.told.news.drain(..due.saturating_sub(1));
        said
    }

    fn tell(&mut self, event: Event) {
        match event {
            Event::Ready { store, resolved } => {
                assert_eq!(store, self.store.incarnation, "it is the same store");
                self.told.is_ready = true;
                self.told.position = resolved;
                self.told.news.clear();
                let entries = self.store.entries.iter().filter(|(at, _)| *at <= resolved);
                let calls = entries.filter_map(|(_, entry)| super::pool::call_of_entry(entry));
                self.told.shown = calls.fold(0, |calls, call| calls | 1 << call);
            }
            Event::Feed(segment) => {
                assert_eq!(segment.from, self.told.position, "the feed joins");
                self.told.position = segment.to;
                for Commit { at, writes, .. } in segment.commits {
                    assert!(at > segment.from && at <= segment.to, "a commit is in its segment");
                    assert!(writes.iter().all(|write| write.cell.table == table()), "no row of the system is told");
                    self.told.shown |= call_of(&writes).map_or(0, |call| 1 << call);
                }
            }
            Event::Reply(..) => {}
        }
    }
}

fn time(nanos: u64) -> Now {
    Now { instant: Instant::from_nanos(nanos), wall: WallTime::from_micros(1) }
}
