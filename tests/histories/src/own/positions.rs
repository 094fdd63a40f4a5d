//! Where transactions stand in the order of timestamps, those that have none too.
//!
//! A transaction that was observed and whose client never learned its timestamp takes the latest place that is possible: before all that must
//! follow it, and not between the write of a register that it writes too and the reads of that write. No valid order has it later, and an
//! earlier place would only have to be seen by more.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::graph::{Basis, EdgeKind, Graph, Vertex};
use super::index::{Index, Standing};
use crate::operation::{Object, Operation, Register};
use crate::violation::TransactionNumber;

/// How often places are passed on between transactions without timestamps that depend on one another.
const PASSES: usize = 1000;

/// A transaction's place in the order of timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub at: u64,
    pub rank: Rank,
}

/// At one timestamp, what writes comes before what only reads, and what is not stamped before those that must follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    BeforeWriter,
    Writer,
    BeforeReader,
    Reader,
}

/// The place of a transaction whose timestamp is known, or which reads the last state.
pub fn position(index: &Index<'_>, number: TransactionNumber) -> Option<Position> {
    let transaction = index.transaction(number);
    let is_last = number.0 as usize >= index.history.transactions.len();
    let at = match transaction.timestamp() {
        Some(at) => at.0,
        None if is_last => u64::MAX,
        None => return None,
    };
    Some(Position { at, rank: if transaction.writes() { Rank::Writer } else { Rank::Reader } })
}

/// A position, and how many at the same one have to follow.
type Place = (Position, Reverse<u32>);

const END: Place = (Position { at: u64::MAX, rank: Rank::BeforeReader }, Reverse(0));

/// Where each transaction that took effect stands.
pub struct Positions {
    of: HashMap<TransactionNumber, Place>,
}

impl Positions {
    pub fn of(index: &Index<'_>, graph: &Graph) -> Positions {
        let stamped = index.numbers().filter(|&number| index.standing(number) == Standing::Acknowledged);
        let stamped = stamped.filter_map(|number| Some((number, (position(index, number)?, Reverse(0)))));
        let mut positions = Positions { of: stamped.collect() };
        let unstamped = index.numbers().filter(|&number| index.standing(number) == Standing::Observed);
        let unstamped: Vec<_> = unstamped.map(|number| (number, followers(graph, number))).collect();
        let registers = Registers::of(index, &positions, unstamped.iter().map(|(number, _)| *number));
        positions.of.extend(unstamped.iter().map(|(number, _)| (*number, END)));
        for _ in 0..PASSES {
            let mut moved = false;
            for (number, followers) in &unstamped {
                let before = followers.iter().filter_map(|follower| positions.before(*follower)).min().unwrap_or(END);
                let before = registers.before(&positions, *number, before.min(positions.of[number]));
                moved |= positions.of.insert(*number, before) != Some(before);
            }
            if !moved {
                break;
            }
        }
        positions
    }

    pub fn get(&self, number: TransactionNumber) -> Option<Position> {
        self.of.get(&number).map(|(position, _)| *position)
    }

    pub fn in_order(&self) -> Vec<TransactionNumber> {
        let mut order: Vec<(Place, TransactionNumber)> =
            self.of.iter().map(|(number, place)| (*place, *number)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, number)| number).collect()
    }

    /// The latest place before a transaction.
    fn before(&self, number: TransactionNumber) -> Option<Place> {
        let (Position { at, rank }, Reverse(following)) = *self.of.get(&number)?;
        Some(match rank {
            Rank::Writer => (Position { at, rank: Rank::BeforeWriter }, Reverse(0)),
            Rank::Reader => (Position { at, rank: Rank::BeforeReader }, Reverse(0)),
            Rank::BeforeWriter | Rank::BeforeReader => (Position { at, rank }, Reverse(following + 1)),
        })
    }
}

/// Who comes directly after a transaction, by what was read.
fn followers(graph: &Graph, number: TransactionNumber) -> Vec<TransactionNumber> {
    let from = graph.from(Vertex(number.0)).iter();
    let from = from
        .filter(|edge| edge.basis == Basis::Data && matches!(edge.kind, EdgeKind::WriteWrite | EdgeKind::WriteRead));
    let mut open: Vec<Vertex> = from.map(|edge| edge.to).collect();
    let mut followers = Vec::new();
    while let Some(vertex) = open.pop() {
        match graph.transaction(vertex) {
            Some(follower) => followers.push(follower),
            None => open.extend(graph.from(vertex).iter().map(|edge| edge.to)),
        }
    }
    followers
}

/// Who wrote a value, and the last who read it.
struct Held {
    writer: TransactionNumber,
    until: Place,
}

/// From when to when registers held values: those that transactions without timestamps write to.
struct Registers {
    /// By the place of who wrote the value.
    stamped: HashMap<Register, BTreeMap<Place, Held>>,
    unstamped: HashMap<Register, Vec<Held>>,
    of: HashMap<TransactionNumber, Vec<Register>>,
}

impl Registers {
    fn of(index: &Index<'_>, positions: &Positions, unstamped: impl Iterator<Item = TransactionNumber>) -> Registers {
        let mut registers = Registers { stamped: HashMap::new(), unstamped: HashMap::new(), of: HashMap::new() };
        for number in unstamped {
            for operation in &index.transaction(number).operations {
                if let Operation::Write { register, .. } = operation {
                    registers.of.entry(number).or_default().push(*register);
                    registers.stamped.entry(*register).or_default();
                }
            }
        }
        for (object, accesses) in index.accesses() {
            let Object::Register(register) = object else { continue };
            let Some(stamped) = registers.stamped.get_mut(&register) else { continue };
            let mut until: BTreeMap<TransactionNumber, Place> = BTreeMap::new();
            for &access in accesses.iter().filter(|access| index.reads_count(access.transaction)) {
                let Operation::Read { value: Some(value), .. } = index.operation(access) else { continue };
                let (Some(writer), Some(place)) = (index.writer(object, *value), positions.of.get(&access.transaction))
                else {
                    continue;
                };
                until.entry(writer.transaction).and_modify(|until| *until = (*until).max(*place)).or_insert(*place);
            }
            for (writer, until) in until {
                let held = Held { writer, until };
                match positions.of.get(&writer) {
                    Some(place) => drop(stamped.insert(*place, held)),
                    None => registers.unstamped.entry(register).or_default().push(held),
                }
            }
        }
        registers
    }

    /// The latest place up to this one where a write does not come between another write and a read of that.
    fn before(&self, positions: &Positions, number: TransactionNumber, mut place: Place) -> Place {
        for register in self.of.get(&number).into_iter().flatten() {
            let stamped = self.stamped.get(register).and_then(|held| held.range(..place).next_back());
            let unstamped = self.unstamped.get(register).into_iter().flatten();
            for held in stamped.map(|(_, held)| held).into_iter().chain(unstamped).filter(|held| held.writer != number)
            {
                let is_between =
                    positions.of.get(&held.writer).is_some_and(|writer| *writer < place) && place < held.until;
                if is_between {
                    place = place.min(positions.before(held.writer).unwrap_or(place));
                }
            }
        }
        place
    }
}
