//! Whether an update does to its row only what a rule lets it.
//!
//! Invariant: additions are judged by their sum, so that many small ones are no way around a bound.

use std::collections::BTreeMap;

use iolite_values::{ColumnId, Effect, Operation, Value, Write};

use super::outcome::Outcome;
use super::scene::{Asking, Scene};
use super::view::Seen;
use crate::{Allowed, Change};

impl Scene<'_> {
    /// A list of operations has no negation: what is not allowed is never named.
    pub(super) fn operations(&self, columns: &BTreeMap<String, Vec<Allowed>>, negated: bool) -> Outcome {
        let Asking::Row { updates: Some(writes), old: _, new: _, row: _ } = self.asking else {
            return Outcome::missing(Vec::new());
        };
        if negated {
            return Outcome::missing(Vec::new());
        }
        Outcome::joined(self.each(columns, writes).map(|(_, _, _, outcome)| outcome), false)
    }

    /// The operations of an update, each with what the list comes to for it.
    pub(super) fn each<'s>(
        &'s self,
        columns: &'s BTreeMap<String, Vec<Allowed>>,
        writes: &'s [Write],
    ) -> impl Iterator<Item = (ColumnId, Change, Option<Value>, Outcome)> + 's {
        let by_number: BTreeMap<_, _> = columns.iter().map(|(name, own)| (ColumnId::of(name), own)).collect();
        let sums = sums(writes).into_iter().map(|(column, sum)| (column, Change::Add, sum));
        let others = writes.iter().filter_map(|write| {
            let (change, value) = done(&write.operation)?;
            Some((write.cell.column, change, value))
        });
        sums.chain(others).map(move |(column, change, value)| {
            let allowed = by_number.get(&column).map_or(&[][..], |own| own);
            let outcome = self.one(allowed, change, value.clone());
            (column, change, value, outcome)
        })
    }

    fn one(&self, allowed: &[Allowed], change: Change, value: Option<Value>) -> Outcome {
        let fitting = allowed.iter().filter(|own| own.change == change || own.change == Change::Any);
        let judged = fitting.map(|own| {
            let value = || Seen::constant(value.clone());
            Outcome::joined(own.bounds.iter().map(|bound| self.compare(value(), bound, false)), false)
        });
        Outcome::joined(judged, true)
    }
}

/// The sum that is added to each counter. None: it is beyond what a value can be, so within no bounds.
fn sums(writes: &[Write]) -> BTreeMap<ColumnId, Option<Value>> {
    let mut sums: BTreeMap<ColumnId, i128> = BTreeMap::new();
    for write in writes {
        if let Some(amount) = added(&write.operation) {
            *sums.entry(write.cell.column).or_default() += i128::from(amount);
        }
    }
    sums.into_iter().map(|(column, sum)| (column, i64::try_from(sum).ok().map(Value::Int))).collect()
}

fn added(operation: &Operation) -> Option<i64> {
    match operation {
        Operation::Add(amount) => Some(*amount),
        Operation::Merge(effect) => match &**effect {
            Effect::Add { life: _, amount } => Some(*amount),
            Effect::Assign { .. }
            | Effect::Insert { .. }
            | Effect::Remove { .. }
            | Effect::Touch { .. }
            | Effect::Bury { .. } => None,
        },
        Operation::Create
        | Operation::Delete
        | Operation::Put(_)
        | Operation::Assign(_)
        | Operation::PutTotal(_)
        | Operation::Insert(_)
        | Operation::Remove(_)
        | Operation::Append { .. }
        | Operation::SetAt { .. }
        | Operation::PutEntry { .. }
        | Operation::RemoveEntry { .. }
        | Operation::Edit(_) => None,
    }
}

/// The kind of an operation on a column, and the value that it carries. None: it adds, or is of the row's life.
fn done(operation: &Operation) -> Option<(Change, Option<Value>)> {
    let (change, value) = match operation {
        Operation::Create | Operation::Delete | Operation::Add(_) => return None,
        Operation::Put(value) | Operation::Assign(value) => (Change::Put, Some(value.clone())),
        Operation::PutTotal(total) => (Change::Put, Some(Value::Int(*total))),
        Operation::Insert(value) => (Change::Insert, Some(value.clone())),
        Operation::Remove(value) => (Change::Remove, Some(value.clone())),
        Operation::Append { value, order: _ } => (Change::Append, Some(value.clone())),
        Operation::SetAt { index: _, value } => (Change::SetAt, Some(value.clone())),
        Operation::PutEntry { key: _, value } => (Change::PutEntry, Some(value.clone())),
        Operation::RemoveEntry { key } => (Change::RemoveEntry, Some(Value::string(key))),
        Operation::Edit(_) => (Change::Edit, None),
        Operation::Merge(effect) => match &**effect {
            Effect::Touch { .. } | Effect::Bury { .. } | Effect::Add { .. } => return None,
            Effect::Assign { stamp: _, value } => (Change::Put, Some(value.clone())),
            Effect::Insert { value, mark: _ } => (Change::Insert, Some(value.clone())),
            Effect::Remove { value, seen: _ } => (Change::Remove, Some(value.clone())),
        },
    };
    Some((change, value))
}
