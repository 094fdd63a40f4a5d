//! Small stores, and transactions as moves, for properties.

use std::borrow::Cow;
use std::collections::BTreeMap;

use iolite_values::{Cell, CellState, ColumnId, Operation, Query, Row, RowKey, TableId, Value, Write};
use proptest::prelude::*;

use crate::{Needs, RowName, Rows, drawn};

/// A store of which all is known, or some.
#[derive(Clone, Debug, Default)]
pub struct Store {
    pub rows: BTreeMap<RowName, Row>,
    /// None: everything.
    pub knows: Option<BTreeMap<RowName, ()>>,
    pub sets: Option<Vec<Query>>,
}

/// One thing that a transaction does to a row.
#[derive(Clone, Debug)]
pub enum Move {
    Create,
    Delete,
    /// A scalar or a register.
    Put(&'static str, Value),
    Add(i64),
    /// A tag comes or goes.
    Tag(Value, bool),
}

/// The moves of a transaction, by table and key.
pub type Moves = BTreeMap<(&'static str, Vec<Value>), Vec<Move>>;

impl Store {
    /// The same store after these writes.
    pub fn with(&self, writes: &[Write]) -> Store {
        let mut store = self.clone();
        for write in writes {
            let name = RowName { table: write.cell.table, key: write.cell.row.clone() };
            let row = store.rows.entry(name).or_default();
            row.apply(write.cell.column, &write.operation).expect("of its type");
        }
        store
    }

    pub fn learn(&mut self, needs: Needs) {
        self.knows.get_or_insert_default().extend(needs.rows.into_iter().map(|row| (row, ())));
        self.sets.get_or_insert_default().extend(needs.sets.iter().map(|set| (**set).clone()));
    }
}

impl Rows for Store {
    fn row(&self, row: &RowName) -> Option<Cow<'_, Row>> {
        let knows = self.knows.as_ref().is_none_or(|known| known.contains_key(row));
        knows.then(|| self.rows.get(row).map_or_else(Cow::default, Cow::Borrowed))
    }

    fn answers(&self, query: &Query) -> Option<Vec<(RowKey, Cow<'_, Row>)>> {
        if self.sets.as_ref().is_some_and(|known| !known.contains(query)) {
            return None;
        }
        let own = self.rows.iter().filter(|(name, row)| name.table == query.table && query.selects(&name.key, row));
        Some(own.map(|(name, row)| (name.key.clone(), Cow::Borrowed(row))).collect())
    }
}

/// The writes of moves.
pub fn writes(moves: &Moves) -> Vec<Write> {
    let mut writes = Vec::new();
    for ((table, key), own) in moves {
        let cell = |column| Cell { table: TableId::of(table), row: RowKey::new(key).expect("short"), column };
        writes.extend(own.iter().map(|own| match own {
            Move::Create => Write { cell: cell(ColumnId::ROW), operation: Operation::Create },
            Move::Delete => Write { cell: cell(ColumnId::ROW), operation: Operation::Delete },
            Move::Put("author", value) => {
                Write { cell: cell(ColumnId::of("author")), operation: Operation::Assign(value.clone()) }
            }
            Move::Put(column, value) => {
                Write { cell: cell(ColumnId::of(column)), operation: Operation::Put(value.clone()) }
            }
            Move::Add(amount) => Write { cell: cell(ColumnId::of("likes")), operation: Operation::Add(*amount) },
            Move::Tag(tag, true) => {
                Write { cell: cell(ColumnId::of("tags")), operation: Operation::Insert(tag.clone()) }
            }
            Move::Tag(tag, false) => {
                Write { cell: cell(ColumnId::of("tags")), operation: Operation::Remove(tag.clone()) }
            }
        }));
    }
    writes
}

fn author() -> BoxedStrategy<Value> {
    prop_oneof![3 => drawn::text(), 1 => Just(Value::Null)].boxed()
}

fn rank() -> BoxedStrategy<Value> {
    prop_oneof![3 => (0i64..4).prop_map(Value::Int), 1 => Just(Value::Null)].boxed()
}

/// Notes 1 to 3, and who is a member of which room.
pub fn store() -> BoxedStrategy<Store> {
    let tags = proptest::collection::btree_set(drawn::text(), 0..3);
    let note = (drawn::text(), author(), proptest::option::of(rank()), 0i64..4, tags).prop_map(
        |(room, author, rank, likes, tags)| {
            let mut cells = vec![
                (ColumnId::of("room"), CellState::Scalar(room)),
                (ColumnId::of("author"), CellState::Register(author)),
                (ColumnId::of("tags"), CellState::Set(tags)),
            ];
            cells.extend((likes > 0).then_some((ColumnId::of("likes"), CellState::Counter(likes))));
            cells.extend(rank.map(|rank| (ColumnId::of("rank"), CellState::Scalar(rank))));
            Row::from_parts(true, cells)
        },
    );
    let member =
        drawn::text().prop_map(|role| Row::from_parts(true, [(ColumnId::of("role"), CellState::Scalar(role))]));
    let notes = proptest::collection::btree_map((1i64..4).prop_map(|id| ("notes", vec![Value::Int(id)])), note, 0..4);
    let key = (drawn::text(), drawn::text()).prop_map(|(user, room)| ("members", vec![user, room]));
    let members = proptest::collection::btree_map(key, member, 0..5);
    (notes, members)
        .prop_map(|(notes, members)| {
            let name = |(table, key): (&str, Vec<Value>)| RowName {
                table: TableId::of(table),
                key: RowKey::new(&key).expect("short"),
            };
            let rows = notes.into_iter().chain(members).map(|(own, row)| (name(own), row)).collect();
            Store { rows, ..Store::default() }
        })
        .boxed()
}

fn of_note() -> BoxedStrategy<Move> {
    prop_oneof![
        drawn::text().prop_map(|own| Move::Put("room", own)),
        author().prop_map(|own| Move::Put("author", own)),
        rank().prop_map(|own| Move::Put("rank", own)),
        (-1i64..3).prop_map(Move::Add),
        (drawn::text(), any::<bool>()).prop_map(|(tag, comes)| Move::Tag(tag, comes)),
    ]
    .boxed()
}

/// The moves of a mutator on a row, or of a hostile client.
fn whole(other: impl Strategy<Value = Move> + Clone + 'static) -> BoxedStrategy<Vec<Move>> {
    let others = proptest::collection::vec(other, 1..4);
    let life = prop_oneof![
        4 => Just(vec![]),
        3 => Just(vec![Move::Create]),
        2 => Just(vec![Move::Delete, Move::Create]),
    ];
    let end = prop_oneof![6 => Just(vec![]), 1 => Just(vec![Move::Delete]), 1 => Just(vec![Move::Create])];
    (life, others, end).prop_map(|(life, others, end)| [life, others, end].concat()).boxed()
}

/// A transaction on one row or a few.
pub fn moves() -> BoxedStrategy<Moves> {
    let note = (1i64..4).prop_map(|id| ("notes", vec![Value::Int(id)]));
    let notes = proptest::collection::btree_map(note, whole(of_note().boxed()), 1..3);
    let member = (drawn::text(), drawn::text()).prop_map(|(user, room)| ("members", vec![user, room])).boxed();
    let role = drawn::text().prop_map(|own| Move::Put("role", own)).boxed();
    let few = prop_oneof![3 => Just(0usize), 1 => Just(1)];
    let members =
        few.prop_flat_map(move |count| proptest::collection::btree_map(member.clone(), whole(role.clone()), count));
    (notes, members).prop_map(|(notes, members)| notes.into_iter().chain(members).collect()).boxed()
}

/// A store, and a transaction that mostly presumes of each row what is so.
pub fn scene() -> BoxedStrategy<(Store, Moves)> {
    let is_honest = proptest::bool::weighted(0.8);
    let scene = (store(), moves(), is_honest).prop_map(|(store, mut moves, is_honest)| {
        if is_honest {
            moves.iter_mut().for_each(|((table, key), own)| presume(&store, table, key, own));
        }
        (store, moves)
    });
    scene.boxed()
}

fn presume(store: &Store, table: &str, key: &[Value], moves: &mut Vec<Move>) {
    let name = RowName { table: TableId::of(table), key: RowKey::new(key).expect("short") };
    let is_there = store.rows.get(&name).is_some_and(Row::exists);
    match (is_there, super::first_life(moves)) {
        (true, Some(true)) => moves.retain(|own| !matches!(own, Move::Create)),
        (false, Some(false)) => drop(moves.remove(0)),
        (false, None) => moves.insert(0, Move::Create),
        (true, None | Some(false)) | (false, Some(true)) => {}
    }
}

/// Every transaction of another one that changes one thing: a row comes or goes, or one of its columns changes.
pub fn every_other(store: &Store) -> Vec<Moves> {
    let texts = || ["a", "b", "r"].map(Value::from);
    let notes = (1..4).map(|id| ("notes", vec![Value::Int(id)]));
    let members = texts().into_iter().flat_map(|user| texts().map(|room| ("members", vec![user.clone(), room])));
    let of_notes = || {
        let puts = [Move::Put("room", "b".into()), Move::Put("author", "a".into()), Move::Put("rank", Value::Int(1))];
        let tags = texts().into_iter().flat_map(|tag| [Move::Tag(tag.clone(), true), Move::Tag(tag, false)]);
        puts.into_iter().chain(tags).chain([Move::Add(2)]).map(|own| vec![own]).collect()
    };
    let of_members = || texts().map(|role| vec![Move::Put("role", role)]).to_vec();
    let mut all = Vec::new();
    for (table, key) in notes.chain(members) {
        let name = RowName { table: TableId::of(table), key: RowKey::new(&key).expect("short") };
        let changes: Vec<Vec<Move>> = match (store.rows.get(&name).is_some_and(Row::exists), table) {
            (false, "notes") => vec![vec![Move::Create, Move::Put("room", "a".into())]],
            (false, _) => vec![vec![Move::Create, Move::Put("role", "a".into())]],
            (true, "notes") => [of_notes(), vec![vec![Move::Delete]]].concat(),
            (true, _) => [of_members(), vec![vec![Move::Delete]]].concat(),
        };
        all.extend(changes.into_iter().map(|own| Moves::from([((table, key.clone()), own)])));
    }
    all
}
