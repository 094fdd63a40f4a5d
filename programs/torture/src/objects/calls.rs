//! The calls of all devices, out of their records.

use std::collections::BTreeMap;

use iolite_histories::Moment;

use super::kind::Place;
use super::record::{CallNumber, End, Record};

/// A device's process, by its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process(pub u32);

#[derive(Clone, Debug)]
pub struct Call {
    pub process: Process,
    pub invoked: Moment,
    pub completed: Moment,
    pub place: Place,
    /// The number that it appends. None: it reads.
    pub number: Option<u64>,
    pub end: End,
}

/// All that devices have told.
#[derive(Clone, Debug, Default)]
pub struct Told {
    pub calls: Vec<Call>,
    pub moves: Moves,
    /// Objects that the store did not know, and the processes that it said so to.
    pub missing: Vec<(Process, Place)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    pub made: u64,
    pub failed: u64,
}

impl Told {
    /// A call that has no end in its record may have run, until now.
    pub fn of(records: Vec<Vec<Record>>, now: Moment) -> Told {
        let mut told = Told::default();
        for (life, records) in records.into_iter().enumerate() {
            told.add(Process(life as u32), records, now);
        }
        told
    }

    fn add(&mut self, process: Process, records: Vec<Record>, now: Moment) {
        let mut open: BTreeMap<CallNumber, Call> = BTreeMap::new();
        for record in records {
            match record {
                Record::Begins { call, at, place, number } => {
                    let end = End::Unknown { why: "its process ended, or was ended, before it".to_owned() };
                    open.insert(call, Call { process, invoked: Moment(at), completed: now, place, number, end });
                }
                Record::Ends { call, at, end } => {
                    let call = open.remove(&call);
                    self.calls.extend(call.map(|call| Call { completed: Moment(at), end, ..call }));
                }
                Record::Moved { has_moved: true } => self.moves.made += 1,
                Record::Moved { has_moved: false } => self.moves.failed += 1,
                Record::Missing { place, .. } => self.missing.push((process, place)),
                Record::Ready { .. } => {}
            }
        }
        self.calls.extend(open.into_values());
    }
}
