//! The truth about very small histories: every order of their transactions is tried.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use iolite_histories::{Counter, History, List, Operation, Outcome, Register, Set, Transaction, Value};

/// Whether some order of the transactions agrees with what they saw and with real time.
pub fn is_strictly_serializable(history: &History) -> bool {
    let transactions: Vec<&Transaction> = history.all().filter(|one| one.outcome != Outcome::Aborted).collect();
    assert!(transactions.len() <= 20, "every order is tried");
    let state =
        State { balances: history.setup.banks.iter().map(|bank| bank.balances.clone()).collect(), ..State::default() };
    Search { transactions: &transactions, tried: HashSet::new() }.place_all(0, &state)
}

struct Search<'h> {
    transactions: &'h [&'h Transaction],
    /// Sets of placed transactions with the state they left, from which there is no way on.
    tried: HashSet<(u32, State)>,
}

impl Search<'_> {
    fn place_all(&mut self, placed: u32, state: &State) -> bool {
        let open = |place: &usize| placed >> place & 1 == 0;
        let all = || (0..self.transactions.len()).filter(open);
        if all().all(|place| self.transactions[place].outcome == Outcome::Unknown) {
            return true;
        }
        if self.tried.contains(&(placed, state.clone())) {
            return false;
        }
        let candidates: Vec<usize> = all().filter(|place| self.may_be_next(placed, *place)).collect();
        for place in candidates {
            let mut next = state.clone();
            let transaction = self.transactions[place];
            let counts = transaction.outcome != Outcome::Unknown;
            let agrees = transaction.operations.iter().all(|operation| next.step(operation) || !counts);
            if agrees && self.place_all(placed | 1 << place, &next) {
                return true;
            }
        }
        self.tried.insert((placed, state.clone()));
        false
    }

    /// Nobody that is still to come ended before it began.
    fn may_be_next(&self, placed: u32, place: usize) -> bool {
        let begin = self.transactions[place].invoked;
        let mut others = self.transactions.iter().enumerate().filter(|(other, _)| placed >> other & 1 == 0);
        others.all(|(_, other)| other.outcome == Outcome::Unknown || other.completed >= begin)
    }
}

#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct State {
    registers: BTreeMap<Register, Value>,
    lists: BTreeMap<List, Vec<Value>>,
    counters: BTreeMap<Counter, i64>,
    sets: BTreeMap<Set, BTreeSet<Value>>,
    balances: Vec<Vec<i64>>,
}

impl State {
    /// Makes an operation; whether it saw what is so.
    fn step(&mut self, operation: &Operation) -> bool {
        match operation {
            Operation::Write { register, value } => {
                self.registers.insert(*register, *value);
                true
            }
            Operation::Read { register, value } => self.registers.get(register).copied() == *value,
            Operation::Append { list, value } => {
                self.lists.entry(*list).or_default().push(*value);
                true
            }
            Operation::ReadList { list, values } => {
                self.lists.get(list).is_none_or(Vec::is_empty) && values.is_empty()
                    || self.lists.get(list) == Some(values)
            }
            Operation::Add { counter, amount } => {
                *self.counters.entry(*counter).or_default() += amount;
                true
            }
            Operation::ReadCounter { counter, total } => self.counters.get(counter).copied().unwrap_or(0) == *total,
            Operation::Transfer { bank, from, to, amount } => {
                let balances = &mut self.balances[bank.0 as usize];
                balances[from.0 as usize] -= amount;
                balances[to.0 as usize] += amount;
                true
            }
            Operation::ReadAccount { bank, account, balance } => {
                self.balances[bank.0 as usize][account.0 as usize] == *balance
            }
            Operation::ReadBank { bank, balances } => self.balances[bank.0 as usize] == *balances,
            Operation::Insert { set, value } => {
                self.sets.entry(*set).or_default().insert(*value);
                true
            }
            Operation::Remove { set, value } => {
                self.sets.entry(*set).or_default().remove(value);
                true
            }
            Operation::Contains { set, value, found } => {
                self.sets.get(set).is_some_and(|values| values.contains(value)) == *found
            }
            Operation::ReadSet { set, values } => {
                let read: BTreeSet<Value> = values.iter().copied().collect();
                let is_doubled = read.len() < values.len();
                !is_doubled && self.sets.get(set).cloned().unwrap_or_default() == read
            }
        }
    }
}
