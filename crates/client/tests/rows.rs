//! Tables that sync: kept calls at a client, from the call to its end.

mod harness;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use harness::{Harness, Stop, at, hits, key};
use iolite_client::{Choice, Client, Content, Keep, Limits, MutationStatus, Output, Pending, RunOf, View};
use iolite_values::{Cell, CellState, ColumnId, Counter, Decision, Operation, Read, Row, TableId, Value, Write};
use iolite_wire::message::{Advance, FromClient, Submit, Verdict};

fn cards() -> TableId {
    TableId::of("cards")
}

fn stars() -> TableId {
    TableId::of("stars")
}

fn card(text: &str) -> Row {
    let cells = [
        (ColumnId::of("text"), CellState::Scalar(Value::from(text))),
        (ColumnId::of("pinned"), CellState::Scalar(Value::Bool(false))),
    ];
    Row::from_parts(true, cells)
}

fn text(id: i64) -> Cell {
    Cell { table: cards(), row: key(id), column: ColumnId::of("text") }
}

fn on(id: i64) -> Cell {
    Cell { table: stars(), row: key(id), column: ColumnId::of("on") }
}

fn put(id: i64, said: &str) -> Write {
    Write { cell: text(id), operation: Operation::Put(Value::from(said)) }
}

/// A client with mutators of cards and stars, connected, that shows what it reads of card 1 and star 1.
fn app() -> (Harness, Rc<RefCell<Vec<Option<String>>>>) {
    let mut harness = Harness::new();
    harness.mutator("edit", |tx| Ok(tx.write(text(1), Operation::Put(Value::from("mine")))?));
    harness.mutator("again", |tx| Ok(tx.write(text(1), Operation::Put(Value::from("mine too")))?));
    harness.mutator("add", |tx| {
        let content: Content = [(ColumnId::of("text"), vec![Operation::Put(Value::from("new"))])].into();
        Ok(tx.insert(cards(), &key(2), content)?)
    });
    harness.mutator("star", |tx| Ok(tx.write(on(1), Operation::Put(Value::Bool(true)))?));
    harness.mutator("count", |tx| {
        let is_mine = tx.row(cards(), &key(1))?.and_then(|row| row.cell(text(1).column).cloned());
        let own = is_mine == Some(CellState::Scalar(Value::from("mine")));
        Ok(tx.write(hits(1), Operation::Add(if own { 100 } else { 1 }))?)
    });
    harness.connect();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.react(View::Optimistic, move |tx| {
        let row = tx.row(cards(), &key(1))?;
        tx.row(stars(), &key(1))?;
        let said = row.and_then(|row| match row.cell(text(1).column) {
            Some(CellState::Scalar(Value::String(said))) => Some(said.to_string()),
            _ => None,
        });
        log.borrow_mut().push(said);
        Ok(())
    });
    let star = Row::from_parts(true, [(ColumnId::of("on"), CellState::Register(Value::Bool(false)))]);
    let rows = [(cards(), key(1), card("first")), (stars(), key(1), star)];
    harness.load(10, &rows);
    harness.load(11, &rows);
    (harness, seen)
}

fn pending(harness: &Harness, counter: Counter) -> Pending {
    match harness.last_status(counter) {
        MutationStatus::Pending(pending) => pending.clone(),
        other => panic!("it is pending, not {other:?}"),
    }
}

fn only(mut submits: Vec<Submit>) -> Submit {
    assert_eq!(submits.len(), 1, "{submits:?}");
    submits.pop().expect("one")
}

/// The client is online again, and is told what somebody else has written meanwhile.
fn come_back(harness: &mut Harness, written: Write) {
    harness.link();
    harness.welcome(1);
    harness.take_subscribed(true);
    harness.advance(Advance { to: at(30), changes: vec![written], ..Advance::default() });
}

