//! Verdicts, given what is found.

use iolite_store::{Commit, Completion, CompletionDecision};
use iolite_values::{
    Attempt, Author, Cell, ClientId, ColumnId, Counter, Decision, Edit, Element, Id, Insertion, KeyRange, Level,
    ListOrder, RowKey, TableId, TransactionId, Unit, UnitRange, Value,
};

use super::*;
use crate::facts::{ClientFacts, RowFacts, Standing};
use crate::locks::LockSpace;

const TABLE: TableId = TableId(7);
const COLUMN: ColumnId = ColumnId(1);

fn at(number: u64) -> Timestamp {
    Timestamp::from_u64(number)
}

fn cell() -> Cell {
    Cell { table: TABLE, row: RowKey::new(&[Value::Int(1)]).expect("a key"), column: COLUMN }
}

fn write(operation: Operation) -> Write {
    Write { cell: cell(), operation }
}

fn whole() -> Read {
    Read::Cell { cell: cell(), element: Element::Whole }
}

/// The fourth transaction of a client, on a snapshot at 50.
fn transaction(reads: Vec<Read>, writes: Vec<Write>) -> Transaction {
    let id = TransactionId { client: ClientId(Id::from_u128(9)), counter: Counter(4) };
    Transaction {
        id,
        attempt: Attempt(1),
        snapshot: at(50),
        reads,
        decision: Decision::Commit(writes),
        level: Level::Strict,
    }
}

/// A store that is at 100, and knows what was since 10; these operations touched the row at these times.
fn facts(history: &[(u64, Operation)]) -> Facts {
    let commits = history.iter().map(|(number, operation)| Commit {
        at: at(*number),
        transaction: TransactionId::default(),
        writes: [write(operation.clone())].into(),
    });
    let id = (TABLE, cell().row);
    let row = RowFacts::fold(&id, Row::default(), Timestamp::ZERO, commits.collect()).expect("they fit");
    let standing = Standing { highest: at(100), low_watermark: at(10), clock_micros: 0 };
    Facts { standing, rows: [(id, row)].into(), ..Facts::default() }
}

#[test]
fn a_query_is_changed_by_what_may_come_in_after_it_was_read() {
    let state = iolite_values::Field::Cell { column: COLUMN, absent: Value::Null };
    let open = iolite_values::Condition { field: state, test: iolite_values::Test::Equal(Value::Int(1)) };
    let query = iolite_values::Query { conditions: vec![open], ..iolite_values::Query::all(TABLE, false) };
    let reader = transaction(vec![Read::Query(std::sync::Arc::new(query))], vec![]);
    let beside = |history: &[(u64, i64)]| {
        let commits = history.iter().map(|(number, value)| Commit {
            at: at(*number),
            transaction: TransactionId::default(),
            writes: [write(Operation::Put(Value::Int(*value)))].into(),
        });
        Facts { beside_queries: commits.collect(), ..facts(&[]) }
    };
    let conflict = |number| Verdict::Reply(CommitReply::Conflict { at_least: at(number) });
    assert_eq!(verdict(&reader, &beside(&[(60, 1), (70, 1), (80, 2)])), conflict(70));
    assert_eq!(verdict(&reader, &beside(&[(60, 2)])), Verdict::Accept);
}

/// As if everything was had alone.
fn verdict(transaction: &Transaction, facts: &Facts) -> Verdict {
    let alone = crate::locks::rows_of(transaction);
    let plan = Plan::new(LockSpace::of("iolite"), transaction, &alone);
    validate(transaction, facts, &plan, Broken::Nothing)
}

fn conflict(at_least: u64) -> Verdict {
    Verdict::Reply(CommitReply::Conflict { at_least: at(at_least) })
}

