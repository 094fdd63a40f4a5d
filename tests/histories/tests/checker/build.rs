//! Histories by hand.

use iolite_histories::{
    Account, Bank, BankSetup, Class, Client, Commit, CommitTimestamp, Counter, History, List, Moment, Operation,
    Outcome, Register, Report, Set, Transaction, Value, judge,
};

/// A history to which transactions are added.
#[derive(Default)]
pub struct Build(pub History);

pub fn committed(from: u64, to: u64, operations: Vec<Operation>) -> Transaction {
    Transaction {
        client: Client((from % 7) as u32),
        invoked: Moment(from),
        completed: Moment(to),
        operations,
        outcome: Outcome::Committed(Commit::Unstamped),
    }
}

impl Build {
    pub fn bank(balances: &[i64], lowest: i64) -> Build {
        let mut build = Build::default();
        build.0.setup.banks.push(BankSetup { balances: balances.to_vec(), lowest });
        build
    }

    pub fn committed(mut self, from: u64, to: u64, operations: impl Into<Vec<Operation>>) -> Build {
        self.0.transactions.push(committed(from, to, operations.into()));
        self
    }

    pub fn at(mut self, from: u64, to: u64, at: u64, operations: impl Into<Vec<Operation>>) -> Build {
        let outcome = Outcome::Committed(Commit::At(CommitTimestamp(at)));
        self.0.transactions.push(Transaction { outcome, ..committed(from, to, operations.into()) });
        self
    }

    pub fn unknown(mut self, from: u64, to: u64, operations: impl Into<Vec<Operation>>) -> Build {
        let outcome = Outcome::Unknown;
        self.0.transactions.push(Transaction { outcome, ..committed(from, to, operations.into()) });
        self
    }

    pub fn aborted(mut self, from: u64, to: u64, operations: impl Into<Vec<Operation>>) -> Build {
        let outcome = Outcome::Aborted;
        self.0.transactions.push(Transaction { outcome, ..committed(from, to, operations.into()) });
        self
    }

    pub fn last(mut self, operations: impl Into<Vec<Operation>>) -> Build {
        let end = self.0.transactions.iter().map(|one| one.completed.0).max().unwrap_or(0);
        self.0.last.push(committed(end + 10, end + 20, operations.into()));
        self
    }

    pub fn judge(&self) -> Report {
        judge(&self.0).expect("histories by hand are well formed")
    }

    /// Exactly these classes were found, by our own checker.
    #[track_caller]
    pub fn finds(&self, classes: &[Class]) -> Report {
        let report = self.judge();
        let found: Vec<Class> = report.violations.keys().copied().collect();
        assert_eq!(found, classes, "{report}");
        report
    }

    #[track_caller]
    pub fn is_valid(&self) -> Report {
        let report = self.finds(&[]);
        assert!(report.is_clean(), "{report}");
        report
    }
}

pub fn write(register: u32, value: u64) -> Operation {
    Operation::Write { register: Register(register), value: Value(value) }
}

pub fn read(register: u32, value: u64) -> Operation {
    Operation::Read { register: Register(register), value: Some(Value(value)) }
}

pub fn read_empty(register: u32) -> Operation {
    Operation::Read { register: Register(register), value: None }
}

pub fn append(list: u32, value: u64) -> Operation {
    Operation::Append { list: List(list), value: Value(value) }
}

pub fn list(list: u32, values: &[u64]) -> Operation {
    Operation::ReadList { list: List(list), values: values.iter().copied().map(Value).collect() }
}

pub fn add(counter: u32, amount: i64) -> Operation {
    Operation::Add { counter: Counter(counter), amount }
}

pub fn counter(counter: u32, total: i64) -> Operation {
    Operation::ReadCounter { counter: Counter(counter), total }
}

pub fn insert(set: u32, value: u64) -> Operation {
    Operation::Insert { set: Set(set), value: Value(value) }
}

pub fn remove(set: u32, value: u64) -> Operation {
    Operation::Remove { set: Set(set), value: Value(value) }
}

pub fn contains(set: u32, value: u64, found: bool) -> Operation {
    Operation::Contains { set: Set(set), value: Value(value), found }
}

pub fn set(set: u32, values: &[u64]) -> Operation {
    Operation::ReadSet { set: Set(set), values: values.iter().copied().map(Value).collect() }
}

pub fn transfer(from: u32, to: u32, amount: i64) -> Operation {
    Operation::Transfer { bank: Bank(0), from: Account(from), to: Account(to), amount }
}

pub fn account(account: u32, balance: i64) -> Operation {
    Operation::ReadAccount { bank: Bank(0), account: Account(account), balance }
}

pub fn bank(balances: &[i64]) -> Operation {
    Operation::ReadBank { bank: Bank(0), balances: balances.to_vec() }
}