#[test]
fn what_is_kept_is_shown_at_once_and_sent_as_one_set() {
    let (mut harness, seen) = app();
    harness.disconnect();
    let calls = [harness.mutate("edit"), harness.mutate("again"), harness.mutate("add")];
    assert_eq!(seen.borrow().last(), Some(&Some("mine too".into())));
    assert!(calls.iter().all(|call| pending(&harness, *call).durable));
    harness.connect();
    let set = only(harness.take_submits());
    assert!(calls.iter().all(|call| *call < set.counter && pending(&harness, *call).sent));
    let Decision::Commit(writes) = &set.decision else { panic!("a commit") };
    assert!(writes.contains(&put(1, "mine too")) && !writes.contains(&put(1, "mine")), "{writes:?}");
    assert!(set.reads.iter().all(|read| matches!(read, Read::Range { .. })), "{:?}", set.reads);
    harness.decide(set.counter, 1, 20, writes.clone(), Verdict::Committed(at(20)));
    for call in calls {
        assert_eq!(*harness.last_status(call), MutationStatus::Confirmed { at: at(20) });
    }
    assert_eq!(seen.borrow().last(), Some(&Some("mine too".into())));
    assert_eq!(harness.client.pending().count(), 0);
}

#[test]
fn a_row_that_somebody_else_wrote_is_a_conflict_that_a_person_ends() {
    let (mut harness, seen) = app();
    harness.disconnect();
    let call = harness.mutate("edit");
    come_back(&mut harness, put(1, "theirs"));
    assert!(harness.take_submits().is_empty(), "nothing is written over what was not read");
    assert!(pending(&harness, call).in_conflict);
    assert!(harness.other.contains(&Output::Conflicts(cards())));
    let conflicts = harness.client.conflicts("cards").expect("it is causal");
    assert_eq!((conflicts.len(), conflicts[0].server.as_ref()), (1, Some(&card("theirs"))));
    assert_eq!(conflicts[0].local.as_ref(), Some(&card("mine")));
    assert_eq!(seen.borrow().last(), Some(&Some("mine".into())), "the row stays as the user left it");

    let choice = Choice { key: key(1), server: conflicts[0].server_version, keep: Keep::Local };
    harness.client.resolve(harness.now.wall, "cards", &[choice]).expect("nothing moved");
    harness.settle();
    let set = only(harness.take_submits());
    assert_eq!(set.snapshot, at(30));
    harness.decide(set.counter, 1, 40, set.decision.writes().to_vec(), Verdict::Committed(at(40)));
    assert_eq!(*harness.last_status(call), MutationStatus::Confirmed { at: at(40) });
    assert!(harness.client.conflicts("cards").expect("it is causal").is_empty());
}

#[test]
fn who_keeps_the_servers_row_overrules_the_call() {
    let (mut harness, seen) = app();
    harness.disconnect();
    let call = harness.mutate("edit");
    come_back(&mut harness, put(1, "theirs"));
    let server = harness.client.conflicts("cards").expect("it is causal")[0].server_version;
    harness
        .client
        .resolve(harness.now.wall, "cards", &[Choice { key: key(1), server, keep: Keep::Server }])
        .expect("yes");
    harness.settle();
    assert_eq!(*harness.last_status(call), MutationStatus::Overruled);
    assert_eq!(seen.borrow().last(), Some(&Some("theirs".into())));
    assert!(harness.take_submits().is_empty() && harness.client.pending().count() == 0);
}

#[test]
fn a_set_that_conflicts_is_aborted_before_its_rows_are_judged() {
    let (mut harness, _) = app();
    let call = harness.mutate("edit");
    let set = only(harness.take_submits());
    harness.decide(set.counter, 1, 20, vec![], Verdict::Conflict(at(25)));
    let abort = only(harness.take_submits());
    assert_eq!((abort.counter, abort.attempt.0), (set.counter, 2));
    assert!(matches!(abort.decision, Decision::Abort(_)));
    harness.decide(set.counter, 2, 30, vec![], Verdict::Aborted);
    assert!(!pending(&harness, call).in_conflict, "the row is as it was read");
    let again = only(harness.take_submits());
    assert!(again.counter > set.counter && again.snapshot == at(30));
    harness.decide(again.counter, 1, 40, vec![put(1, "mine")], Verdict::Committed(at(40)));
    assert_eq!(*harness.last_status(call), MutationStatus::Confirmed { at: at(40) });
}

