//! Whether a history can be judged at all: mistakes of the recorder, not of the store.

use std::collections::HashMap;

use thiserror::Error;

use crate::history::{History, Outcome, Transaction};
use crate::operation::{Object, Operation, Value};

/// A mistake in how a history was recorded: repair the recorder, and run again.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    #[error(
        "T{transaction}: completed at {completed} ns, before it was invoked at {invoked} ns: record both with one monotonic clock"
    )]
    CompletedBeforeInvoked { transaction: usize, invoked: u64, completed: u64 },
    #[error("T{first} and T{second} both {what}: record unique values, or nobody can tell whose write a read saw")]
    WrittenTwice { first: usize, second: usize, what: String },
    #[error("T{transaction}: {operation}, of which the set-up says nothing: declare the bank and its accounts")]
    UnknownBank { transaction: usize, operation: String },
    #[error("T{transaction}: {operation}, but the bank has {accounts} accounts: read them all")]
    OtherAccounts { transaction: usize, operation: String, accounts: usize },
    #[error(
        "T{transaction} is of the last state and {problem}: the last state is only read, by transactions that commit, after all others completed"
    )]
    NotLast { transaction: usize, problem: &'static str },
    #[error("{count} transactions, at most {}: split the run", u32::MAX / 4)]
    TooMany { count: usize },
}

pub fn check(history: &History) -> Result<(), Malformed> {
    let count = history.transactions.len() + history.last.len();
    if count > (u32::MAX / 4) as usize {
        return Err(Malformed::TooMany { count });
    }
    let mut written = HashMap::new();
    for (number, transaction) in history.all().enumerate() {
        let (invoked, completed) = (transaction.invoked.0, transaction.completed.0);
        if completed < invoked {
            return Err(Malformed::CompletedBeforeInvoked { transaction: number, invoked, completed });
        }
        for operation in &transaction.operations {
            check_operation(history, number, operation)?;
            let Some(key) = unique(operation) else { continue };
            if let Some(first) = written.insert(key, number) {
                return Err(Malformed::WrittenTwice { first, second: number, what: operation.to_string() });
            }
        }
    }
    check_last(history)
}

/// What may be there once in a history.
fn unique(operation: &Operation) -> Option<(Object, Value, bool)> {
    match *operation {
        Operation::Write { register, value } => Some((Object::Register(register), value, true)),
        Operation::Append { list, value } => Some((Object::List(list), value, true)),
        Operation::Insert { set, value } => Some((Object::Set(set), value, true)),
        Operation::Remove { set, value } => Some((Object::Set(set), value, false)),
        Operation::Read { .. }
        | Operation::ReadList { .. }
        | Operation::Add { .. }
        | Operation::ReadCounter { .. }
        | Operation::Transfer { .. }
        | Operation::ReadAccount { .. }
        | Operation::ReadBank { .. }
        | Operation::Contains { .. }
        | Operation::ReadSet { .. } => None,
    }
}

fn check_operation(history: &History, transaction: usize, operation: &Operation) -> Result<(), Malformed> {
    let unknown = || Malformed::UnknownBank { transaction, operation: operation.to_string() };
    match operation {
        Operation::Transfer { bank, from, to, .. } => {
            history.setup.balance(*bank, *from).and(history.setup.balance(*bank, *to)).ok_or_else(unknown)?;
        }
        Operation::ReadAccount { bank, account, .. } => {
            history.setup.balance(*bank, *account).ok_or_else(unknown)?;
        }
        Operation::ReadBank { bank, balances } => {
            let accounts = history.setup.bank(*bank).ok_or_else(unknown)?.balances.len();
            if accounts != balances.len() {
                return Err(Malformed::OtherAccounts { transaction, operation: operation.to_string(), accounts });
            }
        }
        Operation::Write { .. }
        | Operation::Read { .. }
        | Operation::Append { .. }
        | Operation::ReadList { .. }
        | Operation::Add { .. }
        | Operation::ReadCounter { .. }
        | Operation::Insert { .. }
        | Operation::Remove { .. }
        | Operation::Contains { .. }
        | Operation::ReadSet { .. } => {}
    }
    Ok(())
}

fn check_last(history: &History) -> Result<(), Malformed> {
    let end = history.transactions.iter().map(|transaction| transaction.completed).max();
    let problem = |transaction: &Transaction| match transaction.outcome {
        _ if transaction.writes() => Some("writes"),
        Outcome::Aborted | Outcome::Unknown => Some("did not commit"),
        Outcome::Committed(_) => {
            end.is_some_and(|end| transaction.invoked < end).then_some("began before the others had completed")
        }
    };
    for (place, transaction) in history.last.iter().enumerate() {
        if let Some(problem) = problem(transaction) {
            return Err(Malformed::NotLast { transaction: history.transactions.len() + place, problem });
        }
    }
    Ok(())
}
