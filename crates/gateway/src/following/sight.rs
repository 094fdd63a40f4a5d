//! Sight: what of an interest a user may see, and when that changes.
//!
//! Invariants: what is followed for a user's interest is what the read rule lets that user see of it, by the key sets as of the feed's position. When it
//! changes, what is affected is read again, and the session is told nothing before that is there.
//! Source: Iolite's own (docs/protocols/gateway.md, "Rights"). The rule becomes conditions of a query once, and is evaluated for no change.

use std::collections::BTreeSet;
use std::sync::Arc;

use iolite_access::{Identity, User};
use iolite_machine::Now;
use iolite_rights::{Effective, Judgement, LogRights, Needs, Right, Rights, TableRights};
use iolite_values::{Interest, KeyRange, LogCheckpoint, LogId, LogPages, Query, Schema, TableId};
use iolite_wire::message::{Declination, First, Subscribe, SubscriptionId};

use crate::following::load::LoadId;
use crate::following::sets::SetUser;
use crate::gateway::target;
use crate::sessions::farewell::Farewell;
use crate::sessions::session::{Flow, Standing};
use crate::{Gateway, SessionId, limits};

/// As much of an interest as a user may see.
pub enum Sight {
    /// All of it, whatever rows there will be: no rule looks at them.
    All,
    /// As much as this. It is a query, unless the rule lets the user see all of it now.
    Part(Interest),
    /// The interest cannot be had.
    Declined(Declination),
    /// Some of the sets that it rests on have to be known first.
    Waits,
}

/// The rule of an interest.
#[derive(Clone, Debug)]
pub struct Ruled {
    /// As the client has subscribed to it, as far as it was answered.
    pub asked: Interest,
    /// How much was asked for first, if all of it was sent because it was no more.
    pub first: Option<First>,
    /// Whether the client holds nothing of it, or what other rights let its user see: it is read whole.
    pub is_stale: bool,
}

/// A message about interests that came while the sets are read that an earlier one waits for.
#[derive(Clone, Debug)]
pub enum PutOff {
    Subscribe(Subscribe),
    Unsubscribe(Vec<SubscriptionId>),
}

impl Gateway {
    /// As much of an interest as may be seen now, and all sets that this rests on.
    pub(crate) fn sight(&self, identity: &Identity, interest: &Interest) -> (Sight, Needs) {
        let (Some(rights), Identity::User(user)) = (self.catalog.rights(), identity) else {
            return (Sight::All, Needs::default());
        };
        if [LogPages::table(), LogCheckpoint::table()].contains(&interest.table()) {
            return self.sight_of_log(rights, user, interest);
        }
        match self.ruled_query(rights, interest) {
            Ok(query) => self.sight_by_sets(rights, user, interest, &query),
            Err(sight) => (sight, Needs::default()),
        }
    }

    /// The query of all that was asked for, if a rule has to be evaluated. Else the sight of it.
    fn ruled_query(&self, rights: &Rights, interest: &Interest) -> Result<Query, Sight> {
        let schema = self.catalog.schema();
        let Some(query) = query_of(interest, schema) else { return Err(Sight::All) };
        let name = schema.table_name(query.table).unwrap_or("?");
        match rights.tables.get(name) {
            Some(TableRights::Open) => Err(Sight::All),
            Some(TableRights::Rules(rules)) if rules.rule(Right::Read).is_some() => Ok(query),
            Some(TableRights::Rules(_)) | None => Err(Sight::Declined(Declination::Denied(format!(
                "table {name:?} has no rule \"read\", so nobody may see a row of it"
            )))),
        }
    }

