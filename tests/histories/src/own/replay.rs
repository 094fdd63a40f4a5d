//! Replay: all transactions one after the other in the order of their timestamps give every read exactly.
//!
//! Those without a timestamp stand where [`Positions`] puts them.

mod totals;

use std::collections::{HashMap, HashSet};

use super::index::Index;
use super::positions::Positions;
use super::tallies::Tally;
use crate::class::Class;
use crate::explain;
use crate::operation::{List, Object, Operation, Register, Set, Value};
use crate::violation::{Findings, TransactionNumber};

pub fn check(index: &Index<'_>, positions: &Positions, tallies: &[Tally], findings: &mut Findings) {
    let mut state = State::default();
    for number in positions.in_order() {
        let mut wrong = None;
        for operation in &index.transaction(number).operations {
            if let Err(replayed) = state.step(operation)
                && index.reads_count(number)
            {
                wrong = wrong.or(Some((operation, replayed)));
            }
        }
        let Some((operation, replayed)) = wrong else { continue };
        findings.add(Class::Replay, || {
            let (more, writer) = blame(index, operation, &replayed);
            let what =
                format!("T{} {operation}, but in the order of timestamps it is {}{more}", number.0, replayed.shown);
            let about: Vec<TransactionNumber> = writer.into_iter().chain([number]).collect();
            explain::fact(index, Class::Replay, what, &about)
        });
    }
    totals::check(index, positions, tallies, findings);
}

#[derive(Default)]
struct State {
    registers: HashMap<Register, Value>,
    lists: HashMap<List, Vec<Value>>,
    sets: HashMap<Set, HashSet<Value>>,
}

/// What the replay gives in the place of what was read.
struct Replayed {
    shown: String,
    /// A value that only one of both has.
    differs: Option<Value>,
}

impl State {
    fn step(&mut self, operation: &Operation) -> Result<(), Replayed> {
        match operation {
            Operation::Write { register, value } => {
                self.registers.insert(*register, *value);
                Ok(())
            }
            Operation::Append { list, value } => {
                self.lists.entry(*list).or_default().push(*value);
                Ok(())
            }
            Operation::Insert { set, value } => {
                self.sets.entry(*set).or_default().insert(*value);
                Ok(())
            }
            Operation::Remove { set, value } => {
                self.sets.entry(*set).or_default().remove(value);
                Ok(())
            }
            Operation::Read { register, value } => {
                let replayed = self.registers.get(register).copied();
                if replayed == *value {
                    return Ok(());
                }
                let shown = replayed.map_or("nothing".to_owned(), |value| value.to_string());
                Err(Replayed { shown, differs: replayed.or(*value) })
            }
            Operation::ReadList { list, values } => compare_lists(self.lists.entry(*list).or_default(), values),
            Operation::Contains { set, value, found } => {
                match self.sets.get(set).is_some_and(|set| set.contains(value)) == *found {
                    true => Ok(()),
                    false => Err(Replayed { shown: "the opposite".to_owned(), differs: Some(*value) }),
                }
            }
            Operation::ReadSet { set, values } => compare_sets(self.sets.entry(*set).or_default(), values),
            Operation::Add { .. }
            | Operation::ReadCounter { .. }
            | Operation::Transfer { .. }
            | Operation::ReadAccount { .. }
            | Operation::ReadBank { .. } => Ok(()),
        }
    }
}

fn compare_lists(replayed: &[Value], read: &[Value]) -> Result<(), Replayed> {
    if replayed == read {
        return Ok(());
    }
    let same = replayed.iter().zip(read).take_while(|(one, other)| one == other).count();
    let shown = match replayed.get(same) {
        Some(value) => format!("{value} after {same} equal elements"),
        None => format!("at its end after {same} elements"),
    };
    Err(Replayed { shown, differs: replayed.get(same).or(read.get(same)).copied() })
}

fn compare_sets(replayed: &HashSet<Value>, read: &[Value]) -> Result<(), Replayed> {
    let read: HashSet<Value> = read.iter().copied().collect();
    let missing = replayed.difference(&read).min();
    let extra = read.difference(replayed).min();
    let (shown, differs) = match (missing, extra) {
        (None, None) => return Ok(()),
        (Some(missing), _) => (format!("with {missing}"), missing),
        (None, Some(extra)) => (format!("without {extra}"), extra),
    };
    Err(Replayed { shown, differs: Some(*differs) })
}

/// Who wrote the value that differs.
fn blame(index: &Index<'_>, operation: &Operation, replayed: &Replayed) -> (String, Option<TransactionNumber>) {
    let object = match *operation {
        Operation::Read { register, .. } | Operation::Write { register, .. } => Object::Register(register),
        Operation::ReadList { list, .. } | Operation::Append { list, .. } => Object::List(list),
        Operation::Contains { set, .. }
        | Operation::ReadSet { set, .. }
        | Operation::Insert { set, .. }
        | Operation::Remove { set, .. } => Object::Set(set),
        Operation::Add { counter, .. } | Operation::ReadCounter { counter, .. } => Object::Counter(counter),
        Operation::Transfer { bank, from, .. } => Object::Account(bank, from),
        Operation::ReadAccount { bank, account, .. } => Object::Account(bank, account),
        Operation::ReadBank { bank, .. } => Object::Account(bank, crate::Account(0)),
    };
    let writer = replayed.differs.and_then(|value| index.writer(object, value)).map(|writer| writer.transaction);
    let more = match (writer, replayed.differs) {
        (Some(writer), Some(value)) => format!(" ({value} is of T{})", writer.0),
        (None, _) | (Some(_), None) => String::new(),
    };
    (more, writer)
}
