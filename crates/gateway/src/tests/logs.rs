//! Logs at the gateway: what is taken of a client, and what the others are told.

use iolite_logs::{Page, append_to, origin_of};
use iolite_store::{Event, Refusal, Reply};
use iolite_values::{
    Cell, ColumnId, Counter, Decision, Id, Interest, LaneNumber, LogId, LogPages, Operation, Read, RowKey, TableId,
    Timestamp, Value, Write,
};
use iolite_wire::logs::LogEntry;
use iolite_wire::message::{FromClient, FromGateway, Rejection, Submit, Verdict};

use super::world::*;
use crate::Input;

/// A store whose schema has a log beside table `t`.
fn world() -> World {
    World::with_table(
        r#""cells":{"columns":{"sheet":{"type":"string"},"n":{"type":"counter"}},"key":["sheet"],"live":true,"consistency":"log","log":"sheet"}"#,
    )
}

/// The same, where two follow a log to which the first of them has appended once; and what was said of that.
fn begun() -> (World, Vec<Said>) {
    let mut world = world();
    join(&mut world, 1);
    join(&mut world, 2);
    let submit = submit_append(&world, 1, append(1, "budget"));
    world.say(1, submit);
    world.answer_all();
    world.publish();
    let said = world.take();
    (world, said)
}

fn log(instance: &str) -> LogId {
    LogId::new("sheet", &Value::from(instance)).expect("short")
}

fn pages(instance: &str) -> Interest {
    log(instance).pages(0, 8).expect("short")
}

fn entry(counter: u64) -> LogEntry {
    LogEntry {
        origin: None,
        counter: Counter(counter),
        called_at_micros: 1,
        seed: [1; 16],
        operation: "set".into(),
        version: 0,
        arguments: "{}".into(),
        turns: false,
    }
}

/// The first append of a log.
fn append(counter: u64, instance: &str) -> (Vec<Read>, Vec<Write>) {
    append_to(&log(instance), 0, Page::of(None), entry(counter)).expect("it is small")
}

/// The write that adds the first entry of a log.
pub fn first_append(instance: &str) -> Write {
    first_append_to(&log(instance))
}

pub fn first_append_to(log: &LogId) -> Write {
    let (_, writes) = append_to(log, 0, Page::of(None), entry(1)).expect("it is small");
    writes.into_iter().find(|write| write.cell.column == LogPages::entries_column()).expect("it adds an entry")
}

fn submit_append(world: &World, counter: u64, (reads, writes): (Vec<Read>, Vec<Write>)) -> FromClient {
    let (snapshot, decision, lane) = (world.position(), Decision::Commit(writes), LaneNumber(1));
    FromClient::Submit(Submit { snapshot, reads, decision, lane, ..blind(counter, Vec::new()) })
}

fn join(world: &mut World, session: u64) {
    world.open(session);
    world.say(session, FromClient::Hello(hello(session)));
    world.subscribe(session, vec![(1, pages("budget"))]);
    world.answer_all();
    world.take();
}

/// The verdict that a session was told of a mutation.
fn verdict(said: &[Said], session: u64, counter: u64) -> Option<Verdict> {
    said.iter().find_map(|said| match said {
        Said::To(to, FromGateway::Advance(advance)) if *to == session => {
            let own = advance.outcomes.iter().find(|outcome| outcome.counter == Counter(counter));
            own.map(|outcome| outcome.verdict.clone())
        }
        _ => None,
    })
}

#[test]
fn an_operation_comes_to_all_who_follow_its_log_and_says_who_made_it_but_not_which_client_it_is() {
    let (_, said) = begun();
    assert!(matches!(verdict(&said, 1, 1), Some(Verdict::Committed(_))));
    let told = said.iter().find_map(|said| match said {
        Said::To(2, FromGateway::Advance(advance)) => advance.changes.iter().find_map(|write| match &write.operation {
            Operation::Append { value: Value::Bytes(bytes), .. } => LogEntry::decode(bytes).ok(),
            _ => None,
        }),
        _ => None,
    });
    assert_eq!(told, Some(LogEntry { origin: Some(origin_of(client(1))), ..entry(1) }));
}

#[test]
fn of_two_who_append_at_once_to_a_page_that_is_there_none_waits_for_the_other() {
    let (mut world, _) = begun();
    // The page is there now, and both have seen it.
    let reads_and_writes = |counter| {
        let (reads, writes) = append(counter, "budget");
        (reads, writes.into_iter().filter(|write| write.operation != Operation::Create).collect())
    };
    for (session, counter) in [(1, 2), (2, 1)] {
        let submit = submit_append(&world, counter, reads_and_writes(counter));
        world.say(session, submit);
    }
    world.answer_all();
    world.publish();
    let said = world.take();
    assert!(matches!(verdict(&said, 1, 2), Some(Verdict::Committed(_))));
    assert!(matches!(verdict(&said, 2, 1), Some(Verdict::Committed(_))));
}

