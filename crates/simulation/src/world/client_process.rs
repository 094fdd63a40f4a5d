//! The process of a client's app: it may be busy in a closure for a while, and takes nothing meanwhile.
//!
//! Invariants: what comes to a busy process waits, in the order in which it came; the closure that it is busy in is the first of what it had to run, so
//! nothing that came before was applied.

use std::collections::{BTreeSet, VecDeque};

use iolite_client::{Input, RunOf};
use iolite_machine::{Machine, Now};
use iolite_values::Counter;

use super::client_node::ClientNode;
use crate::counts::Counts;
use crate::history::{History, Life, Moment};
use crate::occasions::Occasion;

#[derive(Debug, Default)]
pub struct ClientProcess {
    /// How long the next closure takes, if it is the first of what there is to run.
    takes: Option<Moment>,
    until: Moment,
    /// The closure that it is busy in: what it reads and writes counts when it ends.
    run: Option<RunOf>,
    inbox: VecDeque<Input>,
    /// How often the delivered view showed less than the confirmed one, and was not counted yet.
    pub(super) seen_undelivered: u64,
}

impl ClientNode {
    pub fn is_busy(&self, moment: Moment) -> bool {
        self.process.until > moment
    }

    /// Gives the client an input, once the app is not busy.
    pub fn handle(&mut self, now: Now, moment: Moment, input: Input, history: &mut History) {
        if self.is_busy(moment) {
            return self.process.inbox.push_back(input);
        }
        self.go_on(now, history);
        self.take(now, input, history);
    }

    /// Ends the closure that the app was busy in, and takes what came meanwhile.
    pub(super) fn go_on(&mut self, now: Now, history: &mut History) {
        if let Some(run) = self.process.run.take() {
            self.run(run, history);
        }
        while let Some(input) = self.process.inbox.pop_front() {
            self.take(now, input, history);
        }
    }

    fn take(&mut self, now: Now, input: Input, history: &mut History) {
        self.client.handle(now, input);
        history.delivery.note_position((self.index, self.life, self.client.store()), self.client.at());
    }

    /// The app takes this long for the first closure that it has to run now.
    pub(super) fn will_take(&mut self, takes: Option<Moment>) {
        self.process.takes = takes;
    }

    /// Until when the app is busy, if it is.
    pub(super) fn busy_until(&self, moment: Moment) -> Option<Moment> {
        self.is_busy(moment).then_some(self.process.until)
    }

    pub(super) fn end_haste(&mut self) {
        self.process.until = 0;
    }

    pub(super) fn is_stuck_in(&mut self, run: RunOf, moment: Moment) -> bool {
        let Some(takes) = self.process.takes.take() else { return false };
        (self.process.until, self.process.run) = (moment + takes, Some(run));
        true
    }

    pub fn life(&self) -> Life {
        (self.index, self.life, self.store)
    }

    pub(super) fn note_delivered(&mut self, counter: Counter, history: &mut History) {
        self.heard.insert(counter);
        history.delivery.heard.push((self.life(), counter));
    }

    /// Another life, or another history of the store.
    pub(super) fn forget_delivery(&mut self) {
        (self.confirmed, self.heard) = (BTreeSet::new(), BTreeSet::new());
    }

    /// Whether this life was told that a mutation is confirmed.
    pub fn has_confirmed(&self, counter: Counter) -> bool {
        self.confirmed.contains(&counter)
    }

    /// Whether something is confirmed and not delivered.
    pub fn awaits_delivery(&self) -> bool {
        !self.confirmed.is_subset(&self.heard)
    }

    pub(super) fn note_lost(&self, occasions: &mut Counts<Occasion>) {
        occasions.add(Occasion::LinkLostUndelivered, u64::from(self.awaits_delivery()));
    }
}
