//! Random transactions over few rows of all types, so that they meet.

use std::collections::VecDeque;

use iolite_values::{
    Cell, ColumnId, Element, Interest, KeyRange, ListOrder, Operation, Read, RowKey, TableId, Value, Write,
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
    let column = ColumnId(random.below(8) as u32);
    let element = match (column, random.below(2)) {
        (SET, 0) => Element::Member(small(random)),
        (MAP, 0) => Element::Entry(name(random)),
        _ => Element::Whole,
    };
    Read::Cell { cell: cell(random, column), element }
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
