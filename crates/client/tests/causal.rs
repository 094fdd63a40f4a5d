//! Tables that merge: calls that take place at the device, and how they go to the store.

mod harness;

use std::collections::BTreeMap;
use std::time::Duration;

use harness::{Harness, Stop, at, config, key};
use iolite_client::{Connection, Content, Input, MutationStatus, Pending, RunOf, Transaction, View};
use iolite_machine::WallTime;
use iolite_values::{
    Attempt, Cell, CellState, ClientId, ColumnId, Counter, Decision, Effect, HybridTime, Id, Lives, Mark, Operation,
    Row, StoreIncarnation, TableId, Value, Write,
};
use iolite_wire::client_storage::Bound;
use iolite_wire::message::{Advance, FromGateway, Outcome, ProtocolVersion, Verdict, Welcome};

const SCHEMA: &str = r#"{"tables":{
  "people":{"columns":{"id":{"type":"int"},"born":{"type":"int","default":0},"status":{"type":"register","of":"string"},"friends":{"type":"set","of":"int"},"visits":{"type":"counter"}},"key":["id"],"consistency":"causal","onConflict":"merge"},
  "hits":{"columns":{"id":{"type":"int"},"value":{"type":"counter"}},"key":["id"],"live":true}}}"#;

fn people() -> TableId {
    TableId::of("people")
}

fn person(id: i64, column: &str) -> Cell {
    Cell { table: people(), row: key(id), column: ColumnId::of(column) }
}

fn hits() -> Cell {
    Cell { table: TableId::of("hits"), row: key(1), column: ColumnId::of("value") }
}

fn join(tx: &mut Transaction<'_>, id: i64) -> Result<(), Stop> {
    let status = (ColumnId::of("status"), vec![Operation::Assign(Value::from("new"))]);
    Ok(tx.insert(people(), &key(id), Content::from([status]))?)
}

fn with_mutators(mut harness: Harness) -> Harness {
    harness.mutator("join", |tx| join(tx, 1));
    harness.mutator("visit", |tx| Ok(tx.write(person(1, "visits"), Operation::Add(1))?));
    harness.mutator("say", |tx| Ok(tx.write(person(1, "status"), Operation::Assign(Value::from("at sea")))?));
    harness.mutator("say more", |tx| Ok(tx.write(person(1, "status"), Operation::Assign(Value::from("in port")))?));
    harness.mutator("part", |tx| Ok(tx.write(person(1, "friends"), Operation::Remove(Value::Int(7)))?));
    harness.mutator("leave", |tx| Ok(tx.delete(people(), &key(1))?));
    harness.mutator("look", |tx| {
        tx.row(people(), &key(1))?;
        Err(Stop::Abort("seen enough"))
    });
    harness.mutator("count", |tx| {
        let visits = tx.cell(&person(1, "visits"))?;
        let CellState::Counter(visits) = visits.unwrap_or(CellState::Counter(0)) else { panic!("a counter") };
        Ok(tx.write(hits(), Operation::Add(visits))?)
    });
    harness
}

fn app() -> Harness {
    with_mutators(Harness::with_schema(SCHEMA))
}

/// The same app, opened again.
fn opened(storage: BTreeMap<Vec<u8>, Vec<u8>>) -> Harness {
    Harness::on_with_schema(storage, SCHEMA)
}

/// A row as effects of others left it: one life, which is named 1, with a status, a friend and three visits.
fn loaded() -> Row {
    let mut row = Row::default();
    let stamp = iolite_values::Stamp { time: HybridTime(5_000_000), mark: Mark(2) };
    for (column, effect) in [
        (ColumnId::ROW, Lives::insertion(Mark(1))),
        (ColumnId::of("status"), Effect::Assign { stamp, value: Value::from("old") }),
        (ColumnId::of("friends"), Effect::Insert { value: Value::Int(7), mark: Mark(3) }),
        (ColumnId::of("visits"), Effect::Add { life: Mark(1), amount: 3 }),
    ] {
        row.apply(column, &Operation::Merge(effect.into())).expect("its type");
    }
    row
}

/// An app that holds row 1, as others left it.
fn app_with_row() -> Harness {
    let mut harness = app();
    harness.connect();
    harness.react(View::Optimistic, |tx| Ok(tx.row(people(), &key(1)).map(drop)?));
    harness.load(10, &[(people(), key(1), loaded())]);
    harness
}

