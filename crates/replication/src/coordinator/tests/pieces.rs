//! What is much is asked for piece by piece.

use std::sync::Arc;

use iolite_store::{ChangesError, Commit, Event, ReadLimit, ReadReply, Reply, Request, RequestId, RowAt};
use iolite_values::{
    Attempt, Author, Cell, ColumnId, Direction, Edit, Field, Insertion, Interest, KeyRange, Level, ListOrder,
    Operation, Query, Row, RowKey, TableId, Timestamp, Unit, Value, Write,
};

use super::bench::{Bench, Said, at, closed, transaction};
use crate::coordinator::{READ_BYTES_MAX, READ_LOOKS_MAX, READ_ROWS_MAX};
use crate::node::{Answer, Ask, Boot, Changed, FromReplica, MessageId, Piece, ReplicaId, ShardId, View};
use crate::versions::{Logged, Versions};

fn row(number: i64, bytes: usize) -> RowAt {
    let mut row = Row::default();
    let value = Operation::Put(Value::bytes(vec![7; bytes]));
    row.apply(ColumnId::ROW, &Operation::Create).unwrap();
    row.apply(ColumnId(1), &value).unwrap();
    RowAt { table: TableId(1), key: RowKey::new(&[Value::Int(number)]).unwrap(), row }
}

fn read_from(first: Option<&RowAt>, limit: ReadLimit) -> Ask {
    let lower = first.map_or(KeyRange::all().lower, |last| KeyRange::one(&last.key).upper.unwrap());
    let interest = Interest::Range { table: TableId(1), range: KeyRange { lower, upper: None } };
    Ask::ReadAt { interest, at: Timestamp::ZERO, limit, looks: READ_LOOKS_MAX }
}

fn request(limit: ReadLimit) -> Request {
    let interest = Interest::Range { table: TableId(1), range: KeyRange::all() };
    Request::ReadAt { interest, at: Timestamp::ZERO, limit }
}

fn read(rows: &[RowAt]) -> Answer {
    Answer::Read(Ok(ReadReply { at: Timestamp::ZERO, rows: rows.to_vec(), is_cut: false }.into()))
}

/// With more behind them.
fn cut(rows: &[RowAt]) -> Answer {
    Answer::Read(Ok(ReadReply { at: Timestamp::ZERO, rows: rows.to_vec(), is_cut: true }.into()))
}

fn replied(rows: &[RowAt], is_cut: bool) -> Said {
    let reply = Reply::ReadAt(Ok(ReadReply { at: Timestamp::ZERO, rows: rows.to_vec(), is_cut }));
    Said::Event(Event::Reply(RequestId(1), reply))
}

fn from_replica(answer: Answer) -> FromReplica {
    FromReplica {
        to: super::bench::own_id(),
        from: ReplicaId(1),
        shard: ShardId(0),
        id: MessageId::default(),
        boot: Boot(1),
        store: super::bench::STORE,
        view: View::default(),
        highest: at(0),
        limit: at(0),
        answer,
    }
}

/// As a coordinator hears it from another node.
fn sent(answer: Answer) -> Answer {
    let frame = from_replica(answer).encode().expect("it fits");
    FromReplica::decode(&frame).expect("it was encoded here").answer
}

#[test]
fn many_rows_are_read_in_pieces() {
    let mut bench = Bench::open();
    let rows: Vec<RowAt> = (0..READ_ROWS_MAX as i64 * 2 + 5).map(|number| row(number, 1)).collect();
    let piece = ReadLimit { rows: READ_ROWS_MAX, bytes: READ_BYTES_MAX, ..ReadLimit::NONE };
    assert_eq!(bench.request(1, request(ReadLimit::NONE)), [Said::Asks(2, read_from(None, piece))]);
    let (first, rest) = rows.split_at(READ_ROWS_MAX + 1);
    assert_eq!(bench.answer(2, cut(first)), [Said::Asks(3, read_from(first.last(), piece))]);
    let (second, third) = rest.split_at(READ_ROWS_MAX + 1);
    assert_eq!(bench.answer(3, cut(second)), [Said::Asks(4, read_from(second.last(), piece))]);
    assert_eq!(bench.answer(4, read(third)), [replied(&rows, false)]);
}

