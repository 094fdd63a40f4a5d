//! Moving to another data centre: the old state is shown until all of the new one is there.
//!
//! Invariants:
//! - the token says everything that the confirmed state has ever shown, so a data centre that lets the client in has all of it;
//! - answers of the new data centre are applied together, once the last one is there: no two moments are ever shown at once.
//!
//! Source: Zawirski 2013, section 4.4; docs/protocols/centres.md.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Now;
use iolite_values::{Interest, StoreIncarnation};
use iolite_wire::centres::{CentreName, CentreToken, Clock};
use iolite_wire::message::{Advance, FromClient, Subscribe, SubscriptionId, Welcome};

use super::Client;
use crate::cache::portions;
use crate::interface::{Centre, Output};
use crate::session::Phase;

#[derive(Debug, Default)]
pub(super) struct Moving {
    /// Everything that was seen, if it was seen in a group of data centres.
    pub(super) token: Option<CentreToken>,
    /// The data centre of the link, as it has said.
    serving: Option<CentreName>,
    staging: Option<Staging>,
    /// The app was told this last, and the place of that data centre in the configuration.
    told: Option<(Centre, usize)>,
}

/// The answers of a new data centre, until all are there.
#[derive(Debug)]
struct Staging {
    store: StoreIncarnation,
    asked: BTreeSet<SubscriptionId>,
    unanswered: BTreeSet<SubscriptionId>,
    advances: Vec<Advance>,
}

impl Moving {
    pub(super) fn restored(token: Option<CentreToken>) -> Moving {
        Moving { token, ..Moving::default() }
    }

    pub(super) fn is_staging(&self) -> bool {
        self.staging.is_some()
    }

    pub(super) fn session_lost(&mut self) {
        self.staging = None;
    }

    /// The confirmed state is of another history.
    pub(super) fn history_lost(&mut self) {
        self.token = None;
    }

    /// An advance has said how far outboxes are seen with it. The first of a session says it of all.
    pub(super) fn see(&mut self, clock: Clock) {
        let Some(serving) = self.serving.as_ref().filter(|_| !clock.is_empty()) else { return };
        match &mut self.token {
            Some(token) if token.at == *serving => token.clock.extend(clock),
            Some(_) | None => self.token = Some(CentreToken { at: serving.clone(), clock }),
        }
    }
}

impl Client {
    /// The data centre that serves this client, in a group of several.
    pub fn centre(&self) -> Option<&Centre> {
        self.moving.told.as_ref().map(|(centre, _)| centre)
    }

    pub(super) fn note_serving(&mut self, welcome: &Welcome) {
        self.moving.serving.clone_from(&welcome.centre);
    }

    /// Tells the app which data centre serves it, when that changes.
    pub(super) fn note_centre(&mut self) {
        let place = self.session.place_of_centre();
        let now = match (&self.moving.serving, &self.moving.told) {
            (Some(name), _) if self.session.is_open() => Centre::At(name.clone()),
            (_, Some((Centre::At(_), settled))) if *settled != place => Centre::Moving,
            (_, Some(_) | None) => return,
        };
        let place = if now == Centre::Moving { usize::MAX } else { place };
        if self.moving.told.as_ref().is_none_or(|(told, _)| *told != now) {
            self.outputs.push_back(Output::Centre(now.clone()));
        }
        self.moving.told = Some((now, place));
    }

    /// The client was let in by another data centre: it asks for all that it needs, and shows what it has meanwhile.
    pub(super) fn begin_staging(&mut self, now: Now, store: StoreIncarnation) {
        let needed: Vec<(SubscriptionId, Interest)> = self.cache.interests.needed().collect();
        let asked: BTreeSet<SubscriptionId> = needed.iter().map(|(id, _)| *id).collect();
        let staging = Staging { store, unanswered: asked.clone(), asked, advances: Vec::new() };
        self.moving.staging = Some(staging);
        self.enter(now, Phase::Resuming);
        for interests in portions(needed, self.limits.subscribe_part) {
            let first = interests.iter().filter_map(|(id, _)| Some((*id, self.first_to_ask(*id)?)));
            let first: BTreeMap<_, _> = first.collect();
            self.send(FromClient::Subscribe(Subscribe { held: false, interests, first }));
        }
        self.finish_staging(now);
    }

    /// Keeps an advance of the new data centre until all are there.
    pub(super) fn stage(&mut self, now: Now, advance: Advance) {
        let Some(staging) = &mut self.moving.staging else { return };
        for id in advance.snapshots.iter().map(|own| own.subscription) {
            staging.unanswered.remove(&id);
        }
        for id in advance.declined.iter().map(|own| own.subscription) {
            staging.unanswered.remove(&id);
        }
        staging.advances.push(advance);
        self.finish_staging(now);
    }

    /// Once everything is answered, it takes the place of what was held, at once.
    fn finish_staging(&mut self, now: Now) {
        let whole = self.moving.staging.take_if(|own| own.unanswered.is_empty());
        let Some(Staging { store, asked, advances, .. }) = whole else { return };
        let token = self.moving.token.take();
        self.begin_history(store);
        self.moving.token = token;
        let asked: Vec<SubscriptionId> = asked.into_iter().collect();
        self.cache.interests.mark_requested(&asked);
        let gone: Vec<_> = asked.into_iter().filter(|id| self.cache.interests.interest(*id).is_none()).collect();
        for part in gone.chunks(self.limits.subscribe_part) {
            self.send(FromClient::Unsubscribe(part.to_vec()));
        }
        for advance in advances {
            self.on_advance(now, advance);
        }
        self.enter(now, Phase::Open);
    }
}
