//! Logs at a client: joined, called, replayed, and what becomes of the calls.

mod harness;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use harness::{Harness, Stop, at};
use iolite_client::{LogError, MutationStatus, Output, RunOf, Transaction, View};
use iolite_logs::admit;
use iolite_values::{
    Attempt, Cell, CellState, ClientId, ColumnId, Counter, Decision, Id, KeyRange, LaneNumber, LogId, LogPages,
    Operation, Row, RowKey, TableId, TransactionId, Value, Write,
};
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
fn a_log_begins_with_its_first_operation_and_an_operation_is_seen_at_once_and_confirmed_when_it_is_replayed() {
    let (mut harness, mut server) = joined();
    let [optimistic, confirmed] = [View::Optimistic, View::Confirmed].map(|view| watch(&mut harness, view));
    assert_eq!(text_of(&confirmed, "A1"), "header", "every member replays it before all entries");
    let counter = harness.operate(&budget(), "count");
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (1, 0));
    let submit = harness.take_submits().pop().expect("it is submitted");
    let (changes, outcome) = server.commit(harness.client.identity(), &submit);
    harness.runs.clear();
    harness.advance(Advance { to: at(server.now), changes, outcomes: vec![outcome], ..Advance::default() });
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (1, 1));
    assert_eq!(harness.last_status(counter), &MutationStatus::Confirmed { at: at(server.now) });
    let own_runs = harness.runs.iter().filter(|run| !matches!(run, RunOf::Reaction(_))).count();
    assert_eq!(own_runs, 0, "own progress runs no closure again");
    assert_eq!(harness.client.logs().next().map(|joined| joined.position), Some(2));
}

#[test]
fn what_is_sent_of_an_operation_does_not_say_whose_it_is() {
    let (mut harness, _) = joined();
    harness.operate(&budget(), "count");
    let submit = harness.take_submits().pop().expect("it is submitted");
    let Decision::Commit(writes) = &submit.decision else { panic!("an append") };
    let bytes = writes.iter().find_map(|write| match &write.operation {
        Operation::Append { value: Value::Bytes(bytes), .. } => Some(bytes.clone()),
        _ => None,
    });
    let bytes = bytes.expect("an entry");
    let own = harness.client.identity().0.to_bytes();
    assert!(!bytes.windows(16).any(|part| part == own), "others read it");
    let entry = LogEntry::decode(&bytes).expect("an entry");
    assert_eq!((entry.origin, entry.operation.as_str()), (None, "count"));
}

#[test]
fn members_replay_in_the_order_of_the_log_whatever_they_called_first() {
    let (mut harness, mut server) = joined();
    let [optimistic, confirmed] = [View::Optimistic, View::Confirmed].map(|view| watch(&mut harness, view));
    // Here: count, double. There, before it: count.
    harness.operate(&budget(), "count");
    harness.operate(&budget(), "double");
    assert_eq!(times_of(&optimistic), 2);
    tell_other(&mut harness, &mut server, "count");
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (4, 1), "own calls run again on top");
    commit_one(&mut harness, &mut server);
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (4, 2));
    tell_other(&mut harness, &mut server, "count");
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (6, 3));
    commit_one(&mut harness, &mut server);
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (6, 6));
    // Another one that comes now gets the same.
    let mut late = Harness::with_schema(APP);
    operations(&mut late);
    late.connect();
    late.client.join("sheet", &Value::from("budget")).expect("the schema has it");
    late.settle();
    late.load(server.now, &server.rows());
    let seen = watch(&mut late, View::Confirmed);
    assert_eq!((times_of(&seen), text_of(&seen, "A1")), (6, "header".to_owned()));
}

#[test]
fn others_operations_on_other_rows_run_no_own_closure_again() {
    let (mut harness, mut server) = joined();
    for _ in 0..5 {
        harness.operate(&budget(), "count");
    }
    harness.runs.clear();
    tell_other(&mut harness, &mut server, "other");
    let own = harness.runs.iter().filter(|run| matches!(run, RunOf::Mutation(_))).count();
    assert_eq!(own, 0, "they have read nothing of it");
    tell_other(&mut harness, &mut server, "count");
    let own = harness.runs.iter().filter(|run| matches!(run, RunOf::Mutation(_))).count();
    assert_eq!(own, 5, "each has read what it changed");
}

