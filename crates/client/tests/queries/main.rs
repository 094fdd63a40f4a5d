//! Queries, with a gateway that has the whole table and is played by hand.

#[path = "../harness/mod.rs"]
mod harness;

mod asking;
mod narrowing;
mod optimistic;
mod random;
mod ranges;
mod reading;
mod restoring;
mod tab_limits;
mod tabs;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::rc::Rc;
use std::sync::Arc;

use harness::{Harness, Stop, at, key};
use iolite_client::{ReactionId, Transaction, View};
use iolite_values::{
    AnyOf, Cell, CellState, ColumnId, Condition, Direction, Field, IndexKey, IndexRange, Interest, KeyRange, Operation,
    Query, Read, Row, RowKey, TableId, Test, Value, Write,
};
use iolite_wire::client_storage::StoredRow;
use iolite_wire::message::{Advance, First, FromClient, RowSnapshot, Snapshot, SubscriptionId};

/// What the storage's keys of rows begin with.
const STORED_ROW: u8 = b'r';
const STARS_ABSENT: Value = Value::Int(0);

fn tasks() -> TableId {
    TableId::of("tasks")
}

fn owner_field() -> Field {
    Field::Cell { column: ColumnId::of("owner"), absent: Value::Null }
}

fn stars_field() -> Field {
    Field::Cell { column: ColumnId::of("stars"), absent: STARS_ABSENT }
}

/// The tasks of an owner, by their stars.
fn of_owner(owner: &str) -> Query {
    let range = IndexRange::new(&[Value::from(owner)], Bound::Unbounded, Bound::Unbounded).range;
    Query { index: vec![owner_field(), stars_field()], range, ..Query::all(tasks(), false) }
}

fn by_stars(from: i64, to: i64) -> Query {
    let range = IndexRange::new(&[], Bound::Included(&Value::Int(from)), Bound::Excluded(&Value::Int(to))).range;
    Query { index: vec![stars_field()], range, ..Query::all(tasks(), false) }
}

fn with_stars(query: &Query, stars: i64) -> Query {
    let condition = Condition { field: stars_field(), test: Test::Equal(Value::Int(stars)) };
    Query { conditions: vec![condition], ..query.clone() }
}

/// Those of an owner, and those with so many stars.
fn owned_or_starred(query: &Query, owner: &str, stars: i64) -> Query {
    let owned = Condition { field: owner_field(), test: Test::Equal(Value::from(owner)) };
    let starred = Condition { field: stars_field(), test: Test::Equal(Value::Int(stars)) };
    Query { any_of: vec![AnyOf(vec![vec![owned], vec![starred]])], ..query.clone() }
}

fn task(owner: &str, stars: i64) -> Row {
    let cells = [
        (ColumnId::of("owner"), CellState::Scalar(Value::from(owner))),
        (ColumnId::of("stars"), CellState::Scalar(Value::Int(stars))),
    ];
    Row::from_parts(true, cells)
}

fn cell(id: i64, column: &str) -> Cell {
    Cell { table: tasks(), row: key(id), column: ColumnId::of(column) }
}

fn put(id: i64, column: &str, value: impl Into<Value>) -> Write {
    Write { cell: cell(id, column), operation: Operation::Put(value.into()) }
}

fn create(id: i64, owner: &str, stars: i64) -> Vec<Write> {
    let life = Write { cell: Cell::row(tasks(), key(id)), operation: Operation::Create };
    vec![life, put(id, "owner", owner), put(id, "stars", Value::Int(stars))]
}

fn delete(id: i64) -> Write {
    Write { cell: Cell::row(tasks(), key(id)), operation: Operation::Delete }
}

/// The rows of a query that a client was told, or would be.
fn answers(rows: &BTreeMap<RowKey, Row>, query: &Query) -> BTreeMap<IndexKey, RowKey> {
    let selected = rows.iter().filter(|(key, row)| query.selects(key, row));
    selected.map(|(key, row)| (query.index_key(key, row), key.clone())).collect()
}

/// A gateway's side of a session: the table, and what the client is subscribed to.
#[derive(Default)]
struct Gateway {
    rows: BTreeMap<RowKey, Row>,
    subscribed: BTreeMap<SubscriptionId, Interest>,
    now: u64,
    /// How many rows were sent whole.
    sent_rows: usize,
}

impl Gateway {
    fn with(rows: &[(i64, &str, i64)]) -> Gateway {
        let rows = rows.iter().map(|(id, owner, stars)| (key(*id), task(owner, *stars)));
        Gateway { rows: rows.collect(), now: 10, ..Gateway::default() }
    }

    /// Answers what was asked for. Returns it.
    fn answer(&mut self, harness: &mut Harness) -> Vec<(Interest, Option<First>)> {
        let mut asked = Vec::new();
        let mut advance = Advance::default();
        for message in harness.take_sent() {
            match message {
                FromClient::Subscribe(subscribe) if !subscribe.held => {
                    for (id, interest) in subscribe.interests {
                        let first = subscribe.first.get(&id).copied();
                        advance.snapshots.push(self.snapshot(id, &interest, first));
                        asked.push((interest, first));
                    }
                }
                FromClient::Subscribe(subscribe) => self.subscribed.extend(subscribe.interests),
                FromClient::Unsubscribe(ids) => ids.iter().for_each(|id| drop(self.subscribed.remove(id))),
                other => harness.sent.push(other),
            }
        }
        if !asked.is_empty() {
            self.tell(harness, advance);
        }
        asked
    }

    fn tell(&mut self, harness: &mut Harness, advance: Advance) {
        self.now += 1;
        harness.advance(Advance { to: at(self.now), ..advance });
    }