#[test]
fn kept_calls_are_there_after_a_restart_and_what_was_sent_is_closed_first() {
    let (mut harness, _) = app();
    let call = harness.mutate("edit");
    let set = only(harness.take_submits());
    let mut harness = harness.reopened();
    harness.settle();
    let found: Vec<_> = harness.client.pending().map(|pending| (pending.counter, pending.name)).collect();
    assert_eq!(found, [(call, Some("edit".into()))]);
    let later = harness.mutate("add");
    harness.connect();
    let abort = harness.take_submits().into_iter().find(|submit| submit.counter == set.counter).expect("it is closed");
    assert!(matches!(abort.decision, Decision::Abort(_)) && abort.attempt > set.attempt);
    assert_eq!(abort.acknowledged.filter(|through| *through >= set.counter), None);
    harness.load(20, &[(cards(), key(1), card("mine"))]);
    assert!(!pending(&harness, later).in_conflict);
    harness.decide(set.counter, 1, 21, vec![], Verdict::Committed(at(19)));
    assert_eq!(*harness.last_status(call), MutationStatus::Confirmed { at: at(19) });
    assert!(harness.client.conflicts("cards").expect("it is causal").is_empty());
}

#[test]
fn an_update_of_an_eventual_row_that_is_gone_is_refused_and_told() {
    let (mut harness, _) = app();
    harness.disconnect();
    let call = harness.mutate("star");
    harness.link();
    harness.welcome(1);
    harness.take_subscribed(true);
    let gone = Write { cell: Cell::row(stars(), key(1)), operation: Operation::Delete };
    harness.advance(Advance { to: at(30), changes: vec![gone], ..Default::default() });
    assert!(matches!(harness.last_status(call), MutationStatus::Rejected { reason } if reason.contains("deleted")));
    assert!(harness.take_submits().is_empty());
}

#[test]
fn scalars_of_an_eventual_table_are_assigned_with_the_life_of_the_row_read() {
    let (mut harness, _) = app();
    harness.mutate("star");
    let set = only(harness.take_submits());
    let assign = Write { cell: on(1), operation: Operation::Assign(Value::Bool(true)) };
    assert_eq!(set.decision.writes(), [assign]);
    assert!(
        matches!(&set.reads[..], [Read::Cell { cell, .. }] if *cell == Cell::row(stars(), key(1))),
        "{:?}",
        set.reads
    );
}

#[test]
fn a_strong_mutation_rests_on_confirmed_rows_only() {
    let (mut harness, _) = app();
    harness.disconnect();
    harness.mutate("edit");
    let strong = harness.mutate("count");
    assert_eq!(harness.runs_of(RunOf::Mutation(strong)), 2, "once more, without what is kept");
    harness.connect();
    let sent = harness.take_submits();
    let own = sent.iter().find(|submit| submit.counter == strong).expect("it is sent");
    assert_eq!(own.decision.writes(), [Write { cell: hits(1), operation: Operation::Add(1) }]);
}

#[test]
fn a_set_that_rests_on_another_row_by_now_is_not_submitted() {
    let (mut harness, _) = app();
    harness.stores = false;
    let call = harness.mutate("edit");
    // The call is stored, and its set is on its way to the disk when the row changes.
    harness.store();
    harness.advance(Advance { to: at(30), changes: vec![put(1, "theirs")], ..Default::default() });
    harness.store();
    harness.store();
    assert!(harness.take_submits().is_empty());
    assert!(pending(&harness, call).in_conflict);
}