#[test]
fn one_that_aborts_when_it_is_replayed_has_no_effect_and_its_caller_is_told() {
    let (mut harness, mut server) = joined();
    let confirmed = watch(&mut harness, View::Confirmed);
    tell_other(&mut harness, &mut server, "count");
    let counter = harness.operate(&budget(), "onlyIfEmpty");
    let changes = [server.other("other"), commit_of(&mut harness, &mut server)].concat();
    harness.advance(Advance { to: at(server.now), changes, ..Advance::default() });
    assert_eq!(text_of(&confirmed, "C1"), "other");
    let taken = MutationStatus::Rejected { reason: "it is taken".into() };
    assert_eq!(harness.last_status(counter), &taken);
    assert_eq!(harness.client.pending().count(), 0);
    // One that gives up before it is sent is recorded as given up, and makes no entry.
    let counter = harness.operate(&budget(), "onlyIfEmpty");
    let submit = harness.take_submits().pop().expect("it is submitted");
    assert_eq!(submit.decision, Decision::Abort("it is taken".into()));
    harness.decide(counter, 1, server.now + 1, Vec::new(), Verdict::Aborted);
    assert_eq!(harness.last_status(counter), &taken);
}

#[test]
fn operations_are_sent_ahead_each_behind_the_one_before_and_are_replayed_in_the_order_of_the_calls() {
    let (mut harness, mut server) = joined();
    let [optimistic, confirmed] = [View::Optimistic, View::Confirmed].map(|view| watch(&mut harness, view));
    let first = harness.operate(&budget(), "count");
    for _ in 0..70 {
        harness.operate(&budget(), "count");
    }
    let is_submit = |message: &&FromClient| matches!(message, FromClient::Submit(_));
    assert_eq!(harness.sent.iter().filter(is_submit).count(), 1, "the first one creates the page, so the others wait");
    assert_eq!(commit_one(&mut harness, &mut server), first);
    let sent = harness.take_submits();
    assert_eq!(sent.len(), 64, "as many as the window says");
    let follows: Vec<_> = sent.iter().map(|submit| submit.follows.map(|follows| follows.0)).collect();
    let before = sent.iter().map(|submit| Some(submit.counter.0 - 1));
    assert!(follows.iter().copied().skip(1).eq(before.skip(1)) && follows[0].is_none(), "{follows:?}");
    assert!(sent.iter().all(|submit| submit.lane == LaneNumber(1)));
    let (mut changes, mut outcomes) = (Vec::new(), Vec::new());
    for submit in &sent {
        let (own, outcome) = server.commit(harness.client.identity(), submit);
        changes.extend(own);
        outcomes.push(outcome);
    }
    harness.runs.clear();
    harness.advance(Advance { to: at(server.now), changes, outcomes, ..Advance::default() });
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (71, 65));
    let runs = harness.runs.iter().filter(|run| !matches!(run, RunOf::Reaction(_))).count();
    assert_eq!(runs, 0, "own progress runs no closure again");
}

#[test]
fn what_follows_one_that_conflicts_is_sent_again_behind_it() {
    let (mut harness, mut server) = joined();
    tell_other(&mut harness, &mut server, "other");
    for _ in 0..3 {
        harness.operate(&budget(), "count");
    }
    let sent = harness.take_submits();
    assert_eq!(sent.len(), 3);
    let conflicts = sent.iter().map(|submit| {
        let verdict = Verdict::Conflict(at(server.now));
        Outcome { counter: submit.counter, attempt: submit.attempt, verdict }
    });
    let outcomes = conflicts.collect();
    harness.advance(Advance { to: at(server.now), outcomes, ..Advance::default() });
    harness.pass(std::time::Duration::from_secs(5));
    let again = harness.take_submits();
    let told: Vec<_> = again.iter().map(|submit| (submit.counter, submit.attempt, submit.follows)).collect();
    let [first, second, third] = [0, 1, 2].map(|place| sent[place].counter);
    let wanted = [(first, None), (second, Some(first)), (third, Some(second))];
    assert_eq!(told, wanted.map(|(counter, follows)| (counter, Attempt(2), follows)));
}

