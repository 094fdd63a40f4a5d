//! Transactions of tables that merge: what a gateway hands over, and what it refuses.

use iolite_machine::WallTime;
use iolite_store::{Event, Refusal, Reply, Request};
use iolite_values::{
    Cell, ColumnId, Counter, Decision, Effect, HybridTime, LaneNumber, Lives, Mark, Operation, Stamp, TableId, Value,
    Write,
};
use iolite_wire::message::{
    Advance, FromClient, FromGateway, GoodbyeReason, Hello, Outcome, Rejection, Submit, Verdict,
};

use super::world::*;
use crate::{Broken, Gateway, Input};

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

/// The mark of an effect of a client's first transaction.
fn mark(of: u64, index: u32) -> Mark {
    Mark::of(client(of).0, Counter(1), index)
}

/// The first effect of a client's first transaction.
fn insertion(by: u64) -> Write {
    inserting(mark(by, 1))
}

fn inserting(mark: Mark) -> Write {
    let cell = Cell::row(TableId::of("merging"), key(1));
    Write { cell, operation: Operation::Merge(Lives::insertion(mark).into()) }
}

/// The second one.
fn assignment(by: u64, micros: u64, text: &str) -> Write {
    let stamp = Stamp { time: HybridTime(micros), mark: mark(by, 2) };
    let effect = Effect::Assign { stamp, value: Value::from(text) };
    let cell = Cell { table: TableId::of("merging"), row: key(1), column: ColumnId::of("status") };
    Write { cell, operation: Operation::Merge(effect.into()) }
}

fn in_lane(submit: Submit) -> FromClient {
    FromClient::Submit(Submit { lane: LaneNumber(1), ..submit })
}

/// The outcomes that a session was told in its one message.
fn outcomes(world: &mut World) -> Vec<Outcome> {
    let said = world.take();
    let [Said::To(1, FromGateway::Advance(advance))] = &said[..] else { panic!("{said:?}") };
    let Advance { outcomes, .. } = advance;
    outcomes.clone()
}

/// The gateway's reason, if it refuses a transaction. Then the store is asked nothing.
fn refusal(counter: u64, writes: Vec<Write>) -> Option<String> {
    let mut world = world();
    world.say(1, in_lane(blind(counter, writes)));
    if let Some((_, Request::Commit { transaction, .. })) = world.asked.front() {
        assert!(matches!(transaction.decision, Decision::Commit(_)), "no abort is recorded");
        return None;
    }
    let outcomes = outcomes(&mut world);
    let [Outcome { verdict: Verdict::Rejected(Rejection::Invalid(reason)), .. }] = &outcomes[..] else {
        panic!("{outcomes:?}")
    };
    Some(reason.clone())
}

/// One data centre refuses what another one may have taken.
#[test]
fn a_refusal_leaves_no_record_and_what_comes_by_a_courier_stands() {
    let refused = || {
        let create = Write { cell: Cell::row(TableId::of("merging"), key(1)), operation: Operation::Create };
        in_lane(blind(1, vec![create]))
    };
    let mut world = world();
    world.say(1, refused());
    assert!(matches!(outcomes(&mut world)[0].verdict, Verdict::Rejected(Rejection::Invalid(_))));
    world.say(1, FromClient::Acknowledge(Counter(1)));
    assert!(world.asked.is_empty(), "nothing is recorded, and nothing to be forgotten");
    // With a record the entry of a courier finds it, and ends there.
    let mut world = in_group(Broken::RecordRefusal);
    world.say(7, in_lane(blind(1, vec![insertion(7), assignment(7, 1, &"x".repeat(Effect::TRANSACTION_BYTES_MAX))])));
    let Some((_, Request::Commit { transaction, .. })) = world.asked.front() else { panic!("{:?}", world.asked) };
    assert!(matches!(transaction.decision, Decision::Abort(_)), "the broken gateway records it");
}

/// A gateway of several data centres, with the schema of [`world`].
fn in_group(broken: Broken) -> World {
    let mut world = world();
    world.gateway =
        Gateway::new(settings_of(broken)).in_group(iolite_wire::centres::CentreName::new("eu").expect("a name"));
    world.store_comes();
    world.answer_all();
    world.open(7);
    let json = r#"{"tables":{"merging":{"columns":{"id":{"type":"int"},"status":{"type":"register","of":"string"}},"key":["id"],"consistency":"causal","onConflict":"merge"}}}"#;
    let schema = iolite_values::Schema::from_json(json).expect("a schema").hash();
    world.say(7, FromClient::Hello(Hello { schema, ..hello(7) }));
    world.say(7, FromClient::Schema(json.into()));
    world.answer_all();
    world.publish();
    world.answer_all();
    world.take();
    world
}

