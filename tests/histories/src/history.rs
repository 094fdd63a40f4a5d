//! A history: what clients asked of the store, what came back, and when.
//!
//! Invariant: all moments are of one monotonic clock, so that "completed before it was invoked" means what it says.

use std::fmt;

use crate::operation::{Account, Bank, Operation};

/// Nanoseconds of the monotonic clock that all recorded processes of a machine share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

/// A client: one session of a program, by a number of the runner's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client(pub u32);

/// The store's own place of a commit in its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitTimestamp(pub u64);

/// What a client knows of the place of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// For a transaction that only reads: the snapshot that it saw, with everything at or below it.
    At(CommitTimestamp),
    /// The client was not told.
    Unstamped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed(Commit),
    /// It took no effect, and never will.
    Aborted,
    /// It may have taken effect, may do so at any later time, or never. Timeouts, lost connections and killed clients end here.
    Unknown,
}

/// One transaction as its client saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    pub client: Client,
    /// When the client began it: before anything of it was sent.
    pub invoked: Moment,
    /// When the client learned the outcome, or gave up.
    pub completed: Moment,
    /// In the order in which the transaction made them. Of a transaction that did not commit, what its reads returned counts for nothing.
    pub operations: Vec<Operation>,
    pub outcome: Outcome,
}

/// A fault that the runner made: it explains, and is judged by nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub at: Moment,
    pub what: String,
}

/// A bank before the first transaction: its accounts are numbered from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BankSetup {
    pub balances: Vec<i64>,
    /// No balance may ever be seen below it.
    pub lowest: i64,
}

/// What there was before the first transaction. Everything but banks begins empty: registers without a value, counters at 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// A bank's number is its place here.
    pub banks: Vec<BankSetup>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    pub setup: Setup,
    /// In any order. A transaction's number in explanations is its place here.
    pub transactions: Vec<Transaction>,
    /// What a fresh client read after everything had come to rest; numbered on from the transactions before.
    pub last: Vec<Transaction>,
    pub faults: Vec<Fault>,
}

impl History {
    /// The transactions, then those that read the last state.
    pub fn all(&self) -> impl Iterator<Item = &Transaction> {
        self.transactions.iter().chain(&self.last)
    }
}

impl Setup {
    pub fn bank(&self, bank: Bank) -> Option<&BankSetup> {
        self.banks.get(bank.0 as usize)
    }

    /// What an account held before the first transaction.
    pub fn balance(&self, bank: Bank, account: Account) -> Option<i64> {
        self.bank(bank)?.balances.get(account.0 as usize).copied()
    }
}

impl BankSetup {
    /// What all accounts hold together, always.
    pub fn sum(&self) -> i128 {
        self.balances.iter().map(|&balance| i128::from(balance)).sum()
    }
}

impl Transaction {
    pub fn timestamp(&self) -> Option<CommitTimestamp> {
        match self.outcome {
            Outcome::Committed(Commit::At(at)) => Some(at),
            Outcome::Committed(Commit::Unstamped) | Outcome::Aborted | Outcome::Unknown => None,
        }
    }

    pub fn writes(&self) -> bool {
        self.operations.iter().any(Operation::is_write)
    }
}

impl fmt::Display for Moment {
    /// Seconds, to the microsecond.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06} s", self.0 / 1_000_000_000, self.0 / 1000 % 1_000_000)
    }
}
