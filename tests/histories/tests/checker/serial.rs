//! Random histories that are strictly serializable by construction: a serial run over a model, each transaction at a point in time of its own,
//! somewhere between a random begin and a random end.

use std::collections::{BTreeMap, BTreeSet};

use iolite_histories::{
    Account, Bank, BankSetup, Client, Commit, CommitTimestamp, Counter, Fault, History, List, Moment, Operation,
    Outcome, Register, Set, Transaction, Value,
};

use super::random::Random;

/// Which objects a history is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kinds {
    All,
    Lists,
    Registers,
    ListsAndSets,
    Totals,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stamps {
    Given,
    None,
}

#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub transactions: usize,
    pub clients: usize,
    /// Of each type.
    pub objects: u64,
    pub kinds: Kinds,
    pub stamps: Stamps,
    /// Percent that abort, and percent of which the client never learns the outcome.
    pub aborted: u64,
    pub unknown: u64,
    /// After so many transactions other objects are used, so that reads stay short.
    pub rotation: usize,
}

impl Shape {
    pub fn small(kinds: Kinds, stamps: Stamps) -> Shape {
        Shape { transactions: 60, clients: 5, objects: 3, kinds, stamps, aborted: 8, unknown: 12, rotation: 1_000_000 }
    }
}

/// How far apart points are.
const STEP: u64 = 1000;
const ACCOUNTS: u64 = 4;
const BALANCE: i64 = 100;

/// A valid history, with a read of the last state.
pub fn history(seed: u64, shape: Shape) -> History {
    let mut run = Run::new(seed, shape);
    for place in 0..shape.transactions {
        run.transaction(place);
    }
    run.finish()
}

/// What there is in truth.
#[derive(Clone, Default)]
struct Model {
    registers: BTreeMap<Register, Value>,
    lists: BTreeMap<List, Vec<Value>>,
    counters: BTreeMap<Counter, i64>,
    sets: BTreeMap<Set, BTreeSet<Value>>,
    balances: Vec<i64>,
}

impl Model {
    fn take_objects(&mut self, from: &mut Model) {
        self.registers.append(&mut from.registers);
        self.lists.append(&mut from.lists);
        self.counters.append(&mut from.counters);
        self.sets.append(&mut from.sets);
    }
}

struct Run {
    random: Random,
    shape: Shape,
    model: Model,
    /// Objects that are not used any more.
    finished: Model,
    history: History,
    /// Until when each client is busy.
    busy: Vec<u64>,
    next_value: u64,
    /// When it was acknowledged that a value is in a set; those that nobody tried to remove.
    members: BTreeMap<(Set, Value), u64>,
    touched: BTreeSet<(u8, u32)>,
}

impl Run {
    fn new(seed: u64, shape: Shape) -> Run {
        let balances = vec![BALANCE; ACCOUNTS as usize];
        let mut history = History::default();
        history.setup.banks.push(BankSetup { balances: balances.clone(), lowest: 0 });
        Run {
            random: Random::new(seed),
            shape,
            model: Model { balances, ..Model::default() },
            finished: Model::default(),
            history,
            busy: vec![0; shape.clients],
            next_value: 1,
            members: BTreeMap::new(),
            touched: BTreeSet::new(),
        }
    }

    fn transaction(&mut self, place: usize) {
        let point = (place as u64 + 10) * STEP;
        if place.is_multiple_of(self.shape.rotation) {
            self.finished.take_objects(&mut self.model);
        }
        let free: Vec<usize> = (0..self.busy.len()).filter(|&client| self.busy[client] < point).collect();
        // At worst one waits until its turn: with all of them busy this point stays empty.
        let Some(&client) = free.get(self.random.index(free.len())) else { return };
        let longest = STEP * (1 + self.random.below(8));
        let invoked = self.busy[client].max(point.saturating_sub(1 + self.random.below(longest)));
        let completed = point + self.random.below(longest);
        let before = self.model.clone();
        let count = 1 + self.random.below(4);
        let operations: Vec<Operation> = (0..count).filter_map(|_| self.operation(place, invoked)).collect();
        let (outcome, completed) = self.outcome(point, invoked, completed, before);
        if matches!(outcome, Outcome::Committed(_)) {
            self.note_members(&operations, completed);
        }
        self.busy[client] = completed + 1;
        self.history.transactions.push(Transaction {
            client: Client(client as u32),
            invoked: Moment(invoked),
            completed: Moment(completed),
            operations,
            outcome,
        });
    }

    fn outcome(&mut self, point: u64, invoked: u64, completed: u64, before: Model) -> (Outcome, u64) {
        let chance = self.random.below(100);
        if chance < self.shape.aborted {
            self.model = before;
            return (Outcome::Aborted, completed);
        }
        if chance < self.shape.aborted + self.shape.unknown {
            if self.random.percent(40) {
                self.model = before;
            }
            // The client may have given up before it took effect.
            let gave_up = invoked + self.random.below(completed - invoked + 1);
            return (Outcome::Unknown, gave_up);
        }
        let commit = match self.shape.stamps {
            Stamps::Given => Commit::At(CommitTimestamp(point)),
            Stamps::None => Commit::Unstamped,
        };
        (Outcome::Committed(commit), completed)
    }

    fn note_members(&mut self, operations: &[Operation], completed: u64) {
        for operation in operations {
            if let Operation::Insert { set, value } = operation
                && self.model.sets[set].contains(value)
            {
                self.members.insert((*set, *value), completed);
            }
        }
    }

