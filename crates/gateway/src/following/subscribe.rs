//! Interests come and go.
//!
//! Invariant: only a `Subscribe` right after the welcome can ask for changes since the resume token. Later ones would bring changes of a
//! cell twice, if another interest includes it too.

use std::collections::BTreeSet;

use iolite_machine::Now;
use iolite_rights::Needs;
use iolite_store::RequestId;
use iolite_values::{Interest, KeyRange, Schema};
use iolite_wire::message::{Declination, First, Subscribe, SubscriptionId};

use crate::following::load::{Load, LoadId};
use crate::following::sets::SetUser;
use crate::following::sight::{PutOff, Ruled, Sight};
use crate::gateway::target;
use crate::limits;
use crate::sessions::farewell::Farewell;
use crate::sessions::session::{Flow, Open, Standing, Subscription};
use crate::{Gateway, SessionId};

impl Gateway {
    pub(crate) fn on_subscribe(&mut self, now: Now, id: SessionId, subscribe: Subscribe) {
        if self.open(id).is_some_and(|open| !open.put_off.is_empty()) {
            return self.put_off(id, PutOff::Subscribe(subscribe));
        }
        if let Some(again) = self.subscribe(now, id, subscribe) {
            self.put_off(id, PutOff::Subscribe(again));
        }
    }

    /// Returns the message if it has to wait for key sets.
    pub(crate) fn subscribe(&mut self, now: Now, id: SessionId, subscribe: Subscribe) -> Option<Subscribe> {
        let open = self.open(id)?;
        if let Err(farewell) = check(open, &subscribe, self.catalog.schema()) {
            self.end(id, &farewell);
            return None;
        }
        let identity = open.identity.clone();
        let (mut seen, mut rests, mut denied, mut waits) = (Vec::new(), Needs::default(), Vec::new(), false);
        for (name, interest) in &subscribe.interests {
            let (sight, own_rests) = self.sight(&identity, interest);
            rests.add(own_rests);
            let part = match sight {
                Sight::All => None,
                Sight::Part(part) => Some(part),
                Sight::Declined(why) => {
                    denied.push((*name, why));
                    None
                }
                Sight::Waits => {
                    waits = true;
                    None
                }
            };
            seen.push((*name, Subscription::new(interest.clone(), part, subscribe.first.get(name).copied())));
        }
        self.need_sets(SetUser::Session(id), &rests);
        if waits {
            return Some(subscribe);
        }
        if subscribe.held && self.holds_what_may_be_seen(id) {
            seen.iter_mut().filter_map(|(_, own)| own.ruled.as_mut()).for_each(|ruled| ruled.is_stale = false);
        }
        self.note_sight(id);
        self.begin(now, id, &subscribe, seen, denied);
        None
    }

    /// Begins to follow and to read what may be seen.
    fn begin(
        &mut self,
        now: Now,
        id: SessionId,
        subscribe: &Subscribe,
        seen: Vec<(SubscriptionId, Subscription)>,
        denied: Vec<(SubscriptionId, Declination)>,
    ) {
        let Some(client) = self.open(id).map(|open| open.client) else { return };
        let is_denied = |name: &SubscriptionId| denied.iter().any(|(own, _)| own == name);
        let refused = self.follow_logs(client, subscribe.interests.iter().filter(|(name, _)| !is_denied(name)));
        let names: BTreeSet<SubscriptionId> = seen.iter().map(|(name, _)| *name).collect();
        let interests: Vec<_> = seen.iter().map(|(name, own)| (*name, own.interest.clone())).collect();
        let Some(open) = self.open_mut(id) else { return };
        // Its load comes next.
        open.subscriptions.extend(seen);
        let load = open.add_load(Load::new(names));
        let after = match open.flow {
            Flow::Resuming { after } if subscribe.held => Some(after),
            Flow::Resuming { .. } | Flow::Live | Flow::CatchingUp(_) => None,
            // It is listed and read when the session is caught up.
            Flow::Behind { .. } => {
                self.deny_reads(id, load, denied);
                return self.refuse_logs(id, load, refused);
            }
        };
        match (open.flow, after) {
            (Flow::Resuming { .. }, Some(_)) => open.flow = Flow::CatchingUp(load),
            (Flow::Resuming { .. }, None) => open.flow = Flow::Live,
            (Flow::Live | Flow::CatchingUp(_) | Flow::Behind { .. }, _) => {}
        }
        for (name, interest) in &interests {
            self.index.insert(interest, target(id, *name));
        }
        self.deny_reads(id, load, denied);
        self.refuse_logs(id, load, refused);
        match after {
            Some(after) => self.read_changes(id, load, after),
            None => self.read_snapshots(id, load),
        }
        self.finish_loads(now, id);
    }

    /// Tells a session what it may not read.
    fn deny_reads(&mut self, id: SessionId, load: LoadId, denied: Vec<(SubscriptionId, Declination)>) {
        for (name, why) in denied {
            self.decline(id, load, name, why);
        }
    }

    /// The resume token is for the message after the welcome. Whoever says something else there holds nothing.
    pub(crate) fn spend_token(&mut self, id: SessionId) {
        // That message may be there, and wait for key sets.
        let Some(open) = self.open_mut(id).filter(|open| open.put_off.is_empty()) else { return };
        match open.flow {
            Flow::Resuming { .. } => open.flow = Flow::Live,
            Flow::Live | Flow::CatchingUp(_) | Flow::Behind { .. } => {}
        }
    }