#[test]
fn an_operation_that_gives_up_because_of_a_pending_one_waits_until_that_is_replayed() {
    let (mut harness, mut server) = joined();
    tell_other(&mut harness, &mut server, "count");
    harness.operate(&budget(), "other");
    let gives_up = harness.operate(&budget(), "onlyIfEmpty");
    server.inbox.extend(harness.take_submits());
    assert_eq!(server.inbox.len(), 1, "whether it gives up is not known yet");
    commit_one(&mut harness, &mut server);
    let submit = harness.take_submits().pop().expect("it is known now");
    assert_eq!((submit.counter, submit.decision), (gives_up, Decision::Abort("it is taken".into())));
}

#[test]
fn all_tables_of_a_log_are_its_variables() {
    let (mut harness, mut server) = joined();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.react(View::Confirmed, move |tx| {
        log.borrow_mut().push(tx.cell(&of_sheet("marks", "budget"))?);
        Ok(())
    });
    tell_other(&mut harness, &mut server, "mark");
    let marked = Some(CellState::Scalar(Value::from("marked")));
    assert_eq!(*seen.borrow(), [None, marked]);
}

#[test]
fn nothing_of_a_logs_tables_is_asked_of_a_gateway() {
    let mut harness = Harness::with_schema(APP);
    operations(&mut harness);
    harness.connect();
    harness.client.join("sheet", &Value::from("budget")).expect("the schema has it");
    let _seen = watch(&mut harness, View::Confirmed);
    harness.disconnect();
    harness.take_sent();
    harness.link();
    harness.welcome(1);
    harness.advance(Advance { to: harness.client.at(), ..Advance::default() });
    let asked = [harness.take_subscribed(false), harness.take_subscribed(true)].concat();
    assert!(!asked.is_empty() && asked.iter().all(|(_, interest)| interest.table() == LogPages::table()), "{asked:?}");
}

#[test]
fn under_another_schema_a_log_is_replayed_from_its_beginning() {
    let (mut harness, mut server) = joined();
    tell_other(&mut harness, &mut server, "count");
    let newer = APP.replacen("\"hits\":", "\"later\":", 1);
    let reopened = Harness::on_with_schema(harness.storage, &newer);
    assert_eq!(reopened.client.logs().next().map(|joined| joined.position), Some(0), "its rows are not kept");
}

#[test]
fn an_operation_that_gives_up_after_it_has_written_leaves_nothing() {
    let (mut harness, mut server) = joined();
    let confirmed = watch(&mut harness, View::Confirmed);
    tell_other(&mut harness, &mut server, "writeAndGiveUp");
    assert_eq!(text_of(&confirmed, "E1"), "half");
    let (mut harness, mut server) = joined();
    let seen = watch(&mut harness, View::Confirmed);
    let changes = [server.other("other"), server.other("writeAndGiveUp")].concat();
    harness.advance(Advance { to: at(server.now), changes, ..Advance::default() });
    assert_eq!((text_of(&seen, "C1"), text_of(&seen, "E1")), ("other".to_owned(), String::new()));
}

