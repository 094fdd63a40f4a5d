//! The client's limits, met and passed by one. They are listed in docs/limits.md.

mod harness;

use std::sync::Arc;
use std::time::Duration;

use harness::{Harness, Stop, at, hits, key, note, notes};
use iolite_client::{CallError, Client, Connection, Limits, MutationStatus, Output, ReactionId, Run, RunError, View};
use iolite_machine::Machine;
use iolite_values::{ColumnId, Condition, Direction, Field, KeyRange, Operation, Query, Row, TableId, Test, Value};
use iolite_wire::message::{Advance, FromClient, RowSnapshot, Snapshot, Verdict};

fn cancelled(harness: &mut Harness, name: &str) -> Option<String> {
    let counter = harness.mutate(name);
    match harness.last_status(counter) {
        MutationStatus::Cancelled { reason } => Some(reason.clone()),
        MutationStatus::Pending(_) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn so_many_mutations_are_pending_and_no_more() {
    let mut harness = Harness::new();
    for _ in 0..Client::PENDING_MAX {
        harness.client.mutate(harness.now.wall, "hit", "{}").expect("there is room");
    }
    let error = harness.client.mutate(harness.now.wall, "hit", "{}");
    assert_eq!(error, Err(CallError::QueueFull { of: "mutations", limit: Client::PENDING_MAX }));
    let first = harness.client.pending().next().expect("many are").counter;
    assert!(harness.client.cancel(first));
    assert!(harness.client.mutate(harness.now.wall, "hit", "{}").is_ok(), "there is room again");
}

#[test]
fn the_calls_that_are_kept_have_so_many_bytes_and_no_more() {
    let limits = Limits { calls_bytes_max: 100, ..Limits::default() };
    let mut harness = Harness::with(limits);
    harness.mutator("give up", |_| Err(Stop::Abort("never")));
    let call = |harness: &mut Harness, bytes: usize| {
        let arguments = format!("\"{}\"", "x".repeat(bytes - "give up".len() - 2));
        harness.client.mutate(harness.now.wall, "give up", &arguments)
    };
    let full = CallError::QueueFull { of: "bytes of calls", limit: 100 };
    assert_eq!(call(&mut harness, 101), Err(full.clone()));
    let kept = call(&mut harness, 60).expect("there is room");
    assert_eq!(call(&mut harness, 41), Err(full.clone()));
    harness.settle();
    harness.connect();
    harness.decide(kept, 1, 10, Vec::new(), Verdict::Aborted);
    assert!(harness.client.pending().next().is_none(), "{:?}", harness.statuses);
    assert_eq!(call(&mut harness, 41), Err(full), "what was refused is kept");
    harness.client.dismiss(kept);
    assert!(call(&mut harness, 41).is_ok());
}

#[test]
fn a_run_writes_so_often_and_no_more() {
    let mut harness = Harness::new();
    let hit_often = |times: usize| {
        move |tx: &mut iolite_client::Transaction<'_>| {
            (0..times).try_for_each(|_| tx.write(hits(1), Operation::Add(1))).map_err(Stop::from)
        }
    };
    harness.mutator("most", hit_often(Run::WRITES_MAX)).mutator("more", hit_often(Run::WRITES_MAX + 1));
    assert_eq!(cancelled(&mut harness, "most"), None);
    let refused = RunError::TooLarge { what: "operations", limit: Run::WRITES_MAX };
    assert_eq!(cancelled(&mut harness, "more"), Some(refused.to_string()));
}

#[test]
fn a_run_writes_so_many_bytes_and_no_more() {
    let put = |bytes: usize| {
        move |tx: &mut iolite_client::Transaction<'_>| {
            let title = (ColumnId::of("title"), vec![Operation::Put(Value::from("x".repeat(bytes)))]);
            tx.insert(notes(), &key(1), [title].into()).map_err(Stop::from)
        }
    };
    let mut harness = Harness::new();
    // Creating the row, and naming it three times (whether it exists, its life, its title), take the rest.
    let around = 1 + 3 * key(1).as_bytes().len();
    harness.mutator("most", put(Run::BYTES_MAX - around)).mutator("more", put(Run::BYTES_MAX - around + 1));
    harness.connect();
    harness.react(View::Confirmed, |tx| tx.row(notes(), &key(1)).map(drop).map_err(Stop::from));
    harness.load(10, &[]);
    assert_eq!(cancelled(&mut harness, "most"), None);
    let mut harness = Harness::on(harness.storage);
    harness.mutator("more", put(Run::BYTES_MAX - around + 1));
    let refused = RunError::TooLarge { what: "bytes of operations and reads", limit: Run::BYTES_MAX };
    assert_eq!(cancelled(&mut harness, "more"), Some(refused.to_string()));
}