    pub(crate) fn on_unsubscribe(&mut self, now: Now, id: SessionId, names: Vec<SubscriptionId>) {
        if self.open(id).is_some_and(|open| !open.put_off.is_empty()) {
            return self.put_off(id, PutOff::Unsubscribe(names));
        }
        self.unsubscribe(now, id, &names);
    }

    pub(crate) fn unsubscribe(&mut self, now: Now, id: SessionId, names: &[SubscriptionId]) {
        for name in names {
            // Perhaps the client's message crossed something. Nothing is lost.
            let Some(standing) = self.remove_subscription(id, *name) else { continue };
            match (standing, self.open_mut(id)) {
                (Standing::Loading(load), Some(open)) => {
                    let given_up = open.leave_out_of(load, *name);
                    self.abandon(id, given_up);
                }
                (Standing::Live | Standing::Loading(_), _) => {}
            }
        }
        self.finish_loads(now, id);
    }

    /// Ends a subscription for which a load reads, and has the client told with the load's answer.
    pub(crate) fn decline(&mut self, id: SessionId, load: LoadId, name: SubscriptionId, why: Declination) {
        self.remove_subscription(id, name);
        if let Some(own) = self.open_mut(id).and_then(|open| open.loads.get_mut(&load)) {
            let given_up = own.decline(name, why);
            self.abandon(id, given_up);
        }
    }

    pub(crate) fn remove_subscription(&mut self, id: SessionId, name: SubscriptionId) -> Option<Standing> {
        let open = self.open_mut(id)?;
        let (client, is_behind) = (open.client, open.is_behind());
        self.unfollow_log(client, name);
        if !is_behind {
            self.unlist_one(id, name);
        }
        Some(self.open_mut(id)?.subscriptions.remove(&name)?.standing)
    }
}

impl Subscription {
    /// One that is not read yet. `part`: what may be seen of it, if a rule says so.
    fn new(asked: Interest, part: Option<Interest>, first: Option<First>) -> Subscription {
        let (interest, ruled) = match part {
            None => (asked, None),
            Some(part) => (part, Some(Box::new(Ruled { asked, first: None, is_stale: true }))),
        };
        Subscription { interest, first, standing: Standing::Live, follows: None, ruled }
    }
}

impl Open {
    /// What is left of a load that had this. Returns what was being read, and is not waited for any more.
    fn leave_out_of(&mut self, id: LoadId, name: SubscriptionId) -> Vec<RequestId> {
        let load = self.loads.get_mut(&id).expect("a loading subscription has a load");
        let mut given_up = load.leave_out(name);
        if !load.is_empty() {
            return given_up;
        }
        given_up.extend(load.requests());
        self.loads.remove(&id);
        if self.flow == Flow::CatchingUp(id) {
            self.flow = Flow::Live;
        }
        given_up
    }
}

fn check(open: &Open, subscribe: &Subscribe, schema: &Schema) -> Result<(), Farewell> {
    let Subscribe { held: _, interests, first } = subscribe;
    if open.subscriptions.len() + interests.len() > limits::INTERESTS_MAX {
        let max = limits::INTERESTS_MAX;
        return Err(Farewell::Limit(format!("a session has at most {max} interests: unsubscribe from some")));
    }
    check_queries(open, interests)?;
    let mut names = BTreeSet::new();
    for (name, interest) in interests {
        if open.subscriptions.contains_key(name) || !names.insert(*name) {
            return Err(Farewell::Protocol(format!("subscription {} is in use", name.0)));
        }
        match interest {
            Interest::Cell(_) => {}
            Interest::Range { table: _, range } => check_bounds(range)?,
            // The schema's check has bounds for its bounds.
            Interest::Query(_) => continue,
        }
        if first.contains_key(name) {
            return Err(Farewell::Protocol(format!("subscription {} is no query: all of it is sent", name.0)));
        }
    }
    if let Some(name) = first.keys().find(|name| !names.contains(name)) {
        return Err(Farewell::Protocol(format!("there is no subscription {} of which to send the first rows", name.0)));
    }
    let checked = interests.iter().try_for_each(|(_, interest)| schema.check_interest(interest));
    checked.map_err(|error| Farewell::Schema(error.to_string()))
}

/// All queries of a session together take so much at most.
fn check_queries(open: &Open, interests: &[(SubscriptionId, Interest)]) -> Result<(), Farewell> {
    let size = |interest: &Interest| match interest {
        Interest::Query(query) => query.size_bytes(),
        Interest::Cell(_) | Interest::Range { .. } => 0,
    };
    let new: usize = interests.iter().map(|(_, interest)| size(interest)).sum();
    if new == 0 {
        return Ok(());
    }
    let bytes = new + open.subscriptions.values().map(|own| size(own.asked())).sum::<usize>();
    if bytes > limits::QUERIES_BYTES_MAX {
        let max = limits::QUERIES_BYTES_MAX;
        return Err(Farewell::Limit(format!("a session's queries take at most {max} bytes: unsubscribe from some")));
    }
    Ok(())
}

fn check_bounds(range: &KeyRange) -> Result<(), Farewell> {
    let longest = range.lower.len().max(range.upper.as_ref().map_or(0, |upper| upper.len()));
    if longest > limits::RANGE_BOUND_BYTES_MAX {
        let max = limits::RANGE_BOUND_BYTES_MAX;
        return Err(Farewell::Limit(format!("a range's bound has at most {max} bytes, not {longest}")));
    }
    Ok(())
}
