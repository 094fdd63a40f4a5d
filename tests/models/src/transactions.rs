//! Small transactions on few cells.

use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, Counter, Decision, Element, Id, Level, Operation, Read, RowKey, TableId,
    Timestamp, Transaction, TransactionId, Value, Write,
};

/// Where a cell, or a client's home, is: in the first shard, or in the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    First,
    Last,
}

const CELLS: ColumnId = ColumnId(7);

/// Clients from this one on live in the second shard.
pub const LAST_CLIENTS: u128 = 1 << 100;

fn cell(place: Place) -> Cell {
    let table = match place {
        Place::First => TableId(1),
        Place::Last => TableId(u32::MAX),
    };
    Cell { table, row: RowKey::new(&[Value::Int(1)]).expect("a number is a key"), column: CELLS }
}

pub fn reads(place: Place) -> Read {
    Read::Cell { cell: cell(place), element: Element::Whole }
}

pub fn writes(place: Place, value: i64) -> Write {
    Write { cell: cell(place), operation: Operation::Put(Value::Int(value)) }
}

/// The only transaction of its client, which saw the empty store.
pub fn transaction(number: u8, home: Place, reads: &[Read], writes: &[Write]) -> Transaction {
    let client = match home {
        Place::First => u128::from(number) + 1,
        Place::Last => LAST_CLIENTS + u128::from(number) + 1,
    };
    Transaction {
        id: TransactionId { client: ClientId(Id::from_u128(client)), counter: Counter(1) },
        attempt: Attempt(1),
        snapshot: Timestamp::ZERO,
        reads: reads.to_vec(),
        decision: Decision::Commit(writes.to_vec()),
        level: Level::Strict,
    }
}
