//! The commutativity table: the one place that says which operations conflict.
//!
//! Strict validation, causal merging and client rebase all ask here. The properties below hold the table to the types' behaviour:
//! operations that it calls commuting give equal states in both orders.
//! Source: Diamond's validation matrix (Zhang 2017, Table 3.4), refined by type. Lists: docs/protocols/operations.md.

mod entering;
mod known;

pub use entering::may_bring;
pub use known::KnownRow;

use crate::{Element, Operation, Read, Write};

/// How two operations on one cell, valid in the same state, go together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Commutativity {
    /// Equal states in either order: both may commit, and the result is strictly serializable.
    Always,
    /// Each order gives its own state, and the commit timestamps choose: both may commit, serializable but not strict.
    ByTimestamp,
    /// Only one of two concurrent ones may commit.
    Conflict,
}

/// Compares two writes. Those of different cells commute, but for the life of a row, which conflicts with everything in the row. Of a row that merges even
/// its lives commute with all.
pub fn writes_commute(a: &Write, b: &Write) -> Commutativity {
    if a.cell == b.cell || is_merge(a) && is_merge(b) {
        commutativity(&a.operation, &b.operation)
    } else if a.cell.is_changed_with(&b.cell) || b.cell.is_changed_with(&a.cell) {
        Commutativity::Conflict
    } else {
        Commutativity::Always
    }
}

fn is_merge(write: &Write) -> bool {
    matches!(write.operation, Operation::Merge(_))
}

/// Compares two operations on the *same* cell.
pub fn commutativity(a: &Operation, b: &Operation) -> Commutativity {
    use Operation::{
        Add, Append, Assign, Create, Delete, Edit, Insert, Merge, Put, PutEntry, PutTotal, Remove, RemoveEntry, SetAt,
    };
    match (a, b) {
        (Merge(_), Merge(_))
        | (Add(_), Add(_))
        | (Insert(_), Insert(_))
        | (Remove(_), Remove(_))
        | (RemoveEntry { .. }, RemoveEntry { .. }) => Commutativity::Always,
        (Insert(a), Remove(b)) | (Remove(a), Insert(b)) => unless_equal(a, b),
        (PutEntry { key: a, .. }, PutEntry { key: b, .. } | RemoveEntry { key: b })
        | (RemoveEntry { key: a }, PutEntry { key: b, .. }) => unless_equal(a, b),
        (SetAt { index: a, .. }, SetAt { index: b, .. }) => unless_equal(a, b),
        (Append { .. }, SetAt { .. }) | (SetAt { .. }, Append { .. }) => Commutativity::Always,
        (Append { order: a, .. }, Append { order: b, .. }) => match (a, b) {
            (crate::ListOrder::Commit, crate::ListOrder::Commit) => Commutativity::ByTimestamp,
            (crate::ListOrder::Strict, _) | (_, crate::ListOrder::Strict) => Commutativity::Conflict,
        },
        (Assign(_), Assign(_)) => Commutativity::ByTimestamp,
        (Edit(a), Edit(b)) => match (&a.inserted, &b.inserted) {
            (Some(a), Some(b)) if a.first.author == b.first.author => Commutativity::Conflict,
            (Some(_) | None, _) => Commutativity::Always,
        },
        // The rest conflict: puts, a row's life, and operations of different types, which no schema lets meet.
        (Create | Delete | Put(_) | PutTotal(_), _)
        | (
            _,
            Create
            | Delete
            | Put(_)
            | PutTotal(_)
            | Add(_)
            | Insert(_)
            | Remove(_)
            | PutEntry { .. }
            | RemoveEntry { .. }
            | SetAt { .. }
            | Append { .. }
            | Assign(_)
            | Edit(_)
            | Merge(_),
        ) => Commutativity::Conflict,
    }
}

fn unless_equal<T: PartialEq>(a: &T, b: &T) -> Commutativity {
    if a == b { Commutativity::Conflict } else { Commutativity::Always }
}

/// Whether the writes of one transaction can change what a read returned.
pub fn disturbs(writes: &[Write], read: &Read) -> bool {
    match read {
        Read::Query(query) => entering::may_bring_any(query, writes),
        Read::Cell { .. } | Read::Range { .. } => writes.iter().any(|write| observes(read, write)),
    }
}

/// Whether a write can change what a read returned. Of a query: whether it can whatever else its transaction writes.
pub fn observes(read: &Read, write: &Write) -> bool {
    match read {
        Read::Query(query) => entering::may_bring_any(query, std::slice::from_ref(write)),
        Read::Range { table, range } => *table == write.cell.table && range.contains(&write.cell.row),
        Read::Cell { cell, element } if *cell == write.cell => touches(element, &write.operation),
        Read::Cell { cell, element: _ } => cell.is_changed_with(&write.cell),
    }
}

fn touches(element: &Element, operation: &Operation) -> bool {
    use Operation::{
        Add, Append, Assign, Create, Delete, Edit, Insert, Merge, Put, PutEntry, PutTotal, Remove, RemoveEntry, SetAt,
    };
    match (element, operation) {
        (Element::Whole, _) => true,
        (Element::Member(member), Insert(value) | Remove(value)) => member == value,
        (Element::UpTo(last), Insert(value) | Remove(value)) => value <= last,
        (Element::Entry(entry), PutEntry { key, .. } | RemoveEntry { key }) => entry == key,
        (Element::Index(own), SetAt { index, .. }) => own == index,
        (Element::Slice { from, to }, SetAt { index, .. }) => (from..to).contains(&index),
        (Element::Index(_) | Element::Slice { .. }, Append { .. }) => false,
        (Element::Author(author), Edit(edit)) => edit.inserted.as_ref().is_some_and(|own| own.first.author == *author),
        (Element::Member(member), Merge(effect)) => effect.member().is_none_or(|value| member == value),
        (Element::UpTo(last), Merge(effect)) => effect.member().is_none_or(|value| value <= last),
        // A part of a collection and an operation that is not the collection's: watch it, so that nothing is missed.
        (
            Element::Member(_)
            | Element::UpTo(_)
            | Element::Entry(_)
            | Element::Index(_)
            | Element::Slice { .. }
            | Element::Author(_),
            Create
            | Delete
            | Put(_)
            | Assign(_)
            | Add(_)
            | PutTotal(_)
            | Insert(_)
            | Remove(_)
            | PutEntry { .. }
            | RemoveEntry { .. }
            | SetAt { .. }
            | Append { .. }
            | Edit(_)
            | Merge(_),
        ) => true,
    }
}

#[cfg(test)]
mod tests;