#[test]
fn nothing_is_acknowledged_from_an_open_set_on() {
    let (mut harness, _) = app();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.mutate("edit");
    let set = only(harness.take_submits());
    // It is committed, and the confirmed rows do not contain it yet.
    harness.decide(set.counter, 1, 20, vec![], Verdict::Committed(at(40)));
    for to in [30, 31] {
        harness.mutate("hit");
        let hit = only(harness.take_submits());
        assert!(hit.acknowledged.is_none_or(|through| through < set.counter), "{hit:?}");
        harness.decide(hit.counter, 1, to, vec![], Verdict::Committed(at(to)));
    }
    harness.advance(Advance { to: at(40), changes: vec![put(1, "mine")], ..Default::default() });
    harness.mutate("hit");
    assert!(only(harness.take_submits()).acknowledged.is_some_and(|through| through >= set.counter));
}

#[test]
fn so_many_rows_of_a_table_are_followed_and_the_others_wait() {
    assert_eq!(Client::FOLLOWED_MAX, 2048);
    let limits = Limits { followed_rows_max: 1, idle_interests_max: 0, ..Limits::default() };
    let mut harness = Harness::with(limits);
    for (name, id) in [("one", 1), ("two", 2)] {
        harness.mutator(name, move |tx| Ok(tx.write(text(id), Operation::Put(Value::from("mine")))?));
    }
    harness.connect();
    let calls = [harness.mutate("one"), harness.mutate("two")];
    let rows = [(cards(), key(1), card("first")), (cards(), key(2), card("first"))];
    harness.load(10, &rows);
    // The second row is held by nothing any more once its call has run. Then it is not judged, and not sent.
    let sent = only(harness.take_submits());
    assert_eq!(sent.decision.writes(), [put(1, "mine")]);
    harness.decide(sent.counter, 1, 20, vec![put(1, "mine")], Verdict::Committed(at(20)));
    assert_eq!(*harness.last_status(calls[0]), MutationStatus::Confirmed { at: at(20) });
    harness.load(21, &rows);
    let sent = only(harness.take_submits());
    assert_eq!(sent.decision.writes(), [put(2, "mine")]);
}

#[test]
fn a_kept_call_can_be_taken_back_until_it_is_sent() {
    let (mut harness, seen) = app();
    harness.disconnect();
    let call = harness.mutate("edit");
    assert!(harness.client.cancel(call));
    harness.settle();
    assert_eq!(seen.borrow().last(), Some(&Some("first".into())));
    assert!(matches!(harness.last_status(call), MutationStatus::Cancelled { .. }));
    harness.connect();
    assert!(harness.take_submits().is_empty());
}

#[test]
fn a_mutation_that_writes_a_strong_and_a_causal_table_names_both() {
    let (mut harness, _) = app();
    harness.mutator("both", |tx| {
        tx.write(text(1), Operation::Put(Value::from("x")))?;
        tx.write(hits(1), Operation::Add(1)).map_err(Stop::from)
    });
    let call = harness.mutate("both");
    let MutationStatus::Cancelled { reason } = harness.last_status(call) else { panic!("it never began") };
    assert!(reason.contains("\"cards\" (causal)") && reason.contains("\"hits\" (strong)"), "{reason}");
}

/// A client with a call that updates star 1 if it is there, and gives up if not; and one that deletes it.
fn with_stars() -> Harness {
    let (mut harness, _) = app();
    harness.mutator("rate", |tx| match tx.row(stars(), &key(1))? {
        Some(_) => Ok(tx.write(on(1), Operation::Put(Value::Bool(true)))?),
        None => Err(Stop::Abort("no such star")),
    });
    harness.mutator("unstar", |tx| Ok(tx.delete(stars(), &key(1))?));
    harness
}

fn star_is(harness: &mut Harness, to: u64, operations: Vec<(Cell, Operation)>) {
    let changes = operations.into_iter().map(|(cell, operation)| Write { cell, operation }).collect();
    harness.advance(Advance { to: at(to), changes, ..Default::default() });
}

