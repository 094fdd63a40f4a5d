//! Lists, and sets as lists: each value of a set is a list of its own, with one append at most.

use std::collections::{BTreeMap, HashSet};

use adya::history::{Mop, ReadValue, Scalar};
use adya::{Opts, Workload};

use super::{PeerVerdict, Translation};
use crate::history::{History, Outcome, Transaction};
use crate::operation::{List, Object, Operation, Set, Value};

pub fn check(history: &History) -> PeerVerdict {
    let seen = seen(history);
    let members = Members::of(history, &seen);
    let mut translation = Translation::new(seen);
    for transaction in history.all() {
        let wrote = transaction.operations.iter().filter_map(written);
        let Some(standing) = translation.standing(transaction, wrote) else { continue };
        let reads_count = matches!(transaction.outcome, Outcome::Committed(_));
        let operations = members.translate(&mut translation, transaction, reads_count);
        translation.push(transaction, standing, operations);
    }
    translation.judge(Workload::ListAppend, &Opts::default())
}

fn list_name(translation: &mut Translation, List(list): List) -> u32 {
    translation.name(Scalar::Int(list.into()))
}

fn member_name(translation: &mut Translation, Set(set): Set, value: Value) -> u32 {
    translation.name(Scalar::Str(format!("{value} in set {set}")))
}

/// The values of sets.
struct Members {
    /// Those that somebody removed are not judged here.
    removed: HashSet<(Set, Value)>,
    /// Acknowledged insertions in the order in which they began.
    inserted: BTreeMap<Set, Vec<(u64, Value)>>,
}

impl Members {
    fn of(history: &History, seen: &HashSet<(Object, Value)>) -> Members {
        let mut members = Members { removed: HashSet::new(), inserted: BTreeMap::new() };
        for transaction in history.all() {
            for operation in &transaction.operations {
                if let Operation::Remove { set, value } = operation {
                    members.removed.insert((*set, *value));
                }
            }
        }
        for transaction in history.all() {
            let took_effect = match transaction.outcome {
                Outcome::Committed(_) => true,
                Outcome::Unknown => {
                    transaction.operations.iter().filter_map(written).any(|write| seen.contains(&write))
                }
                Outcome::Aborted => false,
            };
            for operation in &transaction.operations {
                let Operation::Insert { set, value } = operation else { continue };
                if took_effect && !members.removed.contains(&(*set, *value)) {
                    members.inserted.entry(*set).or_default().push((transaction.invoked.0, *value));
                }
            }
        }
        members.inserted.values_mut().for_each(|inserted| inserted.sort_unstable());
        members
    }

    /// The operations of a transaction on lists and sets.
    fn translate(&self, translation: &mut Translation, transaction: &Transaction, reads_count: bool) -> Vec<Mop> {
        let mut operations = Vec::new();
        for operation in &transaction.operations {
            match operation {
                Operation::Append { list, value } => {
                    let (key, value) = (list_name(translation, *list), translation.value(*value));
                    operations.push(Mop::Append { key, value });
                }
                Operation::Insert { set, value } if !self.removed.contains(&(*set, *value)) => {
                    let (key, value) = (member_name(translation, *set, *value), translation.value(*value));
                    operations.push(Mop::Append { key, value });
                }
                Operation::ReadList { list, values } if reads_count => {
                    let key = list_name(translation, *list);
                    let values = values.iter().map(|value| translation.value(*value)).collect();
                    operations.push(Mop::Read { key, value: ReadValue::List(values) });
                }
                Operation::Contains { set, value, found } if reads_count => {
                    operations.extend(self.read(translation, *set, *value, *found));
                }
                Operation::ReadSet { set, values } if reads_count => {
                    let found: HashSet<Value> = values.iter().copied().collect();
                    for value in values {
                        operations.extend(self.read(translation, *set, *value, true));
                    }
                    let until = transaction.completed.0;
                    for value in self.inserted_until(*set, until).filter(|value| !found.contains(value)) {
                        operations.extend(self.read(translation, *set, value, false));
                    }
                }
                Operation::Insert { .. }
                | Operation::ReadList { .. }
                | Operation::Contains { .. }
                | Operation::ReadSet { .. }
                | Operation::Remove { .. }
                | Operation::Write { .. }
                | Operation::Read { .. }
                | Operation::Add { .. }
                | Operation::ReadCounter { .. }
                | Operation::Transfer { .. }
                | Operation::ReadAccount { .. }
                | Operation::ReadBank { .. } => {}
            }
        }
        operations
    }

    fn inserted_until(&self, set: Set, until: u64) -> impl Iterator<Item = Value> {
        let inserted = self.inserted.get(&set).map_or(&[][..], Vec::as_slice);
        inserted[..inserted.partition_point(|(invoked, _)| *invoked <= until)].iter().map(|(_, value)| *value)
    }

    fn read(&self, translation: &mut Translation, set: Set, value: Value, found: bool) -> Option<Mop> {
        if self.removed.contains(&(set, value)) {
            return None;
        }
        let key = member_name(translation, set, value);
        let values = if found { vec![translation.value(value)] } else { Vec::new() };
        Some(Mop::Read { key, value: ReadValue::List(values) })
    }
}

fn written(operation: &Operation) -> Option<(Object, Value)> {
    match *operation {
        Operation::Append { list, value } => Some((Object::List(list), value)),
        Operation::Insert { set, value } => Some((Object::Set(set), value)),
        Operation::Write { .. }
        | Operation::Read { .. }
        | Operation::ReadList { .. }
        | Operation::Add { .. }
        | Operation::ReadCounter { .. }
        | Operation::Transfer { .. }
        | Operation::ReadAccount { .. }
        | Operation::ReadBank { .. }
        | Operation::Remove { .. }
        | Operation::Contains { .. }
        | Operation::ReadSet { .. } => None,
    }
}

/// What transactions that committed saw.
fn seen(history: &History) -> HashSet<(Object, Value)> {
    let mut seen = HashSet::new();
    for transaction in history.all().filter(|one| matches!(one.outcome, Outcome::Committed(_))) {
        for operation in &transaction.operations {
            match operation {
                Operation::ReadList { list, values } => {
                    seen.extend(values.iter().map(|value| (Object::List(*list), *value)));
                }
                Operation::ReadSet { set, values } => {
                    seen.extend(values.iter().map(|value| (Object::Set(*set), *value)));
                }
                Operation::Contains { set, value, found: true } => {
                    seen.insert((Object::Set(*set), *value));
                }
                Operation::Contains { found: false, .. }
                | Operation::Write { .. }
                | Operation::Read { .. }
                | Operation::Append { .. }
                | Operation::Add { .. }
                | Operation::ReadCounter { .. }
                | Operation::Transfer { .. }
                | Operation::ReadAccount { .. }
                | Operation::ReadBank { .. }
                | Operation::Insert { .. }
                | Operation::Remove { .. } => {}
            }
        }
    }
    seen
}
