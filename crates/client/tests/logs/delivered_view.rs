//! The delivered view of a log's tables: own operations are taken off from the first one on that is not delivered.

use super::*;

fn deliver(harness: &mut Harness, server: &mut Server, through: u64) {
    server.now += 1;
    harness.advance(Advance { to: at(server.now), delivered: Some(at(through)), ..Advance::default() });
}

fn deliver_all(harness: &mut Harness, server: &mut Server) {
    let all = server.now + 1;
    deliver(harness, server, all);
}

fn peeked(harness: &Harness, view: View) -> Option<i64> {
    let times = harness.client.peek(view, |tx| tx.cell(&times("B1"))).ok()?;
    match times {
        Some(CellState::Scalar(Value::Int(times))) => Some(times),
        _ => Some(0),
    }
}

/// The columns that the confirmed view has and the delivered one has not.
fn marked(harness: &Harness) -> Vec<String> {
    let found = harness.client.difference(View::Confirmed, View::Delivered, Some("cells")).expect("the view can tell");
    found.into_iter().map(|each| each.column).collect()
}

#[test]
fn an_own_operation_and_what_comes_behind_it_are_not_there_before_it_is_delivered() {
    let (mut harness, mut server) = joined();
    let [confirmed, delivered] = [View::Confirmed, View::Delivered].map(|view| watch(&mut harness, view));
    tell_other(&mut harness, &mut server, "count");
    assert_eq!((times_of(&confirmed), times_of(&delivered)), (1, 1), "nothing of this client is on its way");
    harness.operate(&budget(), "double");
    commit_one(&mut harness, &mut server);
    assert_eq!((times_of(&confirmed), times_of(&delivered)), (2, 1));
    assert_eq!((peeked(&harness, View::Delivered), marked(&harness)), (Some(1), vec!["times".to_owned()]));
    tell_other(&mut harness, &mut server, "count");
    tell_other(&mut harness, &mut server, "other");
    assert_eq!((times_of(&confirmed), times_of(&delivered), text_of(&delivered, "C1")), (3, 1, String::new()));
    deliver_all(&mut harness, &mut server);
    assert_eq!((times_of(&delivered), text_of(&delivered, "C1"), marked(&harness)), (3, "other".to_owned(), vec![]));
    assert_eq!(peeked(&harness, View::Delivered), Some(3));
}

/// One advance brings all of it, and yet the view ends at the entry before the first own one that is not delivered.
#[test]
fn the_view_is_exact_by_entry() {
    let (mut harness, mut server) = joined();
    let delivered = watch(&mut harness, View::Delivered);
    // The page is there, so one is sent ahead.
    tell_other(&mut harness, &mut server, "count");
    harness.operate(&budget(), "count");
    harness.operate(&budget(), "count");
    let submits = harness.take_submits();
    assert_eq!(submits.len(), 2);
    let client = harness.client.identity();
    let (mut changes, first) = server.commit(client, &submits[0]);
    let first_at = server.now;
    changes.extend(server.other("double"));
    let (more, second) = server.commit(client, &submits[1]);
    changes.extend(more);
    changes.extend(server.other("double"));
    let (to, outcomes) = (at(server.now), vec![first, second]);
    harness.advance(Advance { to, changes, outcomes, ..Advance::default() });
    assert_eq!((peeked(&harness, View::Confirmed), times_of(&delivered)), (Some(10), 1));
    deliver(&mut harness, &mut server, first_at);
    assert_eq!(times_of(&delivered), 4, "the first own one, and the other's behind it");
    deliver_all(&mut harness, &mut server);
    assert_eq!(times_of(&delivered), 10);
}

#[test]
fn an_operation_that_is_delivered_with_its_entry_or_that_gives_up_holds_nothing_back() {
    let (mut harness, mut server) = joined();
    let delivered = watch(&mut harness, View::Delivered);
    harness.operate(&budget(), "count");
    let submit = harness.take_submits().pop().expect("it is submitted");
    let (changes, outcome) = server.commit(harness.client.identity(), &submit);
    let (to, outcomes) = (at(server.now), vec![outcome]);
    harness.advance(Advance { to, changes, outcomes, delivered: Some(to), ..Advance::default() });
    assert_eq!(times_of(&delivered), 1);
    let rejected = harness.operate(&budget(), "onlyIfEmpty");
    let behind = harness.take_submits().pop().expect("it is submitted");
    let mut changes = server.other("other");
    changes.extend(server.append_behind(&harness, &behind));
    let outcomes = vec![server.outcome_of(&harness, &behind)];
    harness.advance(Advance { to: at(server.now), changes, outcomes, ..Advance::default() });
    assert!(matches!(harness.last_status(rejected), MutationStatus::Rejected { .. }));
    tell_other(&mut harness, &mut server, "count");
    assert_eq!(times_of(&delivered), 2);
}

