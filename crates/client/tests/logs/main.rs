//! Logs at a client: joined, called, replayed, and what becomes of the calls.

#[path = "../harness/mod.rs"]
mod harness;

mod batches;
mod checkpoints;
mod closed;
mod delivered_view;
mod lives;
mod members;
mod replaying;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use harness::{Harness, Stop, at};
use iolite_client::{LogError, MutationStatus, Output, RunOf, Transaction, View};
use iolite_logs::admit;
use iolite_values::{
    Attempt, Cell, CellState, ClientId, ColumnId, Counter, Decision, Id, KeyRange, LaneNumber, LogCheckpoint, LogId,
    LogPages, Operation, Row, RowKey, TableId, TransactionId, Value, Write,
};
use iolite_wire::client_storage::Bound;
use iolite_wire::logs::LogEntry;
use iolite_wire::message::{Advance, FromClient, Outcome, Submit, Verdict};

const APP: &str = r#"{"logs":{"sheet":{"initial":"header"}},"tables":{
  "cells":{"columns":{"sheet":{"type":"string"},"at":{"type":"string"},"text":{"type":"string","default":""},"times":{"type":"int","default":0}},
    "key":["sheet","at"],"live":true,"consistency":"log","log":"sheet"},
  "marks":{"columns":{"sheet":{"type":"string"},"text":{"type":"string","default":""}},"key":["sheet"],"live":true,"consistency":"log","log":"sheet"},
  "notes":{"columns":{"sheet":{"type":"string"},"text":{"type":"string","default":""}},"key":["sheet"],"live":true},
  "hits":{"columns":{"id":{"type":"int"},"value":{"type":"counter"}},"key":["id"],"live":true}}}"#;

/// The server's side: the pages of one log, and who wrote to them.
#[derive(Default)]
struct Server {
    pages: BTreeMap<RowKey, Row>,
    now: u64,
    inbox: VecDeque<Submit>,
    committed: BTreeMap<TransactionId, Outcome>,
}

impl Server {
    /// Commits what a client submitted, and returns what the feed says of it.
    fn commit(&mut self, client: ClientId, submit: &Submit) -> (Vec<Write>, Outcome) {
        self.now = self.now.max(100) + 1;
        let id = TransactionId { client, counter: submit.counter };
        if let Some(outcome) = self.committed.get(&id) {
            return (Vec::new(), outcome.clone());
        }
        let Decision::Commit(writes) = &submit.decision else { panic!("it is an append: {submit:?}") };
        let writes = admit(id, &submit.reads, writes).expect("it is an append");
        let exists = |write: &Write| self.pages.get(&write.cell.row).is_some_and(Row::exists);
        if writes.iter().any(|write| write.operation == Operation::Create && exists(write)) {
            let verdict = Verdict::Conflict(at(self.now));
            return (Vec::new(), Outcome { counter: submit.counter, attempt: submit.attempt, verdict });
        }
        for write in &writes {
            let row = self.pages.entry(write.cell.row.clone()).or_default();
            row.apply(write.cell.column, &write.operation).expect("it fits");
        }
        let verdict = Verdict::Committed(at(self.now));
        let outcome = Outcome { counter: submit.counter, attempt: submit.attempt, verdict };
        if client != STRANGER {
            self.committed.insert(id, outcome.clone());
        }
        (writes, outcome)
    }

    /// The append of somebody else.
    fn other(&mut self, operation: &str) -> Vec<Write> {
        let client = STRANGER;
        let entry = LogEntry {
            origin: None,
            counter: Counter(1),
            called_at_micros: 9,
            seed: [3; 16],
            operation: operation.into(),
            version: 0,
            arguments: "{}".into(),
            turns: false,
        };
        let open = (0..).find(|page| !iolite_logs::Page::of(self.page(*page)).is_closed()).expect("one is open");
        let page = iolite_logs::Page::of(self.page(open));
        let (reads, writes) = iolite_logs::append_to(&budget(), open, page, entry).expect("small");
        let submit = Submit {
            counter: Counter(1),
            attempt: Attempt(1),
            snapshot: at(0),
            reads,
            decision: Decision::Commit(writes),
            acknowledged: None,
            ..submit_defaults()
        };
        self.commit(client, &submit).0
    }

    /// Commits a client's entry behind what is there already, whatever it has read.
    fn append_behind(&mut self, harness: &Harness, submit: &Submit) -> Vec<Write> {
        let Decision::Commit(writes) = &submit.decision else { panic!("it is an append") };
        let writes = writes.iter().filter(|write| write.operation != Operation::Create).cloned().collect();
        let decision = Decision::Commit(writes);
        self.commit(harness.client.identity(), &Submit { decision, ..submit.clone() }).0
    }

