//! Commit timestamps: unique, and in the order of real time wherever the order can be told.
//!
//! Of transactions that commute (additions to a counter, insertions of different values) no order is asked.

use std::collections::HashMap;

use serde::Serialize;

use super::graph::Graph;
use super::index::{Index, Standing};
use super::positions::{Position, Positions, position};
use super::replay;
use super::tallies::Tally;
use crate::class::Class;
use crate::explain;
use crate::operation::{Account, Object, Operation, Set, Value};
use crate::violation::{Findings, TransactionNumber};

/// Whether timestamps took part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stamped {
    /// No transaction that committed has one.
    None,
    /// Some lack it, so that there is no replay.
    Partly { without: u64 },
    /// All but those that read the last state, which come last.
    All,
}

pub fn check(index: &Index<'_>, tallies: &[Tally], graph: &Graph, findings: &mut Findings) -> Stamped {
    let run = || index.history.transactions.iter().zip(index.numbers());
    let committed = || run().filter(|(_, number)| index.standing(*number) == Standing::Acknowledged);
    let without = committed().filter(|(transaction, _)| transaction.timestamp().is_none()).count();
    if committed().count() == without {
        return Stamped::None;
    }
    check_unique(index, findings);
    check_real_time(index, findings);
    if without > 0 {
        return Stamped::Partly { without: without as u64 };
    }
    let positions = Positions::of(index, graph);
    replay::check(index, &positions, tallies, findings);
    Stamped::All
}

fn check_unique(index: &Index<'_>, findings: &mut Findings) {
    let mut writers: HashMap<u64, TransactionNumber> = HashMap::new();
    for number in index.numbers().filter(|&number| index.transaction(number).writes()) {
        let Some(position) = position(index, number) else { continue };
        let Some(other) = writers.insert(position.at, number) else { continue };
        findings.add(Class::TimestampTwice, || {
            let what = format!("T{} and T{} both committed at {}", other.0, number.0, position.at);
            explain::fact(index, Class::TimestampTwice, what, &[other, number])
        });
    }
}

/// What conflicts: an object, or a value in a set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Whole(Object),
    Member(Set, Value),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Reads,
    /// Conflicts with reads.
    Commutes,
    /// Conflicts with reads and its like.
    Writes,
}

struct Touch {
    part: Part,
    role: Role,
    number: TransactionNumber,
    position: Position,
}

fn check_real_time(index: &Index<'_>, findings: &mut Findings) {
    let mut touches = Vec::new();
    for number in index.numbers().filter(|&number| index.reads_count(number)) {
        let Some(position) = position(index, number) else { continue };
        let from = touches.len();
        for operation in &index.transaction(number).operations {
            add_touches(operation, |part, role| touches.push(Touch { part, role, number, position }));
        }
        touches[from..].sort_by_key(|touch| (touch.part, touch.role));
    }
    touches.sort_by_key(|touch| touch.part);
    for of_part in touches.chunk_by(|one, next| one.part == next.part) {
        check_part(index, of_part, findings);
    }
}

fn add_touches(operation: &Operation, mut add: impl FnMut(Part, Role)) {
    let whole = Part::Whole;
    match operation {
        Operation::Write { register, .. } => add(whole(Object::Register(*register)), Role::Writes),
        Operation::Read { register, .. } => add(whole(Object::Register(*register)), Role::Reads),
        Operation::Append { list, .. } => add(whole(Object::List(*list)), Role::Writes),
        Operation::ReadList { list, .. } => add(whole(Object::List(*list)), Role::Reads),
        Operation::Add { counter, .. } => add(whole(Object::Counter(*counter)), Role::Commutes),
        Operation::ReadCounter { counter, .. } => add(whole(Object::Counter(*counter)), Role::Reads),
        Operation::Transfer { bank, from, to, .. } => {
            [from, to].iter().for_each(|account| add(whole(Object::Account(*bank, **account)), Role::Commutes));
        }
        Operation::ReadAccount { bank, account, .. } => add(whole(Object::Account(*bank, *account)), Role::Reads),
        Operation::ReadBank { bank, balances } => {
            let accounts = (0..balances.len()).map(|place| Object::Account(*bank, Account(place as u32)));
            accounts.for_each(|account| add(whole(account), Role::Reads));
        }
        Operation::Insert { set, value } | Operation::Remove { set, value } => {
            add(whole(Object::Set(*set)), Role::Commutes);
            add(Part::Member(*set, *value), Role::Writes);
        }
        Operation::Contains { set, value, .. } => add(Part::Member(*set, *value), Role::Reads),
        Operation::ReadSet { set, .. } => add(whole(Object::Set(*set)), Role::Reads),
    }
}

/// A sweep over the transactions that touch a part: each has to come after the last conflicting one that had ended before it began.
fn check_part(index: &Index<'_>, touches: &[Touch], findings: &mut Findings) {
    let mut by_begin: Vec<&Touch> = touches.iter().collect();
    by_begin.sort_by_key(|touch| (index.invoked(touch.number), touch.number));
    let mut by_end = by_begin.clone();
    by_end.sort_by_key(|touch| (index.acknowledged(touch.number), touch.number));
    let mut by_end = by_end.into_iter().peekable();
    let mut last: [Option<&Touch>; 3] = [None; 3];
    for touch in by_begin {
        while let Some(ended) = by_end.next_if(|one| index.acknowledged(one.number) < index.invoked(touch.number)) {
            let slot = &mut last[ended.role as usize];
            if slot.is_none_or(|before| before.position < ended.position) {
                *slot = Some(ended);
            }
        }
        let conflicting: &[Role] = match touch.role {
            Role::Reads => &[Role::Commutes, Role::Writes],
            Role::Commutes => &[Role::Reads],
            Role::Writes => &[Role::Reads, Role::Writes],
        };
        let before = conflicting.iter().filter_map(|role| last[*role as usize]).max_by_key(|touch| touch.position);
        let Some(before) = before.filter(|before| before.position > touch.position) else { continue };
        findings.add(Class::TimestampOrder, || {
            let what = format!(
                "T{} ended before T{} began, both touch {}, and the timestamps {} and {} say the opposite",
                before.number.0, touch.number.0, touch.part, before.position.at, touch.position.at
            );
            explain::fact(index, Class::TimestampOrder, what, &[before.number, touch.number])
        });
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Part::Whole(object) => object.fmt(f),
            Part::Member(set, value) => write!(f, "{value} in {}", Object::Set(*set)),
        }
    }
}
