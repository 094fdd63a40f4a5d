//! A member of a log as a machine, without a server: this module stores for it, runs its closures, and appends what others call.
//!
//! Nothing that the member sends is answered, so own operations stay pending. Its time stands still.

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use iolite::schema;
use iolite_client::{
    Client, Closed, Config, Input, Limits, MutationKind, Output, RunError, RunOf, TokenSource, Transaction, View,
};
use iolite_logs::{Page, admit, append_to};
use iolite_machine::{Instant as MachineInstant, Machine as _, Now, WallTime};
use iolite_values::{
    Cell, CellState, ClientId, ColumnId, Counter, DeviceSecret, Id, LogId, Operation, Row, RowKey, StoreIncarnation,
    TableId, Timestamp, TransactionId, Value, Write,
};
use iolite_wire::logs::LogEntry;
use iolite_wire::message::{Advance, FromClient, FromGateway, ProtocolVersion, Snapshot, Welcome};
use iolite_wire::{SessionDecoder, SessionEncoder};

use super::array::{INSTANCE, Ints, LOG};

/// Ints that one operation fills: below what a run may write.
const FILLED_AT_ONCE: i64 = 1_000;
/// The int that others change.
pub const REMOTE: i64 = 0;
const OWN_ID: ClientId = ClientId(Id::from_u128(1));
const OTHER_ID: ClientId = ClientId(Id::from_u128(2));

/// The counts since the last time that they were taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// Runs of own pending operations,
    pub runs: u64,
    /// and the time from their begin to their end.
    pub run_nanos: u64,
}

pub struct Member {
    client: Client,
    now: Now,
    log: LogId,
    encoder: SessionEncoder<FromGateway>,
    decoder: SessionDecoder<FromClient>,
    sent: Vec<Vec<u8>>,
    /// The log's pages, as the server has them.
    pages: BTreeMap<RowKey, Row>,
    to: u64,
    counted: Counted,
}

impl Member {
    /// One that has joined the log and replayed the operations that fill it with so many ints.
    pub fn with_state_of(ints: i64) -> anyhow::Result<Member> {
        let config = Config {
            schema: Arc::new(schema().with::<Ints>().build()?),
            fresh_client: OWN_ID,
            fresh_secret: DeviceSecret([1; 16]),
            token: TokenSource::Fixed("token".into()),
            user: "ann".into(),
            gateways: vec![NonZeroU16::MIN],
            batch: Duration::ZERO,
            stores_cache: true,
            seed: 5,
            limits: Limits::default(),
        };
        let now = Now { instant: MachineInstant::from_nanos(1), wall: WallTime::from_micros(1_000) };
        let client = Client::open(config, Vec::new(), now).map_err(|error| anyhow!("{error:?}"))?;
        let log = LogId::new(LOG, &Value::from(INSTANCE))?;
        let (encoder, decoder) = (SessionEncoder::new(), SessionDecoder::new());
        let (sent, pages, counted) = (Vec::new(), BTreeMap::new(), Counted::default());
        let mut member = Member { client, now, log, encoder, decoder, sent, pages, to: 100, counted };
        member.connect()?;
        for from in (0..ints).step_by(FILLED_AT_ONCE.unsigned_abs() as usize) {
            let count = FILLED_AT_ONCE.min(ints - from);
            let frame = member.remote("fill", &format!("[{from},{count}]"))?;
            member.hear(frame);
        }
        Ok(member)
    }

    fn connect(&mut self) -> anyhow::Result<()> {
        self.settle();
        self.now.instant = self.now.instant + Duration::from_secs(11);
        self.client.on_deadline(self.now);
        self.settle();
        self.input(Input::Linked);
        let store = StoreIncarnation(Id::from_u128(1));
        let welcome = Welcome {
            version: ProtocolVersion::CURRENT,
            store,
            resumed: true,
            clock_micros: None,
            centre: None,
            moved: false,
            client: OWN_ID,
            subject: None,
            token_left: None,
        };
        let frame = self.encoder.encode(&FromGateway::Welcome(welcome)).context("a small message")?;
        self.hear(frame);
        self.client.join(LOG, &Value::from(INSTANCE))?;
        self.settle();
        self.answer()
    }

    /// Answers what the member has subscribed to: there are no pages yet.
    fn answer(&mut self) -> anyhow::Result<()> {
        let mut snapshots = Vec::new();
        for frame in std::mem::take(&mut self.sent) {
            if let FromClient::Subscribe(subscribe) =
                self.decoder.decode(&frame).map_err(|error| anyhow!("{error:?}"))?
            {
                let asked = subscribe.interests.iter().map(|(subscription, _)| *subscription);
                snapshots.extend(asked.map(|subscription| Snapshot { subscription, rows: Vec::new(), reaches: None }));
            }
        }
        if snapshots.is_empty() {
            bail!("the member did not ask for the log's pages");
        }
        let frame = self.advance(Advance { snapshots, ..Advance::default() })?;
        self.hear(frame);
        Ok(())
    }

    fn advance(&mut self, advance: Advance) -> anyhow::Result<Vec<u8>> {
        self.to += 1;
        let advance = Advance { to: Timestamp::end_of(self.to), ..advance };
        self.encoder.encode(&FromGateway::Advance(advance)).context("a small message")
    }