#[test]
fn an_append_that_conflicts_goes_to_the_page_that_is_open_then() {
    let (mut harness, mut server) = joined();
    for _ in 0..126 {
        tell_other(&mut harness, &mut server, "other");
    }
    harness.operate(&budget(), "count");
    let first = harness.take_submits().pop().expect("it is submitted");
    let is_of_first_page = |write: &Write| LogPages::read_key(&write.cell.row) == Some((budget(), 0));
    assert!(first.decision.writes().iter().all(is_of_first_page));
    // Somebody else turns the page meanwhile.
    let changes = [server.other("other"), server.other("other")].concat();
    assert!(iolite_logs::Page::of(server.page(0)).is_closed());
    let conflict =
        Outcome { counter: first.counter, attempt: first.attempt, verdict: Verdict::Conflict(at(server.now)) };
    harness.advance(Advance { to: at(server.now), changes, outcomes: vec![conflict], ..Advance::default() });
    harness.pass(std::time::Duration::from_secs(5));
    let again = harness.take_submits().pop().expect("it is submitted again");
    assert_eq!(again.counter, first.counter);
    let (changes, outcome) = server.commit(harness.client.identity(), &again);
    assert!(changes.iter().all(|write| LogPages::read_key(&write.cell.row) == Some((budget(), 1))));
    harness.advance(Advance { to: at(server.now), changes, outcomes: vec![outcome], ..Advance::default() });
    assert!(matches!(harness.last_status(first.counter), MutationStatus::Confirmed { .. }));
    assert_eq!(harness.client.logs().next().map(|joined| joined.position), Some(130));
}

#[test]
fn what_is_appended_to_a_closed_page_is_replayed_by_nobody() {
    let (mut harness, mut server) = joined();
    let confirmed = watch(&mut harness, View::Confirmed);
    for _ in 0..128 {
        tell_other(&mut harness, &mut server, "other");
    }
    // What an honest client never sends: the page is closed.
    let key = budget().page(0).expect("short");
    let bytes = LogEntry {
        origin: Some(Id::from_u128(1)),
        counter: Counter(1),
        called_at_micros: 0,
        seed: [0; 16],
        operation: "count".into(),
        version: 0,
        arguments: "{}".into(),
        turns: false,
    };
    let value = Value::Bytes(bytes.encode().expect("small").into());
    let operation = Operation::Append { value, order: iolite_values::ListOrder::Commit };
    let late = Write { cell: LogPages::entries(key), operation };
    harness.advance(Advance { to: at(server.now + 1), changes: vec![late], ..Advance::default() });
    assert_eq!((times_of(&confirmed), harness.client.logs().next().map(|joined| joined.position)), (0, Some(129)));
    server.now += 1;
    tell_other(&mut harness, &mut server, "count");
    assert_eq!((times_of(&confirmed), harness.client.logs().next().map(|joined| joined.position)), (1, Some(130)));
}

#[test]
fn a_member_follows_a_few_pages_and_gives_up_those_that_it_has_replayed() {
    let (mut harness, mut server) = joined();
    for _ in 0..9 * 128 {
        let changes = server.other("count");
        harness.advance(Advance { to: at(server.now), changes, ..Advance::default() });
        if harness.sent.iter().any(|message| matches!(message, FromClient::Subscribe(_))) {
            harness.load(server.now, &server.rows());
        }
    }
    assert_eq!(harness.client.logs().next().map(|joined| joined.position), Some(9 * 128 + 1));
    let given_up = harness
        .take_sent()
        .into_iter()
        .any(|message| matches!(message, FromClient::Unsubscribe(ids) if !ids.is_empty()));
    assert!(given_up, "the first eight pages are not needed any more");
    // Another history has nothing of it: the log begins anew, also where it is stored.
    harness.disconnect();
    harness.pass(std::time::Duration::from_secs(11));
    harness.link_is_there();
    harness.take_sent();
    harness.welcome(2);
    let reopened = Harness::on_with_schema(harness.storage.clone(), APP);
    assert_eq!(reopened.client.logs().next().map(|joined| joined.position), Some(0));
    harness.load(100, &[]);
    assert_eq!(harness.client.logs().next().map(|joined| joined.position), Some(1));
}

#[test]
fn an_operation_that_the_app_does_not_know_stops_this_log_here_and_nothing_else() {
    let (mut harness, mut server) = joined();
    tell_other(&mut harness, &mut server, "fromTheFuture");
    let told = harness.other.iter().find_map(|output| match output {
        Output::LogStopped { log, index, reason } => Some((log.clone(), *index, reason.clone())),
        _ => None,
    });
    let (log, index, reason) = told.expect("it is told");
    assert_eq!((log, index), (budget(), 1));
    assert!(reason.contains("\"fromTheFuture\""), "{reason}");
    tell_other(&mut harness, &mut server, "count");
    assert_eq!(harness.client.logs().next().map(|joined| joined.position), Some(1));
    let strong = harness.mutate("hit");
    let submit = harness.take_submits().pop().expect("the strong lane goes on");
    assert_eq!(submit.counter, strong);
}

