//! Locks: modes and their order.

use iolite_values::{
    Attempt, Cell, Commutativity, Counter, Decision, Id, Level, ListOrder, Query, Timestamp, TransactionId, Value,
    commutativity,
};

use super::*;

const TABLE: TableId = TableId(7);
const COLUMN: ColumnId = ColumnId(1);

fn space() -> LockSpace {
    LockSpace::of("iolite")
}

fn key(first: i64, second: i64) -> RowKey {
    RowKey::new(&[Value::Int(first), Value::Int(second)]).expect("ints are a key")
}

fn cell(row: i64) -> Cell {
    Cell { table: TABLE, row: key(1, row), column: COLUMN }
}

fn write(row: i64, operation: Operation) -> Write {
    Write { cell: cell(row), operation }
}

fn read(row: i64, element: Element) -> Read {
    Read::Cell { cell: cell(row), element }
}

fn transaction(reads: Vec<Read>, writes: Vec<Write>) -> Transaction {
    let id = TransactionId { client: ClientId(Id::from_u128(9)), counter: Counter(1) };
    Transaction {
        id,
        attempt: Attempt(1),
        snapshot: Timestamp::ZERO,
        reads,
        decision: Decision::Commit(writes),
        level: Level::Strict,
    }
}

fn plan(transaction: &Transaction) -> Plan {
    Plan::new(space(), transaction, &BTreeSet::new())
}

fn mode(plan: &Plan, resource: &Resource) -> Option<Mode> {
    let key = LockKey::of(space(), resource);
    plan.locks.iter().find(|(own, _)| *own == key).map(|(_, mode)| *mode)
}

fn row_mode(plan: &Plan, row: i64) -> Option<Mode> {
    mode(plan, &Resource::Row((TABLE, key(1, row))))
}

fn holding(operations: &[Operation]) -> Row {
    let mut row = Row::default();
    operations.iter().for_each(|operation| row.apply(COLUMN, operation).expect("one type"));
    row
}

/// Whether the row has to be had alone when it holds this.
fn lacks(transaction: &Transaction, row: &Row) -> bool {
    !plan(transaction).lacking(transaction, |_| Some(row)).is_empty()
}

#[test]
fn the_store_is_locked_last_and_the_client_first_and_alone() {
    let plan = plan(&transaction(vec![read(1, Element::Whole)], vec![write(2, Operation::Add(1))]));
    let client = LockKey::of_client(space(), ClientId(Id::from_u128(9)));
    assert_eq!(plan.locks.first(), Some(&(client, Mode::Exclusive)));
    assert_eq!(plan.locks.last(), Some(&(LockKey::of_store(space()), Mode::Shared)));
    assert_eq!(plan.locks.len(), 6, "table, partition and two rows between them");
}

#[test]
fn rows_are_locked_in_one_order_whatever_the_order_of_the_operations() {
    let forth = transaction(Vec::new(), vec![write(1, Operation::Add(1)), write(2, Operation::Add(1))]);
    let back = transaction(Vec::new(), vec![write(2, Operation::Add(1)), write(1, Operation::Add(1))]);
    assert_eq!(plan(&forth), plan(&back));
}

#[test]
fn writes_that_do_not_look_share_a_cell_that_merges_and_have_others_alone() {
    let value = Value::Int(1);
    let append = Operation::Append { value: value.clone(), order: ListOrder::Strict };
    let put_entry = Operation::PutEntry { key: "a".into(), value: value.clone() };
    for operation in
        [Operation::Add(1), Operation::Assign(value.clone()), Operation::Insert(value.clone()), append, put_entry]
    {
        let transaction = transaction(Vec::new(), vec![write(1, operation.clone())]);
        assert_eq!(row_mode(&plan(&transaction), 1), Some(Mode::Shared), "{operation:?}");
        assert!(!lacks(&transaction, &holding(std::slice::from_ref(&operation))), "{operation:?}");
        assert!(lacks(&transaction, &Row::default()), "the first {operation:?} gives the cell its type");
    }
    let set_at = Operation::SetAt { index: 0, value: value.clone() };
    for operation in [Operation::Put(value), set_at, Operation::Create, Operation::Delete] {
        let transaction = transaction(Vec::new(), vec![write(1, operation.clone())]);
        assert_eq!(row_mode(&plan(&transaction), 1), Some(Mode::Exclusive), "{operation:?}");
    }
}