    fn object(&mut self, place: usize) -> u32 {
        let generation = place / self.shape.rotation;
        (generation as u64 * self.shape.objects + self.random.below(self.shape.objects)) as u32
    }

    fn value(&mut self) -> Value {
        self.next_value += 1;
        Value(self.next_value)
    }

    fn operation(&mut self, place: usize, invoked: u64) -> Option<Operation> {
        let object = self.object(place);
        let kind = match self.shape.kinds {
            Kinds::All => self.random.below(13),
            Kinds::Registers => self.random.below(2),
            Kinds::Lists => 2 + self.random.below(2),
            Kinds::ListsAndSets => 2 + self.random.below(6),
            Kinds::Totals => 8 + self.random.below(5),
        };
        match kind {
            0 | 1 => self.touched.insert((0, object)),
            2 | 3 => self.touched.insert((1, object)),
            4..=7 => self.touched.insert((2, object)),
            8 | 9 => self.touched.insert((3, object)),
            _bank => false,
        };
        Some(match kind {
            0..=3 => self.on_register_or_list(kind, object),
            4..=7 => return self.on_set(kind, Set(object), invoked),
            8 | 9 => self.on_counter(kind, Counter(object)),
            _bank => return self.on_bank(kind),
        })
    }

    fn on_register_or_list(&mut self, kind: u64, object: u32) -> Operation {
        let (register, list) = (Register(object), List(object));
        match kind {
            0 => {
                let value = self.value();
                self.model.registers.insert(register, value);
                Operation::Write { register, value }
            }
            1 => Operation::Read { register, value: self.model.registers.get(&register).copied() },
            2 => {
                let value = self.value();
                self.model.lists.entry(list).or_default().push(value);
                Operation::Append { list, value }
            }
            _read => Operation::ReadList { list, values: self.model.lists.entry(list).or_default().clone() },
        }
    }

    fn on_set(&mut self, kind: u64, set: Set, invoked: u64) -> Option<Operation> {
        let there = self.model.sets.entry(set).or_default();
        match kind {
            4 => {
                let value = self.value();
                self.model.sets.entry(set).or_default().insert(value);
                Some(Operation::Insert { set, value })
            }
            5 => Some(Operation::ReadSet { set, values: there.iter().copied().collect() }),
            6 => {
                let known = self.members.range((set, Value(0))..=(set, Value(u64::MAX)));
                let known: Vec<Value> = known.filter(|(_, at)| **at < invoked).map(|((_, value), _)| *value).collect();
                let value = *known.get(self.random.index(known.len()))?;
                self.members.remove(&(set, value));
                self.model.sets.entry(set).or_default().remove(&value);
                Some(Operation::Remove { set, value })
            }
            _contains => {
                let value = Value(1 + self.random.below(self.next_value));
                Some(Operation::Contains { set, value, found: there.contains(&value) })
            }
        }
    }

    fn on_counter(&mut self, kind: u64, counter: Counter) -> Operation {
        let total = self.model.counters.entry(counter).or_default();
        match kind {
            8 => {
                let amount = self.random.below(21) as i64 - 5;
                *total += amount;
                Operation::Add { counter, amount }
            }
            _read => Operation::ReadCounter { counter, total: *total },
        }
    }

    fn on_bank(&mut self, kind: u64) -> Option<Operation> {
        let bank = Bank(0);
        let (from, to) = (self.random.index(ACCOUNTS as usize), self.random.index(ACCOUNTS as usize));
        match kind {
            10 => {
                let amount = self.random.below(30) as i64;
                if self.model.balances[from] < amount {
                    return None;
                }
                self.model.balances[from] -= amount;
                self.model.balances[to] += amount;
                Some(Operation::Transfer { bank, from: Account(from as u32), to: Account(to as u32), amount })
            }
            11 => Some(Operation::ReadBank { bank, balances: self.model.balances.clone() }),
            _account => {
                Some(Operation::ReadAccount { bank, account: Account(from as u32), balance: self.model.balances[from] })
            }
        }
    }

    fn finish(mut self) -> History {
        self.finished.take_objects(&mut self.model);
        let at = self.history.transactions.iter().map(|one| one.completed.0).max().unwrap_or(0) + STEP;
        let read = |(kind, object): &(u8, u32)| match kind {
            0 => Operation::Read {
                register: Register(*object),
                value: self.finished.registers.get(&Register(*object)).copied(),
            },
            1 => Operation::ReadList {
                list: List(*object),
                values: self.finished.lists.get(&List(*object)).cloned().unwrap_or_default(),
            },
            2 => Operation::ReadSet {
                set: Set(*object),
                values: self.finished.sets.get(&Set(*object)).into_iter().flatten().copied().collect(),
            },
            _counter => Operation::ReadCounter {
                counter: Counter(*object),
                total: self.finished.counters.get(&Counter(*object)).copied().unwrap_or(0),
            },
        };
        let mut operations: Vec<Operation> = self.touched.iter().map(read).collect();
        operations.push(Operation::ReadBank { bank: Bank(0), balances: self.model.balances.clone() });
        self.history.last.push(Transaction {
            client: Client(1000),
            invoked: Moment(at),
            completed: Moment(at + STEP),
            operations,
            outcome: Outcome::Committed(Commit::Unstamped),
        });
        self.history.faults.push(Fault { at: Moment(at / 2), what: "kill replica 1".to_owned() });
        self.history
    }
}
