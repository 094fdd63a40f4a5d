//! Transactions in the order of time, with the faults that were made meanwhile.

use std::fmt::Write;

use crate::history::{Commit, Fault, Moment, Outcome};
use crate::operation::{Object, Operation};
use crate::own::Index;
use crate::violation::TransactionNumber;

/// How long before the first transaction a fault is still of interest, in nanoseconds.
const BEFORE: u64 = 2_000_000_000;
const FAULTS: usize = 8;
const OPERATIONS: usize = 12;

/// Writes a line a transaction. Of its operations those on the objects, or all if there are none.
pub fn write(index: &Index<'_>, transactions: &[TransactionNumber], objects: &[Object], text: &mut String) {
    let mut transactions = transactions.to_vec();
    transactions.sort_by_key(|&number| (index.invoked(number), number));
    transactions.dedup();
    let (Some(&first), Some(end)) =
        (transactions.first(), transactions.iter().map(|&number| index.transaction(number).completed).max())
    else {
        return;
    };
    let from = Moment(index.invoked(first).saturating_sub(BEFORE));
    let mut faults: Vec<&Fault> =
        index.history.faults.iter().filter(|fault| (from..=end).contains(&fault.at)).collect();
    faults.sort_by_key(|fault| fault.at);
    let left_out = faults.len().saturating_sub(FAULTS);
    let mut faults = faults.into_iter().skip(left_out).peekable();
    for number in transactions {
        while let Some(fault) = faults.next_if(|fault| fault.at.0 <= index.invoked(number)) {
            write_fault(fault, text);
        }
        write_transaction(index, number, objects, text);
    }
    faults.for_each(|fault| write_fault(fault, text));
}

fn write_fault(fault: &Fault, text: &mut String) {
    let _infallible = writeln!(text, "  {}  fault: {}", fault.at, fault.what);
}

fn write_transaction(index: &Index<'_>, number: TransactionNumber, objects: &[Object], text: &mut String) {
    let transaction = index.transaction(number);
    let outcome = match transaction.outcome {
        Outcome::Committed(Commit::At(at)) => format!("committed at {}", at.0),
        Outcome::Committed(Commit::Unstamped) => "committed".to_owned(),
        Outcome::Aborted => "aborted".to_owned(),
        Outcome::Unknown => "outcome unknown".to_owned(),
    };
    let concerns =
        |operation: &&Operation| objects.is_empty() || objects.iter().any(|object| touches(operation, *object));
    let shown: Vec<String> = transaction.operations.iter().filter(concerns).map(Operation::to_string).collect();
    let more = transaction.operations.len() - shown.len().min(OPERATIONS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown = &shown[..shown.len().min(OPERATIONS)];
    let _infallible = writeln!(
        text,
        "  {} to {}  T{} of client {}, {outcome}: {}{more}",
        transaction.invoked,
        transaction.completed,
        number.0,
        transaction.client.0,
        shown.join("; ")
    );
}

fn touches(operation: &Operation, object: Object) -> bool {
    match *operation {
        Operation::Write { register, .. } | Operation::Read { register, .. } => Object::Register(register) == object,
        Operation::Append { list, .. } | Operation::ReadList { list, .. } => Object::List(list) == object,
        Operation::Add { counter, .. } | Operation::ReadCounter { counter, .. } => Object::Counter(counter) == object,
        Operation::Insert { set, .. }
        | Operation::Remove { set, .. }
        | Operation::Contains { set, .. }
        | Operation::ReadSet { set, .. } => Object::Set(set) == object,
        Operation::Transfer { bank, from, to, .. } => {
            [from, to].iter().any(|&account| Object::Account(bank, account) == object)
        }
        Operation::ReadAccount { bank, account, .. } => Object::Account(bank, account) == object,
        Operation::ReadBank { bank, .. } => matches!(object, Object::Account(of, _) if of == bank),
    }
}