    fn outcome_of(&self, harness: &Harness, submit: &Submit) -> Outcome {
        self.committed[&TransactionId { client: harness.client.identity(), counter: submit.counter }].clone()
    }

    fn page(&self, number: u64) -> Option<&Row> {
        self.pages.get(&budget().page(number).expect("short"))
    }

    fn rows(&self) -> Vec<(TableId, RowKey, Row)> {
        self.pages.iter().map(|(key, row)| (LogPages::table(), key.clone(), row.clone())).collect()
    }
}

/// Another client.
const STRANGER: ClientId = ClientId(Id::from_u128(1000));

fn budget() -> LogId {
    LogId::new("sheet", &Value::from("budget")).expect("short")
}

fn cells() -> TableId {
    TableId::of("cells")
}

fn row(place: &str) -> RowKey {
    RowKey::new(&[Value::from("budget"), Value::from(place)]).expect("short")
}

fn text(place: &str) -> Cell {
    Cell { table: cells(), row: row(place), column: ColumnId::of("text") }
}

fn times(place: &str) -> Cell {
    Cell { table: cells(), row: row(place), column: ColumnId::of("times") }
}

fn of_sheet(table: &str, sheet: &str) -> Cell {
    let row = RowKey::new(&[Value::from(sheet)]).expect("short");
    Cell { table: TableId::of(table), row, column: ColumnId::of("text") }
}

fn put(tx: &mut Transaction<'_>, place: &str, value: &str) -> Result<(), Stop> {
    Ok(tx.write(text(place), Operation::Put(Value::from(value)))?)
}

/// Operations that change what they read, so that their order shows.
fn operations(harness: &mut Harness) {
    harness.mutator("sheet.header", |tx| put(tx, "A1", "header"));
    harness.mutator("sheet.count", |tx| {
        let before = match tx.cell(&times("B1"))? {
            Some(CellState::Scalar(Value::Int(times))) => times,
            _ => 0,
        };
        Ok(tx.write(times("B1"), Operation::Put(Value::Int(before + 1)))?)
    });
    harness.mutator("sheet.double", |tx| {
        let before = match tx.cell(&times("B1"))? {
            Some(CellState::Scalar(Value::Int(times))) => times,
            _ => 0,
        };
        Ok(tx.write(times("B1"), Operation::Put(Value::Int(before * 2)))?)
    });
    harness.mutator("sheet.other", |tx| put(tx, "C1", "other"));
    harness.mutator("sheet.onlyIfEmpty", |tx| match tx.cell(&text("C1"))? {
        Some(CellState::Scalar(Value::String(found))) if !found.is_empty() => Err(Stop::Abort("it is taken")),
        _ => put(tx, "C1", "mine"),
    });
    harness.mutator("sheet.writeAndGiveUp", |tx| {
        put(tx, "E1", "half")?;
        match tx.cell(&text("C1"))? {
            Some(CellState::Scalar(Value::String(found))) if !found.is_empty() => Err(Stop::Abort("it is taken")),
            _ => Ok(()),
        }
    });
    harness.mutator("sheet.outside", |tx| {
        Ok(tx.write(
            Cell { table: TableId::of("hits"), row: harness::key(1), column: ColumnId::of("value") },
            Operation::Add(1),
        )?)
    });
    harness
        .mutator("sheet.mark", |tx| Ok(tx.write(of_sheet("marks", "budget"), Operation::Put(Value::from("marked")))?));
    harness.mutator("sheet.writeElsewhere", |tx| {
        Ok(tx.write(of_sheet("marks", "plan"), Operation::Put(Value::from("marked")))?)
    });
    harness.mutator("sheet.writeStrong", |tx| {
        Ok(tx.write(of_sheet("notes", "budget"), Operation::Put(Value::from("noted")))?)
    });
    harness.mutator("sheet.elsewhere", |tx| {
        let other = RowKey::new(&[Value::from("plan"), Value::from("A1")]).expect("short");
        tx.row(cells(), &other)?;
        Ok(())
    });
    harness.mutator("strong", |tx| put(tx, "A1", "by a mutation"));
    harness.mutator("peeping", |tx| tx.row(cells(), &row("A1")).map(drop).map_err(Stop::from));
    harness.mutator("hit", |tx| {
        Ok(tx.write(
            Cell { table: TableId::of("hits"), row: harness::key(1), column: ColumnId::of("value") },
            Operation::Add(1),
        )?)
    });
}

type Seen = Rc<RefCell<Vec<BTreeMap<String, (String, i64)>>>>;

