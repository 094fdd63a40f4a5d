//! Queries after a restart, and after a session was lost.

use super::*;

const ASCENDING: Direction = Direction::Ascending;

#[test]
fn what_was_held_is_answered_offline_after_a_restart() {
    let rows: Vec<(i64, &str, i64)> = (0..60).map(|id| (id, "ann", id)).collect();
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows));
    watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    gateway.answer(&mut harness);
    gateway.commit(&mut harness, vec![delete(0)]);
    let mut harness = harness.reopened();
    iolite_machine::Machine::validate(&harness.client);
    let (_, seen) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    assert_eq!(last(&seen), [1, 2, 3, 4]);
    harness.link();
    harness.welcome(1);
    let resumed = harness.take_subscribed(true);
    assert!(matches!(&resumed[..], [(_, Interest::Query(query))] if query.range.upper.is_some()), "{resumed:?}");
    gateway.subscribed = resumed.into_iter().collect();
    let missed = gateway.written([create(99, "ann", -1), vec![delete(1)]].concat());
    gateway.tell(&mut harness, missed);
    assert_eq!(last(&seen), [99, 2, 3, 4], "what it missed meanwhile");
}

#[test]
fn a_query_with_a_row_that_may_be_stored_in_part_is_asked_for_again() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&[(1, "ann", 0), (2, "ann", 2), (3, "ben", 0)]));
    watch(&mut harness, View::Confirmed, by_stars(0, 5), ASCENDING, None);
    watch(&mut harness, View::Confirmed, of_owner("ben"), ASCENDING, None);
    harness.react(View::Confirmed, |tx| tx.cell(&cell(7, "owner")).map(drop).map_err(stopped));
    gateway.answer(&mut harness);
    // It exists with an owner, and as far as that goes with no stars: it has many.
    gateway.commit(&mut harness, create(7, "cid", 90));
    let mut harness = harness.reopened();
    let (_, of_ben) = watch(&mut harness, View::Confirmed, of_owner("ben"), ASCENDING, None);
    assert_eq!(last(&of_ben), [3], "this one cannot be meant");
    let (_, seen) = watch(&mut harness, View::Confirmed, by_stars(0, 5), ASCENDING, None);
    assert!(seen.borrow().is_empty());
    harness.connect();
    gateway.answer(&mut harness);
    assert_eq!(last(&seen), [1, 3, 2]);
    let harness = harness.reopened();
    iolite_machine::Machine::validate(&harness.client);
}

#[test]
fn a_gateway_that_cannot_resume_replaces_the_answer() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&[(1, "ann", 1), (2, "ann", 2), (3, "ben", 3)]));
    let (_, ann) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    let (_, stars) = watch(&mut harness, View::Confirmed, by_stars(0, 9), ASCENDING, None);
    gateway.answer(&mut harness);
    harness.disconnect();
    gateway.written(vec![put(1, "owner", "ben"), put(3, "owner", "ann"), delete(2)]);
    harness.link();
    harness.welcome(1);
    let asked = harness.take_subscribed(true);
    let snapshots = asked.iter().map(|(id, interest)| gateway.snapshot(*id, interest, None)).collect();
    gateway.tell(&mut harness, Advance { snapshots, ..Advance::default() });
    assert_eq!((last(&ann), last(&stars)), (vec![3], vec![1, 3]));
}

/// While the answers come one after the other, a row that the last one does not have any more is still held for it.
#[test]
fn answers_that_are_replaced_together_take_no_row_from_each_other_as_it_was() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&[(1, "cid", 20), (2, "ann", 2)]));
    let (_, ann) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    gateway.answer(&mut harness);
    harness.react(View::Confirmed, |tx| tx.cell(&cell(1, "votes")).map(drop).map_err(stopped));
    gateway.answer(&mut harness);
    let (_, stars) = watch(&mut harness, View::Confirmed, by_stars(0, 9), ASCENDING, None);
    gateway.answer(&mut harness);
    gateway.commit(&mut harness, vec![put(1, "owner", "ann"), put(1, "stars", Value::Int(5))]);
    assert_eq!((last(&ann), last(&stars)), (vec![2, 1], vec![2, 1]));
    harness.disconnect();
    gateway.written(vec![put(1, "owner", "ben"), put(1, "stars", Value::Int(20))]);
    harness.link();
    harness.welcome(1);
    let asked: BTreeMap<SubscriptionId, Interest> = harness.take_subscribed(true).into_iter().collect();
    let asked: Vec<_> = asked.into_iter().collect();
    assert!(
        matches!(asked[..], [(_, Interest::Query(_)), (_, Interest::Cell(_)), (_, Interest::Query(_))]),
        "{asked:?}"
    );
    let snapshots = asked.iter().map(|(id, interest)| gateway.snapshot(*id, interest, None)).collect();
    gateway.tell(&mut harness, Advance { snapshots, ..Advance::default() });
    assert_eq!((last(&ann), last(&stars)), (vec![2], vec![2]));
}

#[test]
fn what_was_asked_for_when_the_session_was_lost_is_asked_for_again_with_its_limit() {
    let rows: Vec<(i64, &str, i64)> = (0..60).map(|id| (id, "ann", id)).collect();
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows));
    let (_, seen) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    harness.take_sent();
    harness.disconnect();
    harness.connect();
    let asked = gateway.answer(&mut harness);
    assert!(matches!(asked[..], [(_, Some(First { rows: 14, .. }))]), "{asked:?}");
    assert_eq!(last(&seen), [0, 1, 2, 3]);
}
