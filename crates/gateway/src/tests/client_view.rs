//! What a client makes of its advances: rows that are held because something that it is subscribed to selects them. It evaluates queries itself.
//!
//! Invariant, asserted: a change is told only of a row that the client holds whole, or that lies in a range to which it is subscribed, or of a cell to which
//! it is. Of a row with such a cell, any change may be told to a user to whom a rule applies.

use std::collections::BTreeMap;

use iolite_values::{Id, Interest, Row, RowKey, TableId, Timestamp, Write};
use iolite_wire::message::{Advance, SubscriptionId};

type Named = Vec<(u32, Interest)>;

#[derive(Default)]
pub struct ClientView {
    pub to: Timestamp,
    /// The digest of rights that was told last.
    pub rights: Option<Id>,
    /// As far as the answers reached; None: not answered yet.
    pub interests: BTreeMap<SubscriptionId, Option<Interest>>,
    asked: BTreeMap<SubscriptionId, Interest>,
    /// What was unsubscribed from: changes of it may be on their way.
    left: Vec<Interest>,
    /// What is held whole.
    rows: BTreeMap<(TableId, RowKey), Row>,
    /// What is held for each subscription to a cell.
    cells: BTreeMap<SubscriptionId, Row>,
    parts: Vec<Advance>,
}

impl ClientView {
    pub fn subscribe(&mut self, name: u32, interest: Interest) {
        self.interests.insert(SubscriptionId(name), None);
        self.asked.insert(SubscriptionId(name), interest);
    }

    pub fn unsubscribe(&mut self, name: u32) {
        self.interests.remove(&SubscriptionId(name));
        self.left.extend(self.asked.remove(&SubscriptionId(name)));
        self.cells.remove(&SubscriptionId(name));
        self.forget_rows();
    }

    /// The connection is lost between two parts.
    pub fn drop_parts(&mut self) {
        self.parts.clear();
    }

    /// What is held, as far as it reaches, and what was not answered.
    pub fn held(&mut self) -> (Named, Named) {
        for (name, interest) in &self.interests {
            if let Some(interest) = interest {
                self.asked.insert(*name, interest.clone());
            }
        }
        let (held, others): (Vec<_>, Vec<_>) = self.asked.iter().partition(|(name, _)| self.interests[name].is_some());
        let named = |all: Vec<(&SubscriptionId, &Interest)>| {
            all.into_iter().map(|(name, interest)| (name.0, interest.clone())).collect()
        };
        (named(held), named(others))
    }

    /// Returns whether the advance was whole.
    pub fn take(&mut self, advance: Advance) -> bool {
        let more = advance.more;
        self.parts.push(advance);
        if !more {
            let parts = std::mem::take(&mut self.parts);
            self.apply(&parts);
        }
        !more
    }

    fn apply(&mut self, parts: &[Advance]) {
        self.to = parts[0].to;
        self.rights = parts.iter().find_map(|part| part.rights).or(self.rights);
        for write in parts.iter().flat_map(|part| &part.changes) {
            let place = (write.cell.table, write.cell.row.clone());
            let in_range = self.interests.values().flatten().any(|own| match own {
                Interest::Range { .. } => own.includes(&write.cell),
                Interest::Cell(_) | Interest::Query(_) => false,
            });
            let is_cell = self.apply_to_cells(write);
            if in_range || self.rows.contains_key(&place) {
                let row = self.rows.entry(place).or_default();
                row.apply(write.cell.column, &write.operation).expect("one type a column");
            } else {
                let was_left = self.left.iter().any(|own| own.includes(&write.cell));
                let is_of_row = self.asked.values().any(|own| is_cell_of(own, &place));
                assert!(is_cell || was_left || is_of_row, "a change of what is not held: {write:?}");
            }
        }
        for row in parts.iter().flat_map(|part| &part.entered) {
            let place = (row.table, row.key.clone());
            for (name, own) in &mut self.cells {
                if let Interest::Cell(cell) = &self.asked[name]
                    && is_cell_of(&self.asked[name], &place)
                {
                    *own = row.row.with_only(cell.column);
                }
            }
            self.rows.insert(place, row.row.clone());
        }
        for gone in parts.iter().flat_map(|part| &part.gone) {
            let place = (gone.table, gone.key.clone());
            self.rows.remove(&place);
            for (name, own) in &mut self.cells {
                if is_cell_of(&self.asked[name], &place) {
                    *own = Row::default();
                }
            }
        }
        for snapshot in parts.iter().flat_map(|part| &part.snapshots) {
            // One that was left meanwhile may still be answered.
            let Some(asked) = self.asked.get(&snapshot.subscription) else { continue };
            let answered = self.interests.get(&snapshot.subscription).cloned().flatten();
            let asked = answered.as_ref().unwrap_or(asked);
            let interest = match (asked, &snapshot.reaches) {
                (Interest::Query(query), Some(range)) => Interest::Query(query.with_range((**range).clone()).into()),
                (asked, _) => asked.clone(),
            };
            self.interests.insert(snapshot.subscription, Some(interest.clone()));
            let names =
                parts.iter().flat_map(|part| &part.snapshots).filter(|own| own.subscription == snapshot.subscription);
            let new: BTreeMap<_, _> =
                names.flat_map(|own| &own.rows).map(|own| ((own.table, own.key.clone()), own.row.clone())).collect();
            if let Interest::Cell(_) = interest {
                self.cells.insert(snapshot.subscription, new.into_values().next().unwrap_or_default());
                continue;
            }
            self.rows.retain(|place, row| new.contains_key(place) || !selects(&interest, place, row));
            self.rows.extend(new);
        }
        self.forget_rows();
    }

    /// Whether there is any that it concerns.
    fn apply_to_cells(&mut self, write: &Write) -> bool {
        let mut found = false;
        for (name, row) in &mut self.cells {
            if self.asked[name].includes(&write.cell) {
                row.apply(write.cell.column, &write.operation).expect("one type a column");
                found = true;
            }
        }
        found
    }

    fn forget_rows(&mut self) {
        let interests: Vec<&Interest> = self.interests.values().flatten().collect();
        self.rows.retain(|place, row| interests.iter().any(|own| selects(own, place, row)));
    }

    /// What a subscription holds, by key.
    pub fn answers(&self, name: SubscriptionId, interest: &Interest) -> BTreeMap<RowKey, Row> {
        if let Interest::Cell(cell) = interest {
            let own = self.cells.get(&name).filter(|row| !row.is_empty());
            return own.map(|row| (cell.row.clone(), row.clone())).into_iter().collect();
        }
        let own = self.rows.iter().filter(|(place, row)| selects(interest, place, row));
        own.map(|((_, key), row)| (key.clone(), row.clone())).collect()
    }
}

fn is_cell_of(interest: &Interest, (table, key): &(TableId, RowKey)) -> bool {
    matches!(interest, Interest::Cell(cell) if cell.table == *table && cell.row == *key)
}

fn selects(interest: &Interest, (table, key): &(TableId, RowKey), row: &Row) -> bool {
    match interest {
        Interest::Cell(_) => false,
        Interest::Range { table: own, range } => own == table && range.contains(key) && !row.is_empty(),
        Interest::Query(query) => query.table == *table && query.selects(key, row),
    }
}