/// All cells of the sheet, at each run.
fn watch(harness: &mut Harness, view: View) -> Seen {
    let seen = Seen::default();
    let log = seen.clone();
    harness.react(view, move |tx| {
        let range = KeyRange::prefix(&[Value::from("budget")]).expect("short");
        let rows = tx.range(cells(), &range, None, false)?.into_iter().map(|(key, row)| {
            let values = key.values().expect("a key");
            let place = values[1].clone();
            let text = match row.cell(ColumnId::of("text")) {
                Some(CellState::Scalar(Value::String(text))) => text.to_string(),
                _ => String::new(),
            };
            let times = match row.cell(ColumnId::of("times")) {
                Some(CellState::Scalar(Value::Int(times))) => *times,
                _ => 0,
            };
            (if let Value::String(place) = place { place.to_string() } else { String::new() }, (text, times))
        });
        log.borrow_mut().push(rows.collect());
        Ok(())
    });
    seen
}

fn text_of(seen: &Seen, place: &str) -> String {
    seen.borrow().last().and_then(|rows| rows.get(place)).map(|(text, _)| text.clone()).unwrap_or_default()
}

fn times_of(seen: &Seen) -> i64 {
    seen.borrow().last().and_then(|rows| rows.get("B1")).map_or(0, |(_, times)| *times)
}

/// A member that has loaded an empty log.
fn joined() -> (Harness, Server) {
    let mut harness = Harness::with_schema(APP);
    operations(&mut harness);
    harness.connect();
    harness.client.join("sheet", &Value::from("budget")).expect("the schema has it");
    harness.settle();
    harness.load(100, &[]);
    harness.take_sent();
    (harness, Server::default())
}

/// Commits what waits to be sent, and tells it, behind what others did.
fn commit_one(harness: &mut Harness, server: &mut Server) -> Counter {
    loop {
        server.inbox.extend(harness.take_submits());
        let submit = server.inbox.pop_front().expect("something is submitted");
        let (changes, outcome) = server.commit(harness.client.identity(), &submit);
        let (to, is_new, mut outcomes) = (at(server.now), !changes.is_empty(), vec![outcome]);
        let committed = matches!(outcomes[0].verdict, Verdict::Committed(_));
        if !committed {
            let (verdict, behind) = (Verdict::Conflict(to), std::mem::take(&mut server.inbox));
            outcomes.extend(behind.into_iter().map(|Submit { counter, attempt, .. }| Outcome {
                counter,
                attempt,
                verdict: verdict.clone(),
            }));
        }
        harness.advance(Advance { to, changes, outcomes, ..Advance::default() });
        if committed && is_new {
            return submit.counter;
        }
        harness.pass(std::time::Duration::from_secs(5));
    }
}

/// Commits what waits to be sent, of which nothing is told yet. A page is there.
fn commit_of(harness: &mut Harness, server: &mut Server) -> Vec<Write> {
    let submit = harness.take_submits().pop().expect("something is submitted");
    let (changes, _) = server.commit(harness.client.identity(), &submit);
    assert!(!changes.is_empty(), "there is nothing to conflict with");
    changes
}

fn tell_other(harness: &mut Harness, server: &mut Server, operation: &str) {
    let changes = server.other(operation);
    harness.advance(Advance { to: at(server.now), changes, ..Advance::default() });
}

fn submit_defaults() -> Submit {
    Submit {
        counter: Counter(1),
        attempt: Attempt(1),
        snapshot: at(0),
        reads: Vec::new(),
        decision: Decision::Commit(Vec::new()),
        acknowledged: None,
        lane: LaneNumber::STRONG,
        follows: None,
    }
}

#[test]
fn an_operation_is_its_users_and_the_same_whoever_the_device_is_known_as() {
    let user = Bound { client: ClientId(Id::from_u128(1001)), subject: Some(Id::from_u128(1)) };
    let sent = [None, Some(user)].map(|user| {
        let mut harness = Harness::with_schema(APP);
        operations(&mut harness);
        harness.client.join("sheet", &Value::from("budget")).expect("the schema has it");
        harness.settle();
        let offline = harness.operate(&budget(), "count");
        harness.user = user;
        harness.connect();
        harness.load(100, &[]);
        let mut server = Server::default();
        assert_eq!(commit_one(&mut harness, &mut server), offline);
        assert!(matches!(harness.last_status(offline), MutationStatus::Confirmed { .. }), "it is known as its own");
        harness.operate(&budget(), "count");
        harness.take_submits().pop().expect("it is sent").decision
    });
    assert_eq!(sent[0], sent[1]);
}
