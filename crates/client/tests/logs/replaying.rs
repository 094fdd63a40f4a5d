//! Operations: called, sent, appended, replayed.

use super::*;

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