#[test]
fn a_run_reads_so_often_and_no_more() {
    let mut harness = Harness::new();
    harness.connect();
    let table = TableId::of("hits");
    harness
        .react(View::Confirmed, move |tx| tx.range(table, &KeyRange::all(), None, false).map(drop).map_err(Stop::from));
    harness.load(10, &[]);
    let read = |times: usize| {
        move |tx: &mut iolite_client::Transaction<'_>| {
            (0..times as i64).try_for_each(|id| tx.cell(&hits(id)).map(drop)).map_err(Stop::from)
        }
    };
    harness.mutator("most", read(Run::READS_MAX)).mutator("more", read(Run::READS_MAX + 1));
    assert_eq!(cancelled(&mut harness, "most"), None);
    let refused = RunError::TooLarge { what: "reads", limit: Run::READS_MAX };
    assert_eq!(cancelled(&mut harness, "more"), Some(refused.to_string()));
}

/// A client whose cache holds the table `hits` whole, so that closures may read it.
fn holding_hits() -> Harness {
    let mut harness = Harness::new();
    harness.connect();
    let all = |tx: &mut iolite_client::Transaction<'_>| {
        tx.range(TableId::of("hits"), &KeyRange::all(), None, false).map(drop).map_err(Stop::from)
    };
    harness.react(View::Confirmed, all);
    harness.load(10, &[]);
    harness
}

#[test]
fn the_largest_run_fits_a_frame() {
    let mut harness = holding_hits();
    harness.mutator("largest", |tx| {
        (0..Run::READS_MAX as i64).try_for_each(|id| tx.cell(&hits(id)).map(drop))?;
        (0..Run::WRITES_MAX as i64).try_for_each(|id| tx.write(hits(id), Operation::Add(i64::MIN))).map_err(Stop::from)
    });
    harness.mutate("largest");
    assert_eq!(harness.take_submits().len(), 1, "{:?}", harness.statuses.last());
}

#[test]
fn long_keys_of_reads_count_as_bytes() {
    let mut harness = holding_hits();
    let table = TableId::of("hits");
    harness.mutator("more", move |tx| {
        let bound = |number: u32| [&[7; 1000], number.to_be_bytes().as_slice()].concat();
        let range = |number: u32| KeyRange { lower: bound(number).into(), upper: Some(bound(number + 1).into()) };
        (0..1000).try_for_each(|number| tx.range(table, &range(number), None, false).map(drop)).map_err(Stop::from)
    });
    let refused = RunError::TooLarge { what: "bytes of operations and reads", limit: Run::BYTES_MAX };
    assert_eq!(cancelled(&mut harness, "more"), Some(refused.to_string()), "it would fit no frame");
}

#[test]
fn a_map_key_is_so_long_and_no_longer() {
    let mut harness = holding_hits();
    let longest = "k".repeat(1024);
    let longer = format!("{longest}k");
    let refused = RunError::TooLong { what: "the key of a map's entry", limit: 1024 }.to_string();
    let (one, two) = (longer.clone(), longer.clone());
    harness.mutator("read", move |tx| tx.entry(&note(1, "marks"), &one.as_str().into()).map(drop).map_err(Stop::from));
    assert_eq!(cancelled(&mut harness, "read"), Some(refused.clone()));
    let marks =
        move |key: String| (ColumnId::of("marks"), vec![Operation::PutEntry { key: key.into(), value: Value::Int(1) }]);
    let title = || (ColumnId::of("title"), vec![Operation::Put(Value::from("a"))]);
    harness.mutator("write", move |tx| {
        tx.insert(notes(), &key(1), [title(), marks(two.clone())].into()).map_err(Stop::from)
    });
    harness.mutator("fits", move |tx| {
        tx.insert(notes(), &key(2), [title(), marks(longest.clone())].into()).map_err(Stop::from)
    });
    harness.react(View::Confirmed, |tx| tx.range(notes(), &KeyRange::all(), None, false).map(drop).map_err(Stop::from));
    harness.load(20, &[]);
    assert_eq!(cancelled(&mut harness, "write"), Some(refused));
    assert_eq!(cancelled(&mut harness, "fits"), None);
}

