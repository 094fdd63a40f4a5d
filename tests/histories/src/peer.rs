//! The `adya` crate as the second opinion, on what it knows: lists, sets as lists of one element, and registers.
//!
//! Invariant: it gets the history itself, and nothing that our own checker inferred. What is left out only takes evidence away:
//! - counters and banks, and a set's values that somebody removed: it has no such types;
//! - what the reads of an unknown transaction saw, and unknown transactions of which nobody saw a write;
//! - dependencies that lead from registers to lists or back: it judges one type at a time.
//!
//! An unknown transaction that was seen counts as committed, at the very end.

mod elements;
mod registers;

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use adya::history::{Interner, Mop, Op, OpType, Scalar};
use adya::{Opts, Valid, Workload};
use serde::Serialize;

use crate::history::{History, Outcome, Transaction};
use crate::operation::{Object, Value};

/// What it may be given: numbers of operations and elements together, about 64 bytes each at its peak.
const PARTS: usize = 30_000_000;
const EXPLANATION_BYTES: usize = 4000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerVerdict {
    Valid,
    Violated {
        /// By its own names.
        anomalies: BTreeMap<String, u64>,
        explanation: String,
    },
    /// It gave up.
    Undecided {
        why: String,
    },
    /// There was nothing of these types.
    Nothing,
    TooLarge {
        parts: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PeerReport {
    pub lists_and_sets: PeerVerdict,
    pub registers: PeerVerdict,
    pub milliseconds: u64,
}

impl PeerReport {
    pub fn verdicts(&self) -> [&PeerVerdict; 2] {
        [&self.lists_and_sets, &self.registers]
    }

    pub fn found_violation(&self) -> bool {
        self.verdicts().iter().any(|verdict| matches!(verdict, PeerVerdict::Violated { .. }))
    }

    /// Whether it judged all that there was for it.
    pub fn is_whole(&self) -> bool {
        let is_whole = |verdict: &&PeerVerdict| match verdict {
            PeerVerdict::Valid | PeerVerdict::Violated { .. } | PeerVerdict::Nothing => true,
            PeerVerdict::Undecided { .. } | PeerVerdict::TooLarge { .. } => false,
        };
        self.verdicts().iter().all(is_whole)
    }
}

pub fn check(history: &History) -> PeerReport {
    let start = Instant::now();
    let lists_and_sets = elements::check(history);
    let registers = registers::check(history);
    PeerReport { lists_and_sets, registers, milliseconds: start.elapsed().as_millis() as u64 }
}

/// A history in its terms, being built.
struct Translation {
    /// Values that a transaction which committed saw.
    seen: HashSet<(Object, Value)>,
    names: Interner,
    transactions: Vec<Translated>,
    parts: usize,
}

struct Translated {
    invoked: u64,
    completed: u64,
    kind: OpType,
    operations: Vec<Mop>,
    timestamp: Option<u64>,
}

impl Translation {
    fn new(seen: HashSet<(Object, Value)>) -> Translation {
        Translation { seen, names: Interner::default(), transactions: Vec::new(), parts: 0 }
    }

    /// The name of an object or a value.
    fn name(&mut self, name: Scalar) -> u32 {
        self.names.intern(name)
    }

    fn value(&mut self, value: Value) -> u32 {
        let name = i64::try_from(value.0).map_or_else(|_| Scalar::Str(value.0.to_string()), Scalar::Int);
        self.names.intern(name)
    }

    /// Whether a transaction counts, and until when it took effect.
    fn standing(
        &self,
        transaction: &Transaction,
        wrote: impl Iterator<Item = (Object, Value)>,
    ) -> Option<(OpType, u64)> {
        match transaction.outcome {
            Outcome::Committed(_) => Some((OpType::Ok, transaction.completed.0)),
            Outcome::Aborted => Some((OpType::Fail, transaction.completed.0)),
            Outcome::Unknown => {
                let mut wrote = wrote;
                wrote.any(|write| self.seen.contains(&write)).then_some((OpType::Ok, u64::MAX))
            }
        }
    }

    fn push(&mut self, transaction: &Transaction, (kind, completed): (OpType, u64), operations: Vec<Mop>) {
        if operations.is_empty() {
            return;
        }
        self.parts += operations.iter().map(parts).sum::<usize>();
        let timestamp = transaction.timestamp().map(|at| at.0);
        self.transactions.push(Translated { invoked: transaction.invoked.0, completed, kind, operations, timestamp });
    }

    /// Gives it over. Real time is the order of its operations: at one moment what begins comes before what ends.
    fn judge(self, workload: Workload, options: &Opts) -> PeerVerdict {
        if self.transactions.is_empty() {
            return PeerVerdict::Nothing;
        }
        if self.parts > PARTS {
            return PeerVerdict::TooLarge { parts: self.parts };
        }
        let mut events: Vec<(u64, OpType, usize)> = Vec::with_capacity(2 * self.transactions.len());
        for (place, transaction) in self.transactions.iter().enumerate() {
            events.push((transaction.invoked, OpType::Invoke, place));
            events.push((transaction.completed, transaction.kind, place));
        }
        events.sort_by_key(|(at, kind, place)| (*at, *kind != OpType::Invoke, *place));
        let operations = events.into_iter().map(|(at, kind, place)| Op {
            // Completions are named after their transaction, for the order of timestamps.
            index: place as u64,
            kind,
            process: Some(place as i64),
            value: match kind {
                OpType::Invoke => {
                    self.transactions[place].operations.iter().filter(|one| is_write(one)).cloned().collect()
                }
                OpType::Ok | OpType::Fail | OpType::Info => self.transactions[place].operations.clone(),
            },
            time: i64::try_from(at).ok(),
        });
        let history = adya::History::from_ops(operations.collect(), self.names);
        verdict(&adya::check(&history, workload, options))
    }
}

fn is_write(operation: &Mop) -> bool {
    match operation {
        Mop::Append { .. } | Mop::Write { .. } => true,
        Mop::Read { .. } => false,
    }
}

fn parts(operation: &Mop) -> usize {
    match operation {
        Mop::Read { value: adya::history::ReadValue::List(values), .. } => 1 + values.len(),
        Mop::Append { .. } | Mop::Write { .. } | Mop::Read { .. } => 1,
    }
}

fn verdict(report: &adya::Report) -> PeerVerdict {
    let first = report.anomalies.values().flatten().next();
    let explanation = first.map_or(String::new(), |anomaly| shortened(&anomaly.explanation));
    match report.valid {
        Valid::True => PeerVerdict::Valid,
        // Transactions of which none depends on another: nothing can be wrong between them.
        Valid::Unknown if report.anomaly_types == ["empty-transaction-graph"] => PeerVerdict::Valid,
        Valid::Unknown => PeerVerdict::Undecided { why: format!("{}: {explanation}", report.anomaly_types.join(", ")) },
        Valid::False => {
            let anomalies = report.anomalies.iter().map(|(name, found)| (name.clone(), found.len() as u64));
            PeerVerdict::Violated { anomalies: anomalies.collect(), explanation }
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(EXPLANATION_BYTES) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