    /// Appends an operation of somebody else, and returns the frame that tells it.
    pub fn remote(&mut self, operation: &str, arguments: &str) -> anyhow::Result<Vec<u8>> {
        let id = TransactionId { client: OTHER_ID, counter: Counter(self.to) };
        let entry = LogEntry {
            origin: None,
            counter: id.counter,
            called_at_micros: 9,
            seed: [3; 16],
            operation: operation.into(),
            version: 0,
            arguments: arguments.into(),
            turns: false,
        };
        let mut number = 0;
        while Page::of(self.pages.get(&self.log.page(number)?)).is_closed() {
            number += 1;
        }
        let page = Page::of(self.pages.get(&self.log.page(number)?));
        let (reads, writes) = append_to(&self.log, number, page, entry).map_err(|error| anyhow!("{error:?}"))?;
        let changes = admit(id, &reads, &writes).map_err(|error| anyhow!("{error:?}"))?;
        for Write { cell, operation } in &changes {
            let row = self.pages.entry(cell.row.clone()).or_default();
            row.apply(cell.column, operation).map_err(|error| anyhow!("{error:?}"))?;
        }
        self.advance(Advance { changes, ..Advance::default() })
    }

    /// Takes a frame of the server, and does everything that comes of it.
    pub fn hear(&mut self, frame: Vec<u8>) {
        self.input(Input::Frame(frame));
    }

    /// Calls an operation, which stays pending.
    pub fn call(&mut self, operation: &str, argument: i64) -> anyhow::Result<()> {
        self.client.operate(self.now.wall, &self.log, operation, &argument.to_string())?;
        self.settle();
        Ok(())
    }

    pub fn pending(&self) -> usize {
        self.client.pending().count()
    }

    pub fn int(&self, view: View, at: i64) -> anyhow::Result<i64> {
        self.client.peek(view, |tx| read(tx, at)).map_err(|error| anyhow!("{error:?}"))
    }

    pub fn take_counted(&mut self) -> Counted {
        std::mem::take(&mut self.counted)
    }

    fn input(&mut self, input: Input) {
        self.client.handle(self.now, input);
        self.settle();
    }

    fn settle(&mut self) {
        while let Some(output) = self.client.poll() {
            match output {
                Output::Send(frame) => self.sent.push(frame),
                Output::Persist { id, .. } => self.client.handle(self.now, Input::Persisted(id)),
                Output::Run(of) => self.run(of),
                Output::LogStopped { reason, .. } => panic!("the log stands still: {reason}"),
                Output::Connect(_)
                | Output::Disconnect
                | Output::TokenWanted
                | Output::Mutation { .. }
                | Output::Delivered(_)
                | Output::LogMembers(_)
                | Output::LogDiffers { .. }
                | Output::Connection(_)
                | Output::Centre(_)
                | Output::Unavailable(_)
                | Output::ToTab(..)
                | Output::ReadOutbox
                | Output::Blobs(_)
                | Output::Conflicts(_)
                | Output::Adopted { .. }
                | Output::ReactionFailed { .. } => {}
            }
        }
    }

    fn run(&mut self, of: RunOf) {
        let kind = match of {
            RunOf::Mutation(counter) => self.client.mutation(counter).map(|mutation| mutation.kind.clone()),
            RunOf::Replay(_) => self.client.replayed_call(),
            RunOf::Reaction(_) => None,
        };
        let begun = Instant::now();
        let mut run = self.client.begin(of);
        let closed = match &kind {
            Some(MutationKind::Named { name, arguments }) => {
                let done = operate(&mut self.client.transaction(&mut run), name, arguments);
                match done {
                    Ok(()) => Closed::Returned,
                    // It runs again when what it reads is there.
                    Err(error) if run.is_stopped() => Closed::Failed(error.to_string()),
                    Err(error) => panic!("{name} {arguments}: {error}"),
                }
            }
            Some(MutationKind::Closure | MutationKind::ChangeSet) | None => Closed::Unknown,
        };
        self.client.finish(run, closed);
        if matches!(of, RunOf::Mutation(_)) {
            self.counted.runs += 1;
            self.counted.run_nanos += u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        }
    }
}

/// The app's operations.
fn operate(tx: &mut Transaction<'_>, name: &str, arguments: &str) -> Result<(), RunError> {
    let number = || arguments.parse().expect("its own argument");
    match name {
        "array.fill" => {
            let (from, count): (i64, i64) = serde_json::from_str(arguments).expect("its own arguments");
            (from..from + count).try_for_each(|at| write(tx, at, 0))
        }
        "array.remote" => {
            let value = read(tx, REMOTE)?;
            write(tx, REMOTE, value + 1)
        }
        "array.shared" => {
            let (at, shared) = (number(), read(tx, REMOTE)?);
            let value = read(tx, at)?;
            write(tx, at, value + 1 + shared)
        }
        "array.own" => {
            let at = number();
            let value = read(tx, at)?;
            write(tx, at, value + 1)
        }
        other => panic!("{other} is not an operation of the array"),
    }
}

fn cell(at: i64) -> Cell {
    let row = RowKey::new(&[Value::from(INSTANCE), Value::Int(at)]).expect("a short key");
    Cell { table: TableId::of("ints"), row, column: ColumnId::of("value") }
}

fn read(tx: &mut Transaction<'_>, at: i64) -> Result<i64, RunError> {
    Ok(match tx.cell(&cell(at))? {
        Some(CellState::Scalar(Value::Int(value))) => value,
        _ => 0,
    })
}

fn write(tx: &mut Transaction<'_>, at: i64, value: i64) -> Result<(), RunError> {
    tx.write(cell(at), Operation::Put(Value::Int(value)))
}
