//! Several data centres: each is a gateway and a replica of the same number, with a clock, a journal and crashes of its own.
//!
//! Invariant: every client knows all data centres, and prefers one of its own.

use std::collections::{BTreeMap, BTreeSet};

use iolite_causal::{CentreName, Settings};
use iolite_machine::Now;
use iolite_replication::node::{Epoch, Group, ReplicaId, ShardId};
use iolite_replication::{Extent, Place as Begins, ShardMap};
use iolite_values::{ClientId, Id};

use super::World;
use super::centre_links::CentreLinks;
use super::front_node::FrontNode;
use super::store_node::Place;
use crate::broken::Broken;
use crate::habits::{Calls, Habits};
use crate::history::{ClientIndex, Moment};
use crate::needs::Needs;
use crate::random::Random;

/// As many as a run has, if it has several.
pub const CENTRES: usize = 3;
/// How many have something before it is shown to others than its author.
pub const K: usize = 2;
const SECOND: Moment = 1_000_000_000;

#[derive(Debug)]
pub struct DataCentres {
    pub distance: Distance,
    pub(super) links: CentreLinks,
    /// Pairs, the lower number first, between which there are no links until then.
    pub(super) cuts: BTreeMap<(usize, usize), Moment>,
    /// Pairs of which the first one's messages to the second one wait until then.
    pub(super) waits: BTreeMap<(usize, usize), Moment>,
    /// Data centres that are gone for good, disk and all.
    pub(super) lost: BTreeSet<usize>,
    /// The data centre of the first client; the next one's is the next.
    first_home: usize,
}

/// How rough it is between the data centres of a run.
#[derive(Clone, Copy, Debug)]
pub struct Distance {
    /// Milliseconds that a message takes at most.
    pub delay_ms: u64,
    /// Milliseconds between faults of a kind, on average; zero is never.
    pub cut_every_ms: u64,
    pub isolate_every_ms: u64,
    pub wait_every_ms: u64,
    pub stop_every_ms: u64,
    /// When one is destroyed, if one is.
    pub loses_one_at: Option<Moment>,
    /// For how long one is cut off once all calls are made, before faults end.
    pub away_at_last: Moment,
}

impl Distance {
    fn random(random: &mut Random, broken: Broken) -> Distance {
        let mut every = |low: u64, high: u64| if random.chance(600) { random.between(low, high) } else { 0 };
        let (cut_every_ms, isolate_every_ms) = (every(500, 4_000), every(3_000, 12_000));
        let (wait_every_ms, stop_every_ms) = (every(500, 5_000), every(3_000, 12_000));
        let loses_one = random.chance(300) || broken.of_centre() == iolite_causal::Broken::ShowBeforeDurable;
        let away_at_last = if random.chance(200) { random.between(61, 90) * SECOND } else { 0 };
        Distance {
            delay_ms: random.between(5, 150),
            cut_every_ms,
            isolate_every_ms,
            wait_every_ms,
            stop_every_ms,
            loses_one_at: loses_one.then(|| random.between(500, 8_000) * 1_000_000),
            away_at_last,
        }
    }
}

/// Every other seed of the world of tables that merge has guests, and all seeds of the variant that needs them.
pub fn with_guests(habits: Habits, seed: u64, broken: Broken) -> Habits {
    match habits.calls {
        Calls::Centres { .. } => Habits { calls: Calls::Centres { guests: has_guests(seed, broken) }, ..habits },
        _ => habits,
    }
}

fn has_guests(seed: u64, broken: Broken) -> bool {
    match broken {
        Broken::Nothing => seed.is_multiple_of(2),
        other => other == Broken::RepeatUnjudged,
    }
}

impl DataCentres {
    /// Two of three seeds of the world of tables that merge have several, and all seeds of a variant that needs them.
    pub fn of(seed: u64, needs: Needs, broken: Broken) -> Option<DataCentres> {
        let wants_several = broken.of_centre() != iolite_causal::Broken::Nothing;
        let has_several = wants_several || !seed.is_multiple_of(3);
        if needs != Needs::Centres || !has_several {
            return None;
        }
        // A stream of its own: what else a seed draws does not depend on it.
        let mut random = Random::from_seed(!seed);
        let mut distance = Distance::random(&mut random, broken);
        if has_guests(seed, broken) {
            // Its clients have nowhere to go.
            distance.loses_one_at = None;
        }
        let first_home = random.below(CENTRES as u64) as usize;
        let (cuts, waits, lost) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Some(DataCentres { distance, links: CentreLinks::default(), cuts, waits, lost, first_home })
    }

    pub fn home(&self, client: ClientIndex) -> usize {
        (self.first_home + client.0) % CENTRES
    }

