//! A timeline in words.
//!
//! Told is what the proposals did that committed; those that were aborted on the way only get a line that says so.

use std::collections::{BTreeMap, BTreeSet};

use iolite_replication::node::{Outcome, ProposalId, RecordedEntry, ReplicaId, Vote};
use iolite_values::{CoordinatorId, Operation, Read, Timestamp, TransactionId, Write};

use super::{Event, Timeline};
use crate::app::{cell_name, table_name};
use crate::checker::{Before, Clash, Cycle, Step};
use crate::history::{History, Moment, StoreCalls};
use crate::world::EPOCH_MICROS;

/// The names that the cycle's transactions get: T1, T2 and so on, in the order in which gateways were given them.
struct Names<'a> {
    history: &'a History,
    calls: &'a StoreCalls,
    by_transaction: BTreeMap<TransactionId, (usize, Timestamp)>,
}

/// Tells how the transactions of a cycle came to be one. `rule` says in a few words what was taken out.
pub fn tell(history: &History, cycle: &Cycle, rule: &str) -> String {
    let names = Names::of(history, cycle);
    let mut lines = vec!["What was taken out:".to_owned(), format!("  {rule}"), String::new()];
    lines.push("The transactions (times are seconds since the beginning of the run; timestamps likewise):".into());
    lines.extend(names.in_order(cycle).into_iter().map(|step| names.introduce(step)));
    lines.extend([String::new(), "What happened:".into()]);
    lines.push(row("time", "who", "what"));
    lines.extend(happened(&history.timeline, &names));
    lines.extend([
        String::new(),
        "Each of these has to come before the next, in any order that a strict system allows:".into(),
    ]);
    for (own, next) in cycle.steps.iter().zip(cycle.steps.iter().cycle().skip(1)) {
        lines.push(format!(
            "  {} -> {}   {}",
            names.of_id(own.transaction),
            names.of_id(next.transaction),
            names.why(own, next)
        ));
    }
    lines.push("That is a circle: no serial order of them agrees with real time.".into());
    lines.join("\n") + "\n"
}

fn row(time: &str, who: &str, what: &str) -> String {
    format!("  {time:>9}  {who:<10}  {what}")
}