#[test]
fn an_outcome_that_is_recorded_is_the_answer_whatever_has_changed_since() {
    let completion = Completion { attempt: Attempt(1), at: at(60), decision: CompletionDecision::Committed };
    let client = ClientFacts { acknowledged: Counter(0), completion: Some(completion.clone()) };
    let facts = Facts { client, ..facts(&[(60, Operation::Put(Value::Int(1)))]) };
    let transaction = transaction(vec![whole()], vec![write(Operation::Put(Value::Int(1)))]);
    assert_eq!(verdict(&transaction, &facts), Verdict::Reply(CommitReply::Completed(completion)));
}

#[test]
fn what_was_acknowledged_is_forgotten() {
    let of = |acknowledged| {
        let client = ClientFacts { acknowledged: Counter(acknowledged), completion: None };
        verdict(&transaction(Vec::new(), Vec::new()), &Facts { client, ..facts(&[]) })
    };
    assert_eq!(of(3), Verdict::Accept);
    assert_eq!(of(4), Verdict::Reply(CommitReply::Forgotten));
}

#[test]
fn a_read_conflicts_with_the_last_commit_after_its_snapshot_that_changed_it() {
    let put = |number: i64| Operation::Put(Value::Int(number));
    let reading = transaction(vec![whole()], Vec::new());
    assert_eq!(verdict(&reading, &facts(&[(49, put(1)), (50, put(2))])), Verdict::Accept);
    assert_eq!(verdict(&reading, &facts(&[(50, put(1)), (51, put(2)), (70, put(3))])), conflict(70));
}

#[test]
fn a_read_of_a_part_conflicts_with_changes_of_that_part() {
    let insert = |number: i64| Operation::Insert(Value::Int(number));
    let member = Read::Cell { cell: cell(), element: Element::Member(Value::Int(1)) };
    let reading = transaction(vec![member], Vec::new());
    assert_eq!(verdict(&reading, &facts(&[(60, insert(2))])), Verdict::Accept);
    assert_eq!(verdict(&reading, &facts(&[(60, insert(1)), (61, insert(2))])), conflict(60));
}

#[test]
fn a_range_that_was_touched_is_a_conflict() {
    let reading = transaction(vec![Read::Range { table: TABLE, range: KeyRange::all() }], Vec::new());
    assert_eq!(verdict(&reading, &facts(&[])), Verdict::Accept);
    assert_eq!(verdict(&reading, &Facts { range_change: Some(at(77)), ..facts(&[]) }), conflict(77));
}

#[test]
fn a_snapshot_of_which_nobody_can_tell_any_more_is_a_conflict_and_one_not_reached_is_refused() {
    let on = |number| Transaction { snapshot: at(number), ..transaction(vec![whole()], Vec::new()) };
    assert_eq!(verdict(&on(10), &facts(&[])), Verdict::Accept);
    assert_eq!(verdict(&on(9), &facts(&[])), conflict(100));
    assert_eq!(verdict(&on(100), &facts(&[])), Verdict::Accept);
    let refusal = Refusal::NotResolved { asked: at(101), resolved: at(100) };
    assert_eq!(verdict(&on(101), &facts(&[])), Verdict::Refuse(refusal));
    let blind = Transaction { snapshot: at(9), ..transaction(Vec::new(), vec![write(Operation::Add(1))]) };
    assert_eq!(verdict(&blind, &facts(&[])), Verdict::Accept, "nobody looked at its snapshot");
}

#[test]
fn a_row_that_turns_out_to_be_needed_alone_is_locked_first() {
    let add = transaction(Vec::new(), vec![write(Operation::Add(1))]);
    let plan = Plan::new(LockSpace::of("iolite"), &add, &BTreeSet::new());
    let lacking = Verdict::Lock([(TABLE, cell().row)].into());
    assert_eq!(validate(&add, &facts(&[]), &plan, Broken::Nothing), lacking);
    assert_eq!(validate(&add, &facts(&[(40, Operation::Add(1))]), &plan, Broken::Nothing), Verdict::Accept);
}

