//! The effect of an operation that comes late on the states after it.
//!
//! The test is that of states and stricter than the table of conflicts: appends to a list do not conflict, and still stand in the order of their timestamps.
//! Invariant: the answer holds for every state before the operation. Where that is not certain the history is folded again.

use iolite_values::{CellState, ColumnId, Operation, Timestamp, Write};

use super::Version;

/// Where a late operation can be applied as it is, instead of folding the history again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// To every later state, the latest one included.
    ToTheEnd,
    /// To the states before this commit, which covers all that the operation did.
    Until(Timestamp),
    /// The later states depend on the order.
    OfOrder,
}

/// A late operation beside one later operation on the same cell.
enum Meeting {
    /// Both orders lead to one state.
    Passes,
    /// The later one leaves nothing of the late one.
    Covered,
    Depends,
}

/// The effect of a write on the states after `later`, the versions of its row that stand behind it.
pub fn effect_of<'a>(late: &Write, later: impl IntoIterator<Item = &'a Version>) -> Effect {
    if late.cell.column == ColumnId::ROW && !is_merge(&late.operation) {
        return Effect::OfOrder;
    }
    for version in later {
        let other = version.write();
        if are_effects_that_pass(late, other) {
            continue;
        }
        // A row's life covers its cells. But a cell has other types before and after, so only a fold finds an operation that does not fit.
        if late.cell.column == ColumnId::ROW || other.cell.column == ColumnId::ROW {
            return Effect::OfOrder;
        }
        if other.cell.column != late.cell.column {
            continue;
        }
        match meeting(&late.operation, &other.operation) {
            Meeting::Passes => {}
            Meeting::Covered => return Effect::Until(version.at),
            Meeting::Depends => return Effect::OfOrder,
        }
    }
    Effect::ToTheEnd
}

/// Whether both are effects of a row that merges, and pass each other on every state. Of one column they are of one type, so the late one fits.
fn are_effects_that_pass(late: &Write, other: &Write) -> bool {
    let (Operation::Merge(effect), Operation::Merge(later)) = (&late.operation, &other.operation) else { return false };
    let of_one_type = || CellState::empty_for(&late.operation).name() == CellState::empty_for(&other.operation).name();
    effect.passes(later) && (late.cell.column != other.cell.column || of_one_type())
}

fn is_merge(operation: &Operation) -> bool {
    matches!(operation, Operation::Merge(_))
}

/// Only operations of one data type pass or cover each other, so the cell has that type before and after.
fn meeting(late: &Operation, later: &Operation) -> Meeting {
    match late {
        Operation::Put(_) => covered_if(matches!(later, Operation::Put(_))),
        Operation::Assign(_) => covered_if(matches!(later, Operation::Assign(_))),
        Operation::PutTotal(_) => covered_if(matches!(later, Operation::PutTotal(_))),
        Operation::Add(_) if matches!(later, Operation::Add(_)) => Meeting::Passes,
        Operation::Add(_) => covered_if(matches!(later, Operation::PutTotal(_))),
        Operation::Insert(_)
        | Operation::Remove(_)
        | Operation::PutEntry { .. }
        | Operation::RemoveEntry { .. }
        | Operation::SetAt { .. } => match is_same_element(late, later) {
            Some(true) => Meeting::Covered,
            Some(false) => Meeting::Passes,
            None => Meeting::Depends,
        },
        // Two effects that pass were met above.
        Operation::Merge(_) => Meeting::Depends,
        // An append moves those behind it. Whether an edit of a text fits depends on the edits before it.
        Operation::Create | Operation::Delete | Operation::Append { .. } | Operation::Edit(_) => Meeting::Depends,
    }
}

fn covered_if(is_covered: bool) -> Meeting {
    if is_covered { Meeting::Covered } else { Meeting::Depends }
}

/// Whether two operations set or take one element of their collection, if each of them does that to one element.
fn is_same_element(one: &Operation, other: &Operation) -> Option<bool> {
    use Operation::{Insert, PutEntry, Remove, RemoveEntry, SetAt};
    match (one, other) {
        (Insert(own) | Remove(own), Insert(other) | Remove(other)) => Some(own == other),
        (
            PutEntry { key: own, .. } | RemoveEntry { key: own },
            PutEntry { key: other, .. } | RemoveEntry { key: other },
        ) => Some(own == other),
        (SetAt { index: own, value: _ }, SetAt { index: other, value: _ }) => Some(own == other),
        (_, _) => None,
    }
}