#[test]
fn one_subscribe_names_so_many_interests_and_the_next_one_the_rest() {
    let mut harness = Harness::new();
    harness.link();
    for id in 0..1001 {
        harness.react(View::Confirmed, move |tx| tx.cell(&hits(id)).map(drop).map_err(Stop::from));
    }
    harness.take_sent();
    harness.welcome(1);
    let asked = harness.take_sent();
    let lengths: Vec<usize> = asked
        .iter()
        .map(|message| match message {
            FromClient::Subscribe(subscribe) => subscribe.interests.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lengths, [1000, 1]);
}

/// The most values that conditions of a query can name, all of one owner.
fn one_of_many(owner: usize) -> Query {
    let values = (0..Test::VALUES_MAX).map(|value| Value::from(format!("{value:02x}")));
    let field = Field::Cell { column: ColumnId::of("owner"), absent: Value::Null };
    let condition = |test| Condition { field: field.clone(), test };
    let mut conditions = vec![condition(Test::OneOf(values.collect())); Query::CONDITIONS_MAX - 1];
    conditions.push(condition(Test::NotEqual(Value::from(owner.to_string()))));
    Query { conditions, ..Query::all(TableId::of("tasks"), false) }
}

#[test]
fn queries_of_many_values_are_asked_for_in_messages_that_a_gateway_takes() {
    let mut harness = Harness::new();
    harness.link();
    for owner in 0..4 {
        let query = one_of_many(owner);
        harness.react(View::Confirmed, move |tx| {
            tx.query(&query, Direction::Ascending, None).map(drop).map_err(Stop::from)
        });
    }
    harness.welcome(1);
    assert_eq!(harness.connection(), Connection::Online);
    harness.load(10, &[]);
    harness.disconnect();
    harness.link();
    harness.welcome(1);
    assert_eq!(harness.take_subscribed(true).len(), 1, "the others fit no message that resumes");
    harness.advance(Advance { to: harness.client.at(), ..Advance::default() });
    assert_eq!(harness.take_subscribed(false).len(), 3);
    assert_eq!(harness.connection(), Connection::Online);
}

/// A screen of a query whose conditions take 60,000 bytes.
fn watch_large(harness: &mut Harness, number: usize) -> ReactionId {
    let field = Field::Cell { column: ColumnId::of("owner"), absent: Value::Null };
    let named = Condition { field, test: Test::NotEqual(Value::from(format!("{number:060000}"))) };
    let query = Query { conditions: vec![named], ..Query::all(TableId::of("tasks"), false) };
    harness.react(View::Confirmed, move |tx| tx.query(&query, Direction::Ascending, None).map(drop).map_err(Stop::from))
}

fn failures(harness: &Harness) -> Vec<(ReactionId, &str)> {
    let failed = harness.other.iter().filter_map(|output| match output {
        Output::ReactionFailed { reaction, message } => Some((*reaction, message.as_str())),
        _ => None,
    });
    failed.collect()
}

#[test]
fn a_clients_queries_take_so_many_bytes_and_who_asks_for_more_fails() {
    let mut harness = Harness::new();
    harness.connect();
    for number in 0..13 {
        watch_large(&mut harness, number);
    }
    harness.load(10, &[]);
    assert_eq!(failures(&harness), []);
    let last = watch_large(&mut harness, 13);
    let told = failures(&harness);
    assert!(matches!(told[..], [(id, message)] if id == last && message.contains("786432 bytes")), "{told:?}");
    assert_eq!((harness.take_subscribed(false).len(), harness.connection()), (0, Connection::Online));
    watch_large(&mut harness, 12);
    assert_eq!(failures(&harness).len(), 1, "what is held is asked for again");
}

#[test]
fn queries_that_nobody_needs_make_room_for_others() {
    let mut harness = Harness::new();
    harness.connect();
    for number in 0..30 {
        let id = watch_large(&mut harness, number);
        harness.load(10 + number as u64, &[]);
        harness.client.stop(id);
    }
    assert_eq!(failures(&harness), []);
    let ended = |message: &FromClient| if let FromClient::Unsubscribe(ids) = message { ids.len() } else { 0 };
    assert_eq!(harness.sent.iter().map(ended).sum::<usize>(), 30 - 13);
}

#[test]
fn what_makes_queries_too_large_as_they_are_answered_fails() {
    let mut harness = Harness::new();
    harness.connect();
    for number in 0..13 {
        watch_large(&mut harness, number);
    }
    harness.load(10, &[]);
    let title = |number: usize| Value::from(format!("{number:0250}"));
    let field = Field::Cell { column: ColumnId::of("owner"), absent: Value::Null };
    let id = harness.react(View::Confirmed, move |tx| {
        for number in 0..20 {
            let named = Condition { field: field.clone(), test: Test::NotEqual(title(number)) };
            let query = Query { conditions: vec![named], ..Query::all(TableId::of("tasks"), false) };
            drop(tx.query(&query, Direction::Ascending, Some(1)));
        }
        Ok(())
    });
    let asked = harness.take_subscribed(false);
    assert_eq!(asked.len(), 20);
    let reaches = |bound: u8| KeyRange { lower: Arc::from([]), upper: Some(vec![bound; 900].into()) };
    let row = RowSnapshot { table: TableId::of("tasks"), key: key(1), row: Row::from_parts(true, []) };
    let snapshots = asked.into_iter().map(|(subscription, _)| Snapshot {
        subscription,
        rows: vec![row.clone()],
        reaches: Some(Box::new(reaches(0xff))),
    });
    harness.advance(Advance { to: at(20), snapshots: snapshots.collect(), ..Advance::default() });
    let told = failures(&harness);
    assert!(matches!(told[..], [(failed, message)] if failed == id && message.contains("786432 bytes")), "{told:?}");
    assert_eq!(harness.connection(), Connection::Online);
}

#[test]
fn a_link_that_does_not_come_about_is_given_up_after_ten_seconds() {
    let mut harness = Harness::new();
    harness.pass(Duration::ZERO);
    assert_eq!(harness.connection(), Connection::Connecting);
    let due = harness.client.deadline().expect("it waits for the link");
    assert_eq!(due, harness.now.instant + Duration::from_secs(10));
    harness.pass(Duration::from_secs(10));
    assert_eq!(harness.connection(), Connection::Offline);
    assert!(harness.other.contains(&Output::Disconnect));
}

/// Whether docs/limits.md has a row with this limit and this value.
fn is_on_page(limit: &str, value: &str) -> bool {
    include_str!("../../../docs/limits.md").lines().any(|line| line.starts_with(&format!("| `{limit}` | {value} |")))
}

#[test]
fn the_page_has_these_values() {
    let limits = [
        ("Run::READS_MAX", Run::READS_MAX),
        ("Run::WRITES_MAX", Run::WRITES_MAX),
        ("Run::BYTES_MAX", Run::BYTES_MAX),
        ("Client::MISSES_MAX", Client::MISSES_MAX as usize),
        ("Client::PENDING_MAX", Client::PENDING_MAX),
        ("Client::ARGUMENTS_MAX", Client::ARGUMENTS_MAX),
        ("Client::CALLS_BYTES_MAX", Client::CALLS_BYTES_MAX),
        ("Client::UNACKNOWLEDGED_MAX", Client::UNACKNOWLEDGED_MAX as usize),
    ];
    for (name, value) in limits {
        assert!(is_on_page(&format!("client::{name}"), &value.to_string()), "{name}: {value}");
    }
}

/// Limits that nobody outside can name are compared with how they are declared.
#[test]
fn the_page_has_the_values_of_the_clients_own() {
    let session = include_str!("../src/session.rs");
    let link = include_str!("../src/session/link.rs");
    let storing = include_str!("../src/client/storing.rs");
    let resting = include_str!("../src/client/resting.rs");
    let causal = include_str!("../src/client/causal.rs");
    let leader = include_str!("../src/tabs/leader.rs");
    let (portions, interests) = (include_str!("../src/cache/portions.rs"), include_str!("../src/cache/interests.rs"));
    let joining = include_str!("../src/tabs/follower/joining.rs");
    let limits = [
        ("Ends::ENDS_MAX", "1000", "ENDS_MAX: usize = 1000;", include_str!("../src/tabs/leader/ends.rs")),
        ("Leader::PING_AFTER", "20s", "PING_AFTER: Duration = Duration::from_secs(20);", leader),
        ("Leader::ANSWER_WITHIN", "15s", "ANSWER_WITHIN: Duration = Duration::from_secs(15);", leader),
        ("JOIN_AGAIN_AFTER", "1s", "JOIN_AGAIN_AFTER: Duration = Duration::from_secs(1);", joining),
        ("LEADER_SILENT_AFTER", "150s", "LEADER_SILENT_AFTER: Duration = Duration::from_secs(150);", joining),
        ("Interests::IDLE_MAX", "256", "IDLE_MAX: usize = 256;", interests),
        ("Cache::BYTES_MAX", "67108864", "BYTES_MAX: usize = 64 * 1024 * 1024;", include_str!("../src/cache/room.rs")),
        ("SUBSCRIBE_PART", "1000", "SUBSCRIBE_PART: usize = 1000;", portions),
        ("SUBSCRIBE_BYTES", "524288", "SUBSCRIBE_BYTES: usize = 512 * 1024;", portions),
        ("SUBSCRIBE_PARTS", "12288", "SUBSCRIBE_PARTS: usize = 12 * 1024;", portions),
        ("Interests::TOTAL_MAX", "4096", "TOTAL_MAX: usize = limits::SUBSCRIPTIONS.most;", interests),
        ("Interests::QUERIES_BYTES_MAX", "786432", "QUERIES_BYTES_MAX: usize = 768 * 1024;", interests),
        ("RESERVE", "1024", "RESERVE: u64 = 1024;", storing),
        ("ACKNOWLEDGE_WITHIN", "200ms", "ACKNOWLEDGE_WITHIN: Duration = Duration::from_millis(200);", storing),
        ("LINK_WITHIN", "10s", "LINK_WITHIN: Duration = Duration::from_secs(10);", session),
        ("CHOICE_WITHIN", "2s", "CHOICE_WITHIN: Duration = Duration::from_secs(2);", session),
        ("PROBE_AFTER", "500ms", "PROBE_AFTER: Duration = Duration::from_millis(500);", session),
        ("PROBE_WITHIN", "1s", "PROBE_WITHIN: Duration = Duration::from_secs(1);", session),
        ("PROBES_MAX", "120", "PROBES_MAX: u32 = 120;", link),
        ("LATE_AFTER", "100ms", "LATE_AFTER: Duration = Duration::from_millis(100);", link),
        ("SLOW_LINE_BYTES", "32768", "SLOW_LINE_BYTES: usize = 32 * 1024;", link),
        ("PART_WITHIN", "8s", "PART_WITHIN: Duration = Duration::from_secs(8);", link),
        ("WORKED_AFTER", "1s", "WORKED_AFTER: Duration = Duration::from_secs(1);", session),
        ("PING_AFTER", "10s", "PING_AFTER: Duration = Duration::from_secs(10);", session),
        ("ANSWER_WITHIN", "15s", "ANSWER_WITHIN: Duration = Duration::from_secs(15);", session),
        ("RETRY_FIRST", "100ms", "RETRY_FIRST: Duration = Duration::from_millis(100);", session),
        ("RETRY_LAST", "10s", "RETRY_LAST: Duration = Duration::from_secs(10);", session),
        ("GREETED_AGAIN_AFTER", "10s", "GREETED_AGAIN_AFTER: Duration = Duration::from_secs(10);", causal),
        ("CONFLICT_FIRST", "500us", "CONFLICT_FIRST: Duration = Duration::from_micros(500);", resting),
        ("CONFLICT_LAST", "100ms", "CONFLICT_LAST: Duration = Duration::from_millis(100);", resting),
    ];
    for (name, value, declared, source) in limits {
        assert!(source.contains(&format!("const {declared}")), "{name} is declared otherwise now");
        assert!(is_on_page(&format!("client::{name}"), value), "{name}: {value}");
    }
}