fn shown(harness: &mut Harness) -> Option<(CellState, CellState)> {
    let seen = std::rc::Rc::new(std::cell::RefCell::new(None));
    let of_run = seen.clone();
    harness.react(View::Optimistic, move |tx| {
        let row = tx.row(people(), &key(1))?;
        let cell = |row: &Row, column| row.cell(ColumnId::of(column)).cloned().unwrap_or(CellState::Counter(0));
        *of_run.borrow_mut() = row.map(|row| (cell(&row, "status"), cell(&row, "visits")));
        Ok(())
    });
    seen.take()
}

fn said(status: &str, visits: i64) -> Option<(CellState, CellState)> {
    Some((CellState::Register(Value::from(status)), CellState::Counter(visits)))
}

fn effects(writes: &[Write]) -> Vec<Effect> {
    let effect = |write: &Write| match &write.operation {
        Operation::Merge(effect) => (**effect).clone(),
        other => panic!("{other:?} is no effect"),
    };
    writes.iter().map(effect).collect()
}

fn committed(decision: &Decision) -> &[Write] {
    match decision {
        Decision::Commit(writes) => writes,
        Decision::Abort(reason) => panic!("{reason}"),
    }
}

fn times(writes: &[Write]) -> Vec<HybridTime> {
    effects(writes).iter().filter_map(Effect::time).collect()
}

fn welcome(clock_micros: u64) -> FromGateway {
    let (store, version) = (StoreIncarnation(Id::from_u128(1)), ProtocolVersion::CURRENT);
    FromGateway::Welcome(Welcome {
        version,
        store,
        resumed: true,
        clock_micros: Some(clock_micros),
        centre: None,
        moved: false,
        client: config("ann").fresh_client,
        subject: None,
        token_left: None,
    })
}

#[test]
fn a_call_takes_place_offline_and_is_sent_as_it_was_stored() {
    let mut harness = app();
    harness.mutate("join");
    let visit = harness.mutate("visit");
    let Pending { durable, sent, .. } = pending(&harness, visit);
    assert!(durable && !sent);
    assert_eq!(shown(&mut harness), said("new", 1));

    // Without its mutators nothing can run again, and nothing has to.
    let mut harness = opened(harness.storage);
    assert_eq!(shown(&mut harness), said("new", 1));
    harness.connect();
    let submits = harness.take_submits();
    assert_eq!(submits.iter().map(|submit| submit.counter).collect::<Vec<_>>(), [Counter(1), Counter(2)]);
    assert_eq!(submits[1].follows, Some(Counter(1)));
    assert!(submits.iter().all(|submit| submit.reads.is_empty()));
    let added = effects(committed(&submits[1].decision));
    assert!(matches!(added[..], [Effect::Touch { .. }, Effect::Add { amount: 1, .. }]), "{added:?}");
    assert_eq!(harness.runs_of(RunOf::Mutation(visit)), 0);

    // After a conflict the same effects are sent again.
    let conflict = |submit: &iolite_wire::message::Submit| Outcome {
        counter: submit.counter,
        attempt: submit.attempt,
        verdict: Verdict::Conflict(at(20)),
    };
    harness.advance(Advance { to: at(20), outcomes: submits.iter().map(conflict).collect(), ..Advance::default() });
    harness.pass(Duration::from_secs(1));
    let again = harness.take_submits();
    let decisions = |submits: &[iolite_wire::message::Submit]| -> Vec<Decision> {
        submits.iter().map(|submit| submit.decision.clone()).collect()
    };
    assert_eq!(decisions(&again), decisions(&submits));
    assert_eq!(pending(&harness, visit).centres, 0);
    harness.tell(FromGateway::Stored(visit));
    assert!(matches!(pending(&harness, visit), Pending { sent: true, centres: 1, .. }));
    let outcome = |submit: &iolite_wire::message::Submit| Outcome {
        counter: submit.counter,
        attempt: submit.attempt,
        verdict: Verdict::Committed(at(25 + submit.counter.0)),
    };
    harness.advance(Advance { to: at(30), outcomes: again.iter().map(outcome).collect(), ..Advance::default() });
    assert_eq!(*harness.last_status(visit), MutationStatus::Confirmed { at: at(27) });
}

