//! Random histories of a cache alone, beside a gateway that keeps whole states.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_values::{
    Cell, CellState, ColumnId, Condition, Direction, Field, Interest, KeyRange, LaneNumber, Operation, Query, Row,
    RowKey, TableId, Test, Timestamp, Value, Write,
};
use iolite_wire::message::{First, RowSnapshot, Snapshot, SubscriptionId};
use proptest::prelude::*;

use super::{Cache, Demand, Moment, Room, RowId};
use crate::ReactionId;
use crate::view::{Reader, Unheld};

const TABLE: TableId = TableId(1);
const A: ColumnId = ColumnId(7);
const B: ColumnId = ColumnId(8);

type State = BTreeMap<RowId, Row>;

#[derive(Clone, Debug)]
enum Change {
    Create(u8, i64, i64),
    Delete(u8),
    Put(u8, ColumnId, i64),
}

#[derive(Clone, Debug)]
enum Step {
    /// An advance with these changes; answers what is asked for if that is said, and begins to keep the past.
    Advance {
        changes: Vec<Change>,
        answers: usize,
        keeps: bool,
    },
    Require {
        interest: usize,
        first: Option<(u32, bool)>,
        demand: u8,
    },
    Settle(u8),
    Idle,
    WantAgain(u8),
    TakeOut(u8),
    KeepFrom(u8),
    End,
    Restart,
}

fn key(of: u8) -> RowKey {
    RowKey::new(&[Value::Int(of.into())]).expect("short")
}

fn range(from: u8, to: u8) -> KeyRange {
    KeyRange { lower: key(from).as_bytes().into(), upper: Some(key(to).as_bytes().into()) }
}

fn all_interests() -> Vec<Interest> {
    let cells = (0..4)
        .flat_map(|of| [ColumnId::ROW, A, B].map(|column| Interest::Cell(Cell { table: TABLE, row: key(of), column })));
    let ranges = [range(0, 2), range(1, 4), KeyRange::all(), KeyRange::one(&key(1)), KeyRange::one(&key(2))];
    let field = |column| Field::Cell { column, absent: Value::Int(0) };
    let is = |column, value| Condition { field: field(column), test: Test::Equal(Value::Int(value)) };
    let all = Query::all(TABLE, false);
    let queries = [
        all.clone(),
        Query::of_keys(TABLE, false, &range(0, 2)),
        Query::of_keys(TABLE, false, &range(1, 4)),
        Query { conditions: vec![is(A, 0)], ..all.clone() },
        Query { conditions: vec![is(A, 1)], ..all.clone() },
        Query { conditions: vec![is(B, 1)], ..all.clone() },
        Query { conditions: vec![is(A, 1), is(B, 1)], ..all.clone() },
        Query { index: vec![field(A)], ..all.clone() },
    ];
    let ranges = ranges.into_iter().map(|range| Interest::Range { table: TABLE, range });
    cells.chain(ranges).chain(queries.into_iter().map(|query| Interest::Query(Arc::new(query)))).collect()
}

#[derive(Default)]
struct World {
    at: u64,
    state: State,
    cache: Cache,
    /// The states before the steps that are kept.
    past: Vec<(u64, State)>,
}

fn rows_of(state: &State, interest: &Interest, first: Option<First>) -> (Vec<RowSnapshot>, Option<Box<KeyRange>>) {
    let made = |id: &RowId, row: Row| RowSnapshot { table: id.0, key: id.1.clone(), row };
    match interest {
        Interest::Cell(cell) => {
            let row = state.get(&(cell.table, cell.row.clone()));
            (
                row.map(|row| made(&(cell.table, cell.row.clone()), row.with_only(cell.column))).into_iter().collect(),
                None,
            )
        }
        Interest::Range { range, .. } => (
            state.iter().filter(|(id, _)| range.contains(&id.1)).map(|(id, row)| made(id, row.clone())).collect(),
            None,
        ),
        Interest::Query(query) => {
            let mut found: Vec<_> = state.iter().filter(|(id, row)| query.selects(&id.1, row)).collect();
            found.sort_by_key(|(id, row)| query.index_key(&id.1, row));
            let mut reaches = None;
            if let Some(First { rows, direction }) = first {
                if direction == Direction::Descending {
                    found.reverse();
                }
                if found.len() > rows as usize {
                    found.truncate(rows as usize);
                    let (id, row) = found.last().expect("some");
                    let last = query.index_key(&id.1, row);
                    reaches = Some(Box::new(query.range.ending_with(last.as_bytes(), direction)));
                }
            }
            (found.into_iter().map(|(id, row)| made(id, row.clone())).collect(), reaches)
        }
    }
}

