//! Sets: each value is a small register of its own, absent, then inserted, then removed, each at most once.
//!
//! Who saw it comes after its insertion and before its removal. Who missed it comes before its insertion or after its removal: before it, if
//! nobody removed it; which of both, if somebody did, times tell or nobody.

use std::collections::{BTreeMap, HashSet};

use super::graph::{Basis, Builder, EdgeKind, Reason};
use super::index::{Access, Index};
use super::positions::{Position, position};
use crate::operation::{Object, Operation, Value};
use crate::violation::TransactionNumber;

/// A value that a read missed, although it may have been there.
pub struct Absence {
    object: Object,
    value: Value,
    reader: TransactionNumber,
    /// The least timestamp of who inserted or saw it.
    first_seen: Option<Position>,
}

impl Absence {
    /// Whether the value certainly was in the set before the read: somebody had inserted or seen it, by real time or by timestamps.
    fn was_there(&self, index: &Index<'_>, inserted: TransactionNumber) -> bool {
        let by_timestamps =
            || position(index, self.reader).zip(self.first_seen).is_some_and(|(read, seen)| seen < read);
        index.ended(inserted) < index.invoked(self.reader) || by_timestamps()
    }
}

/// Finds what reads missed, and which removals were seen by that.
pub fn absences(index: &mut Index<'_>) -> Vec<Absence> {
    let mut absences = Vec::new();
    for (object, accesses) in index.accesses() {
        if let Object::Set(_) = object {
            add_absences(index, object, accesses, &mut absences);
        }
    }
    for absence in &absences {
        let Life { inserted: Some(inserted), removed: Some(removed) } = life(index, absence.object, absence.value)
        else {
            continue;
        };
        if absence.was_there(index, inserted) {
            index.observe(removed, absence.reader);
        }
    }
    absences
}

pub fn add(index: &Index<'_>, absences: &[Absence], graph: &mut Builder) {
    for (object, accesses) in index.accesses() {
        if let Object::Set(_) = object {
            add_presences(index, object, accesses, graph);
        }
    }
    absences.iter().for_each(|absence| add_absence(index, absence, graph));
}

/// Who inserted and who removed a value; not those that never took effect.
struct Life {
    inserted: Option<TransactionNumber>,
    removed: Option<TransactionNumber>,
}

fn life(index: &Index<'_>, object: Object, value: Value) -> Life {
    let inserted = index.writer(object, value).map(|access| access.transaction);
    let removed = index.remover(object, value).map(|access| access.transaction);
    Life {
        inserted: inserted.filter(|&number| index.took_effect(number)),
        removed: removed.filter(|&number| index.standing(number) != super::Standing::Aborted),
    }
}

/// Whether a removal certainly found its value.
fn found_it(index: &Index<'_>, inserted: TransactionNumber, removed: TransactionNumber) -> bool {
    inserted == removed || index.ended(inserted) < index.invoked(removed)
}

fn add_presences(index: &Index<'_>, object: Object, accesses: &[Access], graph: &mut Builder) {
    let reason = |kind| Reason { kind, basis: Basis::Data, about: Some(object) };
    for &access in accesses {
        let number = access.transaction;
        if let Operation::Remove { value, .. } = index.operation(access)
            && let Life { inserted: Some(inserted), removed: Some(removed) } = life(index, object, *value)
            && index.took_effect(removed)
            && found_it(index, inserted, removed)
        {
            graph.edge(inserted, removed, reason(EdgeKind::WriteWrite));
        }
        if !index.reads_count(number) {
            continue;
        }
        for &value in present(index.operation(access)) {
            let Life { inserted: Some(inserted), removed } = life(index, object, value) else { continue };
            graph.edge(inserted, number, reason(EdgeKind::WriteRead));
            let removed = removed.filter(|&removed| index.took_effect(removed) && found_it(index, inserted, removed));
            if let Some(removed) = removed {
                graph.edge(number, removed, reason(EdgeKind::ReadWrite));
            }
        }
    }
}

fn add_absence(index: &Index<'_>, absence: &Absence, graph: &mut Builder) {
    let reason = |kind| Reason { kind, basis: Basis::Data, about: Some(absence.object) };
    let Life { inserted: Some(inserted), removed } = life(index, absence.object, absence.value) else { return };
    let reader = absence.reader;
    match removed {
        None => graph.edge(reader, inserted, reason(EdgeKind::ReadWrite)),
        // It removed the value itself, after it had not found it.
        Some(removed) if removed == reader => graph.edge(reader, inserted, reason(EdgeKind::ReadWrite)),
        Some(removed) if absence.was_there(index, inserted) => {
            graph.edge(removed, reader, reason(EdgeKind::WriteRead));
        }
        Some(removed) if index.ended(reader) < index.invoked(removed) => {
            graph.edge(reader, inserted, reason(EdgeKind::ReadWrite));
        }
        // Before or after: nobody can tell.
        Some(_) => {}
    }
}

