//! Key sets: the rows by which read rules say what a user may see, as the rows of `members` that are the user's own.
//!
//! A set is a query of the gateway itself, one for each user and set, followed like any other as long as a session needs it. So is a row that a rule follows
//! by its key, where an answer has to be followed: a set of one row at most.
//! Invariants: a set that is known is as of the feed's position. Who asks for something that rests on a set is not answered before the set is known. When a
//! set changes, all sessions that rest on it are told nothing by the set as it was.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_machine::Now;
use iolite_rights::{Claims, Judge, Needs, Rights, RowName, Rows};
use iolite_store::{Commit, ReadLimit, ReadReply, Request, RequestId, TooOld};
use iolite_values::{Interest, Query, Row, RowKey, Schema, Write};
use iolite_wire::message::SubscriptionId;

use crate::asking::RightId;
use crate::following::answer::Answer;
use crate::following::index::Target;
use crate::following::queries::{Turnover, apply_all};
use crate::following::reading::{Extent, Wanted};
use crate::interface::Broken;
use crate::sessions::farewell::Farewell;
use crate::store::Purpose;
use crate::{Gateway, SessionId, limits};

/// Somebody who rests on key sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetUser {
    Session(SessionId),
    /// A question of the door of objects.
    Asker(RightId),
}

/// All key sets that sessions need.
#[derive(Debug, Default)]
pub struct KeySets {
    numbers: BTreeMap<Arc<Query>, SubscriptionId>,
    sets: BTreeMap<SubscriptionId, KeySet>,
    last: u32,
}

#[derive(Debug)]
struct KeySet {
    query: Arc<Query>,
    rows: State,
    users: BTreeSet<SetUser>,
}

#[derive(Debug)]
enum State {
    /// The store keeps nothing as old as the feed's position: it is read when the feed has moved on.
    Early,
    /// With what was written since in rows that it may have.
    Reading(RequestId, Vec<Write>),
    Known(BTreeMap<RowKey, Row>),
}

impl KeySets {
    /// Whether a user has more rows of a set than a set may have. It has no answers then.
    pub fn is_too_large(&self, query: &Query) -> bool {
        self.known(query).is_some_and(|rows| rows.len() > limits::SET_KEYS_MAX)
    }

    fn known(&self, query: &Query) -> Option<&BTreeMap<RowKey, Row>> {
        match &self.sets.get(self.numbers.get(query)?)?.rows {
            State::Known(rows) => Some(rows),
            State::Early | State::Reading(..) => None,
        }
    }

    /// The rows that answers may rest on: of a set that is known and not too large.
    fn usable(&self, query: &Query) -> Option<&BTreeMap<RowKey, Row>> {
        self.known(query).filter(|rows| rows.len() <= limits::SET_KEYS_MAX)
    }

    /// The same rows, copied.
    pub fn rows(&self, query: &Query) -> Option<Vec<(RowKey, Row)>> {
        let rows = self.usable(query)?.iter();
        Some(rows.map(|(key, row)| (key.clone(), row.clone())).collect())
    }

    /// The sets that a session rests on, as far as they are known.
    pub fn of(&self, id: SessionId) -> impl Iterator<Item = (&Query, &BTreeMap<RowKey, Row>)> {
        let sets = self.numbers.iter().filter_map(|(query, number)| Some((&**query, self.sets.get(number)?)));
        let own = sets.filter(move |(_, own)| own.users.contains(&SetUser::Session(id)));
        own.filter_map(|(query, own)| match &own.rows {
            State::Known(rows) => Some((query, rows)),
            State::Early | State::Reading(..) => None,
        })
    }

    /// How many follow a query.
    pub fn followers(&self) -> usize {
        self.sets.values().filter(|own| matches!(own.rows, State::Known(_))).count()
    }

    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    pub fn validate(&self, is_there: impl Fn(SetUser) -> bool) {
        assert_eq!(self.numbers.len(), self.sets.len(), "sets have names");
        let users = self.sets.values().map(|own| &own.users);
        assert!(users.clone().all(|users| !users.is_empty()), "no set is kept for nobody");
        assert!(users.flatten().all(|user| is_there(*user)), "who needs a set is there");
    }