#[test]
fn large_rows_are_read_in_pieces_as_far_as_the_reader_wants() {
    let mut bench = Bench::open();
    let rows: Vec<RowAt> = (0..5).map(|number| row(number, READ_BYTES_MAX / 2)).collect();
    let size = rows[0].row.size_bytes();
    let limit = ReadLimit { rows: 4, bytes: size * 3, ..ReadLimit::NONE };
    let piece = ReadLimit { rows: 4, bytes: READ_BYTES_MAX, ..ReadLimit::NONE };
    assert_eq!(bench.request(1, request(limit)), [Said::Asks(2, read_from(None, piece))]);
    let rest = ReadLimit { rows: 2, bytes: size, ..ReadLimit::NONE };
    assert_eq!(bench.answer(2, cut(&rows[..2])), [Said::Asks(3, read_from(rows.get(1), rest))]);
    assert_eq!(bench.answer(3, cut(&rows[2..4])), [replied(&rows[..4], true)], "with the one that passes the limit");
}

#[test]
fn a_piece_is_cut_if_its_replica_says_so_however_large_it_looks() {
    let mut bench = Bench::open();
    let rows: Vec<RowAt> = (0..2).map(|number| row(number, 1)).collect();
    let piece = ReadLimit { rows: READ_ROWS_MAX, bytes: READ_BYTES_MAX, ..ReadLimit::NONE };
    bench.request(1, request(ReadLimit::NONE));
    assert_eq!(bench.answer(2, sent(cut(&rows[..1]))), [Said::Asks(3, read_from(rows.first(), piece))]);
    assert_eq!(bench.answer(3, sent(read(&rows[1..]))), [replied(&rows, false)]);
}

#[test]
fn what_lies_behind_the_rows_that_were_looked_at_is_asked_for_next() {
    let rows: Vec<RowAt> = (0..9).map(|number| row(number, 1)).collect();
    let looked = |found: &[RowAt], last: &RowAt| {
        let reply = ReadReply { at: Timestamp::ZERO, rows: found.to_vec(), is_cut: false };
        sent(Answer::Read(Ok(Piece { reply, looked_through: Some(last.key.as_bytes().into()) })))
    };
    let limit = ReadLimit { rows: 2, ..ReadLimit::NONE };
    let piece = |rows| ReadLimit { rows, bytes: READ_BYTES_MAX, ..ReadLimit::NONE };
    let mut bench = Bench::open();
    assert_eq!(bench.request(1, request(limit)), [Said::Asks(2, read_from(None, piece(2)))]);
    let said = bench.answer(2, looked(&[], &rows[3]));
    assert_eq!(said, [Said::Asks(3, read_from(rows.get(3), piece(2)))], "nothing was found");
    let said = bench.answer(3, looked(&rows[4..5], &rows[6]));
    assert_eq!(
        said,
        [Said::Asks(4, read_from(rows.get(6), piece(1)))],
        "behind what was looked at, not what was found"
    );
    assert_eq!(bench.answer(4, read(&[])), [replied(&rows[4..5], false)]);
}