/// The values that an operation found.
fn present(operation: &Operation) -> &[Value] {
    match operation {
        Operation::Contains { value, found: true, .. } => std::slice::from_ref(value),
        Operation::ReadSet { values, .. } => values,
        Operation::Contains { found: false, .. }
        | Operation::Write { .. }
        | Operation::Read { .. }
        | Operation::Append { .. }
        | Operation::ReadList { .. }
        | Operation::Add { .. }
        | Operation::ReadCounter { .. }
        | Operation::Transfer { .. }
        | Operation::ReadAccount { .. }
        | Operation::ReadBank { .. }
        | Operation::Insert { .. }
        | Operation::Remove { .. } => &[],
    }
}

/// A value that may be in the set from some time on.
struct Element {
    value: Value,
    invoked: u64,
    /// From when on it is certainly gone again.
    gone: u64,
}

/// Sweeps over the reads of a set in the order of time, with the values that may be there.
fn add_absences(index: &Index<'_>, object: Object, accesses: &[Access], absences: &mut Vec<Absence>) {
    let mut elements: Vec<Element> = accesses.iter().filter_map(|&access| element(index, object, access)).collect();
    elements.sort_by_key(|element| (element.invoked, element.value));
    let mut reads: Vec<(u64, Access)> = accesses
        .iter()
        .filter(|access| index.reads_count(access.transaction))
        .map(|&access| (index.invoked(access.transaction), access))
        .collect();
    reads.sort();
    let (mut next, mut there): (usize, Vec<&Element>) = (0, Vec::new());
    let own = own_changes(index, accesses);
    let first = first_seen(index, object, accesses);
    for (invoked, access) in reads {
        let reader = access.transaction;
        let before = |value: Value| own.get(&(reader, value)).is_some_and(|&place| place < access.operation);
        let mut miss = |value| {
            if !before(value) {
                let first_seen = first.get(&value).copied();
                absences.push(Absence { object, value, reader, first_seen });
            }
        };
        match index.operation(access) {
            Operation::Contains { value, found: false, .. } => miss(*value),
            Operation::ReadSet { values, .. } => {
                let came = elements[next..].partition_point(|element| element.invoked <= invoked);
                there.extend(&elements[next..next + came]);
                next += came;
                there.retain(|element| element.gone >= invoked);
                let seen: HashSet<Value> = values.iter().copied().collect();
                let until = index.ended(reader);
                let meanwhile = elements[next..].iter().take_while(|element| element.invoked <= until);
                let missed = there.iter().copied().chain(meanwhile).filter(|element| !seen.contains(&element.value));
                missed.for_each(|element| miss(element.value));
            }
            Operation::Contains { found: true, .. }
            | Operation::Write { .. }
            | Operation::Read { .. }
            | Operation::Append { .. }
            | Operation::ReadList { .. }
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

fn element(index: &Index<'_>, object: Object, access: Access) -> Option<Element> {
    let Operation::Insert { value, .. } = index.operation(access) else { return None };
    let Life { inserted: Some(inserted), removed } = life(index, object, *value) else { return None };
    let removed = removed.filter(|&removed| found_it(index, inserted, removed));
    let gone = removed.map_or(u64::MAX, |removed| index.ended(removed));
    Some(Element { value: *value, invoked: index.invoked(inserted), gone })
}

/// Where transactions themselves first changed a value.
fn own_changes(index: &Index<'_>, accesses: &[Access]) -> BTreeMap<(TransactionNumber, Value), u32> {
    let mut changes = BTreeMap::new();
    for &access in accesses {
        if let Operation::Insert { value, .. } | Operation::Remove { value, .. } = index.operation(access) {
            changes.entry((access.transaction, *value)).or_insert(access.operation);
        }
    }
    changes
}

/// For each value that somebody tried to remove, the least timestamp at which it was certainly there.
fn first_seen(index: &Index<'_>, object: Object, accesses: &[Access]) -> BTreeMap<Value, Position> {
    let mut first: BTreeMap<Value, Position> = BTreeMap::new();
    for &access in accesses.iter().filter(|access| index.reads_count(access.transaction)) {
        let Some(position) = position(index, access.transaction) else { continue };
        let inserted = match index.operation(access) {
            Operation::Insert { value, .. } => std::slice::from_ref(value),
            other => present(other),
        };
        for value in inserted.iter().filter(|value| index.remover(object, **value).is_some()) {
            first.entry(*value).and_modify(|first| *first = (*first).min(position)).or_insert(position);
        }
    }
    first
}
