//! Histories with queries: what a watcher may miss and what not, and phantoms.

use std::sync::Arc;

use iolite_values::{ColumnId, Condition, Field, Query, TableId, Test};

use super::*;
use crate::app::run_call;

const JOBS: Watcher = Watcher::Queue { state: 0, least: 0, limit: None, reverse: false };

fn enqueue(key: i64) -> Call {
    Call::Enqueue { key, state: 0, rank: 1 }
}

/// What the closures of these calls write, one after the other.
fn writes_of(calls: &[Call]) -> Vec<Write> {
    let mut model = Model::default();
    calls.iter().for_each(|call| run_call(call, &mut model).expect("it does not abort"));
    model.take_written()
}

/// What the watcher sees after these calls.
fn jobs_after(calls: &[Call]) -> String {
    let mut model = Model::default();
    model.apply(&writes_of(calls));
    JOBS.run(&mut model).expect("nothing is missing in a model")
}

/// Calls that were all made, of which the first ones took effect, in this order.
fn jobs_history(calls: &[Call], committed: usize) -> History {
    let mut history = history(&[]);
    for (place, call) in calls.iter().enumerate() {
        let counter = place as u64 + 1;
        let called = Called { call: call.clone(), ..called(CalledAs::Named, 0) };
        history.calls.insert((CLIENT, Counter(counter)), called);
        if place < committed {
            let writes = writes_of(&calls[..=place]).split_off(writes_of(&calls[..place]).len());
            add_records(&mut history, store(1), issued(counter), Some(writes), counter * 10);
        }
    }
    history
}

fn seen_jobs(view: View, micros: u64, pending: &[u64], text: String) -> Sighting {
    let then = |counter: &u64| PendingThen { counter: Counter(*counter), durable: true, is_hidden: false };
    let pending = pending.iter().map(then).collect();
    Sighting { watcher: JOBS, pending, text, ..sighting(view, micros, 0) }
}

#[test]
fn an_answer_with_a_row_too_few_or_too_many_is_found() {
    let calls = [enqueue(1), enqueue(2)];
    let mut history = jobs_history(&calls, 2);
    for (micros, there) in [(10, 1), (19, 1), (20, 2)] {
        for seen in 0..=2 {
            let text = jobs_after(&calls[..seen]);
            history.sightings = vec![seen_jobs(View::Confirmed, micros, &[], text)];
            let expected = (seen != there).then_some(Invariant::ReactiveSnapshot);
            assert_eq!(violated(&history), expected, "{seen} jobs at {micros}");
        }
    }
}

#[test]
fn a_row_that_a_pending_mutation_changes_may_be_left_out_until_it_is_confirmed_and_no_other_row() {
    let calls = [enqueue(1), enqueue(2), Call::Promote { key: 1, rank: 3 }];
    let mut history = jobs_history(&calls, 3);
    let both = jobs_after(&calls);
    let without = |place| {
        let left = calls.iter().enumerate().filter(|(own, _)| *own != place && *own != 2).map(|(_, call)| call.clone());
        jobs_after(&left.collect::<Vec<_>>())
    };
    for (view, micros, pending, text, expected) in [
        (View::Optimistic, 20, &[3][..], both.clone(), None),
        (View::Optimistic, 20, &[3], without(0), None),
        (View::Optimistic, 20, &[3], without(1), Some(Invariant::ReactiveSnapshot)),
        (View::Confirmed, 30, &[], both, None),
        (View::Confirmed, 30, &[], without(0), Some(Invariant::ReactiveSnapshot)),
    ] {
        history.sightings = vec![seen_jobs(view, micros, pending, text)];
        assert_eq!(violated(&history), expected, "{:?}", history.sightings);
    }
}

#[test]
fn a_row_that_a_pending_mutation_created_is_never_left_out() {
    let calls = [enqueue(1), enqueue(2)];
    let mut history = jobs_history(&calls, 2);
    history.sightings = vec![seen_jobs(View::Optimistic, 10, &[2], jobs_after(&calls))];
    assert_eq!(violated(&history), None);
    history.sightings = vec![seen_jobs(View::Optimistic, 10, &[2], jobs_after(&calls[..1]))];
    assert_eq!(violated(&history), Some(Invariant::ReactiveSnapshot));
}

#[test]
fn a_phantom_is_found() {
    let calls = [enqueue(1), enqueue(2), enqueue(3)];
    let mut history = jobs_history(&calls, 2);
    assert_eq!(violated(&history), None);
    let third = writes_of(&[enqueue(3)]);
    add_records(&mut history, store(1), issued(3), Some(third), 30);
    assert_eq!(violated(&history), Some(Invariant::Serializability), "there were two already");
}

/// Jobs of the state 0 and a rank of 1 or more.
fn query() -> Read {
    let condition = |column, test| {
        let field = Field::Cell { column: ColumnId::of(column), absent: Value::Null };
        Condition { field, test }
    };
    let conditions =
        vec![condition("state", Test::Equal(Value::Int(0))), condition("rank", Test::AtLeast(Value::Int(1)))];
    Read::Query(Arc::new(Query { conditions, ..Query::all(TableId::of("jobs"), false) }))
}

#[test]
fn a_query_that_was_told_before_a_row_came_in_below_it_is_found() {
    let run = |state| {
        let mut history = History::default();
        history.identities.insert(client(), CLIENT);
        let put = |column, value| Write {
            cell: crate::app::cell("jobs", &[1], column),
            operation: Operation::Put(Value::Int(value)),
        };
        at_gateway_with(&mut history, 1, (vec![query()], vec![hit(1)]), 10, 20);
        at_gateway_with(&mut history, 2, (Vec::new(), vec![put("state", state), put("rank", 1)]), 12, 10);
        let commits = super::super::Commits::collect(&history, &history.stores[&store(1)]).expect("they are no two");
        super::super::strict::check(&history, store(1), &commits).err().map(|violation| violation.invariant)
    };
    assert_eq!(run(0), Some(Invariant::Strictness));
    assert_eq!(run(1), None, "all that it writes is judged together, and it does not come in");
}