#[test]
fn a_log_whose_first_operation_gives_up_or_is_unknown_stops_and_says_so() {
    for unknown in [false, true] {
        let mut harness = Harness::with_schema(APP);
        if !unknown {
            harness.mutator("sheet.header", |_| Err(Stop::Abort("not today")));
        }
        harness.connect();
        harness.client.join("sheet", &Value::from("budget")).expect("the schema has it");
        harness.settle();
        harness.load(100, &[]);
        let stopped = harness.client.logs().next().and_then(|joined| joined.stopped).expect("it stops");
        let wanted = if unknown { "the app has no operation \"header\"" } else { "not today" };
        assert!(stopped.contains(wanted), "{stopped}");
    }
}

#[test]
fn what_was_replayed_and_what_was_called_are_there_after_a_restart() {
    let (mut harness, mut server) = joined();
    tell_other(&mut harness, &mut server, "count");
    let sent = harness.operate(&budget(), "count");
    let submit = harness.take_submits().pop().expect("it is submitted");
    harness.operate(&budget(), "double");
    let before = harness.client.at();
    let mut harness = Harness::on_with_schema(harness.storage, APP);
    operations(&mut harness);
    assert_eq!(harness.client.at(), before);
    let [optimistic, confirmed] = [View::Optimistic, View::Confirmed].map(|view| watch(&mut harness, view));
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (4, 1));
    assert_eq!(text_of(&confirmed, "A1"), "header");
    // It was committed meanwhile: it is replayed once, and not a second time when its outcome is told.
    let (changes, outcome) = server.commit(harness.client.identity(), &submit);
    harness.connect();
    harness.advance(Advance { to: at(server.now), changes, ..Advance::default() });
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (4, 2));
    assert!(matches!(harness.last_status(sent), MutationStatus::Confirmed { .. }));
    harness.advance(Advance { to: at(server.now), outcomes: vec![outcome], ..Advance::default() });
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (4, 2));
    commit_one(&mut harness, &mut server);
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (4, 4));
}

#[test]
fn a_log_that_stands_still_holds_up_no_acknowledgement_and_its_call_is_known_to_be_committed_after_a_restart() {
    let (mut harness, mut server) = joined();
    tell_other(&mut harness, &mut server, "fromTheFuture");
    harness.operate(&budget(), "count");
    assert!(harness.take_submits().is_empty(), "nothing of it is followed here any more, so nothing is appended");
    // Another one, whose entry is committed before the log stops.
    let (mut harness, mut server) = joined();
    let sent = harness.operate(&budget(), "count");
    let submit = harness.take_submits().pop().expect("it is submitted");
    let behind = [server.other("fromTheFuture"), server.append_behind(&harness, &submit)].concat();
    let outcome = server.outcome_of(&harness, &submit);
    harness.advance(Advance { to: at(server.now), changes: behind, outcomes: vec![outcome], ..Advance::default() });
    assert!(matches!(harness.last_status(sent), MutationStatus::Pending(_)));
    let strong = harness.mutate("hit");
    harness.take_submits();
    harness.decide(strong, 1, server.now + 1, Vec::new(), Verdict::Committed(at(server.now + 1)));
    harness.pass(std::time::Duration::from_secs(1));
    let told: Vec<Counter> = harness.take_sent().into_iter().filter_map(acknowledged).collect();
    assert_eq!(told.last(), Some(&strong), "{told:?}");
    let mut harness = Harness::on_with_schema(harness.storage, APP);
    operations(&mut harness);
    harness.mutator("sheet.fromTheFuture", |tx| put(tx, "D1", "it is here"));
    harness.connect();
    assert!(harness.take_submits().is_empty(), "it is committed, so it is not sent again");
    let optimistic = watch(&mut harness, View::Optimistic);
    assert_eq!((times_of(&optimistic), text_of(&optimistic, "D1")), (1, "".to_owned()));
    harness.load(server.now + 1, &server.rows());
    assert_eq!((times_of(&optimistic), text_of(&optimistic, "D1")), (1, "it is here".to_owned()));
    assert!(matches!(harness.last_status(sent), MutationStatus::Confirmed { .. }));
    assert_eq!(harness.client.pending().count(), 0);
}