    fn snapshot(&mut self, subscription: SubscriptionId, interest: &Interest, first: Option<First>) -> Snapshot {
        let mut reaches = None;
        let keys: Vec<RowKey> = match interest {
            Interest::Query(query) => {
                let all = answers(&self.rows, query);
                let most = first.map_or(usize::MAX, |first| first.rows as usize);
                let direction = first.map_or(Direction::Ascending, |first| first.direction);
                let taken: Vec<(IndexKey, RowKey)> = match direction {
                    Direction::Ascending => all.into_iter().take(most).collect(),
                    Direction::Descending => all.into_iter().rev().take(most).collect(),
                };
                if let Some((last, _)) = taken.last().filter(|_| taken.len() == most) {
                    reaches = Some(Box::new(query.range.ending_with(last.as_bytes(), direction)));
                }
                taken.into_iter().map(|(_, key)| key).collect()
            }
            Interest::Range { range, .. } => self.rows.keys().filter(|key| range.contains(key)).cloned().collect(),
            Interest::Cell(cell) => self.rows.keys().filter(|key| **key == cell.row).cloned().collect(),
        };
        let subscribed = match (interest, &reaches) {
            (Interest::Query(query), Some(reaches)) => Interest::Query(Arc::new(query.with_range((**reaches).clone()))),
            (interest, _) => interest.clone(),
        };
        self.subscribed.insert(subscription, subscribed);
        let rows: Vec<RowSnapshot> = keys.into_iter().map(|key| self.row(key, interest)).collect();
        self.sent_rows += rows.len();
        Snapshot { subscription, rows, reaches }
    }

    fn row(&self, key: RowKey, interest: &Interest) -> RowSnapshot {
        let row = self.rows[&key].clone();
        let row = match interest {
            Interest::Cell(cell) => {
                let own = row.cell(cell.column).map(|state| (cell.column, state.clone()));
                Row::from_parts(row.exists(), own)
            }
            Interest::Range { .. } | Interest::Query(_) => row,
        };
        RowSnapshot { table: interest.table(), key, row }
    }

    /// Commits writes, and tells the client what it subscribed to: writes to what it had, and rows that became answers.
    fn commit(&mut self, harness: &mut Harness, writes: Vec<Write>) {
        let advance = self.written(writes);
        self.tell(harness, advance);
    }

    fn written(&mut self, writes: Vec<Write>) -> Advance {
        let before = self.rows.clone();
        for write in &writes {
            let row = self.rows.entry(write.cell.row.clone()).or_default();
            row.apply(write.cell.column, &write.operation).expect("a good write");
        }
        let touched: BTreeSet<RowKey> = writes.iter().map(|write| write.cell.row.clone()).collect();
        self.rows.retain(|_, row| !row.is_empty());
        let empty = Row::default();
        let was_told = |write: &Write| {
            self.subscribed.values().any(|interest| match interest {
                Interest::Query(query) => query.selects(&write.cell.row, before.get(&write.cell.row).unwrap_or(&empty)),
                Interest::Range { .. } | Interest::Cell(_) => interest.includes(&write.cell),
            })
        };
        let changes = writes.iter().filter(|write| was_told(write)).cloned().collect();
        let enters = |key: &&RowKey| {
            self.subscribed.values().any(|interest| match interest {
                Interest::Query(query) => {
                    let is = |rows: &BTreeMap<RowKey, Row>| query.selects(key, rows.get(*key).unwrap_or(&empty));
                    is(&self.rows) && !is(&before)
                }
                Interest::Range { .. } | Interest::Cell(_) => false,
            })
        };
        let entered = touched.iter().filter(enters);
        let table = writes.first().map_or(tasks(), |write| write.cell.table);
        let entered: Vec<RowSnapshot> =
            entered.map(|key| RowSnapshot { table, key: key.clone(), row: self.rows[key].clone() }).collect();
        Advance { changes, entered, ..Advance::default() }
    }
}

type Seen = Rc<RefCell<Vec<Vec<i64>>>>;

fn id_of(key: &RowKey) -> i64 {
    match key.values().as_deref() {
        Ok([Value::Int(id)]) => *id,
        other => panic!("not the key of a task: {other:?}"),
    }
}

/// The rows that the client holds, as it stored them.
fn stored(harness: &Harness) -> Vec<(RowKey, Row)> {
    let rows = harness.storage.iter().filter(|(key, _)| key[0] == STORED_ROW);
    let rows = rows.map(|(_, value)| StoredRow::decode(value).expect("its own"));
    rows.map(|stored| (stored.key, stored.row)).collect()
}

/// A screen that shows the tasks of a query.
fn watch(
    harness: &mut Harness,
    view: View,
    query: Query,
    direction: Direction,
    limit: Option<usize>,
) -> (ReactionId, Seen) {
    let seen = Seen::default();
    let log = seen.clone();
    let id = harness.react(view, move |tx| {
        let rows = tx.query(&query, direction, limit)?;
        log.borrow_mut().push(rows.iter().map(|(key, _)| id_of(key)).collect());
        Ok(())
    });
    (id, seen)
}

fn last(seen: &Seen) -> Vec<i64> {
    seen.borrow().last().expect("it ran").clone()
}

fn connected() -> Harness {
    let mut harness = Harness::new();
    harness.connect();
    harness
}

fn stopped(error: iolite_client::RunError) -> Stop {
    Stop::Error(error)
}

/// All ids of a query, in a closure of a mutator.
fn ids(tx: &mut Transaction<'_>, query: &Query, limit: Option<usize>) -> Result<Vec<i64>, Stop> {
    let rows = tx.query(query, Direction::Ascending, limit).map_err(stopped)?;
    Ok(rows.iter().map(|(key, _)| id_of(key)).collect())
}
