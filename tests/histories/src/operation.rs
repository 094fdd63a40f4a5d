//! Micro-operations: what a transaction did to one object, and what it saw.
//!
//! Invariant: a value is written to an object, appended to a list or inserted into a set once in a history, so that a read says whose write it saw.

use std::fmt;

macro_rules! numbered {
    ($($(#[$documentation:meta])* $name:ident)*) => {$(
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);
    )*};
}

numbered! {
    /// Holds one value, or none before the first write.
    Register
    /// Appended to at its end, read whole. Its appends must conflict (`order = strict`), else their order is not strict by design.
    List
    /// Added to and read.
    Counter
    /// Values are inserted once and removed at most once.
    Set
    /// Accounts, between which money moves.
    Bank
    /// A place in a bank.
    Account
}

/// What is written: unique for its object in a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub u64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Write {
        register: Register,
        value: Value,
    },
    Read {
        register: Register,
        value: Option<Value>,
    },
    Append {
        list: List,
        value: Value,
    },
    ReadList {
        list: List,
        values: Vec<Value>,
    },
    Add {
        counter: Counter,
        amount: i64,
    },
    ReadCounter {
        counter: Counter,
        total: i64,
    },
    Transfer {
        bank: Bank,
        from: Account,
        to: Account,
        amount: i64,
    },
    ReadAccount {
        bank: Bank,
        account: Account,
        balance: i64,
    },
    /// All accounts, in their order.
    ReadBank {
        bank: Bank,
        balances: Vec<i64>,
    },
    Insert {
        set: Set,
        value: Value,
    },
    /// Of a value that its client knows to be there: it saw it, or inserted it and was acknowledged.
    Remove {
        set: Set,
        value: Value,
    },
    Contains {
        set: Set,
        value: Value,
        found: bool,
    },
    /// In any order.
    ReadSet {
        set: Set,
        values: Vec<Value>,
    },
}

/// What operations are about. Of a bank each account is an object of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Object {
    Register(Register),
    List(List),
    Counter(Counter),
    Set(Set),
    Account(Bank, Account),
}

impl Operation {
    pub fn is_write(&self) -> bool {
        match self {
            Operation::Write { .. }
            | Operation::Append { .. }
            | Operation::Add { .. }
            | Operation::Transfer { .. }
            | Operation::Insert { .. }
            | Operation::Remove { .. } => true,
            Operation::Read { .. }
            | Operation::ReadList { .. }
            | Operation::ReadCounter { .. }
            | Operation::ReadAccount { .. }
            | Operation::ReadBank { .. }
            | Operation::Contains { .. }
            | Operation::ReadSet { .. } => false,
        }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Object::Register(Register(number)) => write!(f, "register {number}"),
            Object::List(List(number)) => write!(f, "list {number}"),
            Object::Counter(Counter(number)) => write!(f, "counter {number}"),
            Object::Set(Set(number)) => write!(f, "set {number}"),
            Object::Account(Bank(bank), Account(account)) => write!(f, "account {account} of bank {bank}"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Write { register, value } => write!(f, "wrote {value} to register {}", register.0),
            Operation::Read { register, value: Some(value) } => write!(f, "read {value} from register {}", register.0),
            Operation::Read { register, value: None } => write!(f, "read nothing from register {}", register.0),
            Operation::Append { list, value } => write!(f, "appended {value} to list {}", list.0),
            Operation::ReadList { list, values } => write!(f, "read list {} = {}", list.0, Shown(values)),
            Operation::Add { counter, amount } => write!(f, "added {amount} to counter {}", counter.0),
            Operation::ReadCounter { counter, total } => write!(f, "read counter {} = {total}", counter.0),
            Operation::Transfer { bank, from, to, amount } => {
                write!(f, "moved {amount} in bank {} from account {} to {}", bank.0, from.0, to.0)
            }
            Operation::ReadAccount { bank, account, balance } => {
                write!(f, "read account {} of bank {} = {balance}", account.0, bank.0)
            }
            Operation::ReadBank { bank, balances } => write!(f, "read bank {} = {balances:?}", bank.0),
            Operation::Insert { set, value } => write!(f, "inserted {value} into set {}", set.0),
            Operation::Remove { set, value } => write!(f, "removed {value} from set {}", set.0),
            Operation::Contains { set, value, found: true } => write!(f, "found {value} in set {}", set.0),
            Operation::Contains { set, value, found: false } => write!(f, "did not find {value} in set {}", set.0),
            Operation::ReadSet { set, values } => write!(f, "read set {} = {}", set.0, Shown(values)),
        }
    }
}

/// Values as people read them: of long ones the end, where things happen.
struct Shown<'v>(&'v [Value]);

impl Shown<'_> {
    const LAST: usize = 12;
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left_out = self.0.len().saturating_sub(Self::LAST);
        let values: Vec<String> = self.0[left_out..].iter().map(Value::to_string).collect();
        if left_out > 0 {
            return write!(f, "[{left_out} more, .. {}]", values.join(", "));
        }
        write!(f, "[{}]", values.join(", "))
    }
}
