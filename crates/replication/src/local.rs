//! A whole store in one value: a coordinator and a replica, whose records are durable at once in memory. For tests and examples.
//!
//! It has no clock: each request takes a microsecond, and [`Local::pass`] lets time go by.

use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_store::{Event, Request, RequestId, Store};
use iolite_values::{CoordinatorId, StoreIncarnation};

use crate::messages::{Boot, Life};
use crate::{
    Broken, Coordinator, CoordinatorInput, CoordinatorOutput, CoordinatorSettings, Replica, ReplicaOutput,
    ReplicaSettings, Retention,
};

/// A store of one coordinator and one replica.
#[derive(Debug)]
pub struct Local {
    now: Now,
    coordinator: Coordinator,
    replica: Replica,
    records: Vec<Vec<u8>>,
    events: std::collections::VecDeque<Event>,
}

impl Local {
    /// A new, empty store, when the clock shows `start`.
    pub fn new(start: WallTime, store: StoreIncarnation, retention: Retention) -> Local {
        Local::with(start, ReplicaSettings { store, boot: Boot(1), retention, broken: Broken::Nothing })
    }

    /// The same with a replica of these settings.
    pub fn with(start: WallTime, settings: ReplicaSettings) -> Local {
        let now = Now { instant: Instant::from_nanos(0), wall: start };
        let replica = Replica::new(settings);
        let coordinator = Coordinator::new(now, CoordinatorSettings::new(CoordinatorId::default(), Life(1)));
        Local { now, coordinator, replica, records: Vec::new(), events: std::collections::VecDeque::new() }
    }

    /// Lets time go by: an idle store closes now and then.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now.instant + time;
        self.settle();
        while let Some(deadline) = self.coordinator.deadline().filter(|deadline| *deadline <= end) {
            self.move_clock(deadline.since(self.now.instant));
            self.coordinator.on_deadline(self.now);
            self.settle();
        }
        self.move_clock(end.since(self.now.instant));
    }

    pub fn replica(&self) -> &Replica {
        &self.replica
    }

    /// Everything that was journalled.
    pub fn records(&self) -> &[Vec<u8>] {
        &self.records
    }

    fn move_clock(&mut self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.now.instant = self.now.instant + time;
        self.now.wall = WallTime::from_micros(self.now.wall.as_micros().saturating_add(micros));
    }

    /// Carries messages until nobody has anything to say.
    fn settle(&mut self) {
        while let Some(output) = self.coordinator.poll() {
            match output {
                CoordinatorOutput::Event(event) => self.events.push_back(event),
                CoordinatorOutput::ToReplica(message) => self.replica.handle(self.now, message),
            }
            while let Some(output) = self.replica.poll() {
                match output {
                    ReplicaOutput::Persist { id: _, record } => self.records.push(record),
                    ReplicaOutput::Reply { after: _, message } => {
                        self.coordinator.handle(self.now, CoordinatorInput::FromReplica(message));
                    }
                }
            }
        }
        self.coordinator.validate();
    }
}

impl Store for Local {
    fn request(&mut self, id: RequestId, request: Request) {
        self.move_clock(Duration::from_micros(1));
        self.coordinator.handle(self.now, CoordinatorInput::Request(id, request));
    }

    /// Does not let time go by, so an idle store has no next event.
    fn next_event(&mut self) -> Option<Event> {
        self.settle();
        self.events.pop_front()
    }
}
