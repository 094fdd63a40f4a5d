//! Counters and accounts: what a read tells of the additions that are in it.
//!
//! A total is the sum of all additions before it. Those that ended before the read began are in it, those that began after it ended are not,
//! and of the others some choice has to come to what was read. An addition that is in every such choice comes before the read (wr), one
//! that is in none after it (rw); and what an earlier read holds, a later one holds too.

mod sweep;

use std::collections::{BTreeMap, HashMap};

use super::graph::{Basis, Builder, EdgeKind, Reason};
use super::index::{Index, Standing};
use super::sums::Part;
use crate::class::Class;
use crate::operation::{Account, Object, Operation};
use crate::violation::{Findings, TransactionNumber};

use sweep::Sweep;

/// What a transaction adds to a total, in all.
#[derive(Clone, Copy, Debug)]
pub struct Addition {
    pub by: TransactionNumber,
    pub amount: i64,
    /// From when on it is certainly in a total.
    pub ended: u64,
}

/// What a transaction read, without its own additions before.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    pub by: TransactionNumber,
    pub total: i128,
}

pub struct Tally {
    pub object: Object,
    pub initial: i64,
    /// In the order in which they were invoked.
    pub additions: Vec<Addition>,
    pub sights: Vec<Sight>,
}

/// Additions and reads of all counters and accounts.
pub fn collect(index: &Index<'_>) -> Vec<Tally> {
    let mut tallies: BTreeMap<Object, Tally> = BTreeMap::new();
    for number in index.numbers().filter(|&number| index.standing(number) != Standing::Aborted) {
        let mut own: BTreeMap<Object, i64> = BTreeMap::new();
        for operation in &index.transaction(number).operations {
            for touch in touches(operation) {
                let tally = tallies.entry(touch.object).or_insert_with(|| Tally::new(index, touch.object));
                match touch.what {
                    What::Adds(amount) => *own.entry(touch.object).or_default() += amount,
                    What::Reads(total) if index.reads_count(number) => {
                        let own = own.get(&touch.object).copied().unwrap_or(0);
                        tally.sights.push(Sight { by: number, total: i128::from(total) - i128::from(own) });
                    }
                    What::Reads(_) => {}
                }
            }
        }
        for (object, amount) in own.into_iter().filter(|(_, amount)| *amount != 0) {
            let addition = Addition { by: number, amount, ended: index.ended(number) };
            tallies.entry(object).and_modify(|tally| tally.additions.push(addition));
        }
    }
    for tally in tallies.values_mut() {
        tally.additions.sort_by_key(|addition| (index.invoked(addition.by), addition.by));
        tally.sights.sort_by_key(|sight| (index.invoked(sight.by), sight.by));
    }
    tallies.into_values().collect()
}

/// Finds unknown transactions that a total shows.
pub fn observe(index: &mut Index<'_>, tallies: &mut [Tally]) {
    for tally in tallies {
        let mut sweep = Sweep::new(index, tally, None);
        let mut seen = Vec::new();
        sweep.run(|finding| seen.extend(finding.choice(Part::Always)));
        seen.into_iter().for_each(|(writer, reader)| index.observe(writer, reader));
    }
}

/// Adds what totals tell to the graph, and reports those that cannot be. Twice, so that what one total tells is known to the others.
pub fn add(index: &Index<'_>, tallies: &mut [Tally], graph: &mut Builder, findings: &mut Findings) {
    add_once(index, tallies, graph, &mut Findings::default());
    add_once(index, tallies, graph, findings);
}

fn add_once(index: &Index<'_>, tallies: &mut [Tally], graph: &mut Builder, findings: &mut Findings) {
    let known = Known::of(index, graph);
    for tally in tallies {
        let object = tally.object;
        let reason = |kind| Reason { kind, basis: Basis::Data, about: Some(object) };
        let mut sweep = Sweep::new(index, tally, Some(&known));
        sweep.run(|finding| {
            if let Err(why) = &finding.parts {
                findings.add(Class::ImpossibleTotal, || why.explain(index, object, finding.sight));
            }
            for (writer, reader) in finding.choice(Part::Always).filter(|(writer, _)| index.took_effect(*writer)) {
                graph.edge(writer, reader, reason(EdgeKind::WriteRead));
            }
            for (writer, reader) in finding.choice(Part::Never).filter(|(writer, _)| index.took_effect(*writer)) {
                graph.edge(reader, writer, reason(EdgeKind::ReadWrite));
            }
        });
    }
}

/// What is known from other objects: who certainly comes directly before or after whom.
struct Known(HashMap<(TransactionNumber, TransactionNumber), Part>);

impl Known {
    fn of(index: &Index<'_>, graph: &Builder) -> Known {
        let adds = index.numbers().map(|number| {
            let operations = &index.transaction(number).operations;
            operations.iter().any(|one| matches!(one, Operation::Add { .. } | Operation::Transfer { .. }))
        });
        let adds: Vec<bool> = adds.collect();
        let mut known = HashMap::new();
        for (from, to, edge) in graph.direct() {
            match edge.kind {
                EdgeKind::WriteWrite | EdgeKind::WriteRead | EdgeKind::ReadWrite => {
                    if adds[from.0 as usize] {
                        known.insert((from, to), Part::Always);
                    }
                    if adds[to.0 as usize] {
                        known.insert((to, from), Part::Never);
                    }
                }
                EdgeKind::RealTime | EdgeKind::Follow => {}
            }
        }
        Known(known)
    }

    fn part(&self, writer: TransactionNumber, reader: TransactionNumber) -> Part {
        self.0.get(&(writer, reader)).copied().unwrap_or(Part::Either)
    }
}

impl Tally {
    fn new(index: &Index<'_>, object: Object) -> Tally {
        let initial = match object {
            Object::Account(bank, account) => index.history.setup.balance(bank, account).unwrap_or(0),
            Object::Counter(_) | Object::Register(_) | Object::List(_) | Object::Set(_) => 0,
        };
        Tally { object, initial, additions: Vec::new(), sights: Vec::new() }
    }
}

struct Touch {
    object: Object,
    what: What,
}

enum What {
    Adds(i64),
    Reads(i64),
}

/// What an operation does to counters and accounts.
fn touches(operation: &Operation) -> Vec<Touch> {
    let adds = |object, amount| Touch { object, what: What::Adds(amount) };
    let reads = |object, total| Touch { object, what: What::Reads(total) };
    match operation {
        Operation::Add { counter, amount } => vec![adds(Object::Counter(*counter), *amount)],
        Operation::ReadCounter { counter, total } => vec![reads(Object::Counter(*counter), *total)],
        Operation::Transfer { bank, from, to, amount } => {
            vec![adds(Object::Account(*bank, *from), amount.wrapping_neg()), adds(Object::Account(*bank, *to), *amount)]
        }
        Operation::ReadAccount { bank, account, balance } => vec![reads(Object::Account(*bank, *account), *balance)],
        Operation::ReadBank { bank, balances } => {
            let account = |place: usize| Object::Account(*bank, Account(place as u32));
            balances.iter().enumerate().map(|(place, &balance)| reads(account(place), balance)).collect()
        }
        Operation::Write { .. }
        | Operation::Read { .. }
        | Operation::Append { .. }
        | Operation::ReadList { .. }
        | Operation::Insert { .. }
        | Operation::Remove { .. }
        | Operation::Contains { .. }
        | Operation::ReadSet { .. } => Vec::new(),
    }
}
