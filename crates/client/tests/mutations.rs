//! The life of a mutation: optimistic, durable, submitted, confirmed; rejected; rebased; across restarts.

mod harness;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use harness::{Harness, Stop, at, config, hit, hits, key, note, note_row, notes, title_put};
use iolite_client::{CallError, Client, Connection, Input, MutationStatus, OpenError, RunOf, View};
use iolite_values::{
    Attempt, Cell, CellState, ColumnId, Counter, Decision, Element, Operation, Read, TableId, Timestamp, Value,
};
use iolite_wire::message::{Advance, FromClient, FromGateway, Goodbye, GoodbyeReason, Outcome, Rejection, Verdict};

fn counting() -> Harness {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness
}

fn read_hits(harness: &mut Harness, view: View) -> Rc<RefCell<Vec<Option<i64>>>> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.react(view, move |tx| {
        let count = match tx.cell(&hits(1))? {
            Some(CellState::Counter(count)) => Some(count),
            _ => None,
        };
        log.borrow_mut().push(count);
        Ok(())
    });
    seen
}

#[test]
fn a_mutation_is_sent_only_once_it_is_durable() {
    let mut harness = counting();
    harness.connect();
    harness.stores = false;
    let counter = harness.mutate("hit");
    assert!(harness.take_submits().is_empty(), "it is not on disk yet");
    assert!(matches!(harness.last_status(counter), MutationStatus::Pending(pending) if !pending.durable));
    harness.store();
    let submits = harness.take_submits();
    assert_eq!(submits.len(), 1);
    assert_eq!((submits[0].counter, submits[0].attempt), (counter, Attempt(1)));
    assert_eq!(submits[0].decision, Decision::Commit(vec![hit(1, 1)]));
    assert!(submits[0].reads.is_empty(), "an increment reads nothing");
}