    /// Pages and checkpoints are for those who may join their log.
    fn sight_of_log(&self, rights: &Rights, user: &User, interest: &Interest) -> (Sight, Needs) {
        let schema = self.catalog.schema();
        let of_log = |name: &str| rights.logs.get(name);
        let Some(log) = LogId::of_all(interest) else {
            let are_open = schema.logs().keys().all(|name| of_log(name) == Some(&LogRights::Open));
            let why = "these pages are of several logs, and not all of them are open: ask for those of one log";
            let sight = if are_open { Sight::All } else { Sight::Declined(Declination::Denied(why.into())) };
            return (sight, Needs::default());
        };
        if of_log(&log.name) == Some(&LogRights::Open) {
            return (Sight::All, Needs::default());
        }
        let (judgement, rests) = self.judge_by_sets(rights, &user.claims, |judge| judge.log(&log, None));
        match judgement {
            Judgement::Allowed(_) => (Sight::Part(interest.clone()), rests),
            Judgement::Denied(denial) => (Sight::Declined(Declination::Denied(denial.to_string())), rests),
            Judgement::Needs(needs) => match self.unknown_sight(rests, &needs.into_sets(schema)) {
                // The client keeps nothing of it.
                (Sight::Declined(_), rests) => (Sight::Declined(Declination::Denied(too_large_a_set())), rests),
                unknown => unknown,
            },
        }
    }

    /// The sight of what rests on more sets than are known.
    fn unknown_sight(&self, mut rests: Needs, needs: &Needs) -> (Sight, Needs) {
        let is_too_large = needs.sets.iter().any(|set| self.sets.is_too_large(set));
        rests.sets.extend(needs.sets.iter().cloned());
        let sight = if is_too_large { Sight::Declined(Declination::TooLarge(too_large_a_set())) } else { Sight::Waits };
        (sight, rests)
    }

    fn sight_by_sets(&self, rights: &Rights, user: &User, interest: &Interest, query: &Query) -> (Sight, Needs) {
        let (effective, rests) = self.judge_by_sets(rights, &user.claims, |judge| judge.effective(query));
        let sight = match effective {
            Effective::True => Sight::Part(interest.clone()),
            Effective::False => Sight::Part(nothing_of(query)),
            Effective::Conditions { .. } => {
                let part = effective.apply(query).map(|query| Interest::Query(Arc::new(query)));
                Sight::Part(part.unwrap_or_else(|| nothing_of(query)))
            }
            Effective::Declined(why) => Sight::Declined(Declination::TooLarge(why)),
            Effective::Needs(needs) => return self.unknown_sight(rests, &needs),
        };
        (sight, rests)
    }

    /// Puts a message off, until the sets are known that an earlier one waits for. The session ends if too much waits.
    pub(crate) fn put_off(&mut self, id: SessionId, message: PutOff) {
        let Some(open) = self.open_mut(id) else { return };
        open.put_off.push_back(message);
        let waiting: usize = open.put_off.iter().map(PutOff::size).sum();
        if waiting > limits::INTERESTS_MAX {
            let max = limits::INTERESTS_MAX;
            self.end(id, &Farewell::Limit(format!("at most {max} interests wait at one time: ask for fewer")));
        }
    }

    /// Goes on with what was put off.
    pub(crate) fn go_on_subscribing(&mut self, now: Now, id: SessionId) {
        while let Some(first) = self.open_mut(id).and_then(|open| open.put_off.pop_front()) {
            match first {
                PutOff::Unsubscribe(names) => self.unsubscribe(now, id, &names),
                PutOff::Subscribe(subscribe) => {
                    let Some(again) = self.subscribe(now, id, subscribe) else { continue };
                    let Some(open) = self.open_mut(id) else { return };
                    return open.put_off.push_front(PutOff::Subscribe(again));
                }
            }
        }
    }

