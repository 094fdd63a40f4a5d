//! The order of a register's values, as far as reads and times tell it.
//!
//! A value with its write and its reads is a cluster: nothing else was written in between. So all of one cluster comes before all of another as
//! soon as any transaction of the first ended before any of the second began. Besides, a transaction that read a value and wrote another one
//! put the second directly after the first, and no value comes before the empty register.
//!
//! Source: Gibbons and Korach (1997), zones.

use std::collections::BTreeMap;

use super::bounds::KEPT_OF_A_CLUSTER;
use super::graph::{Basis, Builder, EdgeKind, Reason};
use super::index::{Access, Index};
use super::real_time::{Chain, Entry};
use crate::operation::{Object, Operation, Value};
use crate::violation::TransactionNumber;

/// A value, who wrote it, and who read it from outside.
struct Cluster {
    writer: TransactionNumber,
    readers: Vec<TransactionNumber>,
    /// When the first of them ended.
    first_end: u64,
    /// When the last of them began.
    last_begin: u64,
}

struct Clusters {
    /// Those that read the empty register.
    empty: Vec<TransactionNumber>,
    values: BTreeMap<Value, Cluster>,
    /// What each transaction wrote last, after it had read another value: that value, and its own.
    overwrites: Vec<(Option<Value>, Value, TransactionNumber)>,
}

pub fn add(index: &Index<'_>, graph: &mut Builder) {
    for (object, accesses) in index.accesses() {
        if let Object::Register(_) = object {
            let clusters = Clusters::collect(index, accesses);
            clusters.add_data(object, graph);
            clusters.add_times(object, graph);
        }
    }
}

impl Clusters {
    fn collect(index: &Index<'_>, accesses: &[Access]) -> Clusters {
        let mut clusters = Clusters { empty: Vec::new(), values: BTreeMap::new(), overwrites: Vec::new() };
        let mut reads = Vec::new();
        for of_one in accesses.chunk_by(|one, next| one.transaction == next.transaction) {
            let number = of_one[0].transaction;
            if !index.took_effect(number) {
                continue;
            }
            let (read, written) = outside(index, of_one);
            let read = read.filter(|_| index.reads_count(number));
            if let Some(value) = written {
                let (first_end, last_begin) = (index.acknowledged(number), index.invoked(number));
                let cluster = Cluster { writer: number, readers: Vec::new(), first_end, last_begin };
                clusters.values.insert(value, cluster);
                clusters.overwrites.extend(read.map(|read| (read, value, number)));
            }
            reads.extend(read.map(|read| (read, number)));
        }
        for (value, reader) in reads {
            clusters.add_reader(index, value, reader);
        }
        clusters
    }

    fn add_reader(&mut self, index: &Index<'_>, value: Option<Value>, reader: TransactionNumber) {
        let Some(value) = value else {
            self.empty.push(reader);
            return;
        };
        // Values of nobody, of aborted transactions, or between two writes of one are reported elsewhere.
        if let Some(cluster) = self.values.get_mut(&value) {
            cluster.first_end = cluster.first_end.min(index.acknowledged(reader));
            cluster.last_begin = cluster.last_begin.max(index.invoked(reader));
            cluster.readers.push(reader);
        }
    }

    /// What follows from reads alone.
    fn add_data(&self, object: Object, graph: &mut Builder) {
        let reason = |kind| Reason { kind, basis: Basis::Data, about: Some(object) };
        for cluster in self.values.values() {
            cluster.readers.iter().for_each(|&reader| graph.edge(cluster.writer, reader, reason(EdgeKind::WriteRead)));
        }
        let writers: Vec<TransactionNumber> = self.values.values().map(|cluster| cluster.writer).collect();
        let empty: Vec<_> = self.empty.iter().map(|&reader| (reader, EdgeKind::ReadWrite)).collect();
        graph.fan(&empty, &writers, object);
        let mut next: BTreeMap<Value, Vec<TransactionNumber>> = BTreeMap::new();
        for (read, _, number) in &self.overwrites {
            if let Some(read) = read {
                next.entry(*read).or_default().push(*number);
            }
        }
        for (value, overwriters) in next {
            let Some(cluster) = self.values.get(&value) else { continue };
            let readers = cluster.readers.iter().map(|&reader| (reader, EdgeKind::ReadWrite));
            let sources: Vec<_> = readers.chain([(cluster.writer, EdgeKind::WriteWrite)]).collect();
            graph.fan(&sources, &overwriters, object);
        }
    }

