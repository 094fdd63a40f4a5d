//! Tables of weaker levels: what each level allows, and what is found all the same.

use super::*;
use crate::app::{OfLevel, Weak, cell};

/// A call of the first or the second client, with what it put into the label of the row, or added to what is left.
struct Made {
    by: usize,
    key: i64,
    what: OfLevel,
    wrote: Option<Operation>,
}

fn made(by: usize, key: i64, what: OfLevel, label: i64) -> Made {
    Made { by, key, what, wrote: Some(Operation::Put(Value::Int(label))) }
}

fn picked(by: usize) -> Made {
    Made { by, key: 0, what: OfLevel::Pick, wrote: Some(Operation::Add(-1)) }
}

fn filled(by: usize, amount: i64) -> Made {
    Made { by, key: 0, what: OfLevel::Fill(amount), wrote: Some(Operation::Add(amount)) }
}

/// What is wrong with these, one after the other in a table of this level.
fn found(table: Weak, all: &[Made]) -> Option<Invariant> {
    let clients = [client(), ClientId(Id::from_u128(78))];
    let mut history = history(&[]);
    for (place, made) in all.iter().enumerate() {
        let (index, counter, micros) = (ClientIndex(made.by), Counter(place as u64 + 1), place as u64 * 10 + 10);
        let call = Call::Weak { table, key: made.key, what: made.what };
        history.identities.insert(clients[made.by], index);
        history.versions.insert(index, SchemaVersion::First);
        history.calls.insert((index, counter), Called { call, ..called(CalledAs::Named, 0) });
        let column = if matches!(made.wrote, Some(Operation::Add(_))) { "left" } else { "label" };
        let write = |operation: &Operation| Write {
            cell: cell(table.name(), &[made.key], column),
            operation: operation.clone(),
        };
        let transaction = TransactionId { client: clients[made.by], counter };
        add_record(&mut history, store(1), transaction, made.wrote.as_ref().map(write), micros);
    }
    violated(&history)
}

fn at_both(all: &[Made]) -> [Option<Invariant>; 2] {
    [found(Weak::Snapshot, all), found(Weak::ReadCommitted, all)]
}

const FOUND: Option<Invariant> = Some(Invariant::Serializability);

#[test]
fn a_lost_update_is_found_but_where_reads_are_committed_only() {
    let both = [made(0, 0, OfLevel::Relabel, 1), made(1, 0, OfLevel::Relabel, 1)];
    assert_eq!(at_both(&both), [FOUND, None]);
    let picks = [filled(0, 1), picked(0), picked(1)];
    assert_eq!(at_both(&picks), [FOUND, None], "both took the last one");
    let other = [filled(0, 1), filled(1, 1), picked(0), filled(1, 1), picked(1)];
    assert_eq!(at_both(&other), [None, None]);
}

#[test]
fn an_update_of_one_client_is_not_lost_at_any_level() {
    let both = [made(0, 0, OfLevel::Relabel, 1), made(0, 0, OfLevel::Relabel, 1)];
    assert_eq!(at_both(&both), [FOUND, FOUND]);
}

#[test]
fn a_write_skew_is_allowed_below_strict_and_values_that_never_were_are_not() {
    let skew = |second| [made(0, 1, OfLevel::Relabel, 1), made(1, 0, OfLevel::Copy, second)];
    assert_eq!(at_both(&skew(1)), [None, None], "it read what was before");
    assert_eq!(at_both(&skew(2)), [None, None]);
    assert_eq!(at_both(&skew(3)), [FOUND, FOUND]);
}

#[test]
fn an_abort_is_on_a_state_that_was() {
    let pick = || Made { wrote: None, ..picked(1) };
    assert_eq!(at_both(&[filled(0, 1), pick()]), [None, None], "nothing was left before");
    assert_eq!(at_both(&[filled(1, 1), pick()]), [FOUND, FOUND], "it had filled it itself");
}