/// Two pastes, and what was typed behind them: who counts the letters one by one counts more than the message that tells of them holds.
#[test]
fn rows_behind_a_long_text_are_read() {
    let (mut versions, mut count) = (Versions::default(), 0);
    for length in [262_100, 262_100].into_iter().chain([1; 40]) {
        let (first, text) = (Unit::new(Author(1), count), "x".repeat(length as usize).into());
        let left = count.checked_sub(1).map(|last| Unit::new(Author(1), last));
        let inserted = Some(Insertion { first, left, right: None, text });
        let edit = Operation::Edit(Edit { inserted, removed: Vec::new() }.into());
        versions.apply(logged(u64::from(count) + 1, row(1, 0), ColumnId(2), edit)).unwrap();
        count += length;
    }
    for number in 2..10 {
        versions.apply(logged(1_000_000 + number, row(number as i64, 0), ColumnId::ROW, Operation::Create)).unwrap();
    }
    let mut bench = resolved();
    let interest = Interest::Range { table: TableId(1), range: KeyRange::all() };
    let limit = ReadLimit { bytes: 512 << 10, ..ReadLimit::NONE };
    let mut said = bench.request(1, Request::ReadAt { interest: interest.clone(), at: at(9), limit });
    while let Some(Said::Asks(number, Ask::ReadAt { interest, at, limit, looks })) = said.last() {
        said = bench.answer(*number, sent(Answer::Read(versions.read_at(interest, *at, *limit, *looks))));
    }
    let [Said::Event(Event::Reply(RequestId(1), Reply::ReadAt(Ok(reply))))] = &said[..] else { panic!("an answer") };
    assert_eq!((reply.rows.len(), reply.is_cut), (9, false));
}

fn logged(number: u64, RowAt { table, key, .. }: RowAt, column: ColumnId, operation: Operation) -> Logged {
    let writes = [Write { cell: Cell { table, row: key, column }, operation }].into();
    let commit = Commit { at: Timestamp::from_u64(number), transaction: transaction(number).id, writes };
    Logged { commit, attempt: Attempt(1), level: Level::Strict, is_abort: false, is_home: true }
}

/// By the index, from its end.
#[test]
fn many_answers_of_a_query_are_read_in_pieces_from_either_end() {
    let index = vec![Field::Cell { column: ColumnId(1), absent: Value::Null }];
    let query = Query { index, ..Query::all(TableId(1), false) };
    let ask = |range, limit| Ask::ReadAt {
        interest: Interest::Query(Arc::new(query.with_range(range))),
        at: Timestamp::ZERO,
        limit,
        looks: READ_LOOKS_MAX,
    };
    // Longer values are behind shorter ones.
    let rows: Vec<RowAt> = (0..5).map(|number| row(9 - number, 10 - number as usize)).collect();
    let place = |row: &RowAt| query.index_key(&row.key, &row.row);
    assert!(rows.is_sorted_by(|a, b| place(a) > place(b)));
    for (direction, rows) in
        [(Direction::Descending, rows.clone()), (Direction::Ascending, rows.iter().rev().cloned().collect::<Vec<_>>())]
    {
        let limit = ReadLimit { rows: 3, bytes: usize::MAX, direction };
        let mut bench = Bench::open();
        let interest = Interest::Query(Arc::new(query.clone()));
        let said = bench.request(1, Request::ReadAt { interest, at: Timestamp::ZERO, limit });
        let piece = ReadLimit { bytes: READ_BYTES_MAX, ..limit };
        assert_eq!(said, [Said::Asks(2, ask(KeyRange::all(), piece))]);
        // Few came, and more than was asked for, so there may be others behind them.
        let large = |rows: &[RowAt]| {
            let mut rows = rows.to_vec();
            let bytes = Operation::Put(Value::bytes(vec![7; READ_BYTES_MAX]));
            rows.last_mut().unwrap().row.apply(ColumnId(2), &bytes).unwrap();
            rows
        };
        let first = large(&rows[..2]);
        let behind = KeyRange::all().behind(place(&rows[1]).as_bytes(), direction);
        let rest = ReadLimit { rows: 1, bytes: READ_BYTES_MAX, direction };
        assert_eq!(bench.answer(2, cut(&first)), [Said::Asks(3, ask(behind, rest))]);
        let all = [first, rows[2..4].to_vec()].concat();
        assert_eq!(bench.answer(3, cut(&rows[2..4])), [replied(&all, true)], "with the one that passes the limit");
    }
}

/// The feed has come to 9, with a commit.
fn resolved() -> Bench {
    let mut bench = Bench::open();
    bench.request(7, super::bench::commit(1));
    bench.answer(2, super::bench::completed(at(0)));
    bench.answer(3, closed(at(9)));
    bench
}

