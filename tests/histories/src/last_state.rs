//! The last state: what a fresh client reads after the faults holds every acknowledged write exactly once, and nothing else but unknown ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use crate::class::Class;
use crate::explain;
use crate::history::Outcome;
use crate::operation::{Object, Operation, Value};
use crate::own::Index;
use crate::violation::{Findings, TransactionNumber};

/// Writes to registers, lists and sets, held against the last state. Totals of counters and accounts are checked with all other reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LastState {
    /// Acknowledged, and not there.
    pub lost: u64,
    /// There twice or more.
    pub doubled: u64,
    /// There, and written by nobody, by a transaction that aborted, or removed again.
    pub phantom: u64,
    /// Acknowledged writes that were looked for.
    pub acknowledged: u64,
    /// Writes of unknown outcome that are there.
    pub unknown_there: u64,
    /// Writes of unknown outcome that are not there.
    pub unknown_missing: u64,
    /// Objects that were written to, and that nobody read at the end: of them nothing can be said.
    pub unread_objects: u64,
}

/// Judges the last state; `None` if nobody read it.
pub fn check(index: &Index<'_>, findings: &mut Findings) -> Option<LastState> {
    if index.history.last.is_empty() {
        return None;
    }
    let last = last_reads(index);
    let mut check = Check { index, findings, counts: LastState::default() };
    let written = written(index);
    for (object, written) in &written {
        match last.get(object) {
            None => check.counts.unread_objects += 1,
            Some(read) => check.object(*object, written, read),
        }
    }
    for (object, read) in last.iter().filter(|(object, _)| !written.contains_key(object)) {
        check.object(*object, &[], read);
    }
    check.counts.unread_objects += unread_totals(index, &last);
    Some(check.counts)
}

/// What the last state is of an object, and who read it.
struct LastRead<'h> {
    reader: TransactionNumber,
    values: &'h [Value],
}

fn last_reads<'h>(index: &Index<'h>) -> BTreeMap<Object, LastRead<'h>> {
    let mut reads = BTreeMap::new();
    for reader in index.numbers().skip(index.history.transactions.len()) {
        for operation in &index.transaction(reader).operations {
            let mut note = |object, values| {
                reads.insert(object, LastRead { reader, values });
            };
            match operation {
                Operation::Read { register, value } => note(Object::Register(*register), value.as_slice()),
                Operation::ReadList { list, values } => note(Object::List(*list), values),
                Operation::ReadSet { set, values } => note(Object::Set(*set), values),
                Operation::ReadCounter { counter, .. } => note(Object::Counter(*counter), &[]),
                Operation::ReadAccount { bank, account, .. } => note(Object::Account(*bank, *account), &[]),
                Operation::ReadBank { bank, balances } => {
                    let accounts = (0..balances.len()).map(|place| crate::Account(place as u32));
                    accounts.for_each(|account| note(Object::Account(*bank, account), &[]));
                }
                Operation::Contains { .. }
                | Operation::Write { .. }
                | Operation::Append { .. }
                | Operation::Add { .. }
                | Operation::Transfer { .. }
                | Operation::Insert { .. }
                | Operation::Remove { .. } => {}
            }
        }
    }
    reads
}

/// What was written to registers, lists and sets, by whom.
fn written(index: &Index<'_>) -> BTreeMap<Object, Vec<(Value, TransactionNumber)>> {
    let mut written: BTreeMap<Object, Vec<(Value, TransactionNumber)>> = BTreeMap::new();
    for (object, accesses) in index.accesses() {
        for &access in accesses {
            let value = match index.operation(access) {
                Operation::Write { value, .. } | Operation::Append { value, .. } | Operation::Insert { value, .. } => {
                    *value
                }
                Operation::Remove { .. }
                | Operation::Read { .. }
                | Operation::ReadList { .. }
                | Operation::Add { .. }
                | Operation::ReadCounter { .. }
                | Operation::Transfer { .. }
                | Operation::ReadAccount { .. }
                | Operation::ReadBank { .. }
                | Operation::Contains { .. }
                | Operation::ReadSet { .. } => continue,
            };
            written.entry(object).or_default().push((value, access.transaction));
        }
    }
    written
}

/// Counters and accounts that were changed, and not read at the end.
fn unread_totals(index: &Index<'_>, last: &BTreeMap<Object, LastRead<'_>>) -> u64 {
    let mut unread = BTreeSet::new();
    for transaction in &index.history.transactions {
        for operation in &transaction.operations {
            match operation {
                Operation::Add { counter, .. } => unread.extend([Object::Counter(*counter)]),
                Operation::Transfer { bank, from, to, .. } => {
                    unread.extend([Object::Account(*bank, *from), Object::Account(*bank, *to)]);
                }
                Operation::Write { .. }
                | Operation::Read { .. }
                | Operation::Append { .. }
                | Operation::ReadList { .. }
                | Operation::ReadCounter { .. }
                | Operation::ReadAccount { .. }
                | Operation::ReadBank { .. }
                | Operation::Insert { .. }
                | Operation::Remove { .. }
                | Operation::Contains { .. }
                | Operation::ReadSet { .. } => {}
            }
        }
    }
    unread.into_iter().filter(|object| !last.contains_key(object)).count() as u64
}