fn acknowledged(message: FromClient) -> Option<Counter> {
    match message {
        FromClient::Acknowledge(through) => Some(through),
        FromClient::Submit(submit) => submit.acknowledged,
        _ => None,
    }
}

#[test]
fn a_log_is_left_when_none_of_its_calls_is_pending_and_nothing_of_it_is_kept() {
    let (mut harness, mut server) = joined();
    let confirmed = watch(&mut harness, View::Confirmed);
    harness.operate(&budget(), "count");
    let error = harness.client.leave_log(&budget()).expect_err("a call is pending");
    assert!(error.to_string().contains("1 operations of the log are pending"), "{error}");
    commit_one(&mut harness, &mut server);
    assert_eq!(times_of(&confirmed), 1);
    harness.client.leave_log(&budget()).expect("nothing is pending");
    harness.settle();
    let fails =
        |output: &Output| matches!(output, Output::ReactionFailed { message, .. } if message.contains("join the log"));
    assert!(harness.other.iter().any(fails), "who reads it is told");
    assert_eq!(harness.client.logs().count(), 0);
    let kept: Vec<u8> = harness.storage.keys().filter_map(|key| key.first().copied()).collect();
    assert!(!kept.iter().any(|kind| b"lr".contains(kind)), "{:?}", String::from_utf8_lossy(&kept));
    let given_up = harness.take_sent().into_iter().any(|message| matches!(message, FromClient::Unsubscribe(_)));
    assert!(given_up, "its pages are not followed any more");
    // It can be joined again, and is replayed from its beginning.
    harness.client.join("sheet", &Value::from("budget")).expect("the schema has it");
    harness.settle();
    harness.load(server.now, &server.rows());
    let again = watch(&mut harness, View::Confirmed);
    assert_eq!((times_of(&again), text_of(&again, "A1")), (1, "header".to_owned()));
}