#[test]
fn many_changes_are_fetched_in_pieces() {
    let mut bench = resolved();
    let interests = vec![Interest::Range { table: TableId(1), range: KeyRange::all() }];
    let ask = |after| Ask::Changes { interests: interests.clone(), after, through: at(9) };
    let commit = |millis| Commit { at: at(millis), transaction: transaction(millis).id, writes: [].into() };
    let changed = |through, commits: &[Commit]| Answer::Changes(Ok(Changed { through, commits: commits.to_vec() }));
    let request =
        Request::Changes { interests: interests.clone(), after: at(0), through: at(9), bytes_max: usize::MAX };
    let said = bench.request(1, request);
    let Some(Said::Asks(number, first)) = said.last() else { panic!("{said:?}") };
    assert_eq!(*first, ask(at(0)));
    let said = bench.answer(*number, changed(at(4), &[commit(3), commit(4)]));
    let Some(Said::Asks(number, second)) = said.last() else { panic!("{said:?}") };
    assert_eq!(*second, ask(at(4)));
    let reply = Reply::Changes(Ok(vec![commit(3), commit(4), commit(8)]));
    assert_eq!(bench.answer(*number, changed(at(9), &[commit(8)])), [Said::Event(Event::Reply(RequestId(1), reply))]);
}

#[test]
fn no_more_changes_are_fetched_than_who_asks_wants() {
    let mut bench = resolved();
    let cell = Cell { table: TableId(1), row: RowKey::new(&[Value::Int(1)]).unwrap(), column: ColumnId(2) };
    let write = Write { cell, operation: Operation::Put(Value::bytes(vec![7; 1_000])) };
    let commit =
        |millis| Commit { at: at(millis), transaction: transaction(millis).id, writes: [write.clone()].into() };
    let changed = |millis| Answer::Changes(Ok(Changed { through: at(millis), commits: vec![commit(millis)] }));
    let bytes = 2 * commit(1).size_bytes();
    for (request, bytes_max) in [(1, bytes), (2, bytes - 1)] {
        let interests = vec![Interest::Range { table: TableId(1), range: KeyRange::all() }];
        let request_of = Request::Changes { interests, after: at(0), through: at(9), bytes_max };
        let said = bench.request(request, request_of);
        let Some(Said::Asks(first, _)) = said.last() else { panic!("{said:?}") };
        let said = bench.answer(*first, changed(3));
        let Some(Said::Asks(second, _)) = said.last() else { panic!("{said:?}") };
        let said = bench.answer(*second, changed(5));
        let is_answered =
            matches!(said[..], [Said::Event(Event::Reply(_, Reply::Changes(Err(ChangesError::TooMuch))))]);
        assert_eq!(is_answered, bytes_max < bytes, "{said:?}");
    }
    assert_eq!(bench.coordinator.open_requests(), 1, "nothing more is read for the second");
}

/// The longest keys, and the least values of which there are the most.
#[test]
fn a_piece_fits_into_a_message_whatever_its_keys_and_values() {
    let answer = |rows: &[RowAt]| from_replica(read(rows));
    let long_key = |number: usize| {
        let key = [Value::string("x".repeat(RowKey::MAX_BYTES - 100)), Value::Int(number as i64)];
        RowAt { key: RowKey::new(&key).unwrap(), ..row(0, READ_BYTES_MAX / READ_ROWS_MAX) }
    };
    let rows: Vec<RowAt> = (0..=READ_ROWS_MAX).map(long_key).collect();
    assert!(answer(&rows).encode().is_ok());
    let mut nulls = row(0, 1);
    let append = Operation::Append { value: Value::Null, order: ListOrder::Strict };
    for _ in 0..10_000 {
        nulls.row.apply(ColumnId(2), &append).unwrap();
    }
    let count = READ_BYTES_MAX / nulls.row.size_bytes() + (1 << 20) / 10_000;
    assert!(answer(&vec![nulls; count]).encode().is_ok(), "{count} rows of 10,000 nulls");
}
