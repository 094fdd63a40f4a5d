//! The coordinators of objects: which of them run here, where the others are, and what they ask.
//!
//! Invariant: this server runs the coordinators of objects in the buckets that are its own, and of no others.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use iolite_machine::{Instant, Machine};
use iolite_values::{Bucket, NodeId, ObjectName};
use iolite_wire::objects::{OfferedClass, TrackAnswer};

use super::asking::{Asked, track_answer};
use super::{Server, TrackAsk, Tracked};
use crate::kernel::KernelInput;
use crate::managers::{CoordinatorAsk, CoordinatorTold};

#[derive(Debug, Default)]
pub(super) struct Coordinators {
    own: BTreeSet<Bucket>,
    /// The server of each bucket, as far as this one has heard.
    holders: BTreeMap<Bucket, NodeId>,
    /// Objects that the kernel coordinates.
    running: BTreeSet<ObjectName>,
    /// Own buckets whose objects are not known yet, as tracking could not say.
    unlisted: BTreeSet<Bucket>,
    /// When it is asked again.
    list_at: Option<Instant>,
}

/// How long tracking is left alone after it could not list a bucket.
const LIST_AGAIN: Duration = Duration::from_secs(1);

impl Coordinators {
    pub fn deadline(&self) -> Option<Instant> {
        self.list_at
    }

    pub fn holder(&self, object: &ObjectName) -> Option<NodeId> {
        self.holders.get(&Bucket::of(object)).copied()
    }
}

impl Server {
    /// A bucket is this server's to coordinate from now on, or no more.
    pub(super) fn on_coordinates(&mut self, bucket: Bucket, is_own: bool) {
        if is_own {
            self.coordinators.own.insert(bucket);
            return self.list(bucket);
        }
        self.coordinators.own.remove(&bucket);
        self.coordinators.unlisted.remove(&bucket);
        let ended = self.coordinators.running.iter().filter(|object| Bucket::of(object) == bucket);
        for object in ended.cloned().collect::<Vec<_>>() {
            self.coordinators.running.remove(&object);
            self.kernel.handle(self.now, KernelInput::CoordinateNoMore(object));
        }
    }

    pub(super) fn on_holder(&mut self, bucket: Bucket, holder: Option<NodeId>) {
        match holder {
            Some(node) => drop(self.coordinators.holders.insert(bucket, node)),
            None => drop(self.coordinators.holders.remove(&bucket)),
        }
    }

    /// An object has begun. It may be one of this server's.
    pub(super) fn on_begun(&mut self, object: ObjectName, managers: String) {
        if self.coordinators.own.contains(&Bucket::of(&object)) {
            self.coordinators.running.insert(object.clone());
            self.kernel.handle(self.now, KernelInput::Coordinate { object, managers });
        }
    }

    fn list(&mut self, bucket: Bucket) {
        self.ask(Asked::Bucket(bucket), TrackAsk::List(bucket));
    }

    pub(super) fn bucket_told(&mut self, bucket: Bucket, tracked: Tracked) {
        if !self.coordinators.own.contains(&bucket) {
            return;
        }
        if let Tracked::Listed(objects) = tracked {
            for (object, placed) in objects {
                self.on_begun(object, placed.declared.managers);
            }
            return;
        }
        self.coordinators.unlisted.insert(bucket);
        self.coordinators.list_at = Some(self.now.instant + LIST_AGAIN);
    }

    pub(super) fn lists_overdue(&mut self) {
        if self.coordinators.list_at.is_some_and(|at| at <= self.now.instant) {
            self.coordinators.list_at = None;
            std::mem::take(&mut self.coordinators.unlisted).into_iter().for_each(|bucket| self.list(bucket));
        }
    }

    /// A coordinator of this server asks.
    pub(super) fn coordinator_asks(&mut self, number: u64, ask: CoordinatorAsk) {
        match ask {
            CoordinatorAsk::Recall(object) => self.ask(Asked::Coordinator(number), TrackAsk::Recall(object)),
            CoordinatorAsk::Remember { object, from, was, memory } => {
                self.ask(Asked::Coordinator(number), TrackAsk::Remember { object, from, was, memory });
            }
            CoordinatorAsk::Nodes(class) => {
                let told = CoordinatorTold::Nodes(self.nodes_of(&class));
                self.kernel.handle(self.now, KernelInput::Coordinated(number, told));
            }
        }
    }

    pub(super) fn coordinator_told(&mut self, number: u64, tracked: Tracked) {
        let told = match tracked {
            Tracked::Recalled(recalled) => CoordinatorTold::Recalled(recalled),
            Tracked::Remembered => CoordinatorTold::Remembered,
            Tracked::Track(TrackAnswer::Unknown) => CoordinatorTold::Gone,
            other => match track_answer(other) {
                TrackAnswer::Refused(why) => CoordinatorTold::Refused(why),
                answer => unreachable!("tracking has told a coordinator {answer:?}"),
            },
        };
        self.kernel.handle(self.now, KernelInput::Coordinated(number, told));
    }

    /// The nodes of the service that run a class, as far as this server knows.
    fn nodes_of(&self, class: &OfferedClass) -> Vec<NodeId> {
        let here = self.reached_classes().into_iter();
        let all = here.chain(self.peers.served()).filter(|served| served.class == *class);
        all.flat_map(|served| served.nodes).collect::<BTreeSet<_>>().into_iter().collect()
    }
}