impl<'a> Names<'a> {
    fn of(history: &'a History, cycle: &Cycle) -> Names<'a> {
        let calls = history.store_calls(cycle.store);
        let mut steps: Vec<&Step> = cycle.steps.iter().collect();
        steps.sort_by_key(|step| calls.submitted_at(step.transaction, step.attempt));
        let named = steps.iter().enumerate().map(|(place, step)| (step.transaction, (place + 1, step.at)));
        Names { history, calls, by_transaction: named.collect() }
    }

    fn in_order(&self, cycle: &'a Cycle) -> Vec<&'a Step> {
        let mut steps: Vec<&Step> = cycle.steps.iter().collect();
        steps.sort_by_key(|step| self.by_transaction[&step.transaction]);
        steps
    }

    fn of_id(&self, transaction: TransactionId) -> String {
        self.by_transaction.get(&transaction).map_or_else(String::new, |(number, _)| format!("T{number}"))
    }

    fn is_committed(&self, id: ProposalId) -> bool {
        self.by_transaction.get(&id.transaction).is_some_and(|(_, at)| *at == id.at)
    }

    fn introduce(&self, step: &Step) -> String {
        let whose = match self.history.issued(step.transaction) {
            Some((client, _)) => format!("of client {}", client.0),
            None => "of a gateway".to_owned(),
        };
        let reads: BTreeSet<String> =
            self.calls.reads(step.transaction, step.attempt).iter().map(what_is_read).collect();
        let reads: Vec<String> = reads.into_iter().collect();
        let reads = if reads.is_empty() { "nothing".to_owned() } else { reads.join(", ") };
        let writes = self.writes_of(step);
        let name = self.of_id(step.transaction);
        format!("  {name}  {whose}: reads {reads}; {writes}. It commits at {}.", timestamp(step.at))
    }

    fn writes_of(&self, step: &Step) -> String {
        let given = self.history.timeline.events.iter().find_map(|(_, event)| match event {
            Event::Given { transaction, .. }
                if (transaction.id, transaction.attempt) == (step.transaction, step.attempt) =>
            {
                Some(transaction)
            }
            _ => None,
        });
        let writes = given.map(|transaction| transaction.writes()).unwrap_or_default();
        let writes: Vec<String> = writes.iter().map(in_words).collect();
        if writes.is_empty() { "writes nothing".into() } else { writes.join(", ") }
    }

    fn why(&self, own: &Step, next: &Step) -> String {
        let (first, second) = (self.of_id(own.transaction), self.of_id(next.transaction));
        match &own.then {
            Before::RealTime { told, submitted } => format!(
                "real time: {first} was acknowledged at {}, {second} was submitted at {}",
                moment(*told),
                moment(*submitted)
            ),
            Before::Timestamps { cell, how } => {
                let how = match how {
                    Clash::BothWrite => "both write",
                    Clash::WritesWhatIsRead => "the first writes what the second reads,",
                    Clash::ReadsWhatIsWritten => "the first reads what the second writes,",
                };
                let (low, high) = (timestamp(own.at), timestamp(next.at));
                format!("conflict: {how} {}, and timestamps order them: {low} < {high}", cell_name(cell))
            }
        }
    }
}

fn happened(timeline: &Timeline, names: &Names) -> Vec<String> {
    let mut known: BTreeMap<(ReplicaId, ProposalId), RecordedEntry> = BTreeMap::new();
    let mut lines = Vec::new();
    for (at, event) in &timeline.events {
        let told = match event {
            Event::Given { gateway, transaction, clock } => {
                let what = format!(
                    "is given {} (attempt {}), at {} by its clock",
                    names.of_id(transaction.id),
                    transaction.attempt.0,
                    timestamp(*clock)
                );
                Some((named_gateway(*gateway), what))
            }
            Event::Proposed { gateway, id, to } => Some((named_gateway(*gateway), proposed(names, *id, to))),
            Event::Recorded { replica, entry } => {
                let earlier = known.insert((*replica, entry.id), entry.clone());
                let is_told = names.is_committed(entry.id);
                let what = is_told.then(|| recorded(names, earlier.as_ref(), entry)).flatten();
                what.map(|what| (named_replica(*replica), what))
            }
            Event::Decided { replica, transaction, at } => {
                let what =
                    format!("accepts {} at {}, and has decided by that", names.of_id(*transaction), timestamp(*at));
                Some((named_replica(*replica), what))
            }
            Event::Told { gateway, transaction, completion } => {
                let (name, at) = (names.of_id(*transaction), timestamp(completion.at));
                Some((named_gateway(*gateway), format!("{name} IS ACKNOWLEDGED: committed at {at}")))
            }
        };
        lines.extend(told.map(|(who, what)| row(&moment(*at), &who, &what)));
    }
    lines
}

fn proposed(names: &Names, id: ProposalId, to: &[ReplicaId]) -> String {
    let name = names.of_id(id.transaction);
    let to: Vec<String> = to.iter().map(|replica| replica.0.to_string()).collect();
    let end = if names.is_committed(id) { "" } else { ": this proposal will be aborted" };
    format!("sends PREPARE of {name} at {} to replicas {}{end}", timestamp(id.at), to.join(", "))
}

/// What is new in a replica's record.
fn recorded(names: &Names, earlier: Option<&RecordedEntry>, entry: &RecordedEntry) -> Option<String> {
    let name = names.of_id(entry.id.transaction);
    if entry.outcome.is_some() && earlier.is_none_or(|earlier| earlier.outcome.is_none()) {
        return Some(match entry.outcome {
            Some(Outcome::Committed) => format!("learns that {name} committed, and applies it"),
            Some(Outcome::Aborted) | None => format!("learns that {name} was aborted"),
        });
    }
    let vote = match entry.vote {
        Vote::Ok => "PREPARE-OK",
        Vote::No => "No",
    };
    if entry.finalised.is_some() && earlier.is_none_or(|earlier| earlier.finalised.is_none()) {
        return Some(format!("has {vote} of {name} finalised (slow path)"));
    }
    let is_new = earlier.is_none_or(|earlier| earlier.vote != entry.vote);
    is_new.then(|| format!("answers {vote} to {name} at {}", timestamp(entry.id.at)))
}

fn what_is_read(read: &Read) -> String {
    match read {
        Read::Cell { cell, element: _ } => cell_name(cell),
        Read::Range { table, range: _ } => format!("a range of {}", table_name(*table)),
        Read::Query(query) => format!("a query of {}", table_name(query.table)),
    }
}

fn in_words(write: &Write) -> String {
    let cell = cell_name(&write.cell);
    match &write.operation {
        Operation::Create => format!("creates {cell}"),
        Operation::Delete => format!("deletes {cell}"),
        Operation::Put(value) => format!("puts {value:?} into {cell}"),
        Operation::Assign(value) => format!("assigns {value:?} to {cell}"),
        Operation::Add(amount) => format!("adds {amount} to {cell}"),
        Operation::PutTotal(total) => format!("gives {cell} the total {total}"),
        Operation::Insert(value) => format!("inserts {value:?} into {cell}"),
        Operation::Remove(value) => format!("removes {value:?} from {cell}"),
        Operation::Append { value, .. } => format!("appends {value:?} to {cell}"),
        Operation::SetAt { index, value } => format!("sets element {index} of {cell} to {value:?}"),
        Operation::PutEntry { key, value } => format!("puts {key:?}: {value:?} into {cell}"),
        Operation::RemoveEntry { key } => format!("removes {key:?} from {cell}"),
        Operation::Edit(edit) => format!("edits {cell}: {edit:?}"),
        Operation::Merge(effect) => format!("merges {effect:?} into {cell}"),
    }
}

fn named_gateway(id: CoordinatorId) -> String {
    format!("gateway {}", id.number())
}

fn named_replica(id: ReplicaId) -> String {
    format!("replica {}", id.0)
}

fn moment(at: Moment) -> String {
    format!("{:.6}", at as f64 / 1e9)
}

/// As a time since the beginning of the run, by a clock that is right.
fn timestamp(at: Timestamp) -> String {
    let micros = at.micros() as i64 - EPOCH_MICROS as i64;
    format!("{:.6}", micros as f64 / 1e6)
}