#[test]
fn a_strong_mutation_that_a_restart_finds_rests_on_confirmed_rows_and_does_not_run_for_ever() {
    let (mut harness, _) = app();
    let careful = |tx: &mut iolite_client::Transaction<'_>| {
        let row = tx.row(cards(), &key(1))?;
        match row.and_then(|row| row.cell(text(1).column).cloned()) {
            Some(CellState::Scalar(Value::String(said))) if *said == *"mine" => Err(Stop::Abort("taken")),
            _ => Ok(tx.write(hits(1), Operation::Add(1))?),
        }
    };
    harness.mutator("careful", careful);
    harness.disconnect();
    let strong = harness.mutate("careful");
    harness.mutate("edit");
    let mut harness = harness.reopened();
    harness.settle();
    assert!(harness.runs_of(RunOf::Mutation(strong)) < 5);
    assert_eq!(pending(&harness, strong).would_reject, None);
}

#[test]
fn a_call_that_gives_up_on_what_the_device_shows_ends_at_once_and_runs_no_more() {
    let (mut harness, _) = app();
    harness.mutator("unless", |tx| match tx.row(cards(), &key(1))? {
        Some(row) if row.cell(text(1).column) == Some(&CellState::Scalar(Value::from("mine"))) => {
            Err(Stop::Abort("it is mine"))
        }
        _ => Ok(tx.write(text(1), Operation::Put(Value::from("new")))?),
    });
    harness.disconnect();
    harness.mutate("edit");
    let call = harness.mutate("unless");
    assert_eq!(*harness.last_status(call), MutationStatus::Rejected { reason: "it is mine".into() });
    assert_eq!(harness.runs_of(RunOf::Mutation(call)), 1);
}

#[test]
fn a_restored_store_is_asked_what_came_of_a_set_before_it_is_sent_again() {
    let (mut harness, _) = app();
    let call = harness.mutate("edit");
    let set = only(harness.take_submits());
    harness.disconnect();
    harness.link();
    harness.welcome(2);
    let asked = only(harness.take_submits());
    assert!(asked.counter == set.counter && matches!(asked.decision, Decision::Abort(_)), "{asked:?}");
    harness.decide(set.counter, 1, 20, set.decision.writes().to_vec(), Verdict::Committed(at(20)));
    assert_eq!(*harness.last_status(call), MutationStatus::Confirmed { at: at(20) });
    assert!(harness.take_submits().is_empty());
}

#[test]
fn a_version_of_the_app_without_the_table_loses_no_call_and_acknowledges_no_open_set() {
    let (mut harness, _) = app();
    let call = harness.mutate("edit");
    let set = only(harness.take_submits());
    let without =
        r#"{"tables":{"hits":{"columns":{"id":{"type":"int"},"value":{"type":"counter"}},"key":["id"],"live":true}}}"#;
    let mut older = Harness::on_with_schema(harness.storage.clone(), without);
    older.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    older.connect();
    let hit = older.mutate("hit");
    let submit = only(older.take_submits());
    older.decide(hit, 1, 20, submit.decision.writes().to_vec(), Verdict::Committed(at(20)));
    older.pass(Duration::from_secs(1));
    let acknowledged = |message: &FromClient| match message {
        FromClient::Acknowledge(through) => *through >= set.counter,
        _ => false,
    };
    assert!(!older.take_sent().iter().any(acknowledged));
    let newer = Harness::on(older.storage.clone());
    let found: Vec<_> = newer.client.pending().map(|pending| (pending.counter, pending.name)).collect();
    assert_eq!(found, [(call, Some("edit".into()))]);
}

#[test]
fn a_decision_cannot_be_taken_back() {
    let (mut harness, _) = app();
    harness.disconnect();
    let call = harness.mutate("edit");
    come_back(&mut harness, put(1, "theirs"));
    harness.disconnect();
    let server = harness.client.conflicts("cards").expect("it is causal")[0].server_version;
    let choice = Choice { key: key(1), server, keep: Keep::Local };
    let decided = harness.client.resolve(harness.now.wall, "cards", &[choice]).expect("nothing moved");
    harness.settle();
    harness.client.cancel(decided);
    harness.settle();
    assert!(matches!(harness.last_status(decided), MutationStatus::Pending(_)));
    assert!(matches!(harness.last_status(call), MutationStatus::Pending(_)));
}