    /// What follows from times.
    fn add_times(&self, object: Object, graph: &mut Builder) {
        let reason = |kind| Reason { kind, basis: Basis::Versions, about: Some(object) };
        let overwriter: BTreeMap<TransactionNumber, Value> =
            self.overwrites.iter().map(|&(_, value, number)| (number, value)).collect();
        let mut entries = Vec::new();
        let mut by_begin: Vec<(u64, &Cluster)> = self.values.values().map(|one| (one.last_begin, one)).collect();
        by_begin.sort_by_key(|(begin, cluster)| (*begin, cluster.writer));
        for cluster in self.values.values().filter(|cluster| cluster.first_end < u64::MAX) {
            entries.push(Entry {
                at: cluster.first_end,
                transaction: cluster.writer,
                reason: reason(EdgeKind::WriteWrite),
            });
            for &reader in &cluster.readers {
                let at = match overwriter.get(&reader) {
                    // It wrote the next value itself, and must not lead to itself.
                    Some(value) => {
                        let own_begin = self.values[value].last_begin;
                        let between = by_begin.partition_point(|(begin, _)| *begin <= cluster.first_end);
                        let between = by_begin[between..].iter().take_while(|(begin, _)| *begin <= own_begin);
                        let others = between.map(|(_, other)| other.writer).filter(|&other| other != cluster.writer);
                        others
                            .take(KEPT_OF_A_CLUSTER)
                            .for_each(|other| graph.edge(reader, other, reason(EdgeKind::ReadWrite)));
                        cluster.first_end.max(own_begin)
                    }
                    None => cluster.first_end,
                };
                entries.push(Entry { at, transaction: reader, reason: reason(EdgeKind::ReadWrite) });
            }
        }
        self.lead_to_writers(entries, &reason, graph);
    }

    /// Leads from what entered to the writers of all clusters that come later, but never to a cluster's own.
    fn lead_to_writers(&self, entries: Vec<Entry>, reason: &impl Fn(EdgeKind) -> Reason, graph: &mut Builder) {
        let mut by_end: Vec<(u64, &Cluster)> = self.values.values().map(|one| (one.first_end, one)).collect();
        by_end.sort_by_key(|(end, cluster)| (*end, cluster.writer));
        let chain = Chain::build(entries, Basis::Versions, graph);
        for cluster in self.values.values() {
            chain.leave_before(cluster.first_end.min(cluster.last_begin), cluster.writer, graph);
            // Its own entries are at its first end, so those from there on lead to it one by one: as many as were under way at once.
            let from = by_end.partition_point(|(end, _)| *end < cluster.first_end);
            let meanwhile = by_end[from..].iter().take_while(|(end, _)| *end < cluster.last_begin);
            let others = meanwhile.map(|(_, other)| *other).filter(|other| other.writer != cluster.writer);
            for other in others.take(KEPT_OF_A_CLUSTER) {
                graph.edge(other.writer, cluster.writer, reason(EdgeKind::WriteWrite));
                for &reader in other.readers.iter().take(KEPT_OF_A_CLUSTER) {
                    graph.edge(reader, cluster.writer, reason(EdgeKind::ReadWrite));
                }
            }
        }
    }
}

/// What a transaction read of a register before it wrote there, and what it wrote last.
fn outside(index: &Index<'_>, accesses: &[Access]) -> (Option<Option<Value>>, Option<Value>) {
    let (mut read, mut written) = (None, None);
    for &access in accesses {
        match *index.operation(access) {
            Operation::Read { value, .. } if written.is_none() && read.is_none() => read = Some(value),
            Operation::Write { value, .. } => written = Some(value),
            Operation::Read { .. }
            | Operation::Append { .. }
            | Operation::ReadList { .. }
            | Operation::Add { .. }
            | Operation::ReadCounter { .. }
            | Operation::Transfer { .. }
            | Operation::ReadAccount { .. }
            | Operation::ReadBank { .. }
            | Operation::Insert { .. }
            | Operation::Remove { .. }
            | Operation::Contains { .. }
            | Operation::ReadSet { .. } => {}
        }
    }
    (read, written)
}