#[test]
fn a_call_that_its_client_gives_up_leaves_no_record_in_one_of_several_data_centres() {
    let mut world = in_group(Broken::Nothing);
    world.say(7, in_lane(blind(1, vec![insertion(7)])));
    assert_eq!(world.asked.len(), 1);
    world.asked.clear();
    let given_up = Submit { decision: Decision::Abort(String::new()), ..blind(2, vec![]) };
    world.say(7, in_lane(given_up));
    let said = world.take();
    let [Said::To(7, FromGateway::Advance(Advance { outcomes, .. }))] = &said[..] else { panic!("{said:?}") };
    assert_eq!((outcomes[0].verdict.clone(), world.asked.len()), (Verdict::Aborted, 0));
}

#[test]
fn a_call_that_is_here_and_not_shown_yet_is_said_to_be_stored_and_its_outcome_comes_with_the_feed() {
    let mut world = in_group(Broken::Nothing);
    world.say(7, in_lane(blind(1, vec![insertion(7)])));
    world.answer_all();
    assert_eq!(world.take(), vec![Said::To(7, FromGateway::Stored(Counter(1)))]);
    world.publish();
    let said = world.take();
    let [Said::To(7, FromGateway::Advance(Advance { outcomes, .. }))] = &said[..] else { panic!("{said:?}") };
    assert!(matches!(outcomes[0].verdict, Verdict::Committed(_)));
}

#[test]
fn a_row_that_is_full_in_one_of_several_data_centres_is_waited_for() {
    let mut world = in_group(Broken::Nothing);
    world.say(7, in_lane(blind(1, vec![insertion(7)])));
    let (number, _) = world.asked.pop_front().expect("the store is asked");
    let refusal = Refusal::RowTooLarge { table: TableId::of("merging"), key: key(1), bytes_max: 10 };
    world.input(Input::Store(Event::Reply(number, Reply::Refused(refusal))));
    let (reason, message) = world.goodbye(7);
    assert_eq!((reason, world.asked.len()), (GoodbyeReason::Limit, 0), "it comes back here");
    assert!(message.contains("remove some of what it has"), "{message}");
}

#[test]
fn a_gateway_out_of_service_serves_nobody_and_says_why() {
    let mut world = World::new();
    world.join(1);
    world.input(Input::OutOfService(Some("this data centre is lost".into())));
    assert_eq!(world.goodbye(1), (GoodbyeReason::Unavailable, "this data centre is lost".to_owned()));
    assert!(!world.gateway.is_ready());
    world.take();
    world.open(8);
    world.say(8, FromClient::Hello(hello(8)));
    assert_eq!(world.goodbye(8).1, "this data centre is lost");
    world.input(Input::OutOfService(None));
    world.take();
    world.join(9);
    assert!(world.gateway.is_ready());
}

/// A client's clock may be set during a session, and the gateway's may be wrong.
#[test]
fn a_time_that_is_far_ahead_is_taken_later() {
    let ahead = HybridTime::AHEAD_MAX.as_micros() as u64;
    assert_eq!(refusal(1, vec![insertion(1), assignment(1, 100_000_000 + ahead, "in time")]), None);
    let mut world = world();
    let far = |by| in_lane(blind(1, vec![insertion(by), assignment(by, 100_000_001 + ahead, "far ahead")]));
    world.say(1, far(1));
    let said = world.take();
    let [Said::To(1, FromGateway::Goodbye(goodbye)), ..] = &said[..] else { panic!("{said:?}") };
    assert_eq!((goodbye.reason, world.asked.len()), (GoodbyeReason::Unavailable, 0), "nothing is recorded");
    assert!(goodbye.message.contains("ahead of the server's clock"), "{}", goodbye.message);
    world.now.wall = WallTime::from_micros(100_000_001);
    world.say(2, far(2));
    assert_eq!(world.asked.len(), 1, "the clock is there");
}

#[test]
fn effects_of_too_many_bytes_are_refused() {
    let text = "x".repeat(Effect::TRANSACTION_BYTES_MAX);
    let reason = refusal(1, vec![insertion(1), assignment(1, 1, &text)]).expect("it is refused");
    assert!(reason.contains("split it"), "{reason}");
}

#[test]
fn what_is_no_effect_is_refused() {
    let create = Write { cell: Cell::row(TableId::of("merging"), key(1)), operation: Operation::Create };
    let reason = refusal(1, vec![create]).expect("it is refused");
    assert!(reason.contains("use a client that makes effects"), "{reason}");
}

/// With a mark of somebody else an effect would not commute with what that one does, and data centres would differ.
#[test]
fn a_mark_of_another_client_or_transaction_or_made_twice_is_refused() {
    let of_counter_2 = Mark::of(client(1).0, Counter(2), 1);
    let last = mark(1, Mark::INDEX_MAX);
    let past = mark(1, Mark::INDEX_MAX + 1);
    for hostile in [mark(2, 1), of_counter_2, past, Mark(9)] {
        let reason = refusal(1, vec![inserting(hostile)]).expect("it is refused");
        assert!(reason.contains("not of this transaction"), "{reason}");
    }
    let reason = refusal(1, vec![inserting(last), inserting(last)]).expect("it is refused");
    assert!(reason.contains("two effects make one mark"), "{reason}");
    assert_eq!(refusal(1, vec![inserting(last), inserting(mark(1, 3))]), None, "in any order");
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
