//! A gateway, its store, and everything that was said: the stage of all tests here.

use std::collections::VecDeque;
use std::time::Duration;

use iolite_access::{Access, DevelopmentToken};
use iolite_catalog::SchemaPolicy;
use iolite_machine::{Machine, Now};
use iolite_store::{Event, Request, RequestId};
use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, Counter, Decision, Domain, Id, Interest, KeyRange, LaneNumber, Operation, Row,
    RowKey, Schema, TableId, Timestamp, Value, Write,
};
use iolite_wire::message::{
    Advance, FromClient, FromGateway, Goodbye, GoodbyeReason, Hello, Outcome, ProtocolVersion, Resume, RowSnapshot,
    Snapshot, Submit, Subscribe, SubscriptionId, Verdict, Welcome,
};

use super::fake_store::{FakeStore, STORE};
use crate::{AccessNews, BlobOutput, Broken, Gateway, Input, Limits, Output, SessionId, Settings, Without};

pub const TOKEN: &str = "let me in";
pub const SCHEMA: &str = r#"{"tables":{"t":{"columns":{"id":{"type":"int"},"n":{"type":"counter"},
    "text":{"type":"string","optional":true}},"key":["id"],"live":true,"indexes":{"byText":["text"]}},
    "tasks":{"columns":{"id":{"type":"int"},"state":{"type":"string","optional":true},"votes":{"type":"counter"},
    "title":{"type":"string","optional":true},"body":{"type":"text"}},"key":["id"],
    "indexes":{"byState":["state","votes"],"byVotes":["votes"]}}}}"#;

/// What left the gateway for sessions, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "tests keep few of them, and take them apart by patterns")]
pub enum Said {
    To(u64, FromGateway),
    Closed(u64),
}

pub struct World {
    pub gateway: Gateway,
    pub store: FakeStore,
    pub now: Now,
    /// Requests that the store has not answered yet.
    pub asked: VecDeque<(RequestId, Request)>,
    /// Whether sockets take everything at once.
    pub sockets_take: bool,
    /// Whether the store answers at once what became of a client's mutations.
    pub knows_outcomes: bool,
    said: Vec<Said>,
    pub blobs: Vec<BlobOutput>,
    /// News for the host of who is let in.
    pub access: Vec<AccessNews>,
}

pub fn settings_of(broken: Broken) -> Settings {
    Settings {
        client: ClientId(Id::from_u128(0x6a7e)),
        access: Access::Development(DevelopmentToken::new(TOKEN)),
        fresh_key: [7; 32],
        rights_required: false,
        has_indexes: true,
        schemas: SchemaPolicy::Grow,
        limits: Limits::default(),
        broken,
        has_blob_store: false,
        without: Without::Nothing,
    }
}

impl World {
    /// The store is not there yet.
    pub fn starting(broken: Broken) -> World {
        World::with(settings_of(broken))
    }

    /// The same with these settings.
    pub fn with(settings: Settings) -> World {
        World {
            gateway: Gateway::new(settings),
            store: FakeStore::default(),
            now: Now::default(),
            asked: VecDeque::new(),
            sockets_take: true,
            knows_outcomes: true,
            said: Vec::new(),
            blobs: Vec::new(),
            access: Vec::new(),
        }
    }

    /// The store is there and holds the schema of table `t`.
    pub fn new() -> World {
        World::broken(Broken::Nothing)
    }

    /// The same, with one more table, as its name and definition in JSON.
    pub fn with_table(table: &str) -> World {
        let json = format!("{},{table}}}}}", SCHEMA.strip_suffix("}}").expect("it ends"));
        let schema = Schema::from_json(&json).expect("a good schema").hash();
        let mut world = World::new();
        world.open(999);
        world.say(999, FromClient::Hello(Hello { schema, ..hello(999) }));
        world.say(999, FromClient::Schema(json));
        world.answer_all();
        world.publish();
        world.answer_all();
        world.input(Input::SessionClosed(SessionId(999)));
        world.take();
        world
    }

    pub fn broken(broken: Broken) -> World {
        let mut world = World::starting(broken);
        world.greet_the_store();
        world
    }

    /// The store comes, and gets the schema of table `t`.
    pub fn greet_the_store(&mut self) {
        self.store_comes();
        self.answer_all();
        self.open(999);
        self.say(999, FromClient::Hello(hello(999)));
        self.say(999, FromClient::Schema(SCHEMA.into()));
        self.answer_all();
        self.publish();
        self.input(Input::SessionClosed(SessionId(999)));
        self.said.clear();
    }

    pub fn store_comes(&mut self) {
        let ready = self.store.ready();
        self.input(Input::Store(ready));
    }

    pub fn input(&mut self, input: Input) {
        self.gateway.handle(self.now, input);
        self.drain();
    }

    pub fn wait(&mut self, time: Duration) {
        let until = self.now.instant + time;
        while let Some(at) = self.gateway.deadline().filter(|at| *at <= until) {
            self.now.instant = self.now.instant.max(at);
            self.gateway.on_deadline(self.now);
            self.drain();
        }
        self.now.instant = until;
    }

