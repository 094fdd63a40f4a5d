//! The machine: it carries tasks to the store, and tells what came of them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use iolite_machine::{Instant, Machine, Now};
use iolite_store::{
    CommitReply, CompletionDecision, Event, ReadLimit, ReadReply, Reply, Request, RequestId, Segment, TooOld, Validity,
};
use iolite_values::{
    Attempt, Bucket, ColumnId, Counter, Decision, Element, Level, NodeId, NodeName, Read, StoreIncarnation, TableId,
    Timestamp, Transaction, TransactionId, Write,
};

use crate::buckets::Buckets;
use crate::interface::{Ask, AskId, Input, News, Output, Settings, Told};
use crate::leases::Leases;
use crate::limits::OPEN_ASKS_MAX;
use crate::nodes::ADDRESS;
use crate::objects;
use crate::own::Names;
use crate::rows::{Rows, Undecided, Wanted};
use crate::tables::{BUCKETS_TABLE, NODES_TABLE, OBJECTS_TABLE, all_buckets, all_servers};
use crate::tasks::{Asker, Changing, Done, Open, Phase, Step, Task, Tasks};

/// Keeps the tables of objects and nodes.
#[derive(Debug)]
pub struct Tracking {
    settings: Settings,
    now: Instant,
    /// How far the feed is. None: the store has not been there yet.
    position: Option<Timestamp>,
    tasks: Tasks,
    leases: Leases,
    buckets: Buckets,
    names: Names,
    last_request: u64,
    requests: BTreeMap<RequestId, Purpose>,
    outputs: VecDeque<Output>,
}

/// Why something was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Task(Asker),
    /// The rows of servers.
    Servers,
    /// The rows of buckets.
    Buckets,
    Acknowledge,
}

impl Tracking {
    pub fn new(settings: Settings) -> Tracking {
        Tracking {
            settings,
            now: Instant::default(),
            position: None,
            tasks: Tasks::default(),
            leases: Leases::default(),
            buckets: Buckets::default(),
            names: Names::default(),
            last_request: 0,
            requests: BTreeMap::new(),
            outputs: VecDeque::new(),
        }
    }

    fn on_ask(&mut self, id: AskId, ask: Ask) {
        if self.position.is_none() {
            return self.news(News::Told(id, Told::Unavailable));
        }
        if self.tasks.asks() >= OPEN_ASKS_MAX {
            return self.news(News::Told(id, Told::Busy));
        }
        let is_new = !self.tasks.open.contains_key(&Asker::Host(id));
        assert!(is_new, "an asker uses the id of an open ask once");
        self.begin(Asker::Host(id), Task::Ask(ask));
    }

    /// Begins a task, unless its asker has one open.
    fn begin(&mut self, asker: Asker, task: Task) {
        if let Entry::Vacant(entry) = self.tasks.open.entry(asker) {
            entry.insert(Open { task, phase: Phase::Behind(Timestamp::ZERO) });
            self.read(asker);
        }
    }

    fn news(&mut self, news: News) {
        self.outputs.push_back(Output::News(news));
    }

    fn request(&mut self, purpose: Purpose, request: Request) -> RequestId {
        self.last_request += 1;
        let id = RequestId(self.last_request);
        self.requests.insert(id, purpose);
        self.outputs.push_back(Output::Request(id, request));
        id
    }

    /// Reads the row that the task is about, or the rows.
    fn read(&mut self, asker: Asker) {
        let (Some(at), Some(open)) = (self.position, self.tasks.open.get(&asker)) else { return };
        let wanted = open.task.wanted();
        self.read_more(asker, wanted, Rows::new(at));
    }

    /// Reads one more row, at the timestamp of the others.
    fn read_more(&mut self, asker: Asker, wanted: Wanted, rows: Rows) {
        let read = Request::ReadAt { interest: wanted.interest(), at: rows.at, limit: ReadLimit::NONE };
        let request = self.request(Purpose::Task(asker), read);
        self.set_phase(asker, Phase::Reading { request, wanted, rows });
    }

    fn set_phase(&mut self, asker: Asker, phase: Phase) {
        if let Some(open) = self.tasks.open.get_mut(&asker) {
            open.phase = phase;
        }
    }

