//! The codec's behaviour over a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_values::{
    AnyOf, Attempt, Cell, ColumnId, Condition, Counter, Decision, Field, Interest, KeyRange, LaneNumber, Operation,
    Query, RowKey, TableId, Test, Timestamp, Value, Write,
};

use super::*;
use crate::message::{Submit, Subscribe, SubscriptionId};

fn cell(row: i64) -> Cell {
    Cell { table: TableId::of("t"), row: RowKey::new(&[Value::Int(row)]).expect("short"), column: ColumnId::of("c") }
}

fn submit(cells: impl IntoIterator<Item = i64>) -> FromClient {
    let writes = cells.into_iter().map(|row| Write { cell: cell(row), operation: Operation::Add(1) }).collect();
    FromClient::Submit(Submit {
        counter: Counter(7),
        attempt: Attempt(1),
        snapshot: Timestamp::from_u64(1 << 62),
        reads: Vec::new(),
        decision: Decision::Commit(writes),
        acknowledged: Some(Counter(6)),
        lane: LaneNumber::STRONG,
        follows: None,
    })
}

#[test]
fn a_cell_is_named_once_and_numbered_after() {
    let mut encoder = SessionEncoder::new();
    let mut decoder = SessionDecoder::new();
    let first = encoder.encode(&submit([1])).expect("small");
    let second = encoder.encode(&submit([1])).expect("small");
    assert!(second.len() + 15 < first.len(), "{} {}", first.len(), second.len());
    for frame in [first, second] {
        assert_eq!(decoder.decode(&frame), Ok(submit([1])));
    }
}

#[test]
fn more_cells_than_numbers_are_defined_again() {
    let mut encoder = SessionEncoder::new();
    let mut decoder = SessionDecoder::new();
    let most = limits::NUMBERED_CELLS.most as i64;
    for round in 0..3 {
        let message = submit((0..most + 100).map(|row| row * (round + 1)).chain([0, 0, most]));
        let frame = encoder.encode(&message).expect("small");
        assert_eq!(decoder.decode(&frame), Ok(message));
    }
}

#[test]
fn a_message_that_is_too_large_leaves_the_encoder_as_before() {
    let mut encoder = SessionEncoder::new();
    let mut decoder = SessionDecoder::new();
    let most = limits::NUMBERED_CELLS.most as i64;
    for message in [submit(0..10), submit(0..most)] {
        let frame = encoder.encode(&message).expect("small");
        decoder.decode(&frame).expect("an encoded frame");
        let FromClient::Submit(large) = submit((0..20_000).map(|row| row + 5)) else { panic!("a submission") };
        let large = FromClient::Submit(Submit { snapshot: Timestamp::from_u64((1 << 62) + (99 << 12)), ..large });
        let error = encoder.encode(&large).expect_err("too many parts");
        assert_eq!(error, EncodeError::TooLarge { limit: limits::FROM_CLIENT.parts });
        let reason = FromClient::Schema("x".repeat(limits::SCHEMA.most + 1));
        assert_eq!(encoder.encode(&reason), Err(EncodeError::TooLarge { limit: limits::SCHEMA }));
        for message in [submit(0..10), submit([3, 70, 5000])] {
            let frame = encoder.encode(&message).expect("small");
            assert_eq!(decoder.decode(&frame), Ok(message));
        }
    }
}

#[test]
fn a_decoder_that_met_an_error_decodes_nothing_more() {
    let mut decoder = SessionDecoder::<FromClient>::new();
    let frame = SessionEncoder::new().encode(&FromClient::Ping(1)).expect("small");
    assert_eq!(decoder.decode(&frame), Ok(FromClient::Ping(1)));
    assert_eq!(decoder.decode(&[0x2a, 5, 1]), Err(DecodeError::Truncated));
    assert_eq!(decoder.decode(&frame), Err(DecodeError::Broken));
}

#[test]
fn a_number_that_was_not_defined_is_refused() {
    let mut encoder = SessionEncoder::new();
    encoder.encode(&submit([1])).expect("small");
    let frame = encoder.encode(&submit([1])).expect("small");
    let error = SessionDecoder::<FromClient>::new().decode(&frame).expect_err("the first frame is missing");
    assert!(matches!(error, DecodeError::Malformed { .. }), "{error}");
}

#[test]
fn fields_of_a_later_version_are_skipped() {
    let mut frame = SessionEncoder::new().encode(&submit([1])).expect("small");
    // Field 100 of the frame: a length of 3.
    frame.extend([0xa2, 0x06, 3, 1, 2, 3]);
    assert_eq!(SessionDecoder::new().decode(&frame), Ok(submit([1])));
}

#[test]
fn a_subscription_takes_as_many_parts_as_it_counts() {
    let range = KeyRange::one(&cell(1).row);
    let stars = Field::Cell { column: ColumnId::of("stars"), absent: Value::Int(0) };
    let tests = [
        Test::Equal(Value::Null),
        Test::BeginsWith("a".into()),
        Test::OneOf((0..9).map(Value::Int).collect()),
        Test::OneOf([].into()),
    ];
    let condition =
        |test| Condition { field: Field::Cell { column: ColumnId::of("owner"), absent: Value::Null }, test };
    let conditions: Vec<Condition> = tests.map(condition).into();
    let query = Query {
        index: vec![Field::Key(0), stars],
        range: range.clone(),
        conditions: conditions.clone(),
        any_of: vec![AnyOf(vec![conditions.clone(), Vec::new()]), AnyOf(vec![conditions])],
        ..Query::all(TableId(1), false)
    };
    let interests = [
        Interest::Cell(cell(1)),
        Interest::Range { table: TableId(1), range: range.clone() },
        Interest::Query(Arc::new(Query::all(TableId(1), false))),
        Interest::Query(Arc::new(query.within(&range))),
        Interest::Query(Arc::new(query)),
    ];
    for interest in interests {
        let parts = Subscribe::parts_of(&interest);
        let interests = vec![(SubscriptionId(1), interest)];
        let subscribe = FromClient::Subscribe(Subscribe { held: false, interests, first: BTreeMap::new() });
        let proto = from_client::write(&subscribe, &mut Writer::default());
        let encode = |parts: usize| {
            let parts = limits::Limit { most: parts, of: "parts" };
            frame::encode(&proto, shapes::FROM_CLIENT_FRAME, FrameLimits { parts, ..limits::FROM_CLIENT }).map(drop)
        };
        // The message is a part of its frame.
        assert_eq!(encode(1 + parts), Ok(()), "{subscribe:?}");
        assert!(encode(parts).is_err(), "{parts} parts: {subscribe:?}");
    }
}
