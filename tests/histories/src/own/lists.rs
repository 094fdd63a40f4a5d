//! The order of a list: its longest read, of which every other one has to be the beginning.
//!
//! From it: who appended next (ww), who read up to whom (wr), and whose append a read did not see (rw). What was appended and is in no read comes
//! after everything that was read.

use std::collections::{BTreeSet, HashSet};

use super::graph::{Basis, Builder, EdgeKind, Reason};
use super::index::{Access, Index};
use crate::operation::{List, Object, Operation, Value};
use crate::violation::TransactionNumber;

pub struct ListOrder {
    /// The longest read, as it was read.
    pub longest: Vec<Value>,
    /// Who read it; nobody, if no read saw anything.
    pub reader: Option<TransactionNumber>,
    /// Who appended each; not there for what nobody appended.
    pub writers: Vec<Option<TransactionNumber>>,
    /// Reads that are the beginning of the longest one: who, and how much.
    reads: Vec<(TransactionNumber, usize)>,
    /// Reads that are not.
    pub others: Vec<Access>,
}

impl ListOrder {
    pub fn find(index: &Index<'_>, list: List, accesses: &[Access]) -> ListOrder {
        let reads: Vec<(Access, &[Value])> = accesses
            .iter()
            .filter(|access| index.reads_count(access.transaction))
            .filter_map(|&access| {
                let Operation::ReadList { values, .. } = index.operation(access) else { return None };
                Some((access, values.as_slice()))
            })
            .collect();
        let longest = reads.iter().max_by_key(|(_, values)| values.len()).copied();
        let (reader, longest) = match longest {
            Some((access, values)) => (Some(access.transaction), values),
            None => (None, &[][..]),
        };
        let writer = |&value: &Value| index.writer(Object::List(list), value).map(|writer| writer.transaction);
        let mut order = ListOrder {
            longest: longest.to_vec(),
            reader,
            writers: longest.iter().map(writer).collect(),
            reads: Vec::new(),
            others: Vec::new(),
        };
        for (access, values) in reads {
            match order.longest.starts_with(values) {
                true => order.reads.push((access.transaction, values.len())),
                false => order.others.push(access),
            }
        }
        order
    }

    /// Who was seen, and by whom.
    pub fn seen(&self) -> impl Iterator<Item = (TransactionNumber, TransactionNumber)> + '_ {
        self.writers.iter().flatten().filter_map(|&writer| Some((writer, self.reader?)))
    }
}

pub fn add(index: &Index<'_>, graph: &mut Builder) {
    for (object, accesses) in index.accesses() {
        let Object::List(list) = object else { continue };
        add_list(index, &index.lists[&list], (object, accesses), graph);
    }
}

fn add_list(index: &Index<'_>, order: &ListOrder, (object, accesses): (Object, &[Access]), graph: &mut Builder) {
    let reason = |kind| Reason { kind, basis: Basis::Data, about: Some(object) };
    // Appends of aborted transactions, of nobody, and second copies are reported elsewhere, and left out here.
    let mut met = HashSet::new();
    let kept = order.longest.iter().zip(&order.writers).enumerate().filter_map(|(place, (value, writer))| {
        let writer = writer.filter(|&writer| index.took_effect(writer))?;
        met.insert(*value).then_some((place, writer))
    });
    let kept: Vec<(usize, TransactionNumber)> = kept.collect();
    for pair in kept.windows(2) {
        graph.edge(pair[0].1, pair[1].1, reason(EdgeKind::WriteWrite));
    }
    let mut last: Vec<(TransactionNumber, EdgeKind)> = Vec::new();
    for &(reader, length) in &order.reads {
        let next = kept.partition_point(|&(place, _)| place < length);
        if let Some(previous) = next.checked_sub(1) {
            graph.edge(kept[previous].1, reader, reason(EdgeKind::WriteRead));
        }
        match kept.get(next) {
            Some(&(_, writer)) => graph.edge(reader, writer, reason(EdgeKind::ReadWrite)),
            None => last.push((reader, EdgeKind::ReadWrite)),
        }
    }
    last.extend(kept.last().map(|&(_, writer)| (writer, EdgeKind::WriteWrite)));
    graph.fan(&last, &unseen(index, order, accesses), object);
}

/// Who certainly appended what no read shows.
fn unseen(index: &Index<'_>, order: &ListOrder, accesses: &[Access]) -> Vec<TransactionNumber> {
    let seen: HashSet<Value> = order.longest.iter().copied().collect();
    let mut unseen = BTreeSet::new();
    for &access in accesses.iter().filter(|access| index.took_effect(access.transaction)) {
        if let Operation::Append { value, .. } = index.operation(access)
            && !seen.contains(value)
        {
            unseen.insert(access.transaction);
        }
    }
    unseen.into_iter().collect()
}
