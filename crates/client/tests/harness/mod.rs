//! A client with a gateway that a test plays by hand.
#![allow(dead_code, reason = "each test file uses a part of it")]

mod rows;
pub mod tab;

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use iolite_client::{
    Client, Closed, Config, Connection, Gateway, Input, Limits, MutationKind, MutationStatus, Output, ReactionId,
    RunError, RunOf, StorageChange, TokenSource, Transaction, View,
};
use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_values::{
    Cell, ClientId, Counter, DeviceSecret, Id, Interest, LogId, Row, RowKey, Schema, StoreIncarnation, TableId, Write,
};
use iolite_wire::client_storage::Bound;
use iolite_wire::message::{
    Advance, FromClient, FromGateway, Outcome, ProtocolVersion, RowSnapshot, Snapshot, Submit, SubscriptionId, Verdict,
    Welcome,
};
use iolite_wire::{SessionDecoder, SessionEncoder};

pub use rows::*;

pub const SCHEMA: &str = r#"{"tables":{
  "notes":{"columns":{"id":{"type":"int"},"title":{"type":"string"},"votes":{"type":"counter"},"tags":{"type":"set","of":"string"},"marks":{"type":"map","of":"int"}},"key":["id"]},
  "tasks":{"columns":{"id":{"type":"int"},"owner":{"type":"string"},"stars":{"type":"int","default":0},"votes":{"type":"counter"}},"key":["id"],"indexes":{"byOwner":["owner","stars"],"byStars":["stars"]}},
  "hits":{"columns":{"id":{"type":"int"},"value":{"type":"counter"}},"key":["id"],"live":true},
  "pages":{"columns":{"id":{"type":"int"},"value":{"type":"text"}},"key":["id"],"live":true},
  "drafts":{"columns":{"id":{"type":"int"},"title":{"type":"string","optional":true},"body":{"type":"text"}},"key":["id"]},
  "online":{"columns":{"id":{"type":"int"},"value":{"type":"counter"}},"key":["id"],"live":true,"offline":"refuse"},
  "cards":{"columns":{"id":{"type":"int"},"text":{"type":"string"},"pinned":{"type":"bool","default":false}},"key":["id"],"consistency":"causal","onConflict":"manual"},
  "stars":{"columns":{"id":{"type":"int"},"on":{"type":"bool","default":false},"by":{"type":"string","optional":true}},"key":["id"],"consistency":"eventual"},
  "levels":{"columns":{"id":{"type":"int"},"value":{"type":"int","default":0}},"key":["id"],"live":true,"isolation":"snapshot"}}}"#;

