//! Interests that no gateway feeds: the tables of logs, which are made here by replaying.
//!
//! Invariant: nothing within one of them is asked of a gateway, and none is given up before its log is left.

use std::collections::BTreeSet;

use iolite_values::{Interest, LaneNumber};

use super::{Demand, Interests, Progress};

impl Interests {
    /// Adds an interest that is made here for a log. It is not held before [`Interests::hold_local`].
    pub(crate) fn add_local(&mut self, interest: &Interest, log: LaneNumber) {
        self.locals.push(interest.clone());
        self.insert(interest.clone(), None);
        if let Some(own) = self.by_interest.get_mut(interest) {
            own.is_local = true;
        }
        self.attach(interest, Demand::Log(log));
        self.set_progress(interest, Progress::Requested);
    }

    /// Marks it: it is held from now on.
    pub(crate) fn hold_local(&mut self, interest: &Interest) {
        self.set_progress(interest, Progress::Live);
    }

    /// Removes an interest that was made here. Whoever needs it looks again.
    pub(crate) fn remove_local(&mut self, interest: &Interest) {
        let demands =
            self.by_interest.get_mut(interest).map(|own| std::mem::take(&mut own.demands)).unwrap_or_default();
        for demand in demands {
            if let Some(own) = self.by_demand.get_mut(&demand) {
                own.remove(interest);
            }
            if self.by_demand.get(&demand).is_some_and(BTreeSet::is_empty) {
                self.by_demand.remove(&demand);
            }
        }
        if self.by_interest.contains_key(interest) {
            self.remove(interest);
        }
        self.locals.retain(|own| own != interest);
    }

    /// The interest that is made here and has all of this.
    pub(crate) fn local_with(&self, interest: &Interest) -> Option<&Interest> {
        self.locals.iter().find(|own| own.covers(interest))
    }

    /// Whether this is needed by whom.
    pub(crate) fn needed_by(&self, demand: Demand, interest: &Interest) -> bool {
        self.by_interest.get(interest).is_some_and(|own| own.demands.contains(&demand))
    }

    /// The pages of a log that are not needed any more. Returns what was given up.
    pub(crate) fn drop_pages(&mut self, log: LaneNumber, kept: &[Interest]) -> Vec<Interest> {
        let demand = Demand::Log(log);
        let own = self.by_demand.get(&demand).into_iter().flatten();
        let gone = own.filter(|own| !self.locals.contains(own) && !kept.contains(own));
        let gone: Vec<Interest> = gone.cloned().collect();
        for interest in &gone {
            self.release(interest, demand);
        }
        let idle = gone
            .into_iter()
            .filter(|own| self.by_interest.get(own).is_some_and(|subscribed| subscribed.demands.is_empty()));
        let idle: Vec<Interest> = idle.collect();
        for interest in &idle {
            let id = self.remove(interest);
            self.superseded.push(id);
        }
        idle
    }
}
