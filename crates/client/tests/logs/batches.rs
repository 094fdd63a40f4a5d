//! Entries of others that are replayed in batches.

use std::time::Duration;

use super::*;

const BATCH: Duration = Duration::from_millis(200);

fn batched() -> (Harness, Server) {
    let (mut harness, mut server) = joined();
    harness.client.rebase_every(&budget(), BATCH).expect("it is joined");
    harness.settle();
    // The first page is there, so that operations are sent ahead.
    tell_other(&mut harness, &mut server, "count");
    harness.pass(BATCH);
    (harness, server)
}

#[test]
fn entries_of_others_wait_for_the_end_of_a_batch_and_pending_operations_run_again_once() {
    let (mut harness, mut server) = batched();
    let [optimistic, confirmed] = [View::Optimistic, View::Confirmed].map(|view| watch(&mut harness, view));
    let counter = harness.operate(&budget(), "double");
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (2, 1));
    harness.runs.clear();
    for _ in 0..5 {
        tell_other(&mut harness, &mut server, "count");
        harness.pass(Duration::from_millis(10));
    }
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (2, 1), "they wait");
    assert_eq!(harness.runs_of(RunOf::Mutation(counter)), 0);
    harness.pass(BATCH);
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (12, 6));
    let own = harness.runs.iter().filter(|run| **run == RunOf::Mutation(counter)).count();
    let others = harness.runs.iter().filter(|run| matches!(run, RunOf::Replay(_))).count();
    assert_eq!((own, others / 5), (others / 5, others / 5), "it ran again once, and each of the five entries once");
}

#[test]
fn an_own_entry_that_is_next_does_not_wait_and_one_behind_others_does() {
    let (mut harness, mut server) = batched();
    let first = harness.operate(&budget(), "count");
    commit_one(&mut harness, &mut server);
    assert!(matches!(harness.last_status(first), MutationStatus::Confirmed { .. }));
    tell_other(&mut harness, &mut server, "count");
    let second = harness.operate(&budget(), "count");
    commit_one(&mut harness, &mut server);
    assert!(matches!(harness.last_status(second), MutationStatus::Pending(_)));
    harness.pass(BATCH);
    assert!(matches!(harness.last_status(second), MutationStatus::Confirmed { .. }));
}

#[test]
fn nothing_is_said_to_be_applied_before_the_batch_is_replayed() {
    let (mut harness, mut server) = batched();
    let changes = server.other("count");
    let to = at(server.now);
    harness.take_sent();
    harness.advance(Advance { to, changes, is_owed: true, ..Advance::default() });
    let said = |harness: &mut Harness| harness.take_sent().contains(&FromClient::Applied(to));
    assert!(!said(&mut harness));
    harness.pass(BATCH);
    assert!(said(&mut harness));
}

#[test]
fn a_batch_has_a_longest_time_and_is_of_a_log_that_is_joined() {
    let (mut harness, mut server) = joined();
    let longest = iolite_client::Client::REBASE_EVERY_MAX;
    assert_eq!(harness.client.rebase_every(&budget(), longest), Ok(()));
    let longer = longest + Duration::from_millis(1);
    let refused = harness.client.rebase_every(&budget(), longer);
    assert_eq!(refused, Err(LogError::BatchTooLong { given: longer, limit: longest }));
    let other = LogId::new("sheet", &Value::from("plan")).expect("short");
    assert_eq!(harness.client.rebase_every(&other, BATCH), Err(LogError::NotJoined { log: "sheet".into() }));
    // Zero: each entry as it comes.
    harness.client.rebase_every(&budget(), Duration::ZERO).expect("it is joined");
    let confirmed = watch(&mut harness, View::Confirmed);
    tell_other(&mut harness, &mut server, "count");
    assert_eq!(times_of(&confirmed), 1);
}

#[test]
fn a_log_that_stops_in_a_batch_holds_up_nothing_else() {
    let (mut harness, mut server) = batched();
    tell_other(&mut harness, &mut server, "fromTheFuture");
    harness.pass(BATCH);
    assert!(harness.client.logs().next().is_some_and(|log| log.stopped.is_some()));
    harness.take_sent();
    let to = at(server.now + 10);
    harness.advance(Advance { to, is_owed: true, ..Advance::default() });
    assert!(harness.take_sent().contains(&FromClient::Applied(to)));
    harness.client.rebase_every(&budget(), BATCH).expect("it is joined");
    harness.advance(Advance { to: at(server.now + 20), is_owed: true, ..Advance::default() });
    assert!(harness.take_sent().contains(&FromClient::Applied(at(server.now + 20))));
}