#[test]
fn an_element_that_is_not_there_is_a_conflict_unless_the_transaction_appends_it() {
    let set_at = |index| write(Operation::SetAt { index, value: Value::Null });
    let append = || Operation::Append { value: Value::Null, order: ListOrder::Commit };
    let facts = facts(&[(40, append())]);
    assert_eq!(verdict(&transaction(Vec::new(), vec![set_at(0)]), &facts), Verdict::Accept);
    assert_eq!(verdict(&transaction(Vec::new(), vec![set_at(1)]), &facts), conflict(100));
    assert_eq!(verdict(&transaction(Vec::new(), vec![write(append()), set_at(1)]), &facts), Verdict::Accept);
    let life = |operation| Write { cell: Cell::row(TABLE, cell().row), operation };
    let anew = transaction(Vec::new(), vec![life(Operation::Create), set_at(0)]);
    assert_eq!(verdict(&anew, &facts), conflict(100), "the list is another one");
}

#[test]
fn another_type_is_refused_unless_the_row_is_made_anew() {
    let facts = facts(&[(40, Operation::Add(1))]);
    let put = || write(Operation::Put(Value::Null));
    let refused = verdict(&transaction(Vec::new(), vec![put()]), &facts);
    assert!(matches!(refused, Verdict::Refuse(Refusal::Type { .. })), "{refused:?}");
    let create = Write { cell: Cell::row(TABLE, cell().row), operation: Operation::Create };
    assert_eq!(verdict(&transaction(Vec::new(), vec![create, put()]), &facts), Verdict::Accept);
}

#[test]
fn a_row_at_the_limit_is_taken_and_one_above_is_refused() {
    let put = |bytes: usize| transaction(Vec::new(), vec![write(Operation::Put(Value::bytes(vec![7; bytes])))]);
    let mut row = Row::default();
    row.apply(COLUMN, &Operation::Put(Value::bytes([]))).expect("a scalar");
    let most = ROW_BYTES_MAX - row_bytes(&row);
    assert_eq!(verdict(&put(most), &facts(&[])), Verdict::Accept);
    let refused = verdict(&put(most + 1), &facts(&[]));
    assert!(matches!(refused, Verdict::Refuse(Refusal::RowTooLarge { .. })), "{refused:?}");
}

#[test]
fn what_was_removed_from_a_text_counts_no_more() {
    let length = 50_000;
    let saved = |save: u32| {
        let (first, text) = (Unit::new(Author(1), save * length), "x".repeat(length as usize).into());
        let before = save.checked_sub(1).map(|save| UnitRange { author: Author(1), from: save * length, length });
        let inserted = Some(Insertion { first, left: None, right: None, text });
        Operation::Edit(Edit { inserted, removed: before.into_iter().collect() }.into())
    };
    let history: Vec<(u64, Operation)> = (0..30).map(|save| (u64::from(save) + 11, saved(save))).collect();
    assert_eq!(verdict(&transaction(Vec::new(), vec![write(saved(30))]), &facts(&history)), Verdict::Accept);
}

#[test]
fn the_first_to_commit_after_a_snapshot_wins() {
    let put = |number: i64| Operation::Put(Value::Int(number));
    let late = |operation| Transaction { level: Level::Snapshot, ..transaction(Vec::new(), vec![write(operation)]) };
    assert_eq!(verdict(&late(put(3)), &facts(&[(49, put(1)), (50, put(2))])), Verdict::Accept);
    assert_eq!(verdict(&late(put(3)), &facts(&[(49, put(1)), (70, put(2))])), conflict(70));
    assert_eq!(verdict(&late(Operation::Add(1)), &facts(&[(70, Operation::Add(1))])), Verdict::Accept);
    let strict = transaction(Vec::new(), vec![write(put(3))]);
    assert_eq!(verdict(&strict, &facts(&[(70, put(2))])), Verdict::Accept, "it comes after that");
}
