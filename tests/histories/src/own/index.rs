//! A history prepared for questions: who wrote what, who touched which object, and what became of each transaction.
//!
//! Invariant: a transaction whose client does not know the outcome counts as committed once somebody saw a write of it, and never as failed.

use std::collections::{BTreeMap, HashMap};

use crate::history::{History, Outcome, Transaction};
use crate::operation::{List, Object, Operation, Value};
use crate::violation::TransactionNumber;

use super::lists::ListOrder;

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its client was told.
    Acknowledged,
    /// Its client was not told, and somebody saw it.
    Observed,
    /// Its client was not told, and nobody saw it: it may come, or not.
    Possible,
    Aborted,
}

/// Where an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    pub transaction: TransactionNumber,
    pub operation: u32,
}

pub struct Index<'h> {
    pub history: &'h History,
    all: Vec<&'h Transaction>,
    standing: Vec<Standing>,
    /// Until when a transaction took effect at the latest: its end, or that of the first read that saw it.
    ended: Vec<u64>,
    writers: HashMap<(Object, Value), Access>,
    removers: HashMap<(Object, Value), Access>,
    /// Operations on registers, lists and sets, in the order of transactions.
    accesses: BTreeMap<Object, Vec<Access>>,
    pub lists: BTreeMap<List, ListOrder>,
}

impl<'h> Index<'h> {
    pub fn new(history: &'h History) -> Index<'h> {
        let all: Vec<&Transaction> = history.all().collect();
        let standing = all.iter().map(|transaction| standing(transaction)).collect::<Vec<_>>();
        let ended = all.iter().zip(&standing).map(|(transaction, standing)| match standing {
            Standing::Acknowledged => transaction.completed.0,
            Standing::Observed | Standing::Possible | Standing::Aborted => u64::MAX,
        });
        let mut index = Index {
            history,
            ended: ended.collect(),
            all,
            standing,
            writers: HashMap::new(),
            removers: HashMap::new(),
            accesses: BTreeMap::new(),
            lists: BTreeMap::new(),
        };
        index.collect();
        index.lists = index.find_lists();
        index.observe_all();
        index
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }

    pub fn numbers(&self) -> impl Iterator<Item = TransactionNumber> + use<> {
        (0..self.all.len() as u32).map(TransactionNumber)
    }

    pub fn transaction(&self, number: TransactionNumber) -> &'h Transaction {
        self.all[number.0 as usize]
    }