impl World {
    fn step(&mut self, step: &Step, interests: &[Interest]) {
        let demand = |of: &u8| Demand::Reaction(ReactionId((*of).into()));
        let all: Vec<SubscriptionId> = self.cache.interests.live().map(|(id, _)| id).collect();
        let some = |of: &u8| all.get(usize::from(*of) % all.len().max(1)).copied();
        match step {
            Step::Advance { changes, answers, keeps } => self.advance(changes, *answers, *keeps),
            Step::Require { interest, first, demand: of } => {
                let interest = &interests[interest % interests.len()];
                let first = first.filter(|_| matches!(interest, Interest::Query(_))).map(|(rows, up)| First {
                    rows,
                    direction: if up { Direction::Ascending } else { Direction::Descending },
                });
                self.cache.interests.require(interest, first, demand(of));
            }
            Step::Settle(of) => self.cache.interests.settle(demand(of), &[].into()),
            Step::Idle => drop(self.cache.give_up_idle(Room { idle_interests_max: 0, bytes_max: usize::MAX })),
            Step::WantAgain(of) => drop(some(of).map(|id| self.cache.want_again(id))),
            Step::TakeOut(of) => drop(some(of).map(|id| self.cache.take_out(id))),
            Step::KeepFrom(of) => {
                if let Some((first, _)) = self.past.get(usize::from(*of) % self.past.len().max(1)).cloned() {
                    self.past.retain(|(at, _)| *at >= first);
                    self.cache.past.keep_from(LaneNumber::STRONG, Moment::advance(Timestamp::from_u64(first)));
                }
            }
            Step::End => {
                self.past.clear();
                self.cache.past.end(LaneNumber::STRONG);
            }
            Step::Restart => {
                self.past.clear();
                let rows = self.cache.rows.rows().clone();
                let live = self.cache.interests.live().map(|(_, own)| own.clone()).collect();
                self.cache = Cache::restored(self.cache.at(), rows, live).0;
            }
        }
    }

    fn advance(&mut self, changes: &[Change], answers: usize, keeps: bool) {
        self.at += 1;
        let before = self.state.clone();
        let mut writes = Vec::new();
        for change in changes {
            let (of, made) = match change {
                Change::Create(of, a, b) => {
                    let puts = [(A, *a), (B, *b)].map(|(column, value)| (column, Operation::Put(Value::Int(value))));
                    (of, [(ColumnId::ROW, Operation::Create)].into_iter().chain(puts).collect())
                }
                Change::Delete(of) => (of, vec![(ColumnId::ROW, Operation::Delete)]),
                Change::Put(of, column, value) => (of, vec![(*column, Operation::Put(Value::Int(*value)))]),
            };
            let id = (TABLE, key(*of));
            let exists = self.state.contains_key(&id);
            let fits = exists != matches!(change, Change::Create(..));
            for (column, operation) in made.into_iter().filter(|_| fits) {
                let row = self.state.entry(id.clone()).or_default();
                row.apply(column, &operation).expect("it fits");
                writes.push(Write { cell: Cell { table: TABLE, row: id.1.clone(), column }, operation });
            }
            self.state.retain(|_, row| !row.is_empty());
        }
        if keeps || !self.past.is_empty() {
            self.past.push((self.at, before.clone()));
            self.cache.past.begin(LaneNumber::STRONG, Moment::advance(Timestamp::from_u64(self.at)));
        }
        let queries: Vec<Arc<Query>> = self
            .cache
            .interests
            .live()
            .filter_map(|(_, interest)| match interest {
                Interest::Query(query) => Some(query.clone()),
                Interest::Cell(_) | Interest::Range { .. } => None,
            })
            .collect();
        let enters = |id: &RowId, row: &Row| {
            queries
                .iter()
                .any(|query| query.selects(&id.1, row) && !before.get(id).is_some_and(|row| query.selects(&id.1, row)))
        };
        let entered = self.state.iter().filter(|(id, row)| enters(id, row));
        let entered =
            entered.map(|(id, row)| RowSnapshot { table: id.0, key: id.1.clone(), row: row.clone() }).collect();
        let _ = self.cache.interests.take_wanted();
        let asked: Vec<(SubscriptionId, Interest)> = self
            .cache
            .interests
            .first()
            .filter(|(_, own)| !self.cache.interests.holds_itself(own))
            .map(|(id, own)| (id, own.clone()))
            .take(answers)
            .collect();
        let snapshots = asked
            .into_iter()
            .map(|(subscription, interest)| {
                let (rows, reaches) = rows_of(&self.state, &interest, self.cache.interests.first_rows(subscription));
                Snapshot { subscription, rows, reaches }
            })
            .collect();
        self.cache.apply(&writes);
        self.cache.enter(entered);
        self.cache.replace(snapshots);
        self.cache.advance(Timestamp::from_u64(self.at));
    }

