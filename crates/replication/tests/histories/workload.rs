//! Random transactions over few rows of all types, so that they meet.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use iolite_store::{ReadLimit, ReadReply, RowAt};
use iolite_values::{
    AnyOf, Cell, ColumnId, Condition, Direction, Element, Field, IndexRange, Interest, KeyRange, ListOrder, Operation,
    Query, Read, RowKey, TableId, Test, Value, Write,
};

use super::random::Random;

pub const TABLE: TableId = TableId(1);
const ROWS: u64 = 5;

const SCALAR: ColumnId = ColumnId(1);
const REGISTER: ColumnId = ColumnId(2);
const COUNTER: ColumnId = ColumnId(3);
const SET: ColumnId = ColumnId(4);
const STRICT_LIST: ColumnId = ColumnId(5);
const COMMIT_LIST: ColumnId = ColumnId(6);
const MAP: ColumnId = ColumnId(7);

fn key(row: u64) -> RowKey {
    RowKey::new(&[Value::Int(row as i64)]).unwrap()
}

fn cell(random: &mut Random, column: ColumnId) -> Cell {
    Cell { table: TABLE, row: key(random.below(ROWS)), column }
}

fn small(random: &mut Random) -> Value {
    Value::Int(random.below(4) as i64)
}

fn name(random: &mut Random) -> std::sync::Arc<str> {
    ["a", "b", "c"][random.index(3)].into()
}

pub fn everything() -> Interest {
    Interest::Range { table: TABLE, range: KeyRange::all() }
}

pub fn read(random: &mut Random) -> Read {
    if random.percent(15) {
        let lower = random.below(ROWS);
        let upper = lower + random.below(3);
        let range = KeyRange { lower: KeyRange::one(&key(lower)).lower, upper: KeyRange::one(&key(upper)).upper };
        return Read::Range { table: TABLE, range };
    }
    if random.percent(15) {
        return Read::Query(Arc::new(query(random)));
    }
    let column = ColumnId(random.below(8) as u32);
    let element = match (column, random.below(2)) {
        (SET, 0) => Element::Member(small(random)),
        (MAP, 0) => Element::Entry(name(random)),
        _ => Element::Whole,
    };
    Read::Cell { cell: cell(random, column), element }
}

fn query(random: &mut Random) -> Query {
    let absent = |column| if column == COUNTER { Value::Int(0) } else { Value::Null };
    let field = |column| Field::Cell { column, absent: absent(column) };
    let index: Vec<Field> =
        [&[][..], &[SCALAR], &[COUNTER], &[SCALAR, REGISTER]][random.index(4)].iter().copied().map(field).collect();
    let range = match (index.len(), random.below(3)) {
        (0, _) | (_, 0) => KeyRange::all(),
        (_, 1) => IndexRange::new(&[small(random)], Bound::Unbounded, Bound::Unbounded).range,
        _ => IndexRange::new(&[], Bound::Included(&small(random)), Bound::Unbounded).range,
    };
    let condition = |random: &mut Random| match random.below(3) {
        0 => Condition { field: field(SET), test: Test::Contains(small(random)) },
        1 => Condition { field: field(REGISTER), test: Test::NotEqual(small(random)) },
        _ => Condition { field: field(COUNTER), test: Test::AtLeast(Value::Int(random.below(9) as i64 - 4)) },
    };
    let conditions = if random.percent(50) { vec![condition(random)] } else { Vec::new() };
    let mut any_of = Vec::new();
    if random.percent(30) {
        any_of.push(AnyOf(vec![vec![condition(random)], vec![condition(random), condition(random)]]));
    }
    Query { index, range, conditions, any_of, ..Query::all(TABLE, random.percent(50)) }
}

/// How many answers of a query are read, if not all, and from which end.
pub fn limit(random: &mut Random, read: &Read) -> ReadLimit {
    match read {
        Read::Query(_) if random.percent(40) => {
            let direction = [Direction::Ascending, Direction::Descending][random.index(2)];
            ReadLimit { rows: random.index(3), direction, ..ReadLimit::NONE }
        }
        Read::Query(_) | Read::Cell { .. } | Read::Range { .. } => ReadLimit::NONE,
    }
}

/// What was read, when the answer is known: of a query as far as the answer reaches, and each of its rows.
pub fn read_with(read: Read, limit: ReadLimit, reply: &ReadReply) -> (Read, Vec<Read>) {
    let Read::Query(query) = &read else { return (read, Vec::new()) };
    let row = |row: &RowAt| Read::Range { table: TABLE, range: KeyRange::one(&row.key) };
    let rows = reply.rows.iter().map(row).collect();
    let last = reply.rows.last().filter(|_| reply.rows.len() > limit.rows);
    let read = last.map_or_else(
        || read.clone(),
        |last| {
            let last = query.index_key(&last.key, &last.row);
            Read::Query(Arc::new(query.with_range(query.range.ending_with(last.as_bytes(), limit.direction))))
        },
    );
    (read, rows)
}

/// What a transaction that only reads looks at: everything, or some of it.
pub fn many_reads(random: &mut Random) -> VecDeque<Read> {
    match random.percent(50) {
        true => [Read::Range { table: TABLE, range: KeyRange::all() }].into(),
        false => (0..1 + random.below(3)).map(|_| read(random)).collect(),
    }
}

pub fn write(random: &mut Random) -> Write {
    let (column, operation) = match random.below(20) {
        0 => (ColumnId::ROW, Operation::Create),
        1 => (ColumnId::ROW, Operation::Delete),
        2 | 3 => (SCALAR, Operation::Put(small(random))),
        4 | 5 => (REGISTER, Operation::Assign(small(random))),
        6..=8 => (COUNTER, Operation::Add(random.below(9) as i64 - 4)),
        9 | 10 => (SET, Operation::Insert(small(random))),
        11 => (SET, Operation::Remove(small(random))),
        12 => (STRICT_LIST, Operation::Append { value: small(random), order: ListOrder::Strict }),
        13 | 14 => (COMMIT_LIST, Operation::Append { value: small(random), order: ListOrder::Commit }),
        15 => (STRICT_LIST, Operation::SetAt { index: random.below(3) as u32, value: small(random) }),
        16 => (COMMIT_LIST, Operation::SetAt { index: random.below(3) as u32, value: small(random) }),
        17 | 18 => (MAP, Operation::PutEntry { key: name(random), value: small(random) }),
        _ => (MAP, Operation::RemoveEntry { key: name(random) }),
    };
    Write { cell: cell(random, column), operation }
}
