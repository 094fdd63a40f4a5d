//! Whether a transaction may bring a row into the answers of a query: what queries read beside the rows that they return.
//!
//! Rows that were returned are read by their own cells, so only others count here. All writes of the transaction to a row are taken together: it may come
//! in if everything that they set satisfies the query, and they set something that the query looks at, or create the row. What they do not set counts as
//! satisfying, for nothing is known of it; and so does what is set by an operation whose effect rests on what was there.
//! Invariant: a row that was no answer before the writes and is one after them is found, whatever it held.

use std::collections::BTreeMap;

use super::known::KnownRow;
use crate::index_key::{encode_indexed, fixed_values, has_some_with};
use crate::query::{AnyOf, Condition, Field, Query, Test};
use crate::{Cell, RowKey, Write};

/// The rows that may come in by these writes of one transaction.
pub fn may_bring<'a>(query: &Query, writes: &'a [Write]) -> impl Iterator<Item = &'a RowKey> {
    let concerns = |cell: &Cell| cell.table == query.table && query.keys.contains(&cell.row);
    let mut rows: BTreeMap<&RowKey, KnownRow<'_>> = BTreeMap::new();
    for write in writes.iter().filter(|write| concerns(&write.cell)) {
        rows.entry(&write.cell.row).or_default().take(write);
    }
    rows.into_iter().filter(|(key, known)| known.may_enter(query, key)).map(|(key, _)| key)
}

/// Whether any row may come in by them.
pub(super) fn may_bring_any(query: &Query, writes: &[Write]) -> bool {
    may_bring(query, writes).next().is_some()
}

/// What the writes do to one thing that the query asks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    Fails,
    None,
    MaySatisfy,
}

impl Effect {
    /// On some things that all have to be so.
    fn on_all(effects: impl Iterator<Item = Effect>) -> Effect {
        effects.fold(Effect::None, |all, own| if all.min(own) == Effect::Fails { Effect::Fails } else { all.max(own) })
    }

    /// On some things of which one has to be so.
    fn on_any(effects: impl Iterator<Item = Effect>) -> Effect {
        effects.max().unwrap_or(Effect::Fails)
    }
}

impl KnownRow<'_> {
    fn may_enter(&self, query: &Query, key: &RowKey) -> bool {
        let exists = !self.whole || self.row.exists() || query.live && !self.row.is_empty();
        let begins = query.live || self.whole || self.revived;
        let conditions = query.conditions.iter().map(|condition| self.effect_on(condition, key));
        let any_of = query.any_of.iter().map(|any_of| self.effect_on_any_of(any_of, key));
        match Effect::on_all(conditions.chain(any_of).chain([self.effect_on_place(query, key)])) {
            Effect::Fails => false,
            Effect::None => exists && begins,
            Effect::MaySatisfy => exists,
        }
    }

    fn effect_on_any_of(&self, any_of: &AnyOf, key: &RowKey) -> Effect {
        let conditions = |alternative: &Vec<Condition>| {
            Effect::on_all(alternative.iter().map(|condition| self.effect_on(condition, key)))
        };
        Effect::on_any(any_of.0.iter().map(conditions))
    }

    fn effect_on(&self, condition: &Condition, key: &RowKey) -> Effect {
        let Some(column) = condition.field.column() else {
            return if condition.holds(key, &self.row) { Effect::None } else { Effect::Fails };
        };
        if self.is_known(column) {
            return match condition.holds(key, &self.row) {
                true if self.set.contains(&column) => Effect::MaySatisfy,
                true => Effect::None,
                false => Effect::Fails,
            };
        }
        let member = match &condition.test {
            Test::Contains(member) => self.members.get(&(column, member)),
            Test::Equal(_)
            | Test::NotEqual(_)
            | Test::Less(_)
            | Test::AtMost(_)
            | Test::Greater(_)
            | Test::AtLeast(_)
            | Test::OneOf(_)
            | Test::BeginsWith(_) => None,
        };
        match (member, self.changed.contains(&column)) {
            (Some(false), _) => Effect::Fails,
            (Some(true), _) | (None, true) => Effect::MaySatisfy,
            (None, false) => Effect::None,
        }
    }

    /// Where in the index the row may stand: as far as its first fields are known, or all keys of the range agree in them.
    fn effect_on_place(&self, query: &Query, key: &RowKey) -> Effect {
        let fixed = fixed_values(&query.range);
        let mut prefix = Vec::new();
        let known = query.index.iter().enumerate().take_while(|(place, field)| {
            if field.column().is_none_or(|column| self.is_known(column)) {
                encode_indexed(&field.value(key, &self.row), &mut prefix);
                return true;
            }
            fixed.get(*place).inspect(|value| prefix.extend_from_slice(value)).is_some()
        });
        let is_inside = match known.count() == query.index.len() {
            true => query.range.contains_bytes(&[&prefix, key.as_bytes()].concat()),
            false => has_some_with(&query.range, &prefix),
        };
        let is_touched = |field: &Field| {
            field.column().is_some_and(|column| self.set.contains(&column) || self.changed.contains(&column))
        };
        match (is_inside, query.index.iter().any(is_touched)) {
            (false, _) => Effect::Fails,
            (true, true) => Effect::MaySatisfy,
            (true, false) => Effect::None,
        }
    }
}

#[cfg(test)]
mod tests;
