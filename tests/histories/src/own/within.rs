//! What a transaction sees of itself: a second read gives what the first gave, with its own writes on top.

use std::collections::{BTreeMap, BTreeSet};

use crate::class::Class;
use crate::explain;
use crate::operation::{List, Object, Operation, Register, Set, Value};
use crate::violation::Findings;

use super::index::Index;

pub fn check(index: &Index<'_>, findings: &mut Findings) {
    for number in index.numbers().filter(|&number| index.reads_count(number)) {
        let operations = &index.transaction(number).operations;
        if operations.len() < 2 {
            continue;
        }
        let mut own = Own::default();
        for operation in operations {
            let Err(expected) = own.step(operation) else { continue };
            let what = format!("T{} {operation}, although {expected}", number.0);
            findings.add(Class::NonRepeatableRead, || explain::fact(index, Class::NonRepeatableRead, what, &[number]));
            break;
        }
    }
}

/// What a transaction knows so far.
#[derive(Default)]
struct Own {
    registers: BTreeMap<Register, Option<Value>>,
    lists: BTreeMap<List, Expected>,
    totals: BTreeMap<Object, i64>,
    members: BTreeMap<(Set, Value), bool>,
    sets: BTreeMap<Set, BTreeSet<Value>>,
}

enum Expected {
    Exactly(Vec<Value>),
    /// Anything, then these.
    EndsWith(Vec<Value>),
}

impl Own {
    /// Takes an operation in; what was expected, if it saw something else.
    fn step(&mut self, operation: &Operation) -> Result<(), String> {
        match operation {
            Operation::Write { register, value } => {
                self.registers.insert(*register, Some(*value));
                Ok(())
            }
            Operation::Read { register, value } => {
                let before = self.registers.insert(*register, *value);
                agree(before, *value, |before| match before {
                    Some(value) => format!("it had read or written {value} there before"),
                    None => "it had read nothing there before".to_owned(),
                })
            }
            Operation::Append { list, value } => {
                self.append(*list, *value);
                Ok(())
            }
            Operation::ReadList { list, values } => self.read_list(*list, values),
            Operation::Add { counter, amount } => {
                self.add(Object::Counter(*counter), *amount);
                Ok(())
            }
            Operation::ReadCounter { counter, total } => self.read_total(Object::Counter(*counter), *total),
            Operation::Transfer { bank, from, to, amount } => {
                self.add(Object::Account(*bank, *from), amount.wrapping_neg());
                self.add(Object::Account(*bank, *to), *amount);
                Ok(())
            }
            Operation::ReadAccount { bank, account, balance } => {
                self.read_total(Object::Account(*bank, *account), *balance)
            }
            Operation::ReadBank { bank, balances } => {
                let account = |place: usize| Object::Account(*bank, crate::Account(place as u32));
                balances.iter().enumerate().try_for_each(|(place, balance)| self.read_total(account(place), *balance))
            }
            Operation::Insert { set, value } => self.change_member(*set, *value, true),
            Operation::Remove { set, value } => self.change_member(*set, *value, false),
            Operation::Contains { set, value, found } => self.read_member(*set, *value, *found),
            Operation::ReadSet { set, values } => self.read_set(*set, values),
        }
    }

    fn append(&mut self, list: List, value: Value) {
        match self.lists.entry(list).or_insert(Expected::EndsWith(Vec::new())) {
            Expected::Exactly(values) | Expected::EndsWith(values) => values.push(value),
        }
    }

    fn read_list(&mut self, list: List, values: &[Value]) -> Result<(), String> {
        let agrees = match self.lists.get(&list) {
            None => true,
            Some(Expected::Exactly(before)) => before == values,
            Some(Expected::EndsWith(own)) => values.ends_with(own),
        };
        self.lists.insert(list, Expected::Exactly(values.to_vec()));
        agrees.then_some(()).ok_or_else(|| "that is not what it had read before with its own appends".to_owned())
    }

    fn add(&mut self, object: Object, amount: i64) {
        self.totals.entry(object).and_modify(|total| *total = total.wrapping_add(amount));
    }

    fn read_total(&mut self, object: Object, total: i64) -> Result<(), String> {
        let before = self.totals.insert(object, total);
        agree(before, total, |before| format!("{before} is what it had read of {object} before with its own additions"))
    }

    fn change_member(&mut self, set: Set, value: Value, present: bool) -> Result<(), String> {
        self.members.insert((set, value), present);
        if let Some(values) = self.sets.get_mut(&set) {
            match present {
                true => values.insert(value),
                false => values.remove(&value),
            };
        }
        Ok(())
    }

    fn read_member(&mut self, set: Set, value: Value, found: bool) -> Result<(), String> {
        let whole = self.sets.get(&set).map(|values| values.contains(&value));
        let before = self.members.insert((set, value), found).or(whole);
        agree(before, found, |before| match before {
            true => "it had seen or inserted it before".to_owned(),
            false => "it had missed or removed it before".to_owned(),
        })
    }

    fn read_set(&mut self, set: Set, values: &[Value]) -> Result<(), String> {
        let values: BTreeSet<Value> = values.iter().copied().collect();
        let of_set = self.members.range((set, Value(0))..=(set, Value(u64::MAX)));
        let wrong = of_set.into_iter().find(|((_, value), present)| values.contains(value) != **present);
        let wrong = wrong.map(|((_, value), _)| format!("it knew otherwise of {value}"));
        let before = self.sets.insert(set, values.clone());
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        agree(before, values, |_| "it had read another content before".to_owned())
    }
}

fn agree<T: PartialEq>(before: Option<T>, now: T, say: impl Fn(T) -> String) -> Result<(), String> {
    match before {
        Some(before) if before != now => Err(say(before)),
        Some(_) | None => Ok(()),
    }
}
