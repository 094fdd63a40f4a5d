//! The lanes of all clients: side by side, each with one mutation at the store.
//!
//! Invariant: a lane that is here has a mutation at the store, or one that is judged before.

use std::collections::BTreeMap;

use iolite_values::{Attempt, ClientId, Counter, LaneNumber};

use crate::SessionId;
use crate::submissions::lane::{InFlight, Lane, Waiting};

#[derive(Debug, Default)]
pub struct Lanes(BTreeMap<(ClientId, LaneNumber), Lane>);

/// How much of a client is on its way to the store, in all its lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    pub mutations: usize,
    /// Bytes of those that wait.
    pub bytes: usize,
}

impl Lanes {
    pub fn push(&mut self, client: ClientId, number: LaneNumber, waiting: Waiting) {
        self.0.entry((client, number)).or_default().push(waiting);
    }

    /// Puts back what the store refused, before everything that waits in its lane.
    pub fn push_front(&mut self, client: ClientId, number: LaneNumber, waiting: Waiting) {
        self.0.entry((client, number)).or_default().push_front(waiting);
    }

    /// The next mutation of a lane, if the store has answered the one before.
    pub fn begin(&mut self, client: ClientId, number: LaneNumber, session: SessionId) -> Option<&Waiting> {
        self.0.get_mut(&(client, number))?.begin(session)
    }

    /// The next mutation of a lane, if the store has answered the one before: what it follows, and itself.
    pub fn next(&self, client: ClientId, number: LaneNumber) -> Option<(Option<Counter>, Counter, Attempt)> {
        self.0.get(&(client, number))?.next()
    }

    /// The next mutation of a lane is not given to the store.
    pub fn drop_next(&mut self, client: ClientId, number: LaneNumber) {
        let Some(lane) = self.0.get_mut(&(client, number)) else { return };
        lane.drop_next();
        if lane.len() == 0 {
            self.0.remove(&(client, number));
        }
    }

    /// The mutation of a lane for the store.
    pub fn at_store(&self, client: ClientId, number: LaneNumber) -> Option<&Waiting> {
        self.0.get(&(client, number))?.at_store()
    }

    pub fn at_store_mut(&mut self, client: ClientId, number: LaneNumber) -> Option<&mut Waiting> {
        self.0.get_mut(&(client, number))?.at_store_mut()
    }

    /// Takes the mutation of a lane back that the store was not given.
    pub fn take(&mut self, client: ClientId, number: LaneNumber) -> Option<InFlight> {
        let counter = self.at_store(client, number)?.transaction.id.counter;
        self.finish(client, number, counter)
    }

    /// The store has answered the mutation of a lane that it was given.
    pub fn finish(&mut self, client: ClientId, number: LaneNumber, counter: Counter) -> Option<InFlight> {
        let lane = self.0.get_mut(&(client, number))?;
        let in_flight = lane.finish();
        assert_eq!(in_flight.waiting.transaction.id.counter, counter, "the store answers what the lane gave it");
        if lane.len() == 0 {
            self.0.remove(&(client, number));
        }
        Some(in_flight)
    }

    /// Forgets what a client's session had queued.
    pub fn clear(&mut self, client: ClientId) {
        let numbers: Vec<LaneNumber> = self.of(client).map(|(number, _)| number).collect();
        for number in numbers {
            let Some(lane) = self.0.get_mut(&(client, number)) else { continue };
            lane.clear();
            if lane.len() == 0 {
                self.0.remove(&(client, number));
            }
        }
    }

    /// Forgets everything: the store has started again.
    pub fn clear_all(&mut self) {
        self.0.clear();
    }

    pub fn load(&self, client: ClientId) -> Load {
        self.of(client).fold(Load::default(), |sum, (_, lane)| Load {
            mutations: sum.mutations + lane.len(),
            bytes: sum.bytes + lane.bytes(),
        })
    }

    /// Each lane with the counter of its mutation at the store.
    pub fn in_flight(&self) -> impl Iterator<Item = (ClientId, LaneNumber, Option<Counter>)> {
        self.0.iter().map(|((client, number), lane)| (*client, *number, lane.in_flight()))
    }

    /// The counter of a lane's mutation at the store.
    pub fn in_flight_of(&self, client: ClientId, number: LaneNumber) -> Option<Counter> {
        self.0.get(&(client, number))?.in_flight()
    }

    pub fn validate(&self) {
        self.0.values().for_each(Lane::validate);
    }

    fn of(&self, client: ClientId) -> impl Iterator<Item = (LaneNumber, &Lane)> {
        let all = (client, LaneNumber::STRONG)..=(client, LaneNumber(u32::MAX));
        self.0.range(all).map(|((_, number), lane)| (*number, lane))
    }
}
