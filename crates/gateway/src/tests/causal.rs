//! Transactions of tables that merge: what a gateway hands over, and what it refuses.

use iolite_machine::WallTime;
use iolite_store::Request;
use iolite_values::{
    Cell, ColumnId, Decision, Effect, HybridTime, LaneNumber, Lives, Mark, Operation, Stamp, TableId, Value, Write,
};
use iolite_wire::message::{Advance, FromClient, FromGateway, Outcome, Rejection, Submit, Verdict};

use super::world::*;

/// A store whose schema has a table that merges, and two sessions. The server's clock is at 100 s.
fn world() -> World {
    let mut world = World::with_table(
        r#""merging":{"columns":{"id":{"type":"int"},"status":{"type":"register","of":"string"}},"key":["id"],"consistency":"causal","onConflict":"merge"}"#,
    );
    world.join(1);
    world.join(2);
    world.now.wall = WallTime::from_micros(100_000_000);
    world
}

fn insertion(mark: u64) -> Write {
    let cell = Cell::row(TableId::of("merging"), key(1));
    Write { cell, operation: Operation::Merge(Lives::insertion(Mark(mark)).into()) }
}

fn assignment(micros: u64, text: &str) -> Write {
    let stamp = Stamp { time: HybridTime(micros), mark: Mark(9) };
    let effect = Effect::Assign { stamp, value: Value::from(text) };
    let cell = Cell { table: TableId::of("merging"), row: key(1), column: ColumnId::of("status") };
    Write { cell, operation: Operation::Merge(effect.into()) }
}

fn in_lane(submit: Submit) -> FromClient {
    FromClient::Submit(Submit { lane: LaneNumber(1), ..submit })
}

/// What the gateway says of a transaction, if it refuses it.
fn refusal(counter: u64, writes: Vec<Write>) -> Option<String> {
    let mut world = world();
    world.say(1, in_lane(blind(counter, writes)));
    let Some((_, Request::Commit { transaction, .. })) = world.asked.front() else { panic!("the store was not asked") };
    if matches!(transaction.decision, Decision::Commit(_)) {
        return None;
    }
    world.answer(0);
    world.commit(vec![add(1, 1)]);
    let said = world.take();
    let [Said::To(1, FromGateway::Advance(Advance { outcomes, .. }))] = &said[..] else { panic!("{said:?}") };
    let [Outcome { verdict: Verdict::Rejected(Rejection::Invalid(reason)), .. }] = &outcomes[..] else {
        panic!("{outcomes:?}")
    };
    Some(reason.clone())
}

#[test]
fn a_time_that_is_far_ahead_is_refused() {
    let ahead = HybridTime::AHEAD_MAX.as_micros() as u64;
    assert_eq!(refusal(1, vec![insertion(1), assignment(100_000_000 + ahead, "in time")]), None);
    let reason = refusal(1, vec![insertion(1), assignment(100_000_001 + ahead, "far ahead")]).expect("it is refused");
    assert!(reason.contains("set the device's clock"), "{reason}");
}

#[test]
fn effects_of_too_many_bytes_are_refused() {
    let text = "x".repeat(Effect::TRANSACTION_BYTES_MAX);
    let reason = refusal(1, vec![insertion(1), assignment(1, &text)]).expect("it is refused");
    assert!(reason.contains("split it"), "{reason}");
}

#[test]
fn what_is_no_effect_is_refused() {
    let create = Write { cell: Cell::row(TableId::of("merging"), key(1)), operation: Operation::Create };
    let reason = refusal(1, vec![create]).expect("it is refused");
    assert!(reason.contains("use a client that makes effects"), "{reason}");
}

/// Effects are judged against nothing: two sessions write one row unseen by each other, and the store is asked for both with no read.
#[test]
fn two_clients_write_one_row_and_neither_reads() {
    let mut world = world();
    world.say(1, in_lane(blind(1, vec![insertion(1)])));
    world.say(2, in_lane(blind(1, vec![insertion(2)])));
    let asked: Vec<_> = world.asked.iter().map(|(_, request)| request.clone()).collect();
    assert_eq!(asked.len(), 2);
    for request in asked {
        let Request::Commit { transaction, .. } = request else { panic!("{request:?}") };
        assert!(transaction.reads.is_empty() && matches!(transaction.decision, Decision::Commit(_)));
    }
}