#[test]
fn each_view_shows_its_own_stage() {
    let mut harness = counting();
    harness.connect();
    let views = [View::Optimistic, View::Durable, View::Confirmed].map(|view| read_hits(&mut harness, view));
    harness.load(10, &[]);
    harness.stores = false;
    let counter = harness.mutate("hit");
    let last = |at: usize| *views[at].borrow().last().expect("it ran");
    assert_eq!([last(0), last(1), last(2)], [Some(1), None, None], "only the optimistic view shows what is not stored");
    harness.store();
    assert_eq!([last(0), last(1), last(2)], [Some(1), Some(1), None]);
    harness.decide(counter, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    assert_eq!([last(0), last(1), last(2)], [Some(1), Some(1), Some(1)]);
    assert_eq!(*harness.last_status(counter), MutationStatus::Confirmed { at: at(20) });
    assert_eq!(views[0].borrow().len(), 2, "what the optimistic view shows did not change when it was confirmed");
}

#[test]
fn a_mutation_stays_pending_until_the_confirmed_state_contains_it() {
    let mut harness = counting();
    harness.connect();
    let seen = read_hits(&mut harness, View::Optimistic);
    harness.load(10, &[]);
    let counter = harness.mutate("hit");
    let outcome = Outcome { counter, attempt: Attempt(1), verdict: Verdict::Committed(at(20)) };
    harness.advance(Advance { to: at(10), outcomes: vec![outcome], ..Advance::default() });
    assert_eq!(harness.client.pending().count(), 1, "the outcome came before the state");
    assert_eq!(*seen.borrow(), [None, Some(1)]);
    harness.advance(Advance { to: at(20), changes: vec![hit(1, 1)], ..Advance::default() });
    assert_eq!(harness.client.pending().count(), 0);
    assert_eq!(*seen.borrow(), [None, Some(1)], "it never flickered");
}

#[test]
fn what_is_queued_survives_a_restart_and_is_sent_under_the_same_counter() {
    let mut harness = counting();
    let (first, second) = (harness.mutate("hit"), harness.mutate("hit"));
    let mut harness = harness.reopened();
    harness.connect();
    let seen = read_hits(&mut harness, View::Optimistic);
    let submits: Vec<Counter> = harness.take_submits().iter().map(|submit| submit.counter).collect();
    assert_eq!(submits, [first, second]);
    harness.load(10, &[]);
    assert_eq!(*seen.borrow(), [Some(2)]);
    harness.decide(first, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    assert_eq!(*seen.borrow(), [Some(2)]);
    assert!(harness.mutate("hit") > second, "a counter is never used twice");
}

#[test]
fn an_attempt_is_sent_again_unchanged_after_a_reconnection() {
    let mut harness = counting();
    harness.connect();
    harness.mutate("hit");
    let first = harness.take_submits();
    harness.disconnect();
    harness.connect();
    assert_eq!(harness.take_submits(), first);
}

#[test]
fn the_outcome_of_an_earlier_attempt_counts() {
    let mut harness = reading_title();
    let counter = harness.mutate("shout");
    harness.take_sent();
    harness.decide(counter, 1, 20, vec![], Verdict::Conflict(at(30)));
    harness.pass(Duration::from_secs(1));
    assert!(harness.take_submits().is_empty(), "the snapshot is too old for another attempt");
    harness.advance(Advance { to: at(30), changes: vec![title_put(1, "b")], ..Advance::default() });
    harness.pass(Duration::from_millis(1));
    let submits = harness.take_submits();
    assert_eq!((submits[0].attempt, submits[0].snapshot), (Attempt(2), at(30)));
    assert_eq!(submits[0].decision, Decision::Commit(vec![title_put(1, "b!")]), "it ran on the new state");
    harness.decide(counter, 1, 40, vec![title_put(1, "a!")], Verdict::Committed(at(40)));
    assert_eq!(*harness.last_status(counter), MutationStatus::Confirmed { at: at(40) });
}

/// A client that is connected, holds note 1 with title "a", and has a mutator that reads it.
fn reading_title() -> Harness {
    let mut harness = Harness::new();
    harness.mutator("shout", |tx| {
        let row = tx.row(notes(), &key(1))?.ok_or(Stop::Abort("gone"))?;
        let Some(CellState::Scalar(Value::String(title))) = row.cell(note(1, "title").column) else {
            return Err(Stop::Fail("no title"));
        };
        Ok(tx.write(note(1, "title"), Operation::Put(Value::from(format!("{title}!"))))?)
    });
    harness.mutator("vote", |tx| Ok(tx.write(note(1, "votes"), Operation::Add(1))?));
    harness.mutator("gone", |tx| match tx.exists(notes(), &key(1))? {
        true => Err(Stop::Abort("it is still there")),
        false => Ok(()),
    });
    harness.mutator("broken", |_| Err(Stop::Fail("a bug")));
    harness.connect();
    harness.react(View::Confirmed, |tx| tx.row(notes(), &key(1)).map(drop).map_err(Stop::from));
    harness.load(10, &[(notes(), key(1), note_row("a", 0))]);
    harness
}

#[test]
fn only_what_read_something_that_changed_runs_again() {
    let mut harness = reading_title();
    harness.stores = false;
    let (shout, vote) = (harness.mutate("shout"), harness.mutate("vote"));
    harness.runs.clear();
    harness.advance(Advance { to: at(20), changes: vec![title_put(1, "b")], ..Advance::default() });
    assert_eq!(harness.runs.iter().filter(|run| **run == RunOf::Mutation(shout)).count(), 1);
    assert_eq!(harness.runs.iter().filter(|run| **run == RunOf::Mutation(vote)).count(), 0, "it read no title");
    harness.runs.clear();
    harness.advance(Advance { to: at(30), ..Advance::default() });
    assert_eq!(harness.runs, [], "nothing changed");
}

#[test]
fn an_abort_is_final_only_when_it_was_validated() {
    let mut harness = reading_title();
    let counter = harness.mutate("gone");
    let pending = harness.client.pending().next().expect("it is pending");
    assert_eq!(pending.status.would_reject.as_deref(), Some("it is still there"));
    let submits = harness.take_submits();
    assert_eq!(submits[0].decision, Decision::Abort("it is still there".into()));
    assert_eq!(submits[0].reads.len(), 1, "the abort rests on what was read");
    harness.decide(counter, 1, 20, vec![], Verdict::Aborted);
    assert_eq!(*harness.last_status(counter), MutationStatus::Rejected { reason: "it is still there".into() });
    let mut harness = harness.reopened();
    assert_eq!(harness.client.refused().next().map(|refused| (refused.by_app, refused.counter)), Some((true, counter)));
    harness.client.dismiss(counter);
    harness.settle();
    assert_eq!(harness.reopened().client.refused().count(), 0);
}

#[test]
fn a_provisional_abort_may_come_to_nothing() {
    let mut harness = reading_title();
    harness.stores = false;
    harness.mutate("gone");
    let delete = iolite_values::Write { cell: iolite_values::Cell::row(notes(), key(1)), operation: Operation::Delete };
    harness.advance(Advance { to: at(20), changes: vec![delete], ..Advance::default() });
    harness.store();
    assert_eq!(harness.take_submits()[0].decision, Decision::Commit(vec![]));
}

#[test]
fn a_rejection_runs_dependents_again_and_drops_none() {
    let mut harness = reading_title();
    harness.stores = false;
    let (first, second) = (harness.mutate("shout"), harness.mutate("shout"));
    harness.store();
    harness.take_sent();
    harness.runs.clear();
    harness.decide(first, 1, 20, vec![], Verdict::Rejected(Rejection::Invalid("not so loud".into())));
    harness.store();
    assert_eq!(harness.runs.iter().filter(|run| **run == RunOf::Mutation(second)).count(), 1);
    assert_eq!(harness.take_submits()[0].decision, Decision::Commit(vec![title_put(1, "a!")]));
    let refused: Vec<_> = harness.client.refused().map(|refused| (refused.by_app, refused.reason.clone())).collect();
    assert_eq!(refused, [(false, "not so loud".to_owned())]);
}

#[test]
fn a_denial_is_kept_with_its_reason_and_so_is_one_of_which_an_earlier_session_was_told_why() {
    let mut harness = reading_title();
    harness.stores = false;
    let (first, second) = (harness.mutate("shout"), harness.mutate("shout"));
    harness.store();
    let denied = Rejection::Denied("table \"notes\": the rule \"update\" does not let this user".into());
    harness.decide(first, 1, 20, vec![], Verdict::Rejected(denied));
    harness.store();
    harness.take_submits();
    harness.decide(second, 1, 30, vec![], Verdict::Aborted);
    harness.store();
    let refused: Vec<_> = harness.client.refused().map(|refused| (refused.by_app, refused.reason.clone())).collect();
    let reason = "denied: table \"notes\": the rule \"update\" does not let this user".to_owned();
    assert_eq!(
        refused,
        [(false, reason), (false, "the server has refused it, and told an earlier session why".to_owned())]
    );
}

#[test]
fn a_first_run_that_fails_never_began() {
    let mut harness = reading_title();
    let counter = harness.mutate("broken");
    assert_eq!(*harness.last_status(counter), MutationStatus::Cancelled { reason: "a bug".into() });
    assert_eq!(harness.client.pending().count(), 0);
    let unknown = harness.mutate("unheard of");
    let reason = "the app has no mutator \"unheard of\"".into();
    assert_eq!(*harness.last_status(unknown), MutationStatus::Cancelled { reason });
    assert!(harness.take_submits().is_empty());
}

#[test]
fn a_queued_mutation_whose_mutator_is_gone_is_kept_with_its_payload() {
    let mut harness = counting();
    let counter = harness.mutate("hit");
    let mut harness = Harness::on(harness.storage);
    harness.connect();
    let submits = harness.take_submits();
    assert!(
        matches!(submits[0].decision, Decision::Abort(_)),
        "it may have been sent before: the store has to record its end"
    );
    harness.decide(counter, submits[0].attempt.0, 20, vec![], Verdict::Aborted);
    assert!(matches!(harness.last_status(counter), MutationStatus::Quarantined { .. }));
    let refused = harness.client.refused().next().expect("it is kept");
    assert_eq!((&*refused.name, &*refused.arguments), ("hit", "{}"));
}

#[test]
fn what_was_never_sent_can_be_taken_back() {
    let mut harness = counting();
    let counter = harness.mutate("hit");
    assert!(harness.client.cancel(counter));
    assert!(!harness.client.cancel(counter));
    harness.settle();
    assert_eq!(harness.reopened().client.pending().count(), 0);
    let mut harness = counting();
    harness.connect();
    let counter = harness.mutate("hit");
    assert!(!harness.client.cancel(counter), "it was sent, and may have taken effect");
}

#[test]
fn acknowledgements_ride_with_the_next_submission_or_follow_alone() {
    let mut harness = counting();
    harness.connect();
    let first = harness.mutate("hit");
    harness.decide(first, 1, 20, vec![], Verdict::Committed(at(20)));
    harness.take_sent();
    harness.mutate("hit");
    assert_eq!(harness.take_submits()[0].acknowledged, Some(first));
    let second = Counter(first.0 + 1);
    harness.decide(second, 1, 30, vec![], Verdict::Committed(at(30)));
    assert_eq!(harness.take_sent(), []);
    harness.pass(Duration::from_secs(1));
    assert_eq!(harness.take_sent(), [FromClient::Acknowledge(second)]);
}

#[test]
fn only_what_is_stored_as_ended_is_acknowledged() {
    let mut harness = counting();
    harness.connect();
    let first = harness.mutate("hit");
    harness.stores = false;
    harness.mutate("hit");
    harness.decide(first, 1, 20, vec![], Verdict::Committed(at(20)));
    harness.mutate("hit");
    let [earlier, later] = harness.unstored[..] else { panic!("{:?}", harness.unstored) };
    harness.take_sent();
    harness.input(Input::Persisted(earlier));
    harness.pass(Duration::from_secs(1));
    harness.answer_pings();
    assert!(matches!(&harness.take_sent()[..], [FromClient::Submit(submit)] if submit.acknowledged.is_none()));
    harness.input(Input::Persisted(later));
    harness.pass(Duration::from_secs(1));
    harness.answer_pings();
    let sent = harness.take_sent();
    assert!(matches!(&sent[..], [FromClient::Submit(submit)] if submit.acknowledged == Some(first)), "{sent:?}");
}

#[test]
fn a_refused_token_holds_the_queue_until_there_is_another() {
    let mut harness = counting();
    harness.link();
    let message = "the token is wrong".to_owned();
    harness.tell(FromGateway::Goodbye(Goodbye {
        reason: GoodbyeReason::Unauthorized,
        message: message.clone(),
        retry_after: None,
    }));
    assert_eq!(harness.connection(), Connection::Refused { reason: GoodbyeReason::Unauthorized, message });
    harness.mutate("hit");
    harness.pass(Duration::from_secs(60));
    assert_eq!(harness.client.pending().count(), 1, "nothing is dropped");
    harness.client.set_token(harness.now.instant, "better".into());
    harness.take_sent();
    harness.link();
    assert!(matches!(&harness.take_sent()[..], [FromClient::Hello(hello)] if hello.token == "better"));
    harness.welcome(1);
    assert_eq!(harness.take_submits().len(), 1);
}

#[test]
fn nobodys_mutations_are_sent_as_somebody_elses() {
    let mut harness = counting();
    harness.mutate("hit");
    let entries: Vec<_> = harness.storage.clone().into_iter().collect();
    let error = Client::open(config("bob"), entries, harness.now).err();
    assert_eq!(error, Some(OpenError::OtherUser { stored: "ann".into(), asked: "bob".into() }));
}

#[test]
fn a_storage_that_cannot_be_read_is_refused() {
    let harness = counting().reopened();
    let mut headless = harness.storage.clone();
    headless.retain(|key, _| key[0] != b'm');
    headless.insert(vec![b'q', 0], vec![1, 2, 3]);
    assert!(matches!(Client::open(config("ann"), headless, harness.now), Err(OpenError::Unreadable(_))));
    let unknown = [(vec![b'?'], vec![])];
    assert!(matches!(Client::open(config("ann"), unknown, harness.now), Err(OpenError::UnknownKey(_))));
}

#[test]
fn calls_have_limits() {
    let mut harness = counting();
    let long = "x".repeat(Client::ARGUMENTS_MAX + 1);
    let error = harness.client.mutate(harness.now.wall, "hit", &long);
    assert_eq!(error, Err(CallError::TooLarge { what: "arguments", limit: Client::ARGUMENTS_MAX }));
    let name = "n".repeat(2000);
    assert!(matches!(
        harness.client.mutate(harness.now.wall, &name, "{}"),
        Err(CallError::TooLarge { what: "name", .. })
    ));
}

#[test]
fn an_empty_client_starts_at_zero() {
    assert_eq!(Harness::new().client.at(), Timestamp::ZERO);
}

#[test]
fn a_token_that_no_gateway_takes_is_told_to_the_app() {
    let mut harness = counting();
    harness.client.set_token(harness.now.instant, "x".repeat(100_000));
    harness.link();
    assert!(matches!(harness.connection(), Connection::Refused { reason: GoodbyeReason::Limit, .. }));
}

#[test]
fn what_an_earlier_life_may_have_sent_cannot_be_taken_back() {
    let mut harness = counting();
    let counter = harness.mutate("hit");
    let mut harness = harness.reopened();
    harness.settle();
    assert!(!harness.client.cancel(counter));
    assert!(harness.client.pending().next().is_some_and(|pending| pending.status.sent), "nobody knows that it was not");
}

#[test]
fn a_mutation_that_is_given_up_may_turn_out_to_have_taken_effect() {
    let mut harness = counting();
    let counter = harness.mutate("hit");
    let mut harness = Harness::on(harness.storage);
    harness.connect();
    harness.decide(counter, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    assert_eq!(*harness.last_status(counter), MutationStatus::Confirmed { at: at(20) });
    assert_eq!(harness.client.refused().count(), 0);
}

#[test]
fn a_table_may_refuse_changes_without_a_connection() {
    let mut harness = Harness::new();
    let cell = iolite_values::Cell { table: iolite_values::TableId::of("online"), ..hits(1) };
    harness.mutator("count", move |tx| Ok(tx.write(cell.clone(), Operation::Add(1))?));
    let counter = harness.mutate("count");
    assert!(
        matches!(harness.last_status(counter), MutationStatus::Cancelled { reason } if reason.contains("\"online\", which it writes, takes no changes"))
    );
    harness.connect();
    harness.mutate("count");
    assert_eq!(harness.take_submits().len(), 1);
}

/// What is read of others' and of one's own, in a table of snapshots: only the latter is validated, unless a strict table is touched too.
#[test]
fn only_what_its_level_guards_is_submitted() {
    let value = |row| Cell { table: TableId::of("levels"), row: key(row), column: ColumnId::of("value") };
    let mut harness = reading_title();
    harness.mutator("copy", move |tx| {
        tx.cell(&value(1))?;
        tx.cell(&value(2))?;
        Ok(tx.write(value(2), Operation::Put(Value::Int(1)))?)
    });
    harness.mutator("copy title", move |tx| {
        tx.cell(&note(1, "title"))?;
        tx.cell(&value(1))?;
        Ok(tx.write(value(2), Operation::Put(Value::Int(1)))?)
    });
    for row in [1, 2] {
        harness.react(View::Confirmed, move |tx| tx.cell(&value(row)).map(drop).map_err(Stop::from));
    }
    harness.react(View::Confirmed, |tx| tx.cell(&note(1, "title")).map(drop).map_err(Stop::from));
    harness.load(20, &[]);
    let read = |cell| Read::Cell { cell, element: Element::Whole };
    let counter = harness.mutate("copy");
    assert_eq!(harness.take_submits()[0].reads, [read(value(2))]);
    harness.decide(counter, 1, 30, vec![], Verdict::Committed(at(30)));
    harness.mutate("copy title");
    let mut reads = harness.take_submits()[0].reads.clone();
    reads.sort_unstable();
    let mut all = vec![read(value(1)), read(note(1, "title"))];
    all.sort_unstable();
    assert_eq!(reads, all);
}

/// A crash brings back what was taken back until that is stored, and it would be sent then, behind what was called after it.
#[test]
fn what_is_behind_a_mutation_that_was_taken_back_waits_until_that_is_stored() {
    let mut harness = counting();
    let first = harness.mutate("hit");
    let second = harness.mutate("hit");
    harness.holds_back = true;
    assert!(harness.client.cancel(first));
    harness.connect();
    assert_eq!(harness.take_submits().len(), 0, "a crash brings the first one back");
    harness.take_held_back();
    let submitted: Vec<Counter> = harness.take_submits().iter().map(|submit| submit.counter).collect();
    assert_eq!(submitted, [second]);
}

#[test]
fn a_mutation_that_waits_for_what_cannot_come_goes_on_when_it_needs_something_else() {
    let mut harness = Harness::new();
    harness.mutator("point", |tx| Ok(tx.write(hits(1), Operation::Add(30))?));
    harness.mutator("follow", |tx| {
        let at = match tx.cell(&hits(1))? {
            Some(CellState::Counter(at)) => at,
            _ => 0,
        };
        tx.cell(&hits(10 + at))?;
        Ok(tx.write(hits(2), Operation::Add(1))?)
    });
    harness.connect();
    harness.react(View::Confirmed, |tx| {
        tx.cell(&hits(1))?;
        tx.cell(&hits(10))?;
        Ok(())
    });
    harness.load(10, &[]);
    harness.load(11, &[]);
    harness.stores = false;
    let first = harness.mutate("point");
    // The link is there when it is called, and gone before what it lacks has come.
    let second = harness.mutate("follow");
    harness.client.go_offline();
    harness.settle();
    assert!(matches!(harness.last_status(second), MutationStatus::Pending(pending) if pending.waits_for_data));
    assert!(harness.client.cancel(first), "it was not sent");
    harness.settle();
    assert!(matches!(harness.last_status(second), MutationStatus::Pending(pending) if !pending.waits_for_data));
}
