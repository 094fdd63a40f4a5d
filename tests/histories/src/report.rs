//! What came of judging a history: for people as text, for programs as JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::class::Class;
use crate::history::{History, Outcome};
use crate::last_state::LastState;
use crate::operation::Operation;
use crate::own::Stamped;
use crate::peer::{PeerReport, PeerVerdict};
use crate::violation::Violation;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Milliseconds(pub u64);

/// How much was judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub committed: u64,
    pub aborted: u64,
    pub unknown: u64,
    /// Of the unknown ones those that somebody saw.
    pub unknown_observed: u64,
    /// Operations of transactions that committed, by what they are.
    pub operations: BTreeMap<&'static str, u64>,
    pub faults: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub counts: Counts,
    /// What our own checker found, by class.
    pub violations: BTreeMap<Class, u64>,
    /// The first few of each class, explained.
    pub explained: Vec<Violation>,
    /// `None` if nobody read it.
    pub last_state: Option<LastState>,
    pub timestamps: Stamped,
    /// Edges of our own checker's graph.
    pub edges: u64,
    pub own_milliseconds: Milliseconds,
    /// The second opinion.
    pub adya: PeerReport,
}

impl Report {
    /// Whether neither checker found anything.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty() && !self.adya.found_violation()
    }

    /// Whether nothing was left unjudged: the last state was read whole, and both checkers came to an end.
    pub fn is_whole(&self) -> bool {
        self.adya.is_whole() && self.last_state.is_some_and(|last| last.unread_objects == 0)
    }

    /// Its JSON, with `is_clean` and `is_whole`.
    pub fn to_json(&self) -> serde_json::Value {
        let mut json = serde_json::to_value(self).expect("its maps have texts as keys");
        json["is_clean"] = self.is_clean().into();
        json["is_whole"] = self.is_whole().into();
        json
    }
}

impl Counts {
    pub fn of(history: &History) -> Counts {
        let mut counts = Counts { faults: history.faults.len() as u64, ..Counts::default() };
        for transaction in history.all() {
            match transaction.outcome {
                Outcome::Committed(_) => {
                    counts.committed += 1;
                    for operation in &transaction.operations {
                        *counts.operations.entry(kind(operation)).or_default() += 1;
                    }
                }
                Outcome::Aborted => counts.aborted += 1,
                Outcome::Unknown => counts.unknown += 1,
            }
        }
        counts
    }
}

fn kind(operation: &Operation) -> &'static str {
    match operation {
        Operation::Write { .. } => "write",
        Operation::Read { .. } => "read",
        Operation::Append { .. } => "append",
        Operation::ReadList { .. } => "list",
        Operation::Add { .. } => "add",
        Operation::ReadCounter { .. } => "counter",
        Operation::Transfer { .. } => "transfer",
        Operation::ReadAccount { .. } => "account",
        Operation::ReadBank { .. } => "bank",
        Operation::Insert { .. } => "insert",
        Operation::Remove { .. } => "remove",
        Operation::Contains { .. } => "contains",
        Operation::ReadSet { .. } => "set",
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { committed, aborted, unknown, unknown_observed, faults, .. } = &self.counts;
        writeln!(
            f,
            "{committed} committed, {aborted} aborted, {unknown} unknown ({unknown_observed} of them seen), {faults} faults"
        )?;
        match &self.last_state {
            None => writeln!(f, "last state: nobody read it")?,
            Some(last) => writeln!(
                f,
                "last state: {} lost, {} doubled, {} phantom of {} acknowledged; of the unknown {} there, {} not; {} objects unread",
                last.lost,
                last.doubled,
                last.phantom,
                last.acknowledged,
                last.unknown_there,
                last.unknown_missing,
                last.unread_objects
            )?,
        }
        let found: Vec<String> = self.violations.iter().map(|(class, count)| format!("{count} {class}")).collect();
        let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
        writeln!(
            f,
            "own checker ({} ms, {} edges, {}): {found}",
            self.own_milliseconds.0, self.edges, self.timestamps
        )?;
        writeln!(
            f,
            "adya ({} ms): lists and sets {}; registers {}",
            self.adya.milliseconds, self.adya.lists_and_sets, self.adya.registers
        )?;
        for violation in &self.explained {
            write!(f, "\n{}", violation.explanation)?;
        }
        Ok(())
    }
}

impl fmt::Display for Stamped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stamped::None => f.write_str("no timestamps"),
            Stamped::Partly { without } => write!(f, "{without} without timestamps, not replayed"),
            Stamped::All => f.write_str("replayed by timestamps"),
        }
    }
}

impl fmt::Display for PeerVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerVerdict::Valid => f.write_str("valid"),
            PeerVerdict::Nothing => f.write_str("none"),
            PeerVerdict::Undecided { why } => write!(f, "undecided ({why})"),
            PeerVerdict::TooLarge { parts } => write!(f, "not run: {parts} parts are too many"),
            PeerVerdict::Violated { anomalies, explanation } => {
                let found: Vec<String> = anomalies.iter().map(|(name, count)| format!("{count} {name}")).collect();
                write!(f, "violated: {}\n{explanation}", found.join(", "))
            }
        }
    }
}