    /// Looks again at what a session may see, after its sets or claims changed. Returns the loads that begin anew.
    pub(crate) fn review(&mut self, id: SessionId) -> BTreeSet<LoadId> {
        let changed = self.changed_sights(id);
        self.note_sight(id);
        let mut declined = Vec::new();
        let (mut loads, mut is_told) = (BTreeSet::new(), false);
        for (name, sight) in changed {
            let (interest, why) = sight;
            match self.set_sight(id, name, interest) {
                Some(Standing::Loading(load)) => drop(loads.insert(load)),
                Some(Standing::Live) => is_told = true,
                None => continue,
            }
            declined.extend(why.map(|why| (name, why)));
        }
        let Some(open) = self.open_mut(id) else { return loads };
        let seen = open.seen;
        if open.is_behind() {
            return BTreeSet::new();
        }
        if is_told {
            open.untold.drop_all();
            open.batch.drop_all();
            self.read_missed(id, seen);
        }
        for load in loads.clone() {
            let is_catching_up = self.open(id).is_some_and(|open| open.flow == Flow::CatchingUp(load));
            match is_catching_up {
                true => self.read_changes(id, load, seen),
                false => self.read_snapshots(id, load),
            }
        }
        for (name, why) in declined {
            let standing = self.open(id).and_then(|open| open.subscriptions.get(&name)).map(|own| own.standing);
            if let Some(Standing::Loading(load)) = standing {
                self.decline(id, load, name, why);
            }
        }
        loads
    }

    /// The interests of which something else may be seen than before, and why one cannot be had.
    fn changed_sights(&mut self, id: SessionId) -> Vec<(SubscriptionId, (Interest, Option<Declination>))> {
        let (mut changed, mut rests) = (Vec::new(), Needs::default());
        let Some(open) = self.open(id) else { return changed };
        for (name, own) in &open.subscriptions {
            let Some(ruled) = &own.ruled else { continue };
            let nothing = || query_of(&ruled.asked, self.catalog.schema()).map(|query| nothing_of(&query));
            let (sight, own_rests) = self.sight(&open.identity, &ruled.asked);
            rests.add(own_rests);
            let (interest, why) = match sight {
                Sight::All => (Some(ruled.asked.clone()), None),
                Sight::Part(interest) => (Some(interest), None),
                Sight::Declined(why) => (nothing(), Some(why)),
                Sight::Waits => (nothing(), None),
            };
            let Some(interest) = interest else { continue };
            if why.is_some() || interest != own.interest {
                changed.push((*name, (interest, why)));
            }
        }
        self.need_sets(SetUser::Session(id), &rests);
        changed
    }

    /// Follows something else for an interest. Returns how the interest stood.
    fn set_sight(&mut self, id: SessionId, name: SubscriptionId, interest: Interest) -> Option<Standing> {
        let is_behind = self.open(id)?.is_behind();
        if !is_behind {
            self.unlist_one(id, name);
        }
        let own = self.open_mut(id)?.subscriptions.get_mut(&name)?;
        let ruled = own.ruled.as_mut()?;
        ruled.is_stale = true;
        own.first = own.first.or(ruled.first);
        own.interest = interest.clone();
        let standing = own.standing;
        if !is_behind {
            self.index.insert(&interest, target(id, name));
        }
        Some(standing)
    }
}

impl PutOff {
    fn size(&self) -> usize {
        match self {
            PutOff::Subscribe(subscribe) => subscribe.interests.len().max(1),
            PutOff::Unsubscribe(names) => names.len().max(1),
        }
    }
}

/// Why somebody with so many rows of a set sees nothing by it.
pub fn too_large_a_set() -> String {
    let most = limits::SET_KEYS_MAX;
    format!("a set of this user's own rows has more than {most} of them: leave some")
}

/// All rows of an interest. None: the schema lacks its table.
fn query_of(interest: &Interest, schema: &Schema) -> Option<Query> {
    match interest {
        Interest::Cell(cell) => all_of(schema, cell.table, KeyRange::one(&cell.row)),
        Interest::Range { table, range } => all_of(schema, *table, range.clone()),
        Interest::Query(query) => Some((**query).clone()),
    }
}

/// All rows of a range. None: the schema lacks the table.
pub fn all_of(schema: &Schema, table: TableId, range: KeyRange) -> Option<Query> {
    let live = schema.table_by_id(table)?.live;
    Some(Query { keys: range, ..Query::all(table, live) })
}

/// The query of no row.
fn nothing_of(query: &Query) -> Interest {
    let none = KeyRange { lower: query.keys.lower.clone(), upper: Some(query.keys.lower.clone()) };
    Interest::Query(Arc::new(Query { keys: none, ..query.clone() }))
}