    /// Changes the rows that are known. Returns the sessions whose sets have changed.
    fn change(&mut self, commits: &[Commit], turnover: &Turnover) -> BTreeSet<SetUser> {
        let mut changed = BTreeSet::new();
        let writes = commits.iter().flat_map(|commit| commit.writes.iter());
        for own in self.sets.values_mut() {
            if let State::Reading(_, since) = &mut own.rows {
                let query = &own.query;
                let is_of_it = |write: &&Write| write.cell.table == query.table && query.keys.contains(&write.cell.row);
                since.extend(writes.clone().filter(is_of_it).cloned());
            }
        }
        let moved = turnover.changed.iter().flat_map(|(place, who)| who.iter().map(move |target| (place, target)));
        for (place, target) in moved {
            let Some((query, rows, users)) = self.known_mut(*target) else { continue };
            let of_row = writes.clone().filter(|own| (own.cell.table, &own.cell.row) == (place.0, &place.1));
            let Some(row) = rows.get_mut(&place.1) else { continue };
            apply_all(row, of_row);
            if !query.selects(&place.1, row) {
                rows.remove(&place.1);
            }
            changed.extend(users.iter().copied());
        }
        let entered =
            turnover.entered.iter().flat_map(|(place, (row, who))| who.iter().map(move |own| (place, row, own)));
        for (place, row, target) in entered {
            let Some((_, rows, users)) = self.known_mut(*target) else { continue };
            rows.insert(place.1.clone(), row.clone());
            changed.extend(users.iter().copied());
        }
        changed
    }

    fn known_mut(&mut self, target: Target) -> Option<(&Query, &mut BTreeMap<RowKey, Row>, &BTreeSet<SetUser>)> {
        let own = self.sets.get_mut(&target.subscription).filter(|_| target.session == SessionId::OWN)?;
        match &mut own.rows {
            State::Known(rows) => Some((&own.query, rows, &own.users)),
            State::Early | State::Reading(..) => None,
        }
    }
}

/// The sets, for one judgement, which notes on what it rests.
struct Looked<'a> {
    sets: &'a KeySets,
    schema: &'a Schema,
    at: RefCell<BTreeSet<Arc<Query>>>,
}

impl<'a> Looked<'a> {
    fn new(sets: &'a KeySets, schema: &'a Schema) -> Looked<'a> {
        Looked { sets, schema, at: RefCell::default() }
    }

    fn known(&self, query: &Query) -> Option<&'a BTreeMap<RowKey, Row>> {
        let rows = self.sets.usable(query)?;
        self.at.borrow_mut().insert(Arc::new(query.clone()));
        Some(rows)
    }

    /// The sets by which it was judged.
    fn into_needs(self) -> Needs {
        Needs { sets: self.at.into_inner(), ..Needs::default() }
    }
}

impl Rows for Looked<'_> {
    /// A row that a rule follows by its key is a set of one row at most.
    fn row(&self, row: &RowName) -> Option<Cow<'_, Row>> {
        let found = self.known(&row.query(self.schema)?)?.get(&row.key);
        Some(found.map(Cow::Borrowed).unwrap_or_default())
    }

    fn answers(&self, query: &Query) -> Option<Vec<(RowKey, Cow<'_, Row>)>> {
        let rows = self.known(query)?.iter();
        Some(rows.map(|(key, row)| (key.clone(), Cow::Borrowed(row))).collect())
    }
}

fn target_of(number: SubscriptionId) -> Target {
    Target { session: SessionId::OWN, subscription: number }
}