    fn on_rows(&mut self, asker: Asker, wanted: Wanted, mut rows: Rows, reply: Result<ReadReply, TooOld>) {
        match reply {
            Ok(reply) => rows.add(wanted, reply.rows),
            Err(TooOld { low_watermark }) => return self.wait(asker, low_watermark),
        }
        let Some(open) = self.tasks.open.get(&asker) else { return };
        let step = open.task.step(&rows);
        let whole = |cell| Read::Cell { cell, element: Element::Whole };
        let reads: Vec<Read> = open.task.guards(&rows).into_iter().map(whole).collect();
        match step {
            Ok(Step::Tell(done)) => self.confirm(asker, rows.at, reads, done),
            Ok(Step::TellAsRead(done)) => self.end(asker, done),
            Ok(Step::Change(writes, done)) => {
                let name = self.names.begin();
                let (id, decision) = (self.transaction(name), Decision::Commit(writes));
                let (attempt, snapshot, level) = (Attempt(1), rows.at, Level::Strict);
                let transaction = Transaction { id, attempt, snapshot, reads, level, decision };
                self.commit(asker, Changing { name, transaction, sent: self.now, was_in_doubt: false, done });
            }
            Err(Undecided::Unread(place)) => self.read_more(asker, Wanted::Row(place), rows),
            Err(Undecided::Unreadable) => self.end(asker, Done::Told(Told::Unavailable)),
        }
    }

    fn transaction(&self, name: Counter) -> TransactionId {
        TransactionId { client: self.settings.client, counter: name }
    }

    /// Asks the store whether what was read is still so: the feed may be behind.
    fn confirm(&mut self, asker: Asker, snapshot: Timestamp, reads: Vec<Read>, done: Done) {
        let (name, floor) = (self.names.begin(), self.position.unwrap_or_default());
        let (transaction, reads) = (self.transaction(name), Arc::from(reads));
        self.set_phase(asker, Phase::Confirming { name, done });
        let request = Request::Validate { transaction, attempt: Attempt(1), snapshot, reads, floor };
        self.request(Purpose::Task(asker), request);
    }

    /// Gives the store the change of a task, for the first time or again: it takes effect once.
    fn commit(&mut self, asker: Asker, changing: Changing) {
        let (transaction, floor) = (changing.transaction.clone(), self.position.unwrap_or_default());
        self.set_phase(asker, Phase::Changing(changing));
        self.request(Purpose::Task(asker), Request::Commit { transaction, floor, within: None });
    }

    /// Does the task again once the feed is at this timestamp.
    fn wait(&mut self, asker: Asker, until: Timestamp) {
        if self.position.is_some_and(|position| until <= position) {
            self.again(asker);
        } else {
            self.tasks.wait(asker, until);
        }
    }

    /// The feed is where the task waited for. The task reads its rows again, unless it rests on an earlier state of the feed.
    fn again(&mut self, asker: Asker) {
        match self.tasks.open.get(&asker).map(|open| &open.task) {
            // The next plan rests on what the feed has said since, of leases too.
            Some(Task::Exchange(_)) => self.end(asker, Done::Over),
            Some(Task::Ask(_) | Task::Renew(_) | Task::Lose(_)) => self.read(asker),
            None => {}
        }
    }

    /// The task has ended without a change.
    fn end(&mut self, asker: Asker, done: Done) {
        let task = self.tasks.open.remove(&asker).map(|open| open.task);
        match (asker, done) {
            (Asker::Host(id), Done::Told(told)) => self.news(News::Told(id, told)),
            (Asker::Renewal, Done::Over) if matches!(task, Some(Task::Renew(_))) => self.leases.forget_own(),
            (Asker::Host(_) | Asker::Renewal | Asker::Watch(_) | Asker::Bucket(_), _) => {}
        }
    }

    /// The change of a task has happened, at this timestamp.
    fn on_committed(&mut self, asker: Asker, changing: Changing, at: Timestamp) {
        let Changing { sent, done, .. } = changing;
        let own = match (self.tasks.open.get(&asker).map(|open| &open.task), &done) {
            (Some(Task::Renew(own)), Done::Renewed) => Some(*own),
            (_, Done::Told(Told::Registered(own @ NodeId { name: NodeName::Server(_), .. }, _))) => Some(*own),
            (_, Done::Told(_) | Done::Renewed | Done::Over) => None,
        };
        // The next plan rests on what the feed says of the exchange.
        if let Asker::Bucket(_) = asker {
            return self.wait(asker, at);
        }
        self.end(asker, done);
        let Some(own) = own else { return };
        if !self.settings.has_leases {
            return self.buckets.hold_all(own);
        }
        let until = self.leases.hold(own, self.now, sent, at);
        self.news(News::Lease { own, until });
    }

    fn on_reply(&mut self, id: RequestId, reply: Reply) {
        // Requests from before the store began anew are forgotten.
        match self.requests.remove(&id) {
            Some(Purpose::Task(asker)) => self.on_reply_to(asker, reply),
            Some(Purpose::Servers) => self.on_servers(reply),
            Some(Purpose::Buckets) => self.on_buckets(reply),
            Some(Purpose::Acknowledge) => self.names.acknowledged(),
            None => {}
        }
    }

