//! Sessions follow queries: from when what was read of one is known as of the feed's position, until they leave it or fall behind.
//!
//! Invariant: of a query that a session is subscribed to, either its answers are known (`Queries`) and changes are told by them, or it is being read, and every
//! change of a row that may be an answer is buffered (`InterestIndex`).

use iolite_values::Interest;
use iolite_wire::message::SubscriptionId;

use crate::following::answer::Answer;
use crate::following::load::{AnswerSize, LoadId};
use crate::following::reading::Wanted;
use crate::gateway::target;
use crate::sessions::session::Phase;
use crate::{Gateway, SessionId};

impl Gateway {
    /// Keeps rows that were read for a load. From now on a query is told by its answers.
    pub(crate) fn keep_rows(&mut self, id: SessionId, load: LoadId, wanted: Wanted) {
        let (name, own) = (wanted.subscription, target(id, wanted.subscription));
        let Some(Phase::Open(open)) = self.sessions.get_mut(&id).map(|own| &mut own.phase) else { return };
        let Some(subscription) = open.subscriptions.get_mut(&name) else { return };
        let interest = subscription.interest.clone();
        let Some(load) = open.loads.get_mut(&load) else { return };
        let Interest::Query(query) = &interest else {
            if let Some(reading) = load.reading() {
                reading.keep(name, wanted.rows);
            }
            return;
        };
        let size = AnswerSize::of(&wanted.rows);
        let answer = Answer::new(query, wanted, load.buffer());
        let (query, rows, lacking) = (answer.query().clone(), answer.rows(), answer.lacking());
        subscription.follows = Some(query.clone());
        self.queries.follow(&query, own, rows, lacking);
        if let Some(reading) = load.reading() {
            reading.answer(name, size, answer);
        }
        self.index.remove(&interest, own);
    }

    /// What a load is for is read from the beginning: nothing is known of its queries.
    pub(crate) fn unfollow_load(&mut self, id: SessionId, load: LoadId) {
        let Some(own) = self.open(id).and_then(|open| open.loads.get(&load)) else { return };
        for name in own.subscriptions.clone() {
            if let Some(interest) = self.unfollow(id, name) {
                self.index.insert(&interest, target(id, name));
            }
        }
    }

    /// Returns the interest, if it is a query that was followed.
    pub(crate) fn unfollow(&mut self, id: SessionId, name: SubscriptionId) -> Option<Interest> {
        let own = self.open_mut(id)?.subscriptions.get_mut(&name)?;
        let query = own.follows.take()?;
        let interest = own.interest.clone();
        self.queries.unfollow(&query, target(id, name));
        Some(interest)
    }

    /// Takes a subscription out of everything that tells of changes.
    pub(crate) fn unlist_one(&mut self, id: SessionId, name: SubscriptionId) {
        if self.unfollow(id, name).is_some() {
            return;
        }
        let own = self.open(id).and_then(|open| open.subscriptions.get(&name));
        if let Some(interest) = own.map(|own| own.interest.clone()) {
            self.index.remove(&interest, target(id, name));
        }
    }
}