#[test]
fn strong_tables_and_each_log_have_a_view_of_their_own() {
    let (hits, followed) = (r#""value":{"type":"counter"}},"#, r#""value":{"type":"counter"}},"delivered":true,"#);
    let mut harness = Harness::with_schema(&APP.replacen(hits, followed, 1));
    operations(&mut harness);
    harness.connect();
    harness.client.join("sheet", &Value::from("budget")).expect("the schema has it");
    let hit = Cell { table: TableId::of("hits"), row: harness::key(1), column: ColumnId::of("value") };
    let (seen, of_hit) = (Rc::new(RefCell::new(Vec::new())), hit.clone());
    let log = seen.clone();
    harness.react(View::Delivered, move |tx| {
        log.borrow_mut().push(matches!(tx.cell(&of_hit)?, Some(CellState::Counter(1))));
        Ok(())
    });
    harness.load(100, &[]);
    harness.take_sent();
    let (mut server, delivered) = (Server::default(), watch(&mut harness, View::Delivered));
    let strong = harness.mutate("hit");
    let submits = harness.take_submits().len();
    assert_eq!(submits, 1);
    server.now = 101;
    let changes = vec![Write { cell: hit, operation: Operation::Add(1) }];
    harness.decide(strong, 1, 101, changes, Verdict::Committed(at(101)));
    assert_eq!(seen.borrow().last(), Some(&false));
    tell_other(&mut harness, &mut server, "count");
    assert_eq!(times_of(&delivered), 1, "the log waits for no strong commit");
    harness.operate(&budget(), "count");
    commit_one(&mut harness, &mut server);
    assert_eq!((times_of(&delivered), seen.borrow().last()), (1, Some(&false)));
    deliver(&mut harness, &mut server, 101);
    assert_eq!((times_of(&delivered), seen.borrow().last()), (1, Some(&true)), "the strong one waits for no log");
    deliver_all(&mut harness, &mut server);
    assert_eq!(times_of(&delivered), 2);
}

#[test]
fn after_a_restart_the_view_is_not_held_until_the_gateway_says_that_all_is_delivered() {
    let (mut harness, mut server) = joined();
    harness.operate(&budget(), "count");
    commit_one(&mut harness, &mut server);
    let mut harness = Harness::on_with_schema(harness.storage, APP);
    operations(&mut harness);
    assert_eq!((peeked(&harness, View::Confirmed), peeked(&harness, View::Delivered)), (Some(1), None));
    assert!(harness.client.difference(View::Confirmed, View::Delivered, None).is_err());
    harness.connect();
    let before = server.now - 1;
    deliver(&mut harness, &mut server, before);
    assert_eq!(peeked(&harness, View::Delivered), None);
    deliver_all(&mut harness, &mut server);
    assert_eq!((peeked(&harness, View::Delivered), marked(&harness)), (Some(1), vec![]));
}

#[test]
fn a_log_that_is_left_and_joined_again_shows_nothing_of_what_was_kept() {
    let (mut harness, mut server) = joined();
    let counter = harness.operate(&budget(), "count");
    commit_one(&mut harness, &mut server);
    assert_eq!(peeked(&harness, View::Delivered), Some(0));
    harness.client.leave_log(&budget()).expect("nothing is pending");
    harness.settle();
    harness.client.join("sheet", &Value::from("budget")).expect("the schema has it");
    harness.settle();
    harness.load(server.now, &server.rows());
    assert_eq!((peeked(&harness, View::Confirmed), peeked(&harness, View::Delivered)), (Some(1), Some(1)));
    deliver_all(&mut harness, &mut server);
    assert!(harness.other.contains(&Output::Delivered(counter)), "its caller is told nevertheless");
}