#[test]
fn an_append_to_a_page_without_room_conflicts_and_holds_up_what_follows_it() {
    let mut world = world();
    join(&mut world, 1);
    let first = submit_append(&world, 1, append(1, "budget"));
    let FromClient::Submit(behind) = submit_append(&world, 2, append(2, "budget")) else { panic!("a submission") };
    world.say(1, first);
    world.say(1, FromClient::Submit(Submit { follows: Some(Counter(1)), ..behind }));
    let (id, _) = world.asked.remove(0).expect("the first one");
    let page = log("budget").page(0).expect("short");
    let refusal = Refusal::RowTooLarge { table: LogPages::table(), key: page, bytes_max: 10 };
    world.input(Input::Store(Event::Reply(id, Reply::Refused(refusal))));
    assert!(world.asked.is_empty(), "what follows it is not tried");
    world.commit(vec![add(1, 1)]);
    let said = world.take();
    for counter in [1, 2] {
        let told = verdict(&said, 1, counter);
        assert!(matches!(told, Some(Verdict::Conflict(_))), "{counter}: {told:?}");
    }
}

#[test]
fn what_follows_one_that_has_seen_what_is_not_here_yet_is_held_up_as_well() {
    let mut world = world();
    join(&mut world, 1);
    let FromClient::Submit(first) = submit_append(&world, 1, append(1, "budget")) else { panic!("a submission") };
    world.say(1, FromClient::Submit(Submit { snapshot: Timestamp::MAX, ..first.clone() }));
    let FromClient::Submit(behind) = submit_append(&world, 2, append(2, "budget")) else { panic!("a submission") };
    world.say(1, FromClient::Submit(Submit { follows: Some(Counter(1)), ..behind }));
    assert!(world.asked.is_empty(), "the one that it follows did not commit");
    world.say(1, FromClient::Submit(Submit { attempt: first.attempt.next(), ..first }));
    assert_eq!(world.asked.len(), 1, "that one is tried again");
}

#[test]
fn what_is_no_append_of_its_own_call_is_rejected_and_nobody_is_told_of_it() {
    let mut world = world();
    join(&mut world, 1);
    join(&mut world, 2);
    let with = |changed: LogEntry| {
        let (reads, writes) = append_to(&log("budget"), 0, Page::of(None), changed).expect("it is small");
        (reads, writes)
    };
    let forged = {
        let (reads, mut writes) = append(1, "budget");
        let bytes = LogEntry { origin: Some(Id::from_u128(7)), ..entry(1) }.encode().expect("it is small");
        for write in &mut writes {
            if let Operation::Append { value, .. } = &mut write.operation {
                *value = Value::Bytes(bytes.clone().into());
            }
        }
        (reads, writes)
    };
    let page = log("budget").page(0).expect("short");
    let deleted = vec![Write { cell: Cell::row(LogPages::table(), page.clone()), operation: Operation::Delete }];
    let rewritten = vec![Write {
        cell: LogPages::entries(page.clone()),
        operation: Operation::SetAt { index: 0, value: Value::Bytes([1].as_slice().into()) },
    }];
    let closed = vec![Write { cell: LogPages::closed(page), operation: Operation::Put(Value::Bool(true)) }];
    let row = RowKey::new(&[Value::from("budget")]).expect("short");
    let of_table = Cell { table: TableId::of("cells"), row, column: ColumnId::of("n") };
    let table = vec![Write { cell: of_table, operation: Operation::Add(1) }];
    let two_logs = [append(1, "budget").1, append(1, "plan").1].concat();
    let with_strong = [append(1, "budget").1, vec![add(7, 1)]].concat();
    let tried = [
        ("another call's", with(entry(2))),
        ("another's name", forged),
        ("a page deleted", (Vec::new(), deleted)),
        ("an entry rewritten", (Vec::new(), rewritten)),
        ("closed without an entry", (Vec::new(), closed)),
        ("a table of the log", (Vec::new(), table)),
        ("two logs", (Vec::new(), two_logs)),
        ("a log and a strong table", (Vec::new(), with_strong)),
    ];
    for (number, (what, (reads, writes))) in tried.into_iter().enumerate() {
        let counter = number as u64 + 1;
        // The entries above are of call 1, but for what is wrong with them.
        let writes = if what == "another call's" || counter == 1 { writes } else { renumbered(writes, counter) };
        let submit = submit_append(&world, counter, (reads, writes));
        world.say(1, submit);
        world.answer_all();
        world.commit(vec![add(1, 1)]);
        let said = world.take();
        let told = verdict(&said, 1, counter);
        assert!(matches!(told, Some(Verdict::Rejected(Rejection::Invalid(_)))), "{what}: {told:?}");
        let others =
            said.iter().any(|said| matches!(said, Said::To(2, FromGateway::Advance(own)) if !own.changes.is_empty()));
        assert!(!others, "{what}: nobody else hears of it");
    }
}

fn renumbered(writes: Vec<Write>, counter: u64) -> Vec<Write> {
    let own = |write: Write| {
        let Operation::Append { value: Value::Bytes(bytes), order } = &write.operation else { return write };
        let Ok(entry) = LogEntry::decode(bytes) else { return write };
        let bytes = LogEntry { counter: Counter(counter), ..entry }.encode().expect("it is small");
        Write { operation: Operation::Append { value: Value::Bytes(bytes.into()), order: *order }, ..write }
    };
    writes.into_iter().map(own).collect()
}
