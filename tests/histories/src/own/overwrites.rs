//! What other objects tell of the order of a register's values.
//!
//! If one transaction comes before another and both write to a register, then whoever read the first value comes before the second writer. If
//! one that writes to a register comes before another that read a different value there, it comes before the writer of that value too.
//! Only dependencies that lead directly from one to the other are followed, which keeps this in proportion to the history.

use std::collections::{BTreeMap, HashMap};

use super::bounds::KEPT_OF_A_CLUSTER;
use super::graph::{Basis, Builder, EdgeKind, Reason};
use super::index::Index;
use crate::operation::{Object, Operation, Register, Value};
use crate::violation::TransactionNumber;

pub fn add(index: &Index<'_>, graph: &mut Builder) {
    let touched = Touched::of(index);
    let mut found = Vec::new();
    for (from, to, edge) in graph.direct() {
        let Some(writes) = touched.writes.get(&from) else { continue };
        for (register, value) in writes {
            let object = Object::Register(*register);
            let reason = |kind| Reason { kind, basis: edge.basis.max(Basis::Elsewhere), about: Some(object) };
            if touched.writes.get(&to).is_some_and(|written| written.contains_key(register)) {
                let readers = touched.readers.get(&(*register, *value)).into_iter().flatten().take(KEPT_OF_A_CLUSTER);
                found.extend(readers.map(|&reader| (reader, to, reason(EdgeKind::ReadWrite))));
            }
            let read = touched.reads.get(&to).and_then(|read| read.get(register)).filter(|read| *read != value);
            let Some(writer) = read.and_then(|read| index.writer(object, *read)) else { continue };
            if index.took_effect(writer.transaction) {
                found.push((from, writer.transaction, reason(EdgeKind::WriteWrite)));
            }
        }
    }
    found.into_iter().for_each(|(from, to, reason)| graph.edge(from, to, reason));
}

#[derive(Default)]
struct Touched {
    /// The last write of each transaction to each register.
    writes: HashMap<TransactionNumber, BTreeMap<Register, Value>>,
    /// What each read before it wrote there.
    reads: HashMap<TransactionNumber, BTreeMap<Register, Value>>,
    readers: HashMap<(Register, Value), Vec<TransactionNumber>>,
}

impl Touched {
    fn of(index: &Index<'_>) -> Touched {
        let mut touched = Touched::default();
        for (object, accesses) in index.accesses() {
            let Object::Register(register) = object else { continue };
            for &access in accesses.iter().filter(|access| index.took_effect(access.transaction)) {
                let number = access.transaction;
                let has_written = touched.writes.get(&number).is_some_and(|writes| writes.contains_key(&register));
                if let Operation::Write { value, .. } = index.operation(access) {
                    touched.writes.entry(number).or_default().insert(register, *value);
                } else if let Operation::Read { value: Some(value), .. } = index.operation(access)
                    && !has_written
                    && index.reads_count(number)
                {
                    touched.reads.entry(number).or_default().entry(register).or_insert(*value);
                    touched.readers.entry((register, *value)).or_default().push(number);
                }
            }
        }
        touched
    }
}