    pub fn open(&mut self, session: u64) {
        self.input(Input::SessionOpened(SessionId(session)));
    }

    pub fn say(&mut self, session: u64, message: FromClient) {
        self.input(Input::Message(SessionId(session), message));
    }

    /// A session of a client of its own, welcomed.
    pub fn join(&mut self, session: u64) {
        self.open(session);
        self.say(session, FromClient::Hello(hello(session)));
        assert_eq!(self.take(), vec![Said::To(session, welcome(false))]);
    }

    /// Submits in a lane that is strong, whatever its number.
    pub fn submit_in(&mut self, session: u64, lane: LaneNumber, submit: Submit) {
        self.gateway.submit_in(self.now, SessionId(session), Domain::Strong, Submit { lane, ..submit });
        self.drain();
    }

    pub fn subscribe(&mut self, session: u64, interests: Vec<(u32, Interest)>) {
        self.say(session, subscribe(false, interests));
    }

    /// Comes back, holding what was told up to `at`.
    pub fn rejoin(&mut self, session: u64, client: u64, at: Timestamp) {
        self.open(session);
        self.say(
            session,
            FromClient::Hello(Hello { resume: Some(Resume { store: STORE, at, rights: None }), ..hello(client) }),
        );
    }

    /// Subscribed to all rows as subscription 1, and told what they hold.
    pub fn join_and_watch(&mut self, session: u64) {
        self.join(session);
        self.subscribe(session, vec![(1, all_rows())]);
        self.answer_all();
        self.take();
    }

    /// Welcomed, and answered whatever was open.
    pub fn join_and_take(&mut self, session: u64) {
        self.answer_all();
        self.take();
        self.join(session);
    }

    pub fn answer(&mut self, place: usize) {
        let (id, request) = self.asked.remove(place).expect("something was asked");
        let reply = self.store.answer(request);
        self.input(Input::Store(Event::Reply(id, reply)));
    }

    /// The store answers what a row holds that was asked for last, if one was.
    pub fn answer_row(&mut self) {
        if matches!(self.asked.back(), Some((_, Request::ReadAt { .. }))) {
            self.answer(self.asked.len() - 1);
        }
    }

    pub fn answer_all(&mut self) {
        while !self.asked.is_empty() {
            self.answer(0);
        }
    }

    pub fn publish(&mut self) {
        let segment = self.store.publish();
        self.input(Input::Store(segment));
    }

    /// Somebody else adds to a counter, and the feed tells.
    pub fn commit(&mut self, writes: Vec<Write>) -> Timestamp {
        self.store.write(writes);
        self.publish();
        self.store.resolved
    }

    /// The timestamp of the last commit.
    pub fn last_commit(&self) -> Timestamp {
        self.store.log.last().expect("something was committed").at
    }

    pub fn position(&self) -> Timestamp {
        self.gateway.position()
    }

    /// What was said since the last call.
    pub fn take(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.said)
    }

    /// The one goodbye that was said, to `session`, before it was closed.
    pub fn goodbye(&mut self, session: u64) -> (GoodbyeReason, String) {
        match &self.take()[..] {
            [Said::To(to, FromGateway::Goodbye(Goodbye { reason, message, .. })), Said::Closed(closed)] => {
                assert_eq!((*to, *closed), (session, session));
                (*reason, message.clone())
            }
            other => panic!("a goodbye to {session} was expected, not {other:?}"),
        }
    }

    fn drain(&mut self) {
        let mut taken = Vec::new();
        let mut known = Vec::new();
        while let Some(output) = self.gateway.poll() {
            match output {
                Output::Message(SessionId(session), message) => {
                    self.said.push(Said::To(session, anonymous(message)));
                    taken.push(session);
                }
                Output::Close(SessionId(session)) => self.said.push(Said::Closed(session)),
                Output::Store(id, request @ (Request::Completions { .. } | Request::LastOutcome { .. }))
                    if self.knows_outcomes =>
                {
                    known.push(Event::Reply(id, self.store.answer(request)));
                }
                Output::Store(id, request) => self.asked.push_back((id, request)),
                // This store answers all the same.
                Output::Blobs(_, output) => self.blobs.push(output),
                Output::GiveUp(_) => {}
                Output::Access(news) => self.access.push(news),
            }
        }
        self.gateway.validate();
        for event in known {
            self.input(Input::Store(event));
        }
        if self.sockets_take && !taken.is_empty() {
            for session in taken {
                self.gateway.handle(self.now, Input::Drained { session: SessionId(session), messages: 1 });
            }
            self.drain();
        }
    }
}

/// A schema whose table merges.
pub const MERGING: &str = r#"{"tables":{"merging":{"columns":{"id":{"type":"int"}},"key":["id"],"consistency":"causal","onConflict":"merge"}}}"#;

pub fn schema() -> Schema {
    Schema::from_json(SCHEMA).expect("a good schema")
}