    fn on_reply_to(&mut self, asker: Asker, reply: Reply) {
        let Some(open) = self.tasks.open.get_mut(&asker) else { return };
        match std::mem::replace(&mut open.phase, Phase::Behind(Timestamp::ZERO)) {
            Phase::Reading { wanted, rows, .. } => match reply {
                Reply::ReadAt(reply) => self.on_rows(asker, wanted, rows, reply),
                Reply::Refused(_) => self.end(asker, Done::Told(Told::Unavailable)),
                other => panic!("the store answered a read with {other:?}"),
            },
            Phase::Confirming { name, done } => self.on_confirmed(asker, name, done, reply),
            Phase::Changing(changing) => self.on_changed(asker, changing, reply),
            Phase::Behind(_) => panic!("the store answered a task that waits for the feed with {reply:?}"),
        }
    }

    fn on_confirmed(&mut self, asker: Asker, name: Counter, done: Done, reply: Reply) {
        let position = self.position.unwrap_or_default();
        let is_recorded = matches!(reply, Reply::Commit(_));
        self.names.ended(name, is_recorded);
        match reply {
            Reply::Validated(Validity::Valid) | Reply::Commit(CommitReply::Completed(_)) => {
                self.end(asker, done);
            }
            Reply::Validated(Validity::Changed { at_least }) | Reply::Commit(CommitReply::Conflict { at_least }) => {
                self.wait(asker, at_least)
            }
            // It changes nothing either way.
            Reply::Commit(CommitReply::Forgotten | CommitReply::InDoubt { .. }) => self.wait(asker, position),
            Reply::Refused(_) => self.end(asker, Done::Told(Told::Unavailable)),
            other => panic!("the store answered a confirmation with {other:?}"),
        }
    }

    fn on_changed(&mut self, asker: Asker, changing: Changing, reply: Reply) {
        let Changing { name, was_in_doubt, .. } = changing;
        let reply = match reply {
            Reply::Commit(reply) => reply,
            Reply::Refused(_) => {
                self.names.ended(name, was_in_doubt);
                let told = if was_in_doubt { Told::InDoubt } else { Told::Unavailable };
                return self.end(asker, Done::Told(told));
            }
            other => panic!("the store answered a commit with {other:?}"),
        };
        match reply {
            CommitReply::Completed(completion) => {
                assert_eq!(completion.decision, CompletionDecision::Committed, "tracking aborts nothing");
                self.names.ended(name, true);
                self.on_committed(asker, changing, completion.at);
            }
            CommitReply::Conflict { at_least } => {
                self.names.ended(name, was_in_doubt);
                self.wait(asker, at_least);
            }
            CommitReply::InDoubt { .. } => self.commit(asker, Changing { was_in_doubt: true, ..changing }),
            CommitReply::Forgotten => panic!("a name is acknowledged only when its transaction has ended"),
        }
    }

    /// The store is there, perhaps with another history than before.
    fn on_ready(&mut self, store: StoreIncarnation, resolved: Timestamp) {
        for (asker, open) in self.tasks.take() {
            let told = match open.phase {
                Phase::Changing(_) => Told::InDoubt,
                Phase::Reading { request, .. } => {
                    self.outputs.push_back(Output::GiveUp(request));
                    Told::Unavailable
                }
                Phase::Confirming { .. } | Phase::Behind(_) => Told::Unavailable,
            };
            if let Asker::Host(id) = asker {
                self.news(News::Told(id, told));
            }
        }
        self.requests.clear();
        self.names.clear();
        self.position = Some(resolved);
        (self.leases, self.buckets) = (Leases::default(), self.buckets.begin_anew());
        self.news(News::Ready(store));
        self.read_servers();
        // A server that is alone has all of them.
        if self.settings.has_leases {
            self.read_buckets();
        }
    }

    fn read_servers(&mut self) {
        let Some(at) = self.position else { return };
        self.leases.begin_reading();
        let interest = all_servers();
        self.request(Purpose::Servers, Request::ReadAt { interest, at, limit: ReadLimit::NONE });
    }

    fn on_servers(&mut self, reply: Reply) {
        match reply {
            Reply::ReadAt(Ok(reply)) => {
                self.leases.load(self.now, reply.rows).into_iter().for_each(|node| self.dead(node));
                self.tell_addresses();
            }
            Reply::ReadAt(Err(_too_old)) => self.read_servers(),
            other => panic!("the store answered the read of servers with {other:?}"),
        }
    }

    fn read_buckets(&mut self) {
        let Some(at) = self.position else { return };
        self.buckets.begin_reading();
        let interest = all_buckets();
        self.request(Purpose::Buckets, Request::ReadAt { interest, at, limit: ReadLimit::NONE });
    }