    pub fn is_cut(&self, one: usize, other: usize, now: Moment) -> bool {
        self.cuts.get(&pair(one, other)).is_some_and(|until| *until > now)
    }
}

pub fn pair(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}

pub fn name(centre: usize) -> CentreName {
    CentreName::new(["ams", "bos", "cgk"][centre]).expect("these are names")
}

/// The only replica of a data centre.
fn group(centre: usize) -> Group {
    Group::new(ShardId(centre as u32), Epoch(0), &[ReplicaId(centre as u64)]).expect("one is a group")
}

impl World {
    /// How many data centres a client knows. One that has moved may be told that a call is denied which the other data centre has taken. So where users have
    /// rights, clients stay.
    pub(super) fn centres_known(&self) -> usize {
        if self.habits.calls == (Calls::Centres { guests: true }) { 1 } else { CENTRES }
    }

    /// The shards that a gateway is started with.
    pub(super) fn map_of_front(&self, front: usize) -> ShardMap {
        match self.centres {
            Some(_) => ShardMap::new([(Begins::first(), group(front))]).expect("it begins at the beginning"),
            None => self.map.clone(),
        }
    }

    /// The replicas of the data centres, each alone.
    pub(super) fn places_of_centres(&self) -> Vec<Place> {
        let (retention, broken) = (self.retention, self.broken);
        let place = |centre| {
            let (id, extent) = (ReplicaId(centre as u64), Extent::everything());
            Place { id, group: group(centre), extent, origin: None, retention, broken, is_alone: true }
        };
        (0..CENTRES).map(place).collect()
    }

    /// A gateway's process, as a part of its group if there are several data centres.
    pub(super) fn new_front(&mut self, number: usize, now: Now) -> FrontNode {
        let shards = self.map_of_front(number);
        let front = FrontNode::start(now, number as u16, shards, &self.habits, self.broken, &mut self.random);
        if self.centres.is_none() {
            return front;
        }
        let settings = Settings {
            group: "simulated".into(),
            name: name(number),
            peers: (0..CENTRES).filter(|other| *other != number).map(name).collect(),
            k: K,
            outbox_bytes_max: iolite_causal::limits::OUTBOX_BYTES_MAX,
            client: ClientId(Id::from_u128(self.random.id())),
            broken: self.broken.of_centre(),
        };
        front.with_centres(now, settings)
    }

    /// The gateway that a client counts as this one. Of data centres it counts its own as the first.
    pub(super) fn front_of(&self, client: ClientIndex, gateway: usize) -> usize {
        self.centres.as_ref().map_or(gateway, |centres| (centres.home(client) + gateway) % CENTRES)
    }

    /// The gateways of the process that a replica is in, if it is an embedded server.
    pub(super) fn fronts_with(&self, replica: ReplicaId) -> Vec<usize> {
        match self.centres {
            Some(_) => vec![replica.0 as usize],
            None if self.topology.is_alone() => (0..self.fronts.len()).collect(),
            None => Vec::new(),
        }
    }

    /// Data centres that are there, or come back.
    pub(super) fn centres_left(&self) -> Vec<usize> {
        let lost = self.centres.as_ref().map(|centres| &centres.lost);
        (0..CENTRES).filter(|centre| lost.is_some_and(|lost| !lost.contains(centre))).collect()
    }

    /// How each data centre and its links are, for people.
    pub fn standing_of_centres(&self) -> String {
        let Some(centres) = &self.centres else { return String::new() };
        let of = |(number, front): (usize, &super::Process<FrontNode, ()>)| match front {
            super::Process::Up(node) => {
                format!("{}: {:?}", name(number), node.centres.as_ref().map(|own| own.figures()))
            }
            super::Process::Down(()) => format!("{} is down", name(number)),
        };
        let all: Vec<String> = self.fronts.iter().enumerate().map(of).collect();
        format!("{}; links were closed for: {:?}", all.join("; "), centres.links.reasons)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_three_seeds_have_several_and_all_seeds_of_a_variant_of_theirs() {
        let several = |needs, broken| (1..=6).filter(|seed| DataCentres::of(*seed, needs, broken).is_some()).count();
        assert_eq!(several(Needs::Centres, Broken::Nothing), 4);
        assert_eq!(several(Needs::Centres, Broken::NameAnew), 6);
        assert_eq!(several(Needs::Anything, Broken::Nothing), 0);
    }

    #[test]
    fn every_data_centre_has_a_client() {
        let centres = DataCentres::of(1, Needs::Centres, Broken::Nothing).expect("this seed has several");
        let homes: BTreeSet<usize> = (0..CENTRES).map(|client| centres.home(ClientIndex(client))).collect();
        assert_eq!(homes.len(), CENTRES);
    }
}