#[test]
fn an_own_operation_is_delivered_when_it_is_replayed_here_and_the_gateway_says_so() {
    let (mut harness, mut server) = joined();
    let delivered = |harness: &Harness| {
        let told = harness.other.iter().filter_map(|output| match output {
            Output::Delivered(counter) => Some(*counter),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    let first = harness.operate(&budget(), "count");
    commit_one(&mut harness, &mut server);
    assert_eq!(delivered(&harness), []);
    harness.advance(Advance { to: at(server.now), delivered: Some(at(server.now)), ..Advance::default() });
    assert_eq!(delivered(&harness), [first]);
    // Told with the entry itself, as nobody else follows it.
    let second = harness.operate(&budget(), "count");
    let submit = harness.take_submits().pop().expect("it is submitted");
    let (changes, outcome) = server.commit(harness.client.identity(), &submit);
    let (to, outcomes) = (at(server.now), vec![outcome]);
    harness.advance(Advance { to, changes, outcomes, delivered: Some(to), ..Advance::default() });
    assert_eq!(delivered(&harness), [first, second]);
    // What others did is said to be applied once it is replayed.
    let changes = server.other("count");
    harness.take_sent();
    harness.advance(Advance { to: at(server.now), changes, is_owed: true, ..Advance::default() });
    let applied = harness.take_sent().into_iter().any(|message| message == FromClient::Applied(at(server.now)));
    assert!(applied && harness.client.logs().next().is_some_and(|joined| joined.position == 4));
}

#[test]
fn in_another_history_a_log_is_replayed_from_its_beginning_and_own_calls_are_sent_again() {
    let (mut harness, mut server) = joined();
    let [optimistic, confirmed] = [View::Optimistic, View::Confirmed].map(|view| watch(&mut harness, view));
    tell_other(&mut harness, &mut server, "count");
    tell_other(&mut harness, &mut server, "other");
    let counter = harness.operate(&budget(), "count");
    harness.disconnect();
    harness.pass(std::time::Duration::from_secs(11));
    harness.link_is_there();
    harness.take_sent();
    harness.welcome(2);
    let mut server = Server::default();
    harness.load(100, &[]);
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (1, 0), "nothing of the old one is left");
    assert_eq!((text_of(&confirmed, "A1"), text_of(&confirmed, "C1")), ("header".to_owned(), String::new()));
    assert_eq!(commit_one(&mut harness, &mut server), counter);
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (1, 1));
}

#[test]
fn logs_and_other_tables_do_not_mix() {
    let (mut harness, _) = joined();
    let reason = |harness: &mut Harness, counter| match harness.last_status(counter).clone() {
        MutationStatus::Cancelled { reason } => reason,
        other => panic!("{other:?}"),
    };
    let refused = [
        ("outside", "\"hits\""),
        ("elsewhere", "\"cells\""),
        ("writeElsewhere", "\"marks\""),
        ("writeStrong", "\"notes\""),
    ];
    for (operation, word) in refused {
        let counter = harness.operate(&budget(), operation);
        let told = reason(&mut harness, counter);
        assert!(told.contains("reads and writes the rows of its own log") && told.contains(word), "{told}");
    }
    for name in ["strong", "peeping"] {
        let counter = harness.mutate(name);
        let told = reason(&mut harness, counter);
        assert!(told.contains("make it an operation of the log"), "{told}");
    }
    let error = Rc::new(RefCell::new(Vec::new()));
    let log = error.clone();
    harness.react(View::Optimistic, move |tx| {
        let told = |result: Result<(), iolite_client::RunError>| log.borrow_mut().push(result.unwrap_err().to_string());
        told(tx.range(cells(), &KeyRange::all(), None, false).map(drop));
        let plan = KeyRange::prefix(&[Value::from("plan")]).expect("short");
        told(tx.range(cells(), &plan, None, false).map(drop));
        Ok(())
    });
    let told = error.borrow().clone();
    assert!(told.len() >= 2 && told.iter().all(|told| told.contains("join the log before you read it")), "{told:?}");
}

#[test]
fn who_cannot_be_joined_is_named() {
    let mut harness = Harness::with_schema(APP);
    let join = |harness: &mut Harness, name: &str, value: Value| harness.client.join(name, &value);
    assert_eq!(join(&mut harness, "chart", Value::from("a")), Err(LogError::Unknown { name: "chart".into() }));
    assert!(matches!(join(&mut harness, "sheet", Value::Int(1)), Err(LogError::Instance { .. })));
    assert!(matches!(join(&mut harness, "sheet", Value::from("x".repeat(1020).as_str())), Err(LogError::Key(_))));
    for number in 0..iolite_client::Client::LOGS_MAX {
        join(&mut harness, "sheet", Value::from(format!("{number}").as_str())).expect("there is room");
    }
    assert_eq!(join(&mut harness, "sheet", Value::from("more")), Err(LogError::TooMany { limit: 64 }));
    assert!(join(&mut harness, "sheet", Value::from("0")).is_ok(), "it is joined already");
    let unjoined = LogId::new("sheet", &Value::from("more")).expect("short");
    let error = harness.client.operate(harness.now.wall, &unjoined, "count", "{}").expect_err("it is not joined");
    assert!(error.to_string().contains("join it before"), "{error}");
    let large = "x".repeat(iolite_client::Client::OPERATION_BYTES_MAX);
    let zero = LogId::new("sheet", &Value::from("0")).expect("short");
    let error = harness.client.operate(harness.now.wall, &zero, "count", &large).expect_err("it is too large");
    assert!(error.to_string().contains("an operation's name and arguments"), "{error}");
}