impl Gateway {
    /// Asks a judge that knows the rows of sets, as of the feed's position. Returns its answer, and the sets that this rests on. No rule whose answer is
    /// followed looks at the time.
    pub(crate) fn judge_by_sets<T>(
        &self,
        rights: &Rights,
        claims: &Claims,
        ask: impl FnOnce(&Judge<'_>) -> T,
    ) -> (T, Needs) {
        let looked = Looked::new(&self.sets, self.catalog.schema());
        let judge = Judge { rights, schema: self.catalog.schema(), claims, now_ms: 0, rows: &looked };
        let answer = ask(&judge);
        (answer, looked.into_needs())
    }

    /// Somebody rests on these sets from now on.
    pub(crate) fn need_sets(&mut self, user: SetUser, needs: &Needs) {
        for query in &needs.sets {
            let all = &mut self.sets;
            if let Some(own) = all.numbers.get(query).and_then(|number| all.sets.get_mut(number)) {
                own.users.insert(user);
                continue;
            }
            all.last += 1;
            let number = SubscriptionId(all.last);
            let own = KeySet { query: Arc::clone(query), rows: State::Early, users: BTreeSet::from([user]) };
            all.numbers.insert(Arc::clone(query), number);
            all.sets.insert(number, own);
            self.read_set(number);
        }
    }

    /// A session has ended, or needs no set any more. Sets that nobody needs are forgotten.
    pub(crate) fn leave_sets(&mut self, user: SetUser) {
        let left = self
            .sets
            .sets
            .iter_mut()
            .filter_map(|(number, own)| (own.users.remove(&user) && own.users.is_empty()).then_some(*number));
        for number in left.collect::<Vec<_>>() {
            let Some(gone) = self.sets.sets.remove(&number) else { continue };
            self.sets.numbers.remove(&gone.query);
            match gone.rows {
                State::Early => {}
                State::Reading(request, _) => self.give_up([request]),
                State::Known(_) => self.queries.unfollow(&gone.query, target_of(number)),
            }
        }
    }

    fn read_set(&mut self, number: SubscriptionId) {
        let at = self.position();
        let Some(own) = self.sets.sets.get(&number) else { return };
        let interest = Interest::Query(Arc::clone(&own.query));
        // One more than it may have tells that it has too many.
        let limit = ReadLimit { rows: limits::SET_KEYS_MAX + 1, ..ReadLimit::NONE };
        let request = self.ask(Purpose::Set(number), Request::ReadAt { interest, at, limit });
        if let Some(own) = self.sets.sets.get_mut(&number) {
            own.rows = State::Reading(request, Vec::new());
        }
    }

    pub(crate) fn on_set(&mut self, now: Now, number: SubscriptionId, reply: Result<ReadReply, TooOld>) {
        let position = self.position();
        let Some(own) = self.sets.sets.get_mut(&number) else { return };
        let State::Reading(_, since) = std::mem::replace(&mut own.rows, State::Early) else { return };
        let rows = match reply {
            Ok(reply) => reply.rows,
            Err(TooOld { low_watermark }) if low_watermark <= position => return self.read_set(number),
            Err(TooOld { .. }) => return,
        };
        let wanted = Wanted { subscription: number, rows, extent: Extent::All };
        let answer = Answer::new(&own.query, wanted, &since);
        if !answer.is_whole() {
            return self.read_set(number);
        }
        let (query, rows, users) = (Arc::clone(&own.query), answer.rows().clone(), own.users.clone());
        own.rows = State::Known(rows.clone());
        self.queries.follow(&query, target_of(number), &rows, &BTreeSet::new());
        for user in users {
            match user {
                SetUser::Session(id) => {
                    self.go_on_subscribing(now, id);
                    self.review(id);
                    self.finish_loads(now, id);
                }
                SetUser::Asker(id) => self.ask_right_again(id),
            }
        }
    }

    /// The store cannot read a set: who needs it begins anew.
    pub(crate) fn on_set_refused(&mut self, number: SubscriptionId, problem: &str) {
        self.give_up_set(target_of(number), problem);
    }

    /// Ends the sessions that need a set of which nobody can say what it has. False: this is no set.
    pub(crate) fn give_up_set(&mut self, target: Target, problem: &str) -> bool {
        let users = self.sets.sets.get(&target.subscription).map(|own| own.users.clone()).unwrap_or_default();
        if target.session == SessionId::OWN {
            for user in users {
                match user {
                    SetUser::Session(id) => self.end(id, &Farewell::Unavailable(problem.to_owned())),
                    SetUser::Asker(id) => self.give_up_right(id),
                }
            }
        }
        target.session == SessionId::OWN
    }

    /// Takes what a segment does to the sets out of what it does to sessions. Returns the sessions whose sets have changed.
    pub(crate) fn change_sets(&mut self, commits: &[Commit], turnover: &mut Turnover) -> BTreeSet<SessionId> {
        if self.sets.is_empty() {
            return BTreeSet::new();
        }
        let own = turnover.take_own();
        let changed = self.sets.change(commits, &own);
        let (mut sessions, goes_on) = (BTreeSet::new(), self.settings.broken == Broken::KeepFollowing);
        for user in changed.into_iter().filter(|_| !goes_on) {
            match user {
                SetUser::Session(id) => drop(sessions.insert(id)),
                SetUser::Asker(id) => self.withdraw_right(id),
            }
        }
        sessions
    }

    /// Reads the sets that waited for the feed to move on.
    pub(crate) fn read_early_sets(&mut self) {
        let early = self.sets.sets.iter().filter(|(_, own)| matches!(own.rows, State::Early));
        for number in early.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.read_set(number);
        }
    }
}