    fn check(&self, interests: &[Interest]) {
        self.cache.validate();
        let confirmed = Reader::new(&self.cache, None, None);
        Self::compare(&confirmed, &self.state, interests);
        let past = Reader::of_past(&self.cache, Unheld::Loaded(&self.cache.past));
        Self::compare(&past, self.past.first().map_or(&self.state, |(_, state)| state), interests);
    }

    fn compare(reader: &Reader<'_>, state: &State, interests: &[Interest]) {
        for interest in interests.iter().filter(|interest| reader.holds(interest)) {
            match interest {
                Interest::Cell(cell) => {
                    let row = state.get(&(cell.table, cell.row.clone()));
                    assert_eq!(reader.exists(cell.table, &cell.row), row.is_some_and(Row::exists), "{cell:?}");
                    if cell.column != ColumnId::ROW {
                        let expected: Option<&CellState> = row.and_then(|row| row.cell(cell.column));
                        assert_eq!(reader.cell(cell), expected, "{cell:?}");
                    }
                }
                Interest::Range { table, range } => {
                    let found: Vec<_> = reader.range(*table, range, false).filter(|(_, row)| row.exists()).collect();
                    let expected: Vec<_> =
                        state.iter().filter(|(id, _)| range.contains(&id.1)).map(|(id, row)| (&id.1, row)).collect();
                    assert_eq!(found, expected, "{range:?}");
                }
                Interest::Query(query) => {
                    let found = reader.answers(query, Direction::Ascending, usize::MAX);
                    let found: Vec<_> = found.into_iter().map(|(_, key, row)| (key.clone(), row.clone())).collect();
                    let (expected, _) = rows_of(state, interest, None);
                    let expected: Vec<_> = expected.into_iter().map(|row| (row.key, row.row)).collect();
                    assert_eq!(found, expected, "{query:?}");
                }
            }
        }
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    let column = prop_oneof![Just(A), Just(B)];
    let change = prop_oneof![
        (0u8..4, 0i64..2, 0i64..2).prop_map(|(of, a, b)| Change::Create(of, a, b)),
        (0u8..4).prop_map(Change::Delete),
        (0u8..4, column, 0i64..2).prop_map(|(of, column, value)| Change::Put(of, column, value)),
    ];
    let changes = prop::collection::vec(change, 0..4);
    let first = prop::option::of((1u32..3, any::<bool>()));
    prop_oneof![
        8 => (changes, 0usize..5, any::<bool>()).prop_map(|(changes, answers, keeps)| Step::Advance { changes, answers, keeps }),
        8 => (0usize..100, first, 0u8..3).prop_map(|(interest, first, demand)| Step::Require { interest, first, demand }),
        2 => (0u8..3).prop_map(Step::Settle),
        2 => Just(Step::Idle),
        1 => (0u8..20).prop_map(Step::WantAgain),
        1 => (0u8..20).prop_map(Step::TakeOut),
        2 => (0u8..5).prop_map(Step::KeepFrom),
        1 => Just(Step::End),
        1 => Just(Step::Restart),
    ]
}

/// The query of A = 0 has the row since then, and nothing held it before.
#[test]
fn the_past_does_not_answer_for_a_row_that_became_an_answer_since() {
    let interests = all_interests();
    let is_query = |interest: &&Interest| matches!(interest, Interest::Query(query) if !query.conditions.is_empty());
    let query = interests.iter().position(|interest| is_query(&interest)).expect("it is there");
    let advance = |changes, answers, keeps| Step::Advance { changes, answers, keeps };
    let steps = [
        advance(vec![Change::Create(0, 1, 0)], 0, false),
        Step::Require { interest: query, first: None, demand: 0 },
        advance(vec![], 1, false),
        advance(vec![Change::Put(0, A, 0)], 0, true),
    ];
    let mut world = World::default();
    for step in &steps {
        world.step(step, &interests);
        world.check(&interests);
    }
    let cell = Interest::Cell(Cell { table: TABLE, row: key(0), column: A });
    assert!(Reader::new(&world.cache, None, None).holds(&cell));
    assert!(!Reader::of_past(&world.cache, Unheld::Loaded(&world.cache.past)).holds(&cell));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn what_is_held_is_as_the_gateway_has_it_now_and_as_of_the_past(steps in prop::collection::vec(any_step(), 0..40)) {
        let interests = all_interests();
        let mut world = World::default();
        for step in &steps {
            world.step(step, &interests);
            world.check(&interests);
        }
    }
}