#[test]
fn an_end_that_no_commit_tells_of_is_told_once_it_is_stored() {
    let (mut harness, _) = app();
    harness.mutator("undo", |tx| Ok(tx.delete(cards(), &key(2))?));
    harness.disconnect();
    let calls = [harness.mutate("add"), harness.mutate("undo")];
    harness.stores = false;
    come_back(&mut harness, put(1, "theirs"));
    assert!(calls.iter().all(|call| matches!(harness.last_status(*call), MutationStatus::Pending(_))));
    harness.store();
    assert!(calls.iter().all(|call| *harness.last_status(*call) == MutationStatus::Confirmed { at: at(30) }));
    assert!(harness.take_submits().is_empty(), "there is nothing to send");
}

#[test]
fn a_decision_that_writes_nothing_is_confirmed_once_it_is_stored() {
    let (mut harness, _) = app();
    harness.disconnect();
    harness.mutate("edit");
    come_back(&mut harness, put(1, "theirs"));
    harness.stores = false;
    let server = harness.client.conflicts("cards").expect("it is causal")[0].server_version;
    let choice = Choice { key: key(1), server, keep: Keep::Server };
    let decided = harness.client.resolve(harness.now.wall, "cards", &[choice]).expect("nothing moved");
    harness.settle();
    let is_told = |harness: &Harness| harness.statuses.iter().any(|(counter, _)| *counter == decided);
    assert!(!is_told(&harness));
    harness.store();
    assert!(is_told(&harness));
}

#[test]
fn an_end_that_is_told_in_another_history_names_no_timestamp_beyond_it() {
    let (mut harness, _) = app();
    harness.disconnect();
    harness.mutate("edit");
    come_back(&mut harness, put(1, "theirs"));
    harness.stores = false;
    let server = harness.client.conflicts("cards").expect("it is causal")[0].server_version;
    let choice = Choice { key: key(1), server, keep: Keep::Server };
    let decided = harness.client.resolve(harness.now.wall, "cards", &[choice]).expect("nothing moved");
    harness.settle();
    harness.disconnect();
    harness.link();
    harness.welcome(2);
    harness.store();
    let here = harness.client.at();
    assert!(here < at(30));
    assert_eq!(*harness.last_status(decided), MutationStatus::Confirmed { at: here });
}

#[test]
fn a_call_that_finds_its_row_later_is_kept_on_what_the_device_shows() {
    let mut harness = with_stars();
    let gone = (Cell::row(stars(), key(1)), Operation::Delete);
    star_is(&mut harness, 30, vec![gone]);
    harness.disconnect();
    let rate = harness.mutate("rate");
    assert_eq!(pending(&harness, rate).would_reject.as_deref(), Some("no such star"));
    harness.link();
    harness.welcome(1);
    harness.take_subscribed(true);
    let there = [(Cell::row(stars(), key(1)), Operation::Create), (on(1), Operation::Assign(Value::Bool(false)))];
    star_is(&mut harness, 40, there.into());
    assert_eq!(
        harness.runs_of(RunOf::Mutation(rate)),
        3,
        "on nothing, on the confirmed row, on the row as it is shown"
    );
}

#[test]
fn a_kept_deletion_is_shown_on_a_row_that_is_loaded_as_it_was() {
    let mut harness = with_stars();
    harness.disconnect();
    harness.mutate("unstar");
    let mut harness = harness.reopened();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.react(View::Optimistic, move |tx| {
        log.borrow_mut().push(tx.row(stars(), &key(1))?.is_some());
        Ok(())
    });
    harness.connect();
    let star = Row::from_parts(true, [(ColumnId::of("on"), CellState::Register(Value::Bool(false)))]);
    harness.load(20, &[(cards(), key(1), card("first")), (stars(), key(1), star)]);
    assert_eq!(seen.borrow().last(), Some(&false), "{seen:?}");
}
