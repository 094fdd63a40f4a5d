//! Data centres over fake stores, with links that are carried in order, and can be cut.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_store::{CommitReply, Completion, Event, Reply, Request, RequestId};
use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, Counter, Decision, Effect, Id, Interest, KeyRange, Level, Mark, Operation, Read,
    RowKey, TableId, Timestamp, Transaction, TransactionId, Value, Write,
};
use iolite_wire::centres::CentreNews;

use super::store::FakeStore;
use crate::limits::OUTBOX_BYTES_MAX;
use crate::{
    Broken, CentreName, Centres, FromCentre, Input, LinkId, LinkInput, LinkOutput, LinkSide, Output, Settings,
};

pub struct World {
    pub nodes: Vec<Node>,
    links: BTreeMap<u64, (usize, usize)>,
    last_link: u64,
    /// Messages on their way, in the order in which they were sent: link, receiver, message.
    pub on_their_way: Vec<(u64, usize, FromCentre)>,
    now: u64,
    k: usize,
    outbox_bytes_max: u64,
}

pub struct Node {
    pub centres: Centres,
    pub store: FakeStore,
    /// Transactions that the gateway has been told of, by their ids.
    pub shown: Vec<TransactionId>,
    /// The gateway was told this last of how far the data centre is.
    pub news: Option<CentreNews>,
    pub position: Timestamp,
    pub replies: BTreeMap<u64, Reply>,
    requests: u64,
    pub closed: Vec<String>,
    /// Why no client is served.
    pub lost: Option<String>,
    pub is_up: bool,
    /// How often its gateway was told to begin anew.
    pub begun: usize,
}

pub fn table() -> TableId {
    TableId::of("people")
}

pub fn name(index: usize) -> CentreName {
    CentreName::new(["eu", "us", "asia"][index]).expect("a name")
}

pub fn id(client: u128, counter: u64) -> TransactionId {
    TransactionId { client: ClientId(Id::from_u128(client)), counter: Counter(counter) }
}

/// An effect that leaves a mark of its transaction.
pub fn effects(id: TransactionId, bytes: usize) -> Vec<Write> {
    let (mark, row) = (Mark::of(id.client.0, id.counter, 0), RowKey::new(&[Value::Int(1)]).expect("short"));
    let merge = |effect| Operation::Merge(Arc::new(effect));
    let touch = Effect::Touch { life: Mark(7), mark: Mark(7), seen: [].into() };
    let value = Value::from(format!("{:?} {}", id, "x".repeat(bytes)));
    let insert = Effect::Insert { value, mark };
    vec![
        Write { cell: Cell::row(table(), row.clone()), operation: merge(touch) },
        Write { cell: Cell { table: table(), row, column: ColumnId::of("names") }, operation: merge(insert) },
    ]
}

impl World {
    /// Data centres that are all linked with each other.
    pub fn new(count: usize, k: usize) -> World {
        World::broken(count, k, Broken::Nothing)
    }

    pub fn broken(count: usize, k: usize, broken: Broken) -> World {
        World::with(count, k, broken, OUTBOX_BYTES_MAX)
    }

    /// The same, whose outboxes keep so many bytes.
    pub fn limited(count: usize, k: usize, outbox_bytes_max: u64) -> World {
        World::with(count, k, Broken::Nothing, outbox_bytes_max)
    }

    fn with(count: usize, k: usize, broken: Broken, outbox_bytes_max: u64) -> World {
        let mut world = World {
            nodes: Vec::new(),
            links: BTreeMap::new(),
            last_link: 0,
            on_their_way: Vec::new(),
            now: 1,
            k,
            outbox_bytes_max,
        };
        for index in 0..count {
            let store = FakeStore::new(100 + index as u128);
            let settings = Settings { outbox_bytes_max, ..settings(index, count, k, broken, 1000 + index as u128) };
            let centres = Centres::new(world.time(), settings);
            world.nodes.push(Node {
                news: None,
                centres,
                store,
                shown: Vec::new(),
                position: Timestamp::ZERO,
                replies: BTreeMap::new(),
                requests: 0,
                closed: Vec::new(),
                lost: None,
                is_up: true,
                begun: 0,
            });
            world.nodes[index].store.open();
        }
        world.settle();
        for (from, to) in world.pairs() {
            world.dial(from, to);
        }
        world.settle();
        world
    }

    fn pairs(&self) -> Vec<(usize, usize)> {
        let count = self.nodes.len();
        (0..count).flat_map(|from| (0..count).map(move |to| (from, to))).filter(|(from, to)| from != to).collect()
    }

    pub fn time(&self) -> Now {
        Now { instant: Instant::from_nanos(self.now * 1_000_000), wall: WallTime::from_micros(self.now * 1000) }
    }

    pub fn pass(&mut self, milliseconds: u64) {
        self.now += milliseconds;
        let now = self.time();
        for node in self.nodes.iter_mut().filter(|node| node.is_up) {
            node.centres.on_deadline(now);
        }
        self.settle();
    }

