//! The promise of `WriteThroughCaching`: writes have the owner's order, and each process reads it forward, with its own writes. A copy is as old as its lease
//! at most.
//!
//! Everything that is found is a proof. A process begins with no copy, so nothing is asked of reads across processes but the order and the lease.

use std::collections::{BTreeMap, BTreeSet};

use iolite_histories::Moment;

use super::calls::Call;
use super::findings::{Findings, Wrong};
use super::kind::Place;
use super::record::End;

/// Checks the calls of objects that keep this promise, and the last reads, which the owner answers.
pub fn check(calls: &[&Call], last: &[&Call], findings: &mut Findings) {
    let mut objects: BTreeMap<Place, OfObject<'_>> = BTreeMap::new();
    for call in calls {
        objects.entry(call.place).or_insert_with(|| OfObject::new(call.place)).add(call);
    }
    for (place, object) in &objects {
        let whole = last.iter().find_map(|call| match &call.end {
            End::Read { list, .. } if call.place == *place => Some(list.as_slice()),
            End::Read { .. }
            | End::Appended { .. }
            | End::NotRun { .. }
            | End::Unknown { .. }
            | End::Gone
            | End::Broke { .. } => None,
        });
        match whole {
            Some(whole) => object.check(whole, findings),
            None => findings.add(Wrong::Unread, || format!("{place} was not read at the end")),
        }
    }
}

struct OfObject<'a> {
    place: Place,
    reads: Vec<(&'a Call, &'a [u64])>,
    appends: BTreeMap<u64, &'a Call>,
}

/// The last list, with the place of each number in it.
struct Whole<'a> {
    list: &'a [u64],
    places: BTreeMap<u64, usize>,
}

impl<'a> OfObject<'a> {
    fn new(place: Place) -> OfObject<'a> {
        OfObject { place, reads: Vec::new(), appends: BTreeMap::new() }
    }

    fn add(&mut self, call: &'a Call) {
        if let End::Read { list, .. } = &call.end {
            self.reads.push((call, list));
        }
        self.appends.extend(call.number.map(|number| (number, call)));
    }

    fn check(&self, list: &[u64], findings: &mut Findings) {
        // From the end, so that the first place of a number is the one that counts.
        let places = list.iter().enumerate().rev().map(|(place, number)| (*number, place)).collect();
        let whole = Whole { list, places };
        self.check_numbers(&whole, findings);
        self.check_order(&whole, findings);
        for (call, read) in &self.reads {
            if !whole.list.starts_with(read) {
                findings.add(Wrong::OrderChanged, || {
                    format!(
                        "{} was read as {read:?} by device {}, and in the end as {list:?}",
                        self.place, call.process.0
                    )
                });
            }
        }
        self.check_leases(&whole, findings);
        self.check_processes(&whole, findings);
    }

    /// Each number that is there was appended once, and each one that was acknowledged is there.
    fn check_numbers(&self, whole: &Whole<'_>, findings: &mut Findings) {
        let mut seen = BTreeSet::new();
        for number in whole.list {
            if !seen.insert(number) {
                findings.add(Wrong::Doubled, || format!("{number} is twice in {}", self.place));
            }
            match self.appends.get(number).map(|call| &call.end) {
                None => findings.add(Wrong::MadeUp, || format!("nobody appended {number} to {}", self.place)),
                Some(End::NotRun { why }) => {
                    findings.add(Wrong::Refused, || format!("{number} is in {}: {why}", self.place));
                }
                Some(End::Gone | End::Appended { .. } | End::Read { .. } | End::Unknown { .. } | End::Broke { .. }) => {
                }
            }
        }
        for (number, call) in self.acknowledged() {
            if !whole.places.contains_key(&number) {
                findings.add(Wrong::Lost, || {
                    format!("device {} was told that {number} is in {}, which lacks it", call.process.0, self.place)
                });
            }
        }
    }

    fn acknowledged(&self) -> impl Iterator<Item = (u64, &'a Call)> {
        let all = self.appends.iter().map(|(number, call)| (*number, *call));
        all.filter(|(_, call)| matches!(call.end, End::Appended { .. }))
    }

    /// An append that was acknowledged before another one began is before it.
    fn check_order(&self, whole: &Whole<'_>, findings: &mut Findings) {
        // The earliest acknowledgement among all numbers behind.
        let mut behind: Option<(Moment, u64)> = None;
        for (place, number) in whole.list.iter().enumerate().rev() {
            let is_first = whole.places.get(number) == Some(&place);
            let Some(call) = self.appends.get(number).filter(|_| is_first) else { continue };
            if let Some((at, later)) = behind.filter(|(at, _)| *at < call.invoked) {
                findings.add(Wrong::OrderReversed, || {
                    format!(
                        "{later} was in {} at {at}, and is behind {number}, which began at {}",
                        self.place, call.invoked
                    )
                });
            }
            if matches!(call.end, End::Appended { .. }) {
                behind = behind.into_iter().chain([(call.completed, *number)]).min();
            }
        }
    }

    /// A read has all that was acknowledged longer ago than the lease.
    fn check_leases(&self, whole: &Whole<'_>, findings: &mut Findings) {
        let lease = self.place.kind.lease().as_nanos() as u64;
        let known =
            self.acknowledged().filter_map(|(number, call)| Some((call.completed, *whole.places.get(&number)?)));
        let due = Due::of(known);
        for (call, read) in &self.reads {
            let least = due.at(Moment(call.invoked.0.saturating_sub(lease)));
            if read.len() < least {
                let missing = whole.list[least - 1];
                findings.add(Wrong::Stale, || {
                    let (device, at) = (call.process.0, call.invoked);
                    format!("device {device} asked for {} at {at}, and did not read {missing}", self.place)
                });
            }
        }
    }

    /// Each process reads forward, with its own numbers.
    fn check_processes(&self, whole: &Whole<'_>, findings: &mut Findings) {
        let processes: BTreeSet<_> = self.reads.iter().map(|(call, _)| call.process).collect();
        for process in processes {
            let reads: Vec<_> = self.reads.iter().filter(|(call, _)| call.process == process).collect();
            let forward =
                Due::of(reads.iter().filter_map(|(call, read)| Some((call.completed, read.len().checked_sub(1)?))));
            let own = self.acknowledged().filter(|(_, call)| call.process == process);
            let own = Due::of(own.filter_map(|(number, call)| Some((call.completed, *whole.places.get(&number)?))));
            for (call, read) in reads {
                let told = |what| format!("device {} {what} of {} at {}", process.0, self.place, call.invoked);
                if read.len() < forward.at(call.invoked) {
                    findings.add(Wrong::WentBack, || told("read less than before"));
                }
                if read.len() < own.at(call.invoked) {
                    findings.add(Wrong::OwnMissing, || told("did not read a number of its own"));
                }
            }
        }
    }
}

/// How long a list has to be, by when it is asked for.
struct Due(Vec<(Moment, usize)>);

impl Due {
    /// Made of the moments at which numbers were known to be there, and their places.
    fn of(known: impl Iterator<Item = (Moment, usize)>) -> Due {
        let mut known: Vec<_> = known.collect();
        known.sort_unstable();
        let mut longest = 0;
        for (_, place) in &mut known {
            longest = longest.max(*place + 1);
            *place = longest;
        }
        Due(known)
    }

    fn at(&self, asked: Moment) -> usize {
        let before = self.0.partition_point(|(at, _)| *at < asked);
        before.checked_sub(1).map_or(0, |last| self.0[last].1)
    }
}