pub type Closure = Box<dyn Fn(&mut Transaction<'_>) -> Result<(), Stop>>;

/// How a test's closure ends early.
#[derive(Debug)]
pub enum Stop {
    Error(RunError),
    Abort(&'static str),
    Fail(&'static str),
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Stop {
        Stop::Error(error)
    }
}

pub struct Harness {
    pub client: Client,
    pub now: Now,
    pub storage: BTreeMap<Vec<u8>, Vec<u8>>,
    mutators: BTreeMap<String, Closure>,
    reactions: BTreeMap<ReactionId, Closure>,
    encoder: SessionEncoder<FromGateway>,
    decoder: SessionDecoder<FromClient>,
    /// Whether storage confirms at once.
    pub stores: bool,
    pub unstored: Vec<iolite_machine::PersistId>,
    /// Of each batch whether somebody waits for it.
    pub awaited: Vec<bool>,
    /// Whether storage takes nothing for the moment, and what it was given since.
    pub holds_back: bool,
    pub held_back: Vec<(iolite_machine::PersistId, Vec<StorageChange>)>,
    /// What the client did since this was last taken.
    pub sent: Vec<FromClient>,
    pub statuses: Vec<(Counter, MutationStatus)>,
    pub runs: Vec<RunOf>,
    pub other: Vec<Output>,
    /// The id that the last hello said.
    device: ClientId,
    /// The user whom the next welcomes tell.
    pub user: Option<Bound>,
    /// The time for which tokens are good.
    pub token_left: Option<Duration>,
}

impl Harness {
    pub fn new() -> Harness {
        Harness::on(BTreeMap::new())
    }

    pub fn with(limits: Limits) -> Harness {
        let mut harness = Harness::new();
        harness.client =
            Client::open(Config { limits, ..config("ann") }, Vec::new(), harness.now).expect("nothing is there");
        harness
    }

    /// A client of an app with another schema.
    pub fn with_schema(schema: &str) -> Harness {
        Harness::on_with_schema(BTreeMap::new(), schema)
    }

    /// The same on storage that was there before.
    pub fn on_with_schema(storage: BTreeMap<Vec<u8>, Vec<u8>>, schema: &str) -> Harness {
        let mut harness = Harness::new();
        let schema = Arc::new(Schema::from_json(schema).expect("a good schema"));
        let entries: Vec<_> = storage.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        harness.client =
            Client::open(Config { schema, ..config("ann") }, entries, harness.now).expect("its own storage");
        harness.storage = storage;
        harness
    }

    /// A client that knows so many gateways.
    pub fn among(gateways: u16) -> Harness {
        let mut harness = Harness::new();
        let config = Config { gateways: vec![NonZeroU16::new(gateways).expect("one at least")], ..config("ann") };
        harness.client = Client::open(config, Vec::new(), harness.now).expect("nothing is there");
        harness
    }

    pub fn on(storage: BTreeMap<Vec<u8>, Vec<u8>>) -> Harness {
        let now = Now { instant: Instant::from_nanos(1), wall: WallTime::from_micros(1_000) };
        let entries: Vec<_> = storage.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Harness {
            client: Client::open(config("ann"), entries, now).expect("its own storage"),
            now,
            storage,
            mutators: BTreeMap::new(),
            reactions: BTreeMap::new(),
            encoder: SessionEncoder::new(),
            decoder: SessionDecoder::new(),
            stores: true,
            unstored: Vec::new(),
            awaited: Vec::new(),
            holds_back: false,
            held_back: Vec::new(),
            sent: Vec::new(),
            statuses: Vec::new(),
            runs: Vec::new(),
            other: Vec::new(),
            device: ClientId::default(),
            user: None,
            token_left: None,
        }
    }

    /// The app is closed and opened again: its storage stays, and its mutators are registered again.
    pub fn reopened(self) -> Harness {
        let mut harness = Harness::on(self.storage);
        harness.mutators = self.mutators;
        harness
    }

    pub fn mutator(
        &mut self,
        name: &str,
        closure: impl Fn(&mut Transaction<'_>) -> Result<(), Stop> + 'static,
    ) -> &mut Harness {
        self.mutators.insert(name.into(), Box::new(closure));
        self
    }

    pub fn react(
        &mut self,
        view: View,
        closure: impl Fn(&mut Transaction<'_>) -> Result<(), Stop> + 'static,
    ) -> ReactionId {
        let id = self.client.register(view);
        self.reactions.insert(id, Box::new(closure));
        self.settle();
        id
    }

    pub fn mutate(&mut self, name: &str) -> Counter {
        let counter = self.client.mutate(self.now.wall, name, "{}").expect("there is room");
        self.settle();
        counter
    }

    /// Calls an operation of a log.
    pub fn operate(&mut self, log: &LogId, operation: &str) -> Counter {
        let counter = self.client.operate(self.now.wall, log, operation, "{}").expect("there is room");
        self.settle();
        counter
    }

    /// Lets the client make its link, greets it, and answers what it holds with nothing new.
    pub fn connect(&mut self) {
        self.link();
        self.welcome(1);
        let resumes = |message: &FromClient| matches!(message, FromClient::Subscribe(subscribe) if subscribe.held);
        if self.sent.iter().any(resumes) {
            self.take_subscribed(true);
            self.advance(Advance { to: self.client.at(), ..Advance::default() });
        }
    }

    pub fn link(&mut self) {
        self.pass(Duration::from_secs(11));
        self.link_is_there();
    }

    /// The link that the client asked for was made.
    pub fn link_is_there(&mut self) {
        (self.encoder, self.decoder) = (SessionEncoder::new(), SessionDecoder::new());
        self.input(Input::Linked);
    }

    pub fn welcome(&mut self, store: u128) {
        let store = StoreIncarnation(Id::from_u128(store));
        let version = ProtocolVersion::CURRENT;
        self.tell(FromGateway::Welcome(Welcome {
            version,
            store,
            resumed: true,
            clock_micros: None,
            centre: None,
            moved: false,
            client: self.user.map_or(self.device, |user| user.client),
            subject: self.user.and_then(|user| user.subject),
            token_left: self.token_left,
        }));
    }

    pub fn disconnect(&mut self) {
        self.input(Input::LinkLost);
    }

    pub fn tell(&mut self, message: FromGateway) {
        let frame = self.encoder.encode(&message).expect("a small message");
        self.input(Input::Frame(frame));
    }

    pub fn advance(&mut self, advance: Advance) {
        self.tell(FromGateway::Advance(advance));
    }

    pub fn decide(&mut self, counter: Counter, attempt: u32, to: u64, changes: Vec<Write>, verdict: Verdict) {
        let outcome = Outcome { counter, attempt: iolite_values::Attempt(attempt), verdict };
        self.advance(Advance { to: at(to), changes, outcomes: vec![outcome], ..Advance::default() });
    }

    pub fn input(&mut self, input: Input) {
        self.client.handle(self.now, input);
        self.settle();
    }

    pub fn pass(&mut self, time: Duration) {
        self.now.instant = self.now.instant + time;
        self.client.on_deadline(self.now);
        self.settle();
    }

    /// Confirms everything that storage was given.
    pub fn store(&mut self) {
        for id in std::mem::take(&mut self.unstored) {
            self.client.handle(self.now, Input::Persisted(id));
        }
        self.settle();
    }

    pub fn settle(&mut self) {
        while let Some(output) = self.client.poll() {
            match output {
                Output::Send(frame) => {
                    let message = self.decoder.decode(&frame).expect("its own frame");
                    if let FromClient::Hello(hello) = &message {
                        self.device = hello.client;
                    }
                    self.sent.push(message);
                }
                Output::Persist { id, changes, awaited } => {
                    self.awaited.push(awaited);
                    self.persist(id, changes);
                }
                Output::Run(of) => self.run(of),
                Output::Mutation { counter, status, .. } => self.statuses.push((counter, status)),
                other => self.other.push(other),
            }
            self.client.validate();
        }
    }

    /// Storage takes again what it is given, and first of all what it did not take until now.
    pub fn take_held_back(&mut self) {
        self.holds_back = false;
        for (id, changes) in std::mem::take(&mut self.held_back) {
            self.persist(id, changes);
        }
        self.settle();
    }

    fn persist(&mut self, id: iolite_machine::PersistId, changes: Vec<StorageChange>) {
        if self.holds_back {
            return self.held_back.push((id, changes));
        }
        for change in changes {
            match change {
                StorageChange::Put { key, value } => drop(self.storage.insert(key, value)),
                StorageChange::Delete { key } => drop(self.storage.remove(&key)),
            }
        }
        if self.stores {
            self.client.handle(self.now, Input::Persisted(id));
        } else {
            self.unstored.push(id);
        }
    }

    fn run(&mut self, of: RunOf) {
        self.runs.push(of);
        let closure = match of {
            RunOf::Mutation(counter) => {
                let kind = self.client.mutation(counter).map(|mutation| mutation.kind.clone());
                match kind {
                    Some(MutationKind::Named { name, .. }) => self.mutators.get(&*name),
                    Some(MutationKind::Closure | MutationKind::ChangeSet) | None => self.mutators.get("closure"),
                }
            }
            RunOf::Replay(_) => match self.client.replayed_call() {
                Some(MutationKind::Named { name, .. }) => self.mutators.get(&*name),
                Some(MutationKind::Closure | MutationKind::ChangeSet) | None => None,
            },
            RunOf::Reaction(id) => self.reactions.get(&id),
        };
        let mut run = self.client.begin(of);
        let closed = match closure.map(|closure| closure(&mut self.client.transaction(&mut run))) {
            None => Closed::Unknown,
            Some(Ok(())) => Closed::Returned,
            Some(Err(Stop::Abort(reason))) => Closed::Aborted(reason.into()),
            Some(Err(Stop::Fail(message))) => Closed::Failed(message.into()),
            Some(Err(Stop::Error(error))) => Closed::Failed(error.to_string()),
        };
        self.client.finish(run, closed);
    }

    /// The gateways that the host was asked to link to, since this was last taken.
    pub fn take_tried(&mut self) -> Vec<Gateway> {
        let tried = self.other.extract_if(.., |output| matches!(output, Output::Connect(_)));
        tried.map(|output| if let Output::Connect(gateway) = output { gateway } else { unreachable!() }).collect()
    }

    /// Answers every ping that was sent. What else was sent stays.
    pub fn answer_pings(&mut self) -> usize {
        let is_ping = |message: &mut FromClient| matches!(message, FromClient::Ping(_));
        let pings: Vec<FromClient> = self.sent.extract_if(.., is_ping).collect();
        for ping in &pings {
            let FromClient::Ping(number) = ping else { unreachable!("only pings are taken out") };
            self.tell(FromGateway::Pong(*number));
        }
        pings.len()
    }

    pub fn take_sent(&mut self) -> Vec<FromClient> {
        std::mem::take(&mut self.sent)
    }

    /// The submissions. What else was sent stays.
    pub fn take_submits(&mut self) -> Vec<Submit> {
        let mut submits = Vec::new();
        self.sent.retain(|message| match message {
            FromClient::Submit(submit) => {
                submits.push(submit.clone());
                false
            }
            _ => true,
        });
        submits
    }

    /// The interests that were asked for. What else was sent stays.
    pub fn take_subscribed(&mut self, held: bool) -> Vec<(SubscriptionId, Interest)> {
        let mut asked = Vec::new();
        self.sent.retain(|message| match message {
            FromClient::Subscribe(subscribe) if subscribe.held == held => {
                asked.extend(subscribe.interests.clone());
                false
            }
            _ => true,
        });
        asked
    }

    /// Answers everything that was asked for with these rows, each where it belongs.
    pub fn load(&mut self, to: u64, rows: &[(TableId, RowKey, Row)]) {
        let asked = self.take_subscribed(false);
        let snapshots = asked.into_iter().map(|(subscription, interest)| {
            let inside = |(table, key, _): &&(TableId, RowKey, Row)| {
                interest.includes(&Cell::row(*table, key.clone())) || includes_row(&interest, *table, key)
            };
            let rows = rows.iter().filter(inside).map(|(table, key, row)| RowSnapshot {
                table: *table,
                key: key.clone(),
                row: row.clone(),
            });
            Snapshot { subscription, rows: rows.collect(), reaches: None }
        });
        let snapshots = snapshots.collect();
        self.advance(Advance { to: at(to), snapshots, ..Advance::default() });
    }

    pub fn runs_of(&mut self, of: RunOf) -> usize {
        let count = self.runs.iter().filter(|run| **run == of).count();
        self.runs.clear();
        count
    }

    pub fn last_status(&self, counter: Counter) -> &MutationStatus {
        let found = self.statuses.iter().rev().find(|(own, _)| *own == counter);
        &found.expect("it was reported").1
    }

    pub fn connection(&self) -> Connection {
        self.client.connection()
    }
}

fn includes_row(interest: &Interest, table: TableId, key: &RowKey) -> bool {
    matches!(interest, Interest::Cell(cell) if cell.table == table && cell.row == *key)
}

pub fn config(user: &str) -> Config {
    Config {
        schema: Arc::new(Schema::from_json(SCHEMA).expect("a good schema")),
        fresh_client: ClientId(Id::from_u128(77)),
        fresh_secret: DeviceSecret([7; 16]),
        token: TokenSource::Fixed("token".into()),
        user: user.into(),
        gateways: vec![NonZeroU16::MIN],
        batch: Duration::ZERO,
        stores_cache: true,
        seed: 5,
        limits: Limits::default(),
    }
}