    /// One data centre dials another: it takes its outbox.
    pub fn dial(&mut self, from: usize, to: usize) {
        self.last_link += 1;
        let link = self.last_link;
        self.links.insert(link, (from, to));
        let opened = |peer, side| LinkInput::Opened { link: LinkId(link), peer, side };
        self.link(to, opened(name(from), LinkSide::Accepted));
        self.link(from, opened(name(to), LinkSide::Dialled));
    }

    /// All links between the two are lost, with what is on its way.
    pub fn cut(&mut self, one: usize, other: usize) {
        let is_between = |from: usize, to: usize| (from, to) == (one, other) || (from, to) == (other, one);
        let cut: Vec<u64> =
            self.links.iter().filter(|(_, (from, to))| is_between(*from, *to)).map(|(link, _)| *link).collect();
        for link in cut {
            self.links.remove(&link);
            self.on_their_way.retain(|(own, _, _)| *own != link);
            for node in [one, other] {
                self.link(node, LinkInput::Closed { link: LinkId(link) });
            }
        }
    }

    pub fn heal(&mut self, one: usize, other: usize) {
        self.dial(one, other);
        self.dial(other, one);
        self.settle();
    }

    /// Ends the process. The store stays.
    pub fn kill(&mut self, node: usize) {
        for other in (0..self.nodes.len()).filter(|other| *other != node) {
            self.cut(node, other);
        }
        self.nodes[node].is_up = false;
    }

    /// Starts the process again, with links to all that are up.
    pub fn restart(&mut self, node: usize) {
        let (now, count) = (self.time(), self.nodes.len());
        let lives = 5000 + u128::from(self.now) + node as u128;
        let settings = settings(node, count, self.k, Broken::Nothing, lives);
        let settings = Settings { outbox_bytes_max: self.outbox_bytes_max, ..settings };
        let own = &mut self.nodes[node];
        own.centres = Centres::new(now, settings);
        (own.is_up, own.shown, own.position, own.lost) = (true, Vec::new(), Timestamp::ZERO, None);
        own.store.open();
        self.settle();
        for other in (0..count).filter(|other| *other != node && self.nodes[*other].is_up).collect::<Vec<_>>() {
            self.heal(node, other);
        }
    }

    pub fn link(&mut self, node: usize, input: LinkInput) {
        let now = self.time();
        if self.nodes[node].is_up {
            self.nodes[node].centres.handle(now, Input::Link(input));
        }
    }

    /// A client's transaction. Returns the number under which its reply will be.
    pub fn commit(&mut self, node: usize, id: TransactionId) -> u64 {
        self.commit_of(node, id, 10)
    }

    pub fn commit_of(&mut self, node: usize, id: TransactionId, bytes: usize) -> u64 {
        self.commit_judged(node, id, bytes, Vec::new())
    }

    /// The same of one that its gateway has judged by these reads, as of its position.
    pub fn commit_judged(&mut self, node: usize, id: TransactionId, bytes: usize, reads: Vec<Read>) -> u64 {
        let now = self.time();
        let own = &mut self.nodes[node];
        own.requests += 1;
        let transaction = Transaction {
            id,
            attempt: Attempt(1),
            snapshot: own.position,
            reads,
            level: Level::ReadCommitted,
            decision: Decision::Commit(effects(id, bytes)),
        };
        let request = Request::Commit { transaction, floor: own.position, within: None };
        own.centres.handle(now, Input::Request(RequestId(own.requests), request));
        own.requests
    }

    /// A read of a moment, perhaps one that the feed has not reached.
    pub fn read_at(&mut self, node: usize, at: Timestamp) -> u64 {
        let now = self.time();
        let own = &mut self.nodes[node];
        own.requests += 1;
        let interest = Interest::Range { table: table(), range: KeyRange::all() };
        let request = Request::ReadAt { interest, at, limit: iolite_store::ReadLimit::NONE };
        own.centres.handle(now, Input::Request(RequestId(own.requests), request));
        own.requests
    }

    /// A client needs no outcome through this one.
    pub fn acknowledge(&mut self, node: usize, id: TransactionId) {
        let now = self.time();
        let own = &mut self.nodes[node];
        own.requests += 1;
        let request = Request::Acknowledge { client: id.client, through: id.counter };
        own.centres.handle(now, Input::Request(RequestId(own.requests), request));
        self.settle();
    }

    /// Lets everything happen that is on its way.
    pub fn settle(&mut self) {
        self.settle_with(0, usize::MAX);
    }