fn pending(harness: &Harness, counter: Counter) -> Pending {
    match harness.last_status(counter) {
        MutationStatus::Pending(pending) => pending.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn effects_say_what_their_writer_saw() {
    let mut harness = app_with_row();
    for call in ["visit", "say", "part", "leave"] {
        harness.mutate(call);
    }
    let submits = harness.take_submits();
    let made: Vec<Vec<Effect>> = submits.iter().map(|submit| effects(committed(&submit.decision))).collect();
    let [visit, say, part, leave] = &made[..] else { panic!("{made:?}") };
    let touched = |effects: &[Effect]| match &effects[0] {
        Effect::Touch { life, mark, seen } => (*life, *mark, seen.clone()),
        other => panic!("{other:?}"),
    };
    // Each keeps the row in its life, by a mark in place of the one before it.
    let (life, first, seen) = touched(visit);
    assert_eq!((life, seen), (Mark(1), [Mark(1)].into()));
    assert_eq!(visit[1], Effect::Add { life: Mark(1), amount: 1 });
    assert_eq!(touched(say).2, [first].into());
    // The device's clock is behind what the register has: the stamp is above that all the same.
    assert_eq!(say[1].time(), Some(HybridTime(5_000_001)));
    assert_eq!(part[1], Effect::Remove { value: Value::Int(7), seen: [Mark(3)].into() });
    assert_eq!(leave[..], [Effect::Bury { seen: [touched(part).1].into() }]);
    assert_eq!(shown(&mut harness), None);
}

#[test]
fn a_run_keeps_a_row_in_its_lives_once() {
    let mut harness = app_with_row();
    harness.mutator("visit twice", |tx| {
        tx.write(person(1, "visits"), Operation::Add(1))?;
        Ok(tx.write(person(1, "visits"), Operation::Add(1))?)
    });
    harness.mutator("join two and visit", |tx| {
        join(tx, 2)?;
        Ok(tx.write(person(2, "visits"), Operation::Add(1))?)
    });
    harness.mutate("visit twice");
    harness.mutate("join two and visit");
    for submit in harness.take_submits() {
        let made = effects(committed(&submit.decision));
        assert_eq!(made.iter().filter(|effect| effect.is_of_lives()).count(), 1, "{made:?}");
    }
}

#[test]
fn an_insertion_after_a_deletion_begins_anew() {
    let mut harness = app_with_row();
    harness.mutate("leave");
    let join = harness.mutate("join");
    assert_eq!(shown(&mut harness), said("new", 0));
    let submit = harness.take_submits().pop().expect("the insertion");
    assert_eq!(submit.counter, join);
    let made = effects(committed(&submit.decision));
    assert!(made[0].is_insertion(), "{made:?}");
    assert!(made.contains(&Effect::Remove { value: Value::Int(7), seen: [Mark(3)].into() }), "{made:?}");
    assert_eq!(made.iter().filter_map(Effect::time).count(), 2, "its scalar and its register are assigned");
}

#[test]
fn what_took_place_is_not_taken_back() {
    let mut harness = app();
    let join = harness.mutate("join");
    assert!(!harness.client.cancel(join));
    assert_eq!(harness.client.pending().count(), 1);
}

#[test]
fn one_that_gives_up_on_rows_that_merge_ends_at_once() {
    let mut harness = app();
    harness.mutate("join");
    let look = harness.mutate("look");
    assert_eq!(*harness.last_status(look), MutationStatus::Rejected { reason: "seen enough".into() });
    harness.connect();
    assert_eq!(harness.take_submits().len(), 1);
}

#[test]
fn so_many_are_sent_ahead_and_the_others_wait() {
    let mut harness = app();
    harness.mutate("join");
    for _ in 0..200 {
        harness.mutate("visit");
    }
    assert_eq!(shown(&mut harness), said("new", 200));
    harness.connect();
    let submits = harness.take_submits();
    assert_eq!(submits.len(), 128);
    let first = Outcome { counter: Counter(1), attempt: submits[0].attempt, verdict: Verdict::Committed(at(20)) };
    harness.advance(Advance { to: at(20), outcomes: vec![first], ..Advance::default() });
    assert_eq!(harness.take_submits().len(), 1);
}

/// A call that waited for data takes place after others that were made later, and were sent meanwhile.
#[test]
fn one_that_waited_for_data_takes_its_place_before_later_ones() {
    let mut harness = app();
    harness.connect();
    let early = harness.mutate("visit");
    assert!(pending(&harness, early).waits_for_data);
    harness.mutator("join two", |tx| join(tx, 2));
    harness.mutator("visit two", |tx| Ok(tx.write(person(2, "visits"), Operation::Add(1))?));
    harness.mutate("join two");
    for _ in 0..150 {
        harness.mutate("visit two");
    }
    assert_eq!(harness.take_submits().len(), 128);
    harness.load(10, &[(people(), key(1), loaded())]);
    let submits = harness.take_submits();
    assert_eq!(submits.iter().map(|submit| submit.counter).collect::<Vec<_>>(), [early]);
    let added = effects(committed(&submits[0].decision));
    assert!(added.contains(&Effect::Add { life: Mark(1), amount: 1 }), "{added:?}");
}

#[test]
fn a_strong_mutation_waits_for_what_it_has_read() {
    let mut harness = app_with_row();
    let visit = harness.mutate("visit");
    let count = harness.mutate("count");
    let submits = harness.take_submits();
    assert_eq!(submits.iter().map(|submit| submit.counter).collect::<Vec<_>>(), [visit]);
    let changes = committed(&submits[0].decision).to_vec();
    let outcome = Outcome { counter: visit, attempt: Attempt(1), verdict: Verdict::Committed(at(20)) };
    harness.advance(Advance { to: at(20), changes, outcomes: vec![outcome], ..Advance::default() });
    let submits = harness.take_submits();
    assert_eq!(submits.iter().map(|submit| submit.counter).collect::<Vec<_>>(), [count]);
    assert_eq!(committed(&submits[0].decision)[0].operation, Operation::Add(4));
}

#[test]
fn a_transaction_of_effects_has_so_many_bytes() {
    let mut harness = app();
    harness.mutate("join");
    let long = |bytes: usize| Operation::Assign(Value::from("x".repeat(bytes).as_str()));
    let limit = Effect::TRANSACTION_BYTES_MAX;
    harness.mutator("much", move |tx| Ok(tx.write(person(1, "status"), long(limit - 200))?));
    harness.mutator("more", move |tx| Ok(tx.write(person(1, "status"), long(limit))?));
    let much = harness.mutate("much");
    assert!(pending(&harness, much).durable);
    let more = harness.mutate("more");
    let MutationStatus::Cancelled { reason } = harness.last_status(more) else { panic!("it is refused") };
    assert!(reason.contains("split it"), "{reason}");
}

/// The device's clock is a century ahead. What it wrote offline gets times that a gateway takes, in order, and is stored before it is sent.
#[test]
fn times_that_a_gateway_would_refuse_are_lowered_before_they_are_sent() {
    let mut harness = app();
    let server = harness.now.wall.as_micros() + 60_000_000;
    harness.now.wall = WallTime::from_micros(server + 3_000_000_000_000_000);
    for call in ["join", "say", "say more"] {
        harness.mutate(call);
    }
    harness.stores = false;
    harness.link();
    harness.tell(welcome(server));
    assert_eq!(harness.take_submits().len(), 0, "they are not stored yet");
    harness.store();
    let submits = harness.take_submits();
    let sent: Vec<HybridTime> = submits.iter().flat_map(|submit| times(committed(&submit.decision))).collect();
    assert_eq!(sent.len(), 4);
    assert!(sent.is_sorted() && sent.windows(2).all(|two| two[0] < two[1]), "{sent:?}");
    assert!(sent.iter().all(|time| *time <= HybridTime::last_at(server)), "{sent:?}");
    assert_eq!(shown(&mut harness), said("in port", 0));
    // From now on the server's clock is known.
    harness.stores = true;
    harness.mutate("say");
    let last = times(committed(&harness.take_submits().remove(0).decision));
    assert!(last[0] <= HybridTime::last_at(server) && last[0] > sent[3], "{last:?}");
    let mut again = opened(harness.storage);
    again.link();
    again.tell(welcome(server));
    again.advance(Advance { to: again.client.at(), ..Advance::default() });
    let kept: Vec<HybridTime> =
        again.take_submits().iter().flat_map(|submit| times(committed(&submit.decision))).collect();
    assert_eq!(kept[..4], sent[..], "what may have been sent is sent unchanged");
}

/// The call waited for data, and the clock was set right meanwhile.
#[test]
fn a_call_of_a_clock_that_was_set_back_has_a_time_that_a_gateway_takes() {
    let mut harness = app();
    let server = harness.now.wall.as_micros() + 60_000_000;
    harness.connect();
    harness.now.wall = WallTime::from_micros(server + 3_600_000_000);
    harness.mutate("say");
    harness.now.wall = WallTime::from_micros(server);
    harness.disconnect();
    harness.link();
    harness.tell(welcome(server));
    harness.advance(Advance { to: harness.client.at(), ..Advance::default() });
    harness.load(10, &[(people(), key(1), loaded())]);
    let sent = times(committed(&harness.take_submits().remove(0).decision));
    assert!(sent[0] <= HybridTime::last_at(server), "{sent:?}");
}

/// One call has a time that a gateway takes, though it is ahead. The later one has none, and stands above it all the same.
#[test]
fn a_lowered_time_stands_above_those_that_may_have_been_sent() {
    let mut harness = app();
    let server = harness.now.wall.as_micros() + 60_000_000;
    harness.now.wall = WallTime::from_micros(server + 5_000_000);
    harness.mutate("join");
    harness.mutate("say");
    harness.now.wall = WallTime::from_micros(server + 3_600_000_000);
    harness.mutate("say more");
    harness.link();
    harness.tell(welcome(server));
    let submits = harness.take_submits();
    let sent: Vec<HybridTime> = submits.iter().flat_map(|submit| times(committed(&submit.decision))).collect();
    assert!(sent.is_sorted() && sent[2] < sent[3], "{sent:?}");
    assert_eq!(shown(&mut harness), said("in port", 0));
}

/// Links and greets, with the server's clock.
fn greet(harness: &mut Harness, clock_micros: u64) {
    harness.link_is_there();
    harness.tell(welcome(clock_micros));
    if !harness.take_subscribed(true).is_empty() || harness.connection() != Connection::Online {
        harness.advance(Advance { to: harness.client.at(), ..Advance::default() });
    }
}

/// The times that were sent, of all submissions.
fn sent_times(harness: &mut Harness) -> Vec<HybridTime> {
    harness.take_submits().iter().flat_map(|submit| times(committed(&submit.decision))).collect()
}

const HOUR: u64 = 3_600_000_000;

/// The call was not sent, so the store need not record that it took no effect. A later life would find the call, and take it for one that may take place.
#[test]
fn a_call_that_waited_for_data_and_gives_up_after_a_restart_ends_without_the_store() {
    let mut harness = app();
    harness.connect();
    harness.mutate("look");
    let mut harness = with_mutators(opened(harness.storage));
    harness.connect();
    let look = Counter(1);
    assert!(!harness.client.pending().next().expect("it waits for its row").status.sent);
    harness.stores = false;
    harness.load(10, &[(people(), key(1), loaded())]);
    assert_eq!(harness.take_submits().len(), 0);
    assert_eq!(harness.client.pending().count(), 0);
    assert!(harness.statuses.iter().all(|(_, status)| matches!(status, MutationStatus::Pending(_))), "not stored yet");
    harness.store();
    assert_eq!(*harness.last_status(look), MutationStatus::Rejected { reason: "seen enough".into() });
}

/// A strong mutation that waited for data is stored as one that was not sent. It is stored as another before it is.
#[test]
fn what_was_stored_as_unsent_is_stored_anew_before_it_is_sent() {
    let mut harness = app();
    harness.connect();
    harness.mutate("count");
    harness.stores = false;
    harness.load(10, &[(people(), key(1), loaded())]);
    assert_eq!(harness.take_submits().len(), 0);
    assert!(pending(&harness, Counter(1)).durable, "a restart finds it either way");
    harness.store();
    assert_eq!(harness.take_submits().len(), 1);

    // Its next run writes a table that merges. It may be committed as it was: so it does not take place, and the store is asked.
    let mut harness = opened(harness.storage);
    harness.mutator("count", |tx| Ok(tx.write(person(1, "visits"), Operation::Add(1))?));
    harness.connect();
    let submits = harness.take_submits();
    assert!(matches!(&submits[0].decision, Decision::Abort(reason) if reason.contains("same tables")), "{submits:?}");
}

#[test]
fn the_durable_view_keeps_a_call_whose_times_are_lowered() {
    let mut harness = app();
    let server = harness.now.wall.as_micros() + 60_000_000;
    harness.now.wall = WallTime::from_micros(server + HOUR);
    harness.mutate("join");
    let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let of_run = seen.clone();
    harness.react(View::Durable, move |tx| {
        let row = tx.row(people(), &key(1));
        of_run.borrow_mut().push(matches!(row, Ok(Some(_))));
        Ok(row.map(drop)?)
    });
    harness.stores = false;
    harness.pass(Duration::from_secs(11));
    greet(&mut harness, server);
    assert_eq!(harness.take_submits().len(), 0, "it is not stored yet");
    assert!(harness.client.pending().all(|own| own.status.durable));
    harness.store();
    assert_eq!(harness.take_submits().len(), 1);
    assert!(seen.borrow().iter().all(|is_there| *is_there), "{seen:?}");
}

/// The times of a call are lowered while it is on its way to the disk. A later one, which has seen it, is not shown before it.
#[test]
fn the_durable_view_shows_calls_in_their_order_while_times_are_lowered() {
    let mut harness = app();
    let server = harness.now.wall.as_micros() + 60_000_000;
    harness.now.wall = WallTime::from_micros(server + HOUR);
    harness.stores = false;
    harness.mutate("join");
    harness.mutate("visit");
    let stored = std::mem::take(&mut harness.unstored);
    harness.pass(Duration::from_secs(11));
    greet(&mut harness, server);
    stored.into_iter().for_each(|id| harness.input(Input::Persisted(id)));
    let durable: Vec<bool> = harness.client.pending().map(|own| own.status.durable).collect();
    assert_eq!((durable, harness.take_submits().len()), (vec![true, true], 0));
    harness.store();
    assert_eq!(harness.take_submits().len(), 2);
}

/// The clock is set an hour ahead after the welcome. Nothing is sent with such a time: the server's clock is asked for once more, and not at once again.
#[test]
fn a_clock_that_is_set_during_a_session_is_noticed_before_anything_is_sent() {
    let mut harness = app();
    let server = harness.now.wall.as_micros() + 60_000_000;
    harness.pass(Duration::from_secs(11));
    greet(&mut harness, server);
    harness.take_tried();
    harness.now.wall = WallTime::from_micros(server + HOUR);
    harness.mutate("join");
    assert_eq!((harness.take_submits().len(), harness.take_tried().len()), (0, 0), "it has just been greeted");
    assert_eq!(harness.connection(), Connection::Online);
    harness.pass(HybridTime::AHEAD_MAX);
    harness.pass(Duration::ZERO);
    assert_eq!((harness.take_submits().len(), harness.take_tried().len()), (0, 1));
    greet(&mut harness, server + 11_000_000);
    let sent = sent_times(&mut harness);
    assert!(!sent.is_empty() && sent.iter().all(|time| *time <= HybridTime::last_at(server + 11_000_000)), "{sent:?}");
}

/// Likewise, and the app is started again before that.
#[test]
fn a_call_of_a_clock_that_was_set_gets_another_time_also_after_a_restart() {
    let mut harness = app();
    let server = harness.now.wall.as_micros() + 60_000_000;
    harness.pass(Duration::from_secs(11));
    greet(&mut harness, server);
    harness.mutator("join two", |tx| join(tx, 2));
    harness.mutate("join two");
    assert_eq!(harness.take_submits().len(), 1);
    harness.now.wall = WallTime::from_micros(server + HOUR);
    harness.mutate("join");
    let mut harness = opened(harness.storage);
    harness.pass(Duration::from_secs(11));
    greet(&mut harness, server);
    let sent = sent_times(&mut harness);
    assert!(sent.len() == 4 && sent.iter().all(|time| *time <= HybridTime::last_at(server)), "{sent:?}");
}

/// The writer saw a time that another gateway took. It is stored as one that was not sent, and as another before it is.
#[test]
fn a_call_above_a_time_that_is_too_far_ahead_waits_for_the_clock() {
    let mut harness = app_with_row();
    harness.pass(Duration::from_secs(11));
    harness.disconnect();
    let server = 60_000_000;
    harness.pass(Duration::from_secs(11));
    greet(&mut harness, server);
    let stamp = iolite_values::Stamp { time: HybridTime(server + 15_000_000), mark: Mark(8) };
    let assigned = Effect::Assign { stamp, value: Value::from("ahead") };
    let changes = vec![Write { cell: person(1, "status"), operation: Operation::Merge(assigned.into()) }];
    harness.advance(Advance { to: at(20), changes, ..Advance::default() });
    harness.mutate("say");
    assert_eq!(sent_times(&mut harness), []);
    harness.stores = false;
    harness.pass(Duration::from_secs(6));
    assert_eq!((sent_times(&mut harness), harness.connection()), (vec![], Connection::Online));
    harness.store();
    assert_eq!(sent_times(&mut harness), [stamp.time.next()]);
}

/// One gateway's clock is half a minute ahead, and it was told of a time that the next one does not take yet.
#[test]
fn what_was_sent_waits_unchanged_for_a_clock_that_is_behind() {
    let mut harness = app();
    let server = harness.now.wall.as_micros() + 60_000_000;
    harness.now.wall = WallTime::from_micros(server + 30_000_000);
    harness.mutate("join");
    harness.pass(Duration::from_secs(11));
    greet(&mut harness, server + 30_000_000);
    let first = sent_times(&mut harness);
    harness.disconnect();
    let mut again = opened(harness.storage.clone());
    again.mutator("say", |tx| Ok(tx.write(person(1, "status"), Operation::Assign(Value::from("at sea")))?));
    for harness in [&mut harness, &mut again] {
        harness.pass(Duration::from_secs(11));
        greet(harness, server);
        assert_eq!(sent_times(harness), [], "not yet");
        harness.take_tried();
        harness.pass(Duration::from_secs(10));
        assert_eq!((sent_times(harness), harness.take_tried().len()), (vec![], 0), "still not, by the same link");
        harness.answer_pings();
        harness.pass(Duration::from_secs(10));
        assert_eq!(sent_times(harness), first);
    }
}

/// The device was offline with a clock that is ahead, and its app was started again.
#[test]
fn what_was_never_sent_gets_other_times_also_after_a_restart() {
    let mut harness = app();
    let server = harness.now.wall.as_micros() + 60_000_000;
    harness.now.wall = WallTime::from_micros(server + HOUR);
    harness.mutate("join");
    let mut harness = opened(harness.storage);
    harness.pass(Duration::from_secs(11));
    greet(&mut harness, server);
    let sent = sent_times(&mut harness);
    assert!(!sent.is_empty() && sent.iter().all(|time| *time <= HybridTime::last_at(server)), "{sent:?}");

    // Called in a session that was lost at once, so it may have been sent. And one that was called afterwards.
    harness.now.wall = WallTime::from_micros(server);
    harness.disconnect();
    harness.now.wall = WallTime::from_micros(server + HOUR);
    harness = with_mutators(harness);
    harness.mutate("say");
    let mut harness = opened(harness.storage);
    let unsent: Vec<bool> = harness.client.pending().map(|own| !own.status.sent).collect();
    assert_eq!(unsent, [false, true]);
    harness.pass(Duration::from_secs(11));
    greet(&mut harness, server);
    let again = sent_times(&mut harness);
    assert!(again[..sent.len()] == sent[..] && *again.last().expect("the last") <= HybridTime::last_at(server));
}

/// Or a restart would take what was sent for what was not.
#[test]
fn that_effects_may_be_sent_is_stored_before_they_are() {
    let mut harness = app();
    harness.mutate("join");
    harness.stores = false;
    harness.connect();
    assert_eq!(harness.take_submits().len(), 0);
    harness.store();
    assert_eq!(harness.take_submits().len(), 1);
}

/// Another device was nine seconds ahead, which the server took. This one saw that, and is further ahead.
#[test]
fn a_lowered_time_stands_above_the_one_that_its_writer_saw() {
    let mut harness = app_with_row();
    let server = 60_000_000;
    let stamp = iolite_values::Stamp { time: HybridTime(server + 9_000_000), mark: Mark(8) };
    let assigned = Effect::Assign { stamp, value: Value::from("ahead") };
    let changes = vec![Write { cell: person(1, "status"), operation: Operation::Merge(assigned.into()) }];
    harness.advance(Advance { to: at(20), changes, ..Advance::default() });
    harness.disconnect();
    harness.now.wall = WallTime::from_micros(server + HOUR);
    harness.mutate("say");
    harness.pass(Duration::from_secs(11));
    greet(&mut harness, server);
    let sent = sent_times(&mut harness);
    assert!(sent.len() == 1 && sent[0] > stamp.time && sent[0] <= HybridTime::last_at(server), "{sent:?}");
    assert_eq!(shown(&mut harness), said("at sea", 3));
}

#[test]
fn a_closure_works_offline_if_it_writes_tables_that_merge() {
    let mut harness = app();
    harness.mutator("closure", |tx| join(tx, 1));
    let call = |harness: &mut Harness| {
        let counter = harness.client.transact(harness.now.wall).expect("a table merges");
        harness.settle();
        counter
    };
    let merging = call(&mut harness);
    assert!(pending(&harness, merging).durable);
    harness.mutator("closure", |tx| Ok(tx.write(hits(), Operation::Add(1))?));
    let strong = call(&mut harness);
    let MutationStatus::Cancelled { reason } = harness.last_status(strong) else { panic!("it needs a connection") };
    assert!(reason.contains("give it a name"), "{reason}");
    let mut harness = opened(harness.storage);
    assert_eq!(shown(&mut harness), said("new", 0));
    assert_eq!(harness.client.pending().next().map(|own| own.name), Some(None));
    harness.connect();
    assert_eq!(harness.take_submits().len(), 1);
    let mut strong_only = Harness::new();
    assert!(strong_only.client.transact(strong_only.now.wall).is_err());
    strong_only.settle();
}

/// The link was lost between its call and its run. Such an end is the store's to record.
#[test]
fn a_strong_closure_that_gives_up_offline_waits_for_the_store() {
    for mut harness in [app(), Harness::new()] {
        harness.connect();
        harness.mutator("closure", |_| Err(Stop::Abort("no such account")));
        let counter = harness.client.transact(harness.now.wall).expect("online");
        harness.input(Input::LinkLost);
        assert!(pending(&harness, counter).would_reject.is_some());
    }
}

#[test]
fn what_does_not_fit_a_later_version_of_the_app_is_refused_and_kept() {
    let mut harness = app();
    harness.mutate("join");
    let visit = harness.mutate("visit");
    let narrower = SCHEMA.replace(r#","visits":{"type":"counter"}"#, "");
    let mut harness = Harness::on_with_schema(harness.storage, &narrower);
    harness.connect();
    let submits = harness.take_submits();
    assert!(matches!(submits[0].decision, Decision::Commit(_)));
    let Decision::Abort(reason) = &submits[1].decision else { panic!("it does not fit") };
    assert!(reason.contains("this version of the app"), "{reason}");
    let outcomes = vec![
        Outcome { counter: submits[0].counter, attempt: submits[0].attempt, verdict: Verdict::Committed(at(20)) },
        Outcome { counter: visit, attempt: submits[1].attempt, verdict: Verdict::Aborted },
    ];
    harness.advance(Advance { to: at(20), outcomes, ..Advance::default() });
    let refused: Vec<_> = harness.client.refused().map(|own| &*own.name).collect();
    assert_eq!(refused, ["visit"]);
}

#[test]
fn a_scalar_is_written_when_its_row_is_inserted() {
    let mut harness = app();
    harness.mutate("join");
    harness.mutator("born", |tx| Ok(tx.write(person(1, "born"), Operation::Put(Value::Int(1970)))?));
    let born = harness.mutate("born");
    let MutationStatus::Cancelled { reason } = harness.last_status(born) else { panic!("it is refused") };
    assert!(reason.contains("make it a register"), "{reason}");
}

const USER: Bound = Bound { client: ClientId(Id::from_u128(1001)), subject: Some(Id::from_u128(1)) };

#[test]
fn effects_are_the_same_whoever_the_device_is_known_as() {
    let sent = [None, Some(USER)].map(|user| {
        let mut harness = app();
        harness.mutate("join");
        harness.user = user;
        harness.connect();
        harness.mutate("visit");
        let sent: Vec<Decision> = harness.take_submits().into_iter().map(|submit| submit.decision).collect();
        assert_eq!(sent.len(), 2);
        sent
    });
    assert_eq!(sent[0], sent[1]);
}

#[test]
fn effects_that_may_have_been_sent_under_another_id_are_in_doubt_and_others_go_out() {
    let mut harness = app();
    harness.connect();
    let sent = harness.mutate("join");
    harness.disconnect();
    let unsent = harness.mutate("visit");
    harness.take_submits();
    harness.user = Some(USER);
    harness.connect();
    let submits = harness.take_submits();
    assert_eq!(submits.iter().map(|submit| submit.counter).collect::<Vec<_>>(), [unsent]);
    assert!(matches!(harness.last_status(sent), MutationStatus::Quarantined { .. }));
}