#[test]
fn reads_share_a_scalar_and_have_what_merges_alone() {
    let whole = transaction(vec![read(1, Element::Whole)], Vec::new());
    assert_eq!(row_mode(&plan(&whole), 1), Some(Mode::Shared));
    assert!(!lacks(&whole, &holding(&[Operation::Put(Value::Int(1))])));
    assert!(!lacks(&whole, &Row::default()));
    assert!(lacks(&whole, &holding(&[Operation::Add(1)])));
    let member = transaction(vec![read(1, Element::Member(Value::Int(1)))], Vec::new());
    assert_eq!(row_mode(&plan(&member), 1), Some(Mode::Exclusive));
}

#[test]
fn no_reader_and_writer_of_one_cell_share_its_row() {
    let value = Value::Int(1);
    let states = [Row::default(), holding(&[Operation::Put(value.clone())]), holding(&[Operation::Add(1)])];
    let operations = [Operation::Put(value.clone()), Operation::Add(1), Operation::Insert(value.clone())];
    for state in &states {
        for element in [Element::Whole, Element::Member(value.clone()), Element::Index(0)] {
            let reader = transaction(vec![read(1, element)], Vec::new());
            let reader_shares = row_mode(&plan(&reader), 1) == Some(Mode::Shared) && !lacks(&reader, state);
            for operation in &operations {
                let writer = transaction(Vec::new(), vec![write(1, operation.clone())]);
                let writer_shares = row_mode(&plan(&writer), 1) == Some(Mode::Shared) && !lacks(&writer, state);
                assert!(!(reader_shares && writer_shares), "{reader:?} and {operation:?} on {state:?}");
            }
        }
    }
}

#[test]
fn no_snapshot_shares_a_row_with_what_does_not_commute_with_its_writes() {
    use Operation::{Add, Append, Assign, Insert, PutEntry, PutTotal, Remove, RemoveEntry, SetAt};
    let value = || Value::Int(1);
    let list = |order| vec![Append { value: value(), order }, SetAt { index: 0, value: value() }];
    let types = [
        vec![Add(1), PutTotal(1)],
        vec![Assign(value()), Assign(Value::Int(2))],
        vec![Insert(value()), Remove(value())],
        vec![PutEntry { key: "a".into(), value: value() }, RemoveEntry { key: "a".into() }],
        list(ListOrder::Strict),
        list(ListOrder::Commit),
    ];
    let mut sharing = Vec::new();
    for operations in &types {
        let state = holding(&operations[..1]);
        let shares = |level, operation: &Operation| {
            let writer = Transaction { level, ..transaction(Vec::new(), vec![write(1, operation.clone())]) };
            row_mode(&plan(&writer), 1) == Some(Mode::Shared) && !lacks(&writer, &state)
        };
        for own in operations.iter().filter(|own| shares(Level::Snapshot, own)) {
            let mut others = operations.iter().filter(|other| shares(Level::Strict, other));
            assert!(others.all(|other| commutativity(own, other) != Commutativity::Conflict), "{own:?}");
            sharing.push(own);
        }
    }
    assert_eq!(sharing, [&types[0][0], &types[1][0], &types[1][1], &types[5][0]]);
}

#[test]
fn a_row_that_is_known_to_be_lacking_is_had_alone() {
    let transaction = transaction(Vec::new(), vec![write(1, Operation::Add(1))]);
    let lacking = plan(&transaction).lacking(&transaction, |_| None);
    assert_eq!(lacking, BTreeSet::from([(TABLE, key(1, 1))]));
    let again = Plan::new(space(), &transaction, &lacking);
    assert_eq!(row_mode(&again, 1), Some(Mode::Exclusive));
    assert!(again.lacking(&transaction, |_| None).is_empty());
}

