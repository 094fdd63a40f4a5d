//! The judgement of a run with objects: each kind by what its manager promises.
//!
//! Kinds whose calls have one order are judged by `iolite_histories`: a call is a transaction of one operation. An object that began anew is another list
//! there, and besides that a finding of its own, as no host is killed. `WriteThroughCaching` promises less, and has a judgement of its own (`forward`).

use std::collections::{BTreeMap, BTreeSet};

use iolite_histories::{
    Client, Commit, Fault, History, List, Malformed, Operation, Outcome, Report, Transaction, Value, judge,
};

use super::calls::{Call, Told};
use super::findings::{Findings, Wrong};
use super::forward;
use super::kind::{Kind, Place, Promise};
use super::record::End;

/// The ends of the calls of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub appended: u64,
    pub read: u64,
    pub not_run: u64,
    pub unknown: u64,
    /// Numbers of unknown outcome that are there at the end.
    pub unknown_there: u64,
    /// Numbers that are there once more than once, at the end.
    pub again: u64,
}

#[derive(Debug)]
pub struct Judged {
    pub history: History,
    /// The judgement of the kinds whose calls have one order.
    pub judgement: Result<Report, Malformed>,
    pub findings: Findings,
    pub tallies: BTreeMap<Kind, Tally>,
}

/// Judges a run. The last reads are of a process that began when all others had ended.
pub fn judged(told: &Told, last: &[Call], faults: Vec<Fault>) -> Judged {
    let mut findings = Findings::default();
    for (process, place) in &told.missing {
        findings.add(Wrong::Missing, || format!("the store told device {} that it has not {place}", process.0));
    }
    let births = Births::of(told.calls.iter().chain(last));
    for (place, begun) in births.several() {
        findings.add(Wrong::BeganAnew, || format!("{place} began {begun} times, and no host was killed"));
    }
    for call in told.calls.iter().chain(last) {
        check_end(call, &mut findings);
    }
    let of_kind = |call: &&Call, promise| call.place.kind.promise() == promise;
    let forward_only = |call: &&Call| of_kind(call, Promise::Forward);
    forward::check(
        &told.calls.iter().filter(forward_only).collect::<Vec<_>>(),
        &last.iter().filter(forward_only).collect::<Vec<_>>(),
        &mut findings,
    );
    let history = history(told, last, faults, &births);
    let judgement = judge(&history);
    Judged { history, judgement, findings, tallies: tallies(told, last) }
}

/// Ends that no call of a run may have.
fn check_end(call: &Call, findings: &mut Findings) {
    match &call.end {
        End::Gone => {
            findings.add(Wrong::Missing, || format!("device {} was told that {} is gone", call.process.0, call.place))
        }
        End::Broke { how } => {
            findings.add(Wrong::Broke, || format!("device {}, {}: {how}", call.process.0, call.place))
        }
        End::Appended { .. } | End::Read { .. } | End::NotRun { .. } | End::Unknown { .. } => {}
    }
}

/// The beginnings of each object that somebody saw. Each is a list of its own in the history.
struct Births(BTreeMap<Place, BTreeMap<u64, List>>);

impl Births {
    fn of<'a>(calls: impl Iterator<Item = &'a Call>) -> Births {
        let mut births: BTreeMap<Place, BTreeMap<u64, List>> = BTreeMap::new();
        for call in calls {
            match &call.end {
                End::Appended { birth } | End::Read { birth, .. } => {
                    births.entry(call.place).or_default().insert(*birth, List(0));
                }
                End::NotRun { .. } | End::Unknown { .. } | End::Gone | End::Broke { .. } => {}
            }
        }
        for (number, list) in births.values_mut().flat_map(BTreeMap::values_mut).enumerate() {
            *list = List(number as u32);
        }
        Births(births)
    }

    fn several(&self) -> impl Iterator<Item = (Place, usize)> {
        self.0.iter().map(|(place, births)| (*place, births.len())).filter(|(_, begun)| *begun > 1)
    }

    fn list(&self, place: Place, birth: u64) -> List {
        self.0[&place][&birth]
    }

    /// The list that an append without an answer is for. None: nobody has seen the object.
    fn first(&self, place: Place) -> Option<List> {
        self.0.get(&place)?.values().next().copied()
    }
}

fn history(told: &Told, last: &[Call], faults: Vec<Fault>, births: &Births) -> History {
    let is_ordered = |call: &&Call| call.place.kind.promise() != Promise::Forward;
    let transaction = |call: &Call| {
        let append = |list: Option<List>| Some(Operation::Append { list: list?, value: Value(call.number?) });
        let unanswered = append(births.first(call.place));
        let (outcome, operation) = match &call.end {
            End::Appended { birth } => {
                (Outcome::Committed(Commit::Unstamped), append(Some(births.list(call.place, *birth))))
            }
            End::Read { birth, list } => {
                let values = match call.place.kind.promise() {
                    Promise::Repeated => once(list),
                    Promise::Linear | Promise::Forward => list.clone(),
                };
                let (list, values) = (births.list(call.place, *birth), values.into_iter().map(Value).collect());
                (Outcome::Committed(Commit::Unstamped), Some(Operation::ReadList { list, values }))
            }
            End::NotRun { .. } | End::Gone => (Outcome::Aborted, unanswered),
            End::Unknown { .. } | End::Broke { .. } => (Outcome::Unknown, unanswered),
        };
        Transaction {
            client: Client(call.process.0 * Kind::ALL.len() as u32 + call.place.kind as u32),
            invoked: call.invoked,
            completed: call.completed,
            operations: operation.into_iter().collect(),
            outcome,
        }
    };
    History {
        transactions: told.calls.iter().filter(is_ordered).map(transaction).collect(),
        last: last.iter().filter(is_ordered).map(transaction).collect(),
        faults,
        ..History::default()
    }
}

/// The numbers, each where it is first: what they would be if a repeated append did nothing.
fn once(list: &[u64]) -> Vec<u64> {
    let mut seen = BTreeSet::new();
    list.iter().copied().filter(|number| seen.insert(*number)).collect()
}

fn tallies(told: &Told, last: &[Call]) -> BTreeMap<Kind, Tally> {
    let mut there: BTreeMap<u64, u64> = BTreeMap::new();
    let mut tallies: BTreeMap<Kind, Tally> = BTreeMap::new();
    for call in last {
        let End::Read { list, .. } = &call.end else { continue };
        for number in list {
            let times = there.entry(*number).or_default();
            *times += 1;
            tallies.entry(call.place.kind).or_default().again += u64::from(*times > 1);
        }
    }
    for call in &told.calls {
        let tally = tallies.entry(call.place.kind).or_default();
        match &call.end {
            End::Appended { .. } => tally.appended += 1,
            End::Read { .. } => tally.read += 1,
            End::NotRun { .. } | End::Gone => tally.not_run += 1,
            End::Unknown { .. } | End::Broke { .. } => {
                tally.unknown += 1;
                tally.unknown_there += u64::from(call.number.is_some_and(|number| there.contains_key(&number)));
            }
        }
    }
    tallies
}

#[cfg(test)]
mod tests;
