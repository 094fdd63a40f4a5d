//! What a client holds and has sent, when histories, schemas and peers change under it.

mod harness;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use harness::{Harness, Stop, at, config, hits, key, note, note_row, notes};
use iolite_client::{Client, Closed, Connection, Input, MutationStatus, OpenError, Output, RunOf, View};
use iolite_machine::Machine;
use iolite_values::{Attempt, CellState, Counter, KeyRange, Operation, Row, Schema, Value, Write};
use iolite_wire::message::{Advance, FromClient, FromGateway, Goodbye, GoodbyeReason, Outcome, Snapshot, Verdict};

#[test]
fn a_held_row_that_was_deleted_beyond_the_history_is_gone() {
    let mut harness = Harness::new();
    harness.connect();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.react(View::Confirmed, move |tx| {
        log.borrow_mut().push(tx.exists(notes(), &key(1))?);
        Ok(())
    });
    harness.load(10, &[(notes(), key(1), Row::from_parts(true, []))]);
    harness.disconnect();
    harness.link();
    harness.welcome(1);
    let held = harness.take_subscribed(true);
    let snapshots = held.iter().map(|(id, _)| Snapshot { subscription: *id, rows: vec![], reaches: None }).collect();
    harness.advance(Advance { to: at(50), snapshots, ..Advance::default() });
    assert_eq!(*seen.borrow(), [true, false]);
}

#[test]
fn an_attempt_of_another_history_is_run_again() {
    let mut harness = Harness::new();
    harness.mutator("put", |tx| {
        tx.row(notes(), &key(1))?.ok_or(Stop::Abort("gone"))?;
        Ok(tx.write(note(1, "title"), Operation::Put(Value::from("x")))?)
    });
    harness.connect();
    harness.mutate("put");
    harness.load(10, &[(notes(), key(1), note_row("a", 0))]);
    assert_eq!(harness.take_submits().len(), 1);
    harness.disconnect();
    harness.link();
    harness.welcome(2);
    assert!(harness.take_submits().is_empty(), "what it read is of another history");
    harness.load(30, &[(notes(), key(1), note_row("b", 0))]);
    let submits = harness.take_submits();
    assert_eq!((submits[0].attempt, submits[0].snapshot), (Attempt(2), at(30)));
}

#[test]
fn a_commit_of_another_history_is_not_confirmed_by_this_one() {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    harness.react(View::Confirmed, |tx| tx.cell(&hits(1)).map(drop).map_err(Stop::from));
    harness.load(10, &[]);
    let counter = harness.mutate("hit");
    let outcome = Outcome { counter, attempt: Attempt(1), verdict: Verdict::Committed(at(20)) };
    harness.advance(Advance { to: at(10), outcomes: vec![outcome], ..Advance::default() });
    harness.disconnect();
    harness.link();
    harness.welcome(2);
    harness.load(30, &[]);
    assert!(matches!(harness.last_status(counter), MutationStatus::Pending(_)), "it is sent to the new history");
}