pub fn client(number: u64) -> ClientId {
    ClientId(Id::from_u128(u128::from(number)))
}

pub fn hello(number: u64) -> Hello {
    Hello {
        oldest_version: ProtocolVersion::CURRENT,
        newest_version: ProtocolVersion::CURRENT,
        token: TOKEN.into(),
        client: client(number),
        schema: schema().hash(),
        resume: None,
        acknowledged: Counter(0),
        centre_token: None,
        batch: Duration::ZERO,
    }
}

/// A welcome with the development token without the client's id, which is what its hello said: then welcomes of all are alike.
pub fn anonymous(message: FromGateway) -> FromGateway {
    match message {
        FromGateway::Welcome(welcome) if welcome.client < client(1000) => {
            FromGateway::Welcome(Welcome { client: ClientId::default(), ..welcome })
        }
        other => other,
    }
}

pub fn welcome(resumed: bool) -> FromGateway {
    FromGateway::Welcome(Welcome {
        version: ProtocolVersion::CURRENT,
        store: STORE,
        resumed,
        clock_micros: Some(0),
        centre: None,
        moved: false,
        client: ClientId::default(),
        subject: None,
        token_left: None,
    })
}

pub fn subscribe(held: bool, interests: Vec<(u32, Interest)>) -> FromClient {
    let interests = interests.into_iter().map(|(name, interest)| (SubscriptionId(name), interest)).collect();
    FromClient::Subscribe(Subscribe { held, interests, first: Default::default() })
}

pub fn unsubscribe(names: &[u32]) -> FromClient {
    FromClient::Unsubscribe(names.iter().copied().map(SubscriptionId).collect())
}

pub const TABLE: &str = "t";

pub fn key(row: i64) -> RowKey {
    RowKey::new(&[Value::Int(row)]).expect("short")
}

pub fn cell(row: i64, column: &str) -> Cell {
    Cell { table: TableId::of(TABLE), row: key(row), column: ColumnId::of(column) }
}

pub fn all_rows() -> Interest {
    Interest::Range { table: TableId::of(TABLE), range: KeyRange::all() }
}

pub fn one_row(row: i64) -> Interest {
    Interest::Range { table: TableId::of(TABLE), range: KeyRange::one(&key(row)) }
}

pub fn one_cell(row: i64) -> Interest {
    Interest::Cell(cell(row, "n"))
}

pub fn add(row: i64, amount: i64) -> Write {
    Write { cell: cell(row, "n"), operation: Operation::Add(amount) }
}

pub fn put(row: i64, text: impl AsRef<str>) -> Write {
    Write { cell: cell(row, "text"), operation: Operation::Put(Value::string(text)) }
}

/// A mutation without reads.
pub fn submit(counter: u64, writes: Vec<Write>) -> FromClient {
    FromClient::Submit(blind(counter, writes))
}

pub fn blind(counter: u64, writes: Vec<Write>) -> Submit {
    Submit {
        counter: Counter(counter),
        attempt: Attempt(1),
        snapshot: Timestamp::ZERO,
        reads: Vec::new(),
        decision: Decision::Commit(writes),
        acknowledged: None,
        lane: LaneNumber::STRONG,
        follows: None,
    }
}

pub fn advance(to: Timestamp, changes: Vec<Write>) -> Advance {
    Advance { to, changes, ..Advance::default() }
}

pub fn told(session: u64, advance: Advance) -> Said {
    Said::To(session, FromGateway::Advance(advance))
}

pub fn outcome(counter: u64, verdict: Verdict) -> Outcome {
    Outcome { counter: Counter(counter), attempt: Attempt(1), verdict }
}

/// An advance with which a client is told that its mutation 1 was committed.
pub fn told_committed(session: u64, at: Timestamp, state: Advance) -> Said {
    told(session, Advance { outcomes: vec![outcome(1, Verdict::Committed(at))], ..state })
}

/// The mutations whose outcomes a session was told, in order.
pub fn counters_told(session: u64, said: &[Said]) -> Vec<u64> {
    let outcomes = said.iter().filter_map(|said| match said {
        Said::To(to, FromGateway::Advance(advance)) if *to == session => Some(&advance.outcomes),
        Said::To(..) | Said::Closed(_) => None,
    });
    outcomes.flatten().map(|outcome| outcome.counter.0).collect()
}

/// The rows of a subscription, each with what its counter holds.
pub fn snapshot(name: u32, rows: &[(i64, i64)]) -> Snapshot {
    let row = |amount: i64| {
        let mut row = Row::default();
        row.apply(ColumnId::of("n"), &Operation::Add(amount)).expect("a counter");
        row
    };
    let rows = rows.iter().map(|(number, amount)| RowSnapshot {
        table: TableId::of(TABLE),
        key: key(*number),
        row: row(*amount),
    });
    Snapshot { subscription: SubscriptionId(name), rows: rows.collect(), reaches: None }
}

pub fn with_snapshots(to: Timestamp, snapshots: Vec<Snapshot>) -> Advance {
    Advance { to, snapshots, ..Advance::default() }
}