    pub fn operation(&self, access: Access) -> &'h Operation {
        &self.all[access.transaction.0 as usize].operations[access.operation as usize]
    }

    pub fn standing(&self, number: TransactionNumber) -> Standing {
        self.standing[number.0 as usize]
    }

    /// Whether it certainly took effect.
    pub fn took_effect(&self, number: TransactionNumber) -> bool {
        matches!(self.standing(number), Standing::Acknowledged | Standing::Observed)
    }

    /// Whether what its reads returned counts.
    pub fn reads_count(&self, number: TransactionNumber) -> bool {
        self.standing(number) == Standing::Acknowledged
    }

    pub fn invoked(&self, number: TransactionNumber) -> u64 {
        self.transaction(number).invoked.0
    }

    /// When its client was told; never, if it was not.
    pub fn acknowledged(&self, number: TransactionNumber) -> u64 {
        match self.standing(number) {
            Standing::Acknowledged => self.transaction(number).completed.0,
            Standing::Observed | Standing::Possible | Standing::Aborted => u64::MAX,
        }
    }

    /// Until when it took effect at the latest.
    pub fn ended(&self, number: TransactionNumber) -> u64 {
        self.ended[number.0 as usize]
    }

    pub fn writer(&self, object: Object, value: Value) -> Option<Access> {
        self.writers.get(&(object, value)).copied()
    }

    pub fn remover(&self, object: Object, value: Value) -> Option<Access> {
        self.removers.get(&(object, value)).copied()
    }

    pub fn accesses(&self) -> impl Iterator<Item = (Object, &[Access])> {
        self.accesses.iter().map(|(object, accesses)| (*object, accesses.as_slice()))
    }

    /// Somebody whose read ended then saw a write of this transaction.
    pub fn observe(&mut self, writer: TransactionNumber, reader: TransactionNumber) {
        let place = writer.0 as usize;
        match self.standing[place] {
            Standing::Possible => self.standing[place] = Standing::Observed,
            Standing::Acknowledged | Standing::Observed => {}
            Standing::Aborted => return,
        }
        self.ended[place] = self.ended[place].min(self.transaction(reader).completed.0);
    }

    fn collect(&mut self) {
        for number in self.numbers() {
            for (place, operation) in self.transaction(number).operations.iter().enumerate() {
                let access = Access { transaction: number, operation: place as u32 };
                let object = match *operation {
                    Operation::Write { register, value } => self.note_write(Object::Register(register), value, access),
                    Operation::Append { list, value } => self.note_write(Object::List(list), value, access),
                    Operation::Insert { set, value } => self.note_write(Object::Set(set), value, access),
                    Operation::Remove { set, value } => {
                        self.removers.insert((Object::Set(set), value), access);
                        Object::Set(set)
                    }
                    Operation::Read { register, .. } => Object::Register(register),
                    Operation::ReadList { list, .. } => Object::List(list),
                    Operation::Contains { set, .. } | Operation::ReadSet { set, .. } => Object::Set(set),
                    Operation::Add { .. }
                    | Operation::ReadCounter { .. }
                    | Operation::Transfer { .. }
                    | Operation::ReadAccount { .. }
                    | Operation::ReadBank { .. } => continue,
                };
                self.accesses.entry(object).or_default().push(access);
            }
        }
    }

    fn note_write(&mut self, object: Object, value: Value, access: Access) -> Object {
        self.writers.insert((object, value), access);
        object
    }

    fn find_lists(&self) -> BTreeMap<List, ListOrder> {
        let lists = self.accesses().filter_map(|(object, accesses)| match object {
            Object::List(list) => Some((list, ListOrder::find(self, list, accesses))),
            Object::Register(_) | Object::Counter(_) | Object::Set(_) | Object::Account(..) => None,
        });
        lists.collect()
    }

    /// Finds out which writes were seen, so that unknown ones count.
    fn observe_all(&mut self) {
        let mut seen = Vec::new();
        for (object, accesses) in self.accesses() {
            for &access in accesses.iter().filter(|access| self.reads_count(access.transaction)) {
                let mut note = |value| {
                    seen.extend(self.writer(object, value).map(|writer| (writer.transaction, access.transaction)));
                };
                match self.operation(access) {
                    Operation::Read { value, .. } => value.iter().copied().for_each(note),
                    Operation::Contains { value, found: true, .. } => note(*value),
                    Operation::ReadSet { values, .. } => values.iter().copied().for_each(note),
                    // The last is enough: what was there before it is in the order of the list.
                    Operation::ReadList { values, .. } => values.last().copied().into_iter().for_each(note),
                    Operation::Contains { found: false, .. }
                    | Operation::Write { .. }
                    | Operation::Append { .. }
                    | Operation::Insert { .. }
                    | Operation::Remove { .. }
                    | Operation::Add { .. }
                    | Operation::ReadCounter { .. }
                    | Operation::Transfer { .. }
                    | Operation::ReadAccount { .. }
                    | Operation::ReadBank { .. } => {}
                }
            }
        }
        seen.extend(self.lists.values().flat_map(|order| order.seen()));
        for (writer, reader) in seen {
            if writer != reader {
                self.observe(writer, reader);
            }
        }
    }
}

fn standing(transaction: &Transaction) -> Standing {
    match transaction.outcome {
        Outcome::Committed(_) => Standing::Acknowledged,
        Outcome::Aborted => Standing::Aborted,
        Outcome::Unknown => Standing::Possible,
    }
}