    fn on_buckets(&mut self, reply: Reply) {
        match reply {
            Reply::ReadAt(Ok(reply)) => self.buckets.load(reply.rows),
            Reply::ReadAt(Err(_too_old)) => self.read_buckets(),
            other => panic!("the store answered the read of buckets with {other:?}"),
        }
    }

    fn tell_addresses(&mut self) {
        for (own, address) in self.leases.new_addresses() {
            self.news(News::Server { own, address });
        }
    }

    fn dead(&mut self, node: NodeId) {
        self.news(News::NodeDead(node));
    }

    fn on_segment(&mut self, segment: &Segment) {
        let (nodes, objects, buckets) =
            (TableId::of(NODES_TABLE), TableId::of(OBJECTS_TABLE), TableId::of(BUCKETS_TABLE));
        let (address, mut has_address) = (ColumnId::of(ADDRESS), false);
        for write in segment.commits.iter().flat_map(|commit| commit.writes.iter()) {
            if write.cell.table == objects {
                self.on_object(write);
            } else if write.cell.table == buckets && self.settings.has_leases {
                self.buckets.fold(write);
            } else if write.cell.table == nodes {
                has_address |= write.cell.column == address;
                self.leases.fold(self.now, write).into_iter().for_each(|node| self.dead(node));
            }
        }
        if has_address {
            self.tell_addresses();
        }
        self.position = Some(segment.to);
        while let Some(asker) = self.tasks.reached(segment.to) {
            self.again(asker);
        }
    }

    fn on_object(&mut self, write: &Write) {
        let Some((object, managers)) = objects::begun(write) else { return };
        if self.buckets.is_own(Bucket::of(&object)) {
            let managers = managers.to_owned();
            self.news(News::Begun { object, managers });
        }
    }

    /// Renews the own lease, and looks after servers that are silent.
    fn watch(&mut self) {
        if let Some(own) = self.leases.renewal(self.now) {
            self.begin(Asker::Renewal, Task::Renew(own));
        }
        self.leases.over(self.now).into_iter().for_each(|node| self.dead(node));
        for silent in self.leases.silent(self.now) {
            if let NodeName::Server(gateway) = silent.node.name {
                self.begin(Asker::Watch(gateway), Task::Lose(silent));
            }
        }
    }

    /// Takes and gives up buckets, so that each server has an even part of them.
    fn share_buckets(&mut self) {
        let own = self.leases.holder(self.now, self.position.unwrap_or_default());
        let (Some(own), Some(servers)) = (own, self.leases.alive()) else { return };
        for exchange in self.buckets.plan(own, &servers) {
            self.begin(Asker::Bucket(exchange.bucket), Task::Exchange(exchange));
        }
    }

    /// Tells the host which buckets it coordinates from now on, and which no more. It hears of an end before the store does.
    fn tell_buckets(&mut self) {
        let with_lease = self.leases.holder(self.now, self.position.unwrap_or_default());
        let own = self.buckets.alone().or(with_lease);
        for (bucket, is_own) in self.buckets.changes(own, &self.tasks.given_up()) {
            let news = Output::News(News::Coordinates(bucket, is_own));
            if is_own {
                self.outputs.push_back(news);
            } else {
                self.outputs.push_front(news);
            }
        }
    }

    fn tell_holders(&mut self) {
        for (bucket, holder) in self.buckets.new_holders() {
            self.news(News::Holder(bucket, holder));
        }
    }

    /// Has the store forget outcomes that are known here.
    fn acknowledge(&mut self) {
        if let Some(through) = self.names.due() {
            self.request(Purpose::Acknowledge, Request::Acknowledge { client: self.settings.client, through });
        }
    }
}

impl Machine for Tracking {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Now, input: Input) {
        self.now = now.instant;
        match input {
            Input::Store(Event::Ready { store, resolved }) => self.on_ready(store, resolved),
            Input::Store(Event::Reply(id, reply)) => self.on_reply(id, reply),
            Input::Store(Event::Feed(segment)) => self.on_segment(&segment),
            Input::Ask(id, ask) => self.on_ask(id, ask),
        }
        self.tell_buckets();
        self.tell_holders();
        self.acknowledge();
    }

    fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        if !self.settings.has_leases {
            return None;
        }
        self.leases.deadline()
    }

    fn on_deadline(&mut self, now: Now) {
        self.now = now.instant;
        // A host may come at any time, as others beside this machine have deadlines too.
        if !self.settings.has_leases {
            return;
        }
        self.watch();
        self.share_buckets();
        self.tell_buckets();
    }

    fn validate(&self) {
        assert!(self.tasks.asks() <= OPEN_ASKS_MAX);
        self.tasks.validate();
    }
}
