//! The faults of whole data centres, and of what is between them.

use iolite_replication::node::ReplicaId;

use super::World;
use super::data_centres::{CENTRES, pair};
use super::events::{CentreFault, Event};
use super::links::LinkId;
use crate::centres::CentreEvent;
use crate::history::{ClientIndex, Moment};

const MILLISECOND: Moment = 1_000_000;
const SECOND: Moment = 1_000 * MILLISECOND;

impl World {
    pub(super) fn plan_centre_faults(&mut self) {
        let Some(centres) = &self.centres else { return };
        if let Some(at) = centres.distance.loses_one_at {
            self.events.add(at, Event::CentreFault(CentreFault::Lose));
        }
        for fault in [CentreFault::Cut, CentreFault::Isolate, CentreFault::Wait, CentreFault::Stop] {
            self.plan_centre_fault(fault);
        }
    }

    fn plan_centre_fault(&mut self, fault: CentreFault) {
        let Some(centres) = &self.centres else { return };
        let distance = centres.distance;
        let every_ms = match fault {
            CentreFault::Cut => distance.cut_every_ms,
            CentreFault::Isolate => distance.isolate_every_ms,
            CentreFault::Wait => distance.wait_every_ms,
            CentreFault::Stop => distance.stop_every_ms,
            CentreFault::Lose | CentreFault::Destroy(_) => 0,
        };
        if every_ms > 0 && !self.healing {
            let wait = self.random.between(1, 2 * every_ms) * MILLISECOND;
            self.events.add(self.moment + wait, Event::CentreFault(fault));
        }
    }

    pub(super) fn make_centre_fault(&mut self, fault: CentreFault) {
        if self.healing {
            return;
        }
        let one = self.random.below(CENTRES as u64) as usize;
        let other = (one + 1 + self.random.below(CENTRES as u64 - 1) as usize) % CENTRES;
        match fault {
            CentreFault::Cut => {
                let time = self.random.between(10, 3_000) * MILLISECOND;
                self.centre_events.add(CentreEvent::CutBetween, 1);
                self.cut_between(one, other, time);
            }
            CentreFault::Isolate => {
                let time = self.random.between(1, 30) * SECOND;
                self.isolate(one, time);
            }
            CentreFault::Wait => {
                self.centre_events.add(CentreEvent::OneWay, 1);
                let until = self.moment + self.random.between(100, 8_000) * MILLISECOND;
                let Some(centres) = &mut self.centres else { return };
                centres.waits.insert((one, other), until);
            }
            CentreFault::Stop => self.stop_some_centres(one, other),
            CentreFault::Lose => self.lose_centre(one),
            CentreFault::Destroy(centre) => self.destroy_centre(centre),
        }
        self.plan_centre_fault(fault);
    }

    fn cut_between(&mut self, one: usize, other: usize, time: Moment) {
        let until = self.moment + time;
        let Some(centres) = &mut self.centres else { return };
        let end = centres.cuts.entry(pair(one, other)).or_default();
        *end = until.max(*end);
        let links = centres.links.between(one, other);
        links.into_iter().for_each(|link| self.break_centre_link(link));
    }

    /// Cuts a data centre off from the others for a while.
    fn isolate(&mut self, centre: usize, time: Moment) {
        self.centre_events.add(CentreEvent::Isolated, 1);
        (0..CENTRES).filter(|other| *other != centre).for_each(|other| self.cut_between(centre, other, time));
    }

    /// One or two of them crash, for longer than a process takes to start again.
    fn stop_some_centres(&mut self, one: usize, other: usize) {
        let power_cut = self.random.chance(700);
        let down = self.random.between(200, 12_000) * MILLISECOND;
        self.stop_centre(one, power_cut, down);
        if self.random.chance(400) {
            self.centre_events.add(CentreEvent::MostStopped, 1);
            self.stop_centre(other, power_cut, down);
        }
    }

    /// A whole data centre crashes, and starts again later.
    fn stop_centre(&mut self, centre: usize, power_cut: bool, down: Moment) {
        if !self.centres_left().contains(&centre) {
            return;
        }
        self.centre_events.add(CentreEvent::Stopped, 1);
        self.crash_replica(ReplicaId(centre as u64), power_cut, false, down);
        self.stop_front(centre, down);
    }

    /// All data centres crash but a client's own.
    pub fn stop_all_centres_but(&mut self, client: ClientIndex, down: Moment) {
        let home = self.front_of(client, 0);
        (0..CENTRES).filter(|other| *other != home).for_each(|other| self.stop_centre(other, true, down));
    }

    /// The link that a client has, which is as old as its session.
    pub fn session_of(&self, client: ClientIndex) -> Option<LinkId> {
        self.links.of_client(client)
    }

    /// One is going to be destroyed. Often it is cut off for a while before.
    fn lose_centre(&mut self, centre: usize) {
        let after = self.random.between(200, 5_000) * MILLISECOND;
        if self.random.chance(600) {
            self.isolate(centre, after + SECOND);
        }
        self.events.add(self.moment + after, Event::CentreFault(CentreFault::Destroy(centre)));
    }

    /// A data centre is gone for good, disk and all.
    fn destroy_centre(&mut self, centre: usize) {
        self.centre_events.add(CentreEvent::Destroyed, 1);
        let Some(centres) = &mut self.centres else { return };
        centres.lost.insert(centre);
        self.crash_replica(ReplicaId(centre as u64), false, false, 1);
        self.stop_front(centre, 1);
        self.stores.remove(&ReplicaId(centre as u64));
    }

    /// Before faults end, one data centre is away for longer than any history is kept.
    pub fn send_one_away(&mut self) {
        let Some(time) = self.centres.as_ref().map(|centres| centres.distance.away_at_last) else { return };
        if time > 0 {
            let centre = self.random.below(CENTRES as u64) as usize;
            self.isolate(centre, time);
            self.centre_events.add(CentreEvent::LongAway, 1);
            self.step_for(time);
        }
    }

    pub(super) fn heal_centres(&mut self) {
        if let Some(centres) = &mut self.centres {
            (centres.cuts, centres.waits) = Default::default();
        }
    }
}