#[test]
fn a_cache_of_another_schema_is_not_used_and_the_queue_is() {
    let mut harness = Harness::new();
    harness.mutator("vote", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    harness.react(View::Confirmed, |tx| tx.row(notes(), &key(1)).map(drop).map_err(Stop::from));
    harness.load(10, &[(notes(), key(1), note_row("a", 0))]);
    harness.disconnect();
    harness.mutate("vote");
    let mut changed = config("ann");
    let json = harness::SCHEMA.replace(r#""votes":{"type":"counter"}"#, r#""votes":{"type":"int","optional":true}"#);
    changed.schema = Arc::new(Schema::from_json(&json).expect("a good schema"));
    let stored: Vec<_> = harness.storage.clone().into_iter().collect();
    let mut client = Client::open(changed, stored, harness.now).expect("its own storage");
    assert_eq!(client.pending().count(), 1);
    let id = client.register(View::Optimistic);
    while let Some(output) = client.poll() {
        let Output::Run(of) = output else { continue };
        let mut run = client.begin(of);
        let row = client.transaction(&mut run).row(notes(), &key(1));
        assert!(row.is_err() || of != RunOf::Reaction(id), "the old row has another type now");
        client.finish(run, Closed::Returned);
    }
}

#[test]
fn a_long_user_name_is_an_error() {
    let opened = Client::open(config(&"u".repeat(2000)), Vec::new(), Default::default());
    assert!(matches!(opened, Err(OpenError::UserTooLong { limit: 1024 })));
}

#[test]
fn a_long_reason_is_cut_and_still_a_rejection() {
    let mut harness = Harness::new();
    let long: &'static str = Box::leak("x".repeat(5000).into_boxed_str());
    harness.mutator("no", move |_| Err(Stop::Abort(long)));
    harness.connect();
    let counter = harness.mutate("no");
    assert_eq!(harness.take_submits().len(), 1);
    harness.decide(counter, 1, 20, vec![], Verdict::Aborted);
    assert!(matches!(harness.last_status(counter), MutationStatus::Rejected { reason } if reason.len() == 4096));
}

#[test]
fn a_range_with_a_long_bound_is_an_error_of_the_closure() {
    let mut harness = Harness::new();
    harness.mutator("far", |tx| {
        let range = KeyRange { lower: vec![1; 2000].into(), upper: None };
        tx.range(notes(), &range, None, false).map(drop).map_err(Stop::from)
    });
    harness.connect();
    let counter = harness.mutate("far");
    assert!(
        matches!(harness.last_status(counter), MutationStatus::Cancelled { reason } if reason.contains("a bound of a range"))
    );
    assert_eq!(harness.connection(), Connection::Online);
}

#[test]
fn a_gateway_that_finds_fault_is_asked_again_but_seldom() {
    let mut harness = Harness::new();
    harness.connect();
    harness.react(View::Confirmed, |tx| tx.range(notes(), &KeyRange::all(), None, false).map(drop).map_err(Stop::from));
    for _ in 0..3 {
        let reason = GoodbyeReason::Limit;
        harness.tell(FromGateway::Goodbye(Goodbye { reason, message: "too large".into(), retry_after: None }));
        let retry = harness.client.deadline().expect("it tries again");
        assert!(retry.since(harness.now.instant) >= std::time::Duration::from_secs(10));
        harness.link();
        harness.welcome(1);
    }
}

#[test]
fn a_reaction_that_waits_hears_that_the_link_is_gone() {
    let mut harness = Harness::new();
    harness.connect();
    let id = harness.react(View::Confirmed, |tx| tx.cell(&hits(1)).map(drop).map_err(Stop::from));
    harness.client.go_offline();
    harness.settle();
    assert!(harness.other.contains(&Output::Unavailable(id)));
}

#[test]
fn a_client_that_holds_nothing_resumes_all_the_same() {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    let counter = harness.mutate("hit");
    let outcome = Outcome { counter, attempt: Attempt(1), verdict: Verdict::Committed(at(20)) };
    harness.advance(Advance { to: at(10), outcomes: vec![outcome], ..Advance::default() });
    harness.disconnect();
    harness.take_sent();
    harness.link();
    harness.welcome(1);
    // A gateway that is given a token waits for what is held, and tells nothing before: the mutation would stay pending.
    let said = harness.take_sent();
    let resumes =
        |message: &FromClient| matches!(message, FromClient::Subscribe(own) if own.held && own.interests.is_empty());
    assert!(said.iter().any(resumes), "{said:?}");
    harness.advance(Advance { to: at(30), ..Advance::default() });
    assert!(matches!(harness.last_status(counter), MutationStatus::Confirmed { .. }));
}

#[test]
fn an_app_with_another_schema_is_not_shown_less_than_before() {
    let mut harness = Harness::new();
    harness.connect();
    harness.react(View::Confirmed, |tx| tx.cell(&hits(1)).map(drop).map_err(Stop::from));
    harness.load(50, &[]);
    let mut changed = config("ann");
    let json = harness::SCHEMA.replace(r#""votes":{"type":"counter"}"#, r#""votes":{"type":"int","optional":true}"#);
    changed.schema = Arc::new(Schema::from_json(&json).expect("a good schema"));
    let stored: Vec<_> = harness.storage.clone().into_iter().collect();
    let client = Client::open(changed, stored, harness.now).expect("its own storage");
    assert_eq!(client.at(), at(50), "a gateway that is not as far yet is not taken");
}

#[test]
fn a_call_in_a_short_loss_of_the_link_waits_for_its_data() {
    let mut harness = Harness::new();
    harness.mutator("read", |tx| tx.row(notes(), &key(1)).map(drop).map_err(Stop::from));
    harness.connect();
    harness.disconnect();
    let soon = harness.mutate("read");
    assert!(matches!(harness.last_status(soon), MutationStatus::Pending(_)), "the next try may succeed");
    harness.pass(Duration::from_secs(1));
    harness.disconnect();
    let later = harness.mutate("read");
    assert!(matches!(harness.last_status(later), MutationStatus::Cancelled { .. }), "there is no connection");
}

#[test]
fn what_was_taken_back_is_told_once_a_restart_cannot_bring_it_back() {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    let counter = harness.mutate("hit");
    harness.stores = false;
    assert!(harness.client.cancel(counter));
    harness.settle();
    assert_eq!(harness.client.pending().count(), 0);
    assert!(matches!(harness.last_status(counter), MutationStatus::Pending(_)), "the disk still has it");
    harness.store();
    assert_eq!(*harness.last_status(counter), MutationStatus::Cancelled { reason: "taken back".into() });
    assert_eq!(harness.reopened().client.pending().count(), 0);
}

#[test]
fn attempts_of_two_lives_of_the_app_have_different_numbers() {
    let mut harness = Harness::new();
    harness.mutator("no", |_| Err(Stop::Abort("first life")));
    harness.connect();
    let counter = harness.mutate("no");
    let first = harness.take_submits()[0].attempt;
    let mut harness = harness.reopened();
    harness.mutator("no", |_| Err(Stop::Abort("second life")));
    harness.connect();
    let second = harness.take_submits()[0].attempt;
    assert!(second > first);
    // The first life's attempt is the one that was decided, and only that life knew why.
    harness.decide(counter, first.0, 20, vec![], Verdict::Aborted);
    let reason = "it was aborted before the app was started again".into();
    assert_eq!(*harness.last_status(counter), MutationStatus::Rejected { reason });
}

#[test]
fn nothing_is_submitted_before_a_restart_would_be_told_apart() {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.mutate("hit");
    let mut harness = harness.reopened();
    harness.stores = false;
    harness.connect();
    assert!(harness.take_submits().is_empty());
    harness.store();
    assert_eq!(harness.take_submits().len(), 1);
}

#[test]
fn a_link_that_is_reported_twice_stays() {
    let mut harness = Harness::new();
    harness.connect();
    harness.input(Input::Linked);
    assert_eq!(harness.connection(), Connection::Online);
    assert!(!harness.other.contains(&Output::Disconnect));
}

#[test]
fn a_token_that_was_set_meanwhile_is_tried_when_the_one_before_it_is_refused() {
    let goodbye = |retry_after| Goodbye { reason: GoodbyeReason::Unauthorized, message: "expired".into(), retry_after };
    let mut harness = Harness::new();
    harness.connect();
    let now = harness.now.instant;
    harness.client.set_token(now, "newer".into());
    harness.settle();
    harness.tell(FromGateway::Goodbye(goodbye(None)));
    assert_eq!(harness.connection(), Connection::Offline, "nobody has refused the newer one");
    harness.take_sent();
    harness.link();
    let sent = harness.take_sent();
    let [FromClient::Hello(hello)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(hello.token, "newer");
    harness.tell(FromGateway::Goodbye(goodbye(None)));
    assert!(matches!(harness.connection(), Connection::Refused { .. }), "now it was");
}

#[test]
fn a_reaction_that_waits_hears_that_the_app_wants_silence() {
    let mut harness = Harness::new();
    harness.connect();
    harness.disconnect();
    let reaction = harness.react(View::Optimistic, |tx| tx.cell(&hits(1)).map(drop).map_err(Stop::from));
    assert!(!harness.other.contains(&Output::Unavailable(reaction)), "the next try is likely to bring it");
    harness.client.go_offline();
    harness.settle();
    assert!(harness.other.contains(&Output::Unavailable(reaction)));
}

/// A reaction to the votes of a note that notes what it saw.
fn watch_votes(harness: &mut Harness, view: View) -> Rc<RefCell<Vec<Option<CellState>>>> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.react(view, move |tx| {
        log.borrow_mut().push(tx.cell(&hits(1))?);
        Ok(())
    });
    seen
}

fn vote() -> Write {
    Write { cell: hits(1), operation: Operation::Add(1) }
}

/// A client that has a mutator of votes, and holds a note without any.
fn voter() -> Harness {
    let mut harness = Harness::new();
    harness.mutator("vote", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    watch_votes(&mut harness, View::Confirmed);
    harness.load(10, &[]);
    harness
}

/// Its next life, with what that sees of the votes: welcomed, and waiting for what it missed.
fn welcomed_again(harness: Harness) -> (Harness, Rc<RefCell<Vec<Option<CellState>>>>) {
    let mut harness = harness.reopened();
    let seen = watch_votes(&mut harness, View::Optimistic);
    harness.link();
    harness.welcome(1);
    assert_eq!(harness.take_subscribed(true).len(), 1);
    (harness, seen)
}

#[test]
fn what_was_committed_in_an_earlier_life_is_not_shown_on_top_of_itself() {
    let mut harness = voter();
    let counter = harness.mutate("vote");
    assert_eq!(harness.take_submits().len(), 1);
    let (mut harness, seen) = welcomed_again(harness);
    harness.decide(counter, 1, 20, vec![vote()], Verdict::Committed(at(20)));
    assert_eq!(*seen.borrow(), [Some(CellState::Counter(1))], "before and after");
    assert_eq!(*harness.last_status(counter), MutationStatus::Confirmed { at: at(20) });
    assert!(harness.take_submits().is_empty());
}

/// As when the earlier life was told the end of the first, submitted the second, and was gone before it had stored that end.
#[test]
fn what_was_committed_behind_one_whose_end_was_not_stored_is_not_shown_on_top_of_itself() {
    let mut harness = voter();
    harness.disconnect();
    let first = harness.mutate("vote");
    let second = harness.mutate("vote");
    let (mut harness, seen) = welcomed_again(harness);
    harness.decide(second, 1, 20, vec![vote()], Verdict::Committed(at(20)));
    assert_eq!(*seen.borrow(), [Some(CellState::Counter(2))], "before and after: one of the two is pending");
    assert_eq!(*harness.last_status(second), MutationStatus::Confirmed { at: at(20) });
    let submits = harness.take_submits();
    assert_eq!(submits.iter().map(|submit| submit.counter).collect::<Vec<_>>(), [first]);
}

#[test]
fn nobody_waits_for_rows_to_be_on_the_disk_and_everybody_for_a_call() {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    harness.react(View::Confirmed, |tx| tx.row(notes(), &key(1)).map(drop).map_err(Stop::from));
    harness.awaited.clear();
    harness.load(10, &[(notes(), key(1), note_row("a title", 0))]);
    assert_eq!(std::mem::take(&mut harness.awaited), [false]);
    harness.mutate("hit");
    assert!(harness.awaited[0], "it is not sent before");
}

/// A crash brings back what was confirmed in a history that is lost, until that is stored, and it would be sent then, behind what was called after it.
#[test]
fn nothing_is_sent_to_another_history_before_what_ended_in_the_last_one_is_stored() {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    let first = harness.mutate("hit");
    let second = harness.mutate("hit");
    harness.holds_back = true;
    let change = Write { cell: hits(1), operation: Operation::Add(1) };
    harness.decide(first, 1, 10, vec![change], Verdict::Committed(at(10)));
    harness.disconnect();
    harness.take_submits();
    harness.link();
    harness.welcome(2);
    assert_eq!(harness.take_submits().len(), 0, "a crash brings the first one back");
    harness.take_held_back();
    let submitted: Vec<Counter> = harness.take_submits().iter().map(|submit| submit.counter).collect();
    assert_eq!(submitted, [second]);
}

#[test]
fn a_new_token_does_not_end_the_silence_that_the_app_asked_for() {
    let mut harness = Harness::new();
    harness.connect();
    harness.client.go_offline();
    harness.settle();
    harness.take_tried();
    harness.client.set_token(harness.now.instant, "newer".into());
    harness.pass(std::time::Duration::from_secs(60));
    assert_eq!((harness.connection(), harness.take_tried().len()), (Connection::Offline, 0));
    harness.client.go_online(harness.now.instant);
    harness.pass(std::time::Duration::from_secs(1));
    assert_eq!(harness.take_tried().len(), 1);
}
