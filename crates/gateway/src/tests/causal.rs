//! Transactions of tables that merge: what a gateway hands over, and what it refuses.

use iolite_machine::WallTime;
use iolite_store::Request;
use iolite_values::{
    Cell, ColumnId, Decision, Effect, HybridTime, LaneNumber, Lives, Mark, Operation, Stamp, TableId, Value, Write,
};
use iolite_wire::message::{Advance, FromClient, FromGateway, GoodbyeReason, Outcome, Rejection, Submit, Verdict};

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

/// The gateway's reason, if it refuses a transaction.
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

/// A client's clock may be set during a session, and the gateway's may be wrong.
#[test]
fn a_time_that_is_far_ahead_is_taken_later() {
    let ahead = HybridTime::AHEAD_MAX.as_micros() as u64;
    assert_eq!(refusal(1, vec![insertion(1), assignment(100_000_000 + ahead, "in time")]), None);
    let mut world = world();
    let far = || in_lane(blind(1, vec![insertion(1), assignment(100_000_001 + ahead, "far ahead")]));
    world.say(1, far());
    let said = world.take();
    let [Said::To(1, FromGateway::Goodbye(goodbye)), ..] = &said[..] else { panic!("{said:?}") };
    assert_eq!((goodbye.reason, world.asked.len()), (GoodbyeReason::Unavailable, 0), "nothing is recorded");
    assert!(goodbye.message.contains("ahead of the server's clock"), "{}", goodbye.message);
    world.now.wall = WallTime::from_micros(100_000_001);
    world.say(2, far());
    assert_eq!(world.asked.len(), 1, "the clock is there");
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