struct Check<'a, 'h> {
    index: &'a Index<'h>,
    findings: &'a mut Findings,
    counts: LastState,
}

impl Check<'_, '_> {
    fn object(&mut self, object: Object, written: &[(Value, TransactionNumber)], read: &LastRead<'_>) {
        let mut there: HashMap<Value, u64> = HashMap::new();
        read.values.iter().for_each(|value| *there.entry(*value).or_default() += 1);
        for (value, count) in there.iter().filter(|(_, count)| **count > 1) {
            self.counts.doubled += count - 1;
            self.add(Class::Doubled, &[read.reader], || format!("{object} holds {value} {count} times"));
        }
        let writers: HashMap<Value, TransactionNumber> = written.iter().copied().collect();
        let mut values: Vec<Value> = there.keys().copied().collect();
        values.sort_unstable();
        for value in values {
            self.origin(object, value, writers.get(&value).copied(), read.reader);
        }
        match object {
            Object::Register(_) => self.register(object, written, read),
            Object::List(_) | Object::Set(_) => {
                written
                    .iter()
                    .for_each(|&(value, writer)| self.element(object, value, writer, there.contains_key(&value), read));
            }
            Object::Counter(_) | Object::Account(..) => {}
        }
    }

    /// Something that is there has to come from somebody who may have committed.
    fn origin(&mut self, object: Object, value: Value, writer: Option<TransactionNumber>, reader: TransactionNumber) {
        let (why, about) = match writer {
            None => ("which nobody wrote".to_owned(), vec![reader]),
            Some(writer) if self.outcome(writer) == Outcome::Aborted => {
                (format!("of T{}, which aborted", writer.0), vec![writer, reader])
            }
            Some(_) => return,
        };
        self.counts.phantom += 1;
        self.add(Class::Phantom, &about, || format!("{object} holds {value}, {why}"));
    }

    /// An element of a list or a set, which stays, unless somebody removed it.
    fn element(
        &mut self,
        object: Object,
        value: Value,
        writer: TransactionNumber,
        is_there: bool,
        read: &LastRead<'_>,
    ) {
        let removed = self.index.remover(object, value).map(|access| access.transaction);
        match self.outcome(writer) {
            Outcome::Aborted => return,
            Outcome::Unknown if is_there => self.counts.unknown_there += 1,
            Outcome::Unknown => self.counts.unknown_missing += 1,
            Outcome::Committed(_) => self.counts.acknowledged += 1,
        }
        let removal = removed.map(|removed| (removed, self.outcome(removed)));
        match removal {
            Some((removed, Outcome::Committed(_))) => {
                if is_there && self.index.ended(writer) < self.index.invoked(removed) {
                    self.counts.phantom += 1;
                    self.add(Class::Phantom, &[writer, removed, read.reader], || {
                        format!("{object} holds {value}, which T{} removed", removed.0)
                    });
                }
            }
            Some((_, Outcome::Unknown)) => {}
            Some((_, Outcome::Aborted)) | None => {
                if !is_there && matches!(self.outcome(writer), Outcome::Committed(_)) {
                    self.lost(object, value, writer, read);
                }
            }
        }
    }

    /// A register holds a value that no acknowledged write certainly overwrote.
    fn register(&mut self, object: Object, written: &[(Value, TransactionNumber)], read: &LastRead<'_>) {
        let acknowledged = written.iter().filter(|(_, writer)| matches!(self.outcome(*writer), Outcome::Committed(_)));
        let acknowledged: Vec<(Value, TransactionNumber)> = acknowledged.copied().collect();
        self.counts.acknowledged += acknowledged.len() as u64;
        let until = match read.values.first() {
            None => 0,
            Some(&value) => match self.index.writer(object, value) {
                Some(writer) if self.outcome(writer.transaction) == Outcome::Unknown => {
                    self.counts.unknown_there += 1;
                    self.index.ended(writer.transaction)
                }
                Some(writer) => self.index.ended(writer.transaction),
                None => return,
            },
        };
        let is_empty = read.values.is_empty();
        let newest = acknowledged.iter().max_by_key(|(_, writer)| self.index.invoked(*writer)).copied();
        if let Some((value, writer)) = newest.filter(|(_, writer)| is_empty || self.index.invoked(*writer) > until) {
            self.lost(object, value, writer, read);
        }
    }

    fn lost(&mut self, object: Object, value: Value, writer: TransactionNumber, read: &LastRead<'_>) {
        self.counts.lost += 1;
        self.add(Class::Lost, &[writer, read.reader], || {
            format!("T{} was told that {value} is in {object}, and at the end it is not", writer.0)
        });
    }

    fn outcome(&self, number: TransactionNumber) -> Outcome {
        self.index.transaction(number).outcome
    }

    fn add(&mut self, class: Class, about: &[TransactionNumber], what: impl FnOnce() -> String) {
        let index = self.index;
        self.findings.add(class, || explain::fact(index, class, what(), about));
    }
}