#[test]
fn a_range_of_one_partition_locks_that_and_any_other_the_table() {
    let of = |range: KeyRange| plan(&transaction(vec![Read::Range { table: TABLE, range }], Vec::new()));
    let partition = |first: i64| Resource::Partition(TABLE, partition_of(&key(first, 0)));
    let table = Resource::Table(TABLE);
    let prefix = KeyRange::prefix(&[Value::Int(1)]).expect("a key");
    let inner = prefix.from(&key(1, 3));
    let after = KeyRange { lower: [key(1, 3).as_bytes(), &[0]].concat().into(), upper: inner.upper.clone() };
    for range in [prefix.clone(), inner, after, prefix.through(&key(1, 5)), KeyRange::one(&key(1, 1))] {
        let plan = of(range.clone());
        assert_eq!(mode(&plan, &partition(1)), Some(Mode::Exclusive), "{range:?}");
        assert_eq!((mode(&plan, &partition(2)), mode(&plan, &table)), (None, None), "{range:?}");
    }
    let two = KeyRange { lower: prefix.lower.clone(), upper: Some(key(2, 1).as_bytes().into()) };
    let open = KeyRange { lower: prefix.lower, upper: None };
    for range in [KeyRange::all(), two, open] {
        assert_eq!(mode(&of(range.clone()), &table), Some(Mode::Exclusive), "{range:?}");
    }
    let writer = plan(&transaction(Vec::new(), vec![write(1, Operation::Add(1))]));
    assert_eq!(mode(&writer, &partition(1)), Some(Mode::Shared), "which a reader of the range does not share");
    assert_eq!(mode(&writer, &table), Some(Mode::Shared));
}

#[test]
fn who_needs_many_locks_takes_the_store() {
    let writes = |count: usize| (0..count as i64).map(|row| write(row, Operation::Add(1))).collect();
    // Client, table and partition beside the rows, and the store.
    let most = plan(&transaction(Vec::new(), writes(LOCKS_MAX - 4)));
    assert_eq!(most.locks.len(), LOCKS_MAX);
    let many = transaction(Vec::new(), writes(LOCKS_MAX - 3));
    let client = LockKey::of_client(space(), many.id.client);
    let store = LockKey::of_store(space());
    assert_eq!(plan(&many).locks, [(client, Mode::Exclusive), (store, Mode::Exclusive)]);
    assert!(plan(&many).lacking(&many, |_| None).is_empty(), "it has every row alone");
}

#[test]
fn what_grows_a_row_much_or_fills_it_has_it_alone() {
    let insert = |bytes: usize| Operation::Insert(Value::bytes(vec![7; bytes]));
    let much = transaction(Vec::new(), vec![write(1, insert(SHARED_GROWTH_BYTES_MAX))]);
    assert_eq!(row_mode(&plan(&much), 1), Some(Mode::Exclusive));
    let little = transaction(Vec::new(), vec![write(1, insert(100))]);
    assert!(!lacks(&little, &holding(&[insert(ROW_BYTES_MAX / 2 - 100)])));
    assert!(lacks(&little, &holding(&[insert(ROW_BYTES_MAX / 2)])));
}

#[test]
fn stores_in_other_schemas_have_other_locks_and_halves_make_the_whole() {
    assert_ne!(LockKey::of_store(space()), LockKey::of_store(LockSpace::of("other")));
    let key = LockKey::of_store(space());
    assert_eq!(key.as_i64(), 2022840986473724343, "releases that share a database agree on it");
    let (high, low) = key.halves();
    assert_eq!((u64::from(high) << 32 | u64::from(low)).cast_signed(), key.as_i64());
}

#[test]
fn a_query_keeps_writers_off_its_primary_keys() {
    let of = |query: Query| plan(&transaction(vec![Read::Query(query.into())], vec![write(1, Operation::Add(1))]));
    let all = Query::all(TABLE, false);
    assert_eq!(mode(&of(all.clone()), &Resource::Table(TABLE)), Some(Mode::Exclusive));
    let first = KeyRange::prefix(&[Value::Int(1)]).expect("short");
    for query in [all.within(&first), all.with_range(first)] {
        let some = of(query);
        assert_eq!(mode(&some, &Resource::Table(TABLE)), Some(Mode::Shared));
        assert_eq!(mode(&some, &Resource::Partition(TABLE, partition_of(&key(1, 1)))), Some(Mode::Exclusive));
    }
}