    /// Time passes while a transaction is always on its way to another data centre: the next one is committed before the last one is there.
    pub fn pass_under_load(&mut self, milliseconds: u64, from: usize, to: usize, id: TransactionId) {
        self.now += milliseconds;
        let now = self.time();
        self.nodes.iter_mut().filter(|node| node.is_up).for_each(|node| node.centres.on_deadline(now));
        let is_entries =
            |(_, own, message): &&(u64, usize, FromCentre)| *own == to && matches!(message, FromCentre::Entries(_));
        let before = self.on_their_way.iter().filter(is_entries).count();
        self.commit(from, id);
        self.settle_with(to, before);
    }

    /// The same, but only so many stretches of outboxes come to a data centre.
    fn settle_with(&mut self, node: usize, mut stretches: usize) {
        let is_entries =
            |(_, to, message): &(u64, usize, FromCentre)| *to == node && matches!(message, FromCentre::Entries(_));
        loop {
            let mut quiet = true;
            for node in (0..self.nodes.len()).filter(|node| self.nodes[*node].is_up).collect::<Vec<_>>() {
                quiet &= !self.step(node);
            }
            let next = self.on_their_way.iter().position(|own| stretches > 0 || !is_entries(own));
            stretches -= next.map_or(0, |next| usize::from(is_entries(&self.on_their_way[next])));
            if let Some(next) = next {
                quiet = false;
                let (link, to, message) = self.on_their_way.remove(next);
                // As it goes over the wire.
                let message = FromCentre::decode(&message.encode().expect("small")).expect("it was encoded");
                self.link(to, LinkInput::Message { link: LinkId(link), message });
            }
            if quiet {
                return;
            }
        }
    }

    /// Whether anything has happened.
    fn step(&mut self, node: usize) -> bool {
        let (now, mut moved, mut closed) = (self.time(), false, Vec::new());
        let own = &mut self.nodes[node];
        own.centres.validate();
        while let Some(output) = own.centres.poll() {
            moved = true;
            match output {
                Output::Request(number, request) => own.store.request(number, request),
                Output::GiveUp(_) | Output::Hold(_) => {}
                Output::Event(event) => own.told(event),
                Output::News(news) => own.news = Some(news),
                Output::Lost(reason) => own.lost = reason,
                Output::Link(LinkOutput::Send { link, message }) => {
                    if let Some((from, to)) = self.links.get(&link.0) {
                        self.on_their_way.push((link.0, if *from == node { *to } else { *from }, message));
                    }
                }
                Output::Link(LinkOutput::Close { link, reason }) => {
                    own.closed.push(reason);
                    if let Some((from, to)) = self.links.remove(&link.0) {
                        closed.push((link, if from == node { to } else { from }));
                    }
                }
            }
        }
        if let Some(event) = own.store.poll() {
            own.centres.handle(now, Input::Store(event));
            moved = true;
        } else if own.store.has_news() {
            own.store.resolve();
            moved = true;
        }
        for (link, other) in closed {
            self.link(other, LinkInput::Closed { link });
        }
        moved
    }

    /// The members of the set in which each transaction has left its name, at each data centre.
    pub fn names(&self, node: usize) -> Vec<String> {
        let all = Interest::Range { table: table(), range: KeyRange::all() };
        let rows = self.nodes[node].store.rows(&all, Timestamp::MAX);
        let column = ColumnId::of("names");
        rows.iter().map(|row| format!("{:?}", row.row.cell(column))).collect()
    }
}

impl Node {
    fn told(&mut self, event: Event) {
        match event {
            Event::Ready { store: _, resolved } => {
                self.position = resolved;
                self.begun += 1;
                let all = self.store.commits.iter().filter(|commit| commit.at <= resolved);
                let writes = |commit: &&iolite_store::Commit| commit.writes.iter().any(|own| own.cell.table == table());
                self.shown = all.filter(writes).map(|commit| commit.transaction).collect();
            }
            Event::Feed(segment) => {
                assert_eq!(segment.from, self.position, "the feed joins");
                self.position = segment.to;
                for commit in segment.commits {
                    assert!(commit.at > segment.from && commit.at <= segment.to);
                    assert!(commit.writes.iter().all(|write| write.cell.table == table()), "no row of the system");
                    if !commit.writes.is_empty() {
                        self.shown.push(commit.transaction);
                    }
                }
            }
            Event::Reply(id, reply) => drop(self.replies.insert(id.0, reply)),
        }
    }

    /// Whether a commit has its outcome.
    pub fn committed(&self, request: u64) -> Option<&Completion> {
        match self.replies.get(&request) {
            Some(Reply::Commit(CommitReply::Completed(completion))) => Some(completion),
            _ => None,
        }
    }
}

fn settings(index: usize, count: usize, k: usize, broken: Broken, client: u128) -> Settings {
    let peers = (0..count).filter(|other| *other != index).map(name).collect();
    let client = ClientId(Id::from_u128(client));
    let outbox_bytes_max = OUTBOX_BYTES_MAX;
    Settings { group: "shop".into(), name: name(index), peers, k, outbox_bytes_max, client, broken }
}
