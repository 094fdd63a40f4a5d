//! What a stretch of the feed does to the answers of queries.
//!
//! All changes of a row in the stretch are taken together, because sessions see it only at the end of it. A row that was an answer is told by its changes,
//! whether it stays one or not; one that becomes an answer is told whole.
//! Invariant: of a row that may have become an answer all is known, by its changes or by reading it: what `unknown` names is read before `turn`.

use std::collections::{BTreeMap, BTreeSet};

use iolite_store::Commit;
use iolite_values::{KnownRow, Read, Row, Write, disturbs};
use iolite_wire::message::SubscriptionId;

use super::{Followed, Place, Queries, QueryId, apply_all, whole_after};
use crate::SessionId;
use crate::following::index::Target;

/// The changes of rows that queries may concern.
pub type Changes = BTreeMap<Place, Vec<Write>>;

/// Who is to be told of what.
#[derive(Debug, Default)]
pub struct Turnover {
    /// Every change of these rows.
    pub changed: BTreeMap<Place, BTreeSet<Target>>,
    /// To whom these rows are answers of some query no longer.
    pub left: BTreeMap<Place, BTreeSet<Target>>,
    /// These rows whole.
    pub entered: BTreeMap<Place, (Row, BTreeSet<Target>)>,
    /// That they lack this row no longer: it has entered, or is no answer.
    pub found: BTreeSet<(Target, Place)>,
}

impl Turnover {
    /// Takes out what concerns the gateway's own queries. Its targets are behind all others, so the sessions cost nothing.
    pub fn take_own(&mut self) -> Turnover {
        let first = Target { session: SessionId::OWN, subscription: SubscriptionId(0) };
        let split = |who: &mut BTreeSet<Target>| {
            let has_own = who.last().is_some_and(|last| *last >= first);
            has_own.then(|| who.split_off(&first))
        };
        let mut taken = Turnover::default();
        for (all, own) in [(&mut self.changed, &mut taken.changed), (&mut self.left, &mut taken.left)] {
            own.extend(all.iter_mut().filter_map(|(place, who)| Some((place.clone(), split(who)?))));
            all.retain(|_, who| !who.is_empty());
        }
        let entered = self.entered.iter_mut();
        taken
            .entered
            .extend(entered.filter_map(|(place, (row, who))| Some((place.clone(), (row.clone(), split(who)?)))));
        self.entered.retain(|_, (_, who)| !who.is_empty());
        self.found.retain(|(target, _)| *target < first);
        taken
    }
}

impl Queries {
    pub fn changes(&self, commits: &[Commit]) -> Changes {
        let mut changes = Changes::new();
        for write in commits.iter().flat_map(|commit| commit.writes.iter()) {
            if self.has_some_of(write.cell.table) {
                changes.entry((write.cell.table, write.cell.row.clone())).or_default().push(write.clone());
            }
        }
        changes
    }

    /// The rows that have to be read to know who came in.
    pub fn unknown(&self, changes: &Changes) -> BTreeSet<Place> {
        let concerned = changes.keys().chain(self.lacking.keys());
        concerned.filter(|place| self.is_unknown(changes, place)).cloned().collect()
    }

    /// Whether one of these rows has to be.
    pub fn is_unknown(&self, changes: &Changes, place: &Place) -> bool {
        let writes = changes.get(place).map(Vec::as_slice).unwrap_or_default();
        let is_needed = || {
            self.lacking.contains_key(place) || self.may_enter(place, &KnownRow::of(writes), writes).next().is_some()
        };
        whole_after(writes).is_none() && is_needed()
    }

    /// For whom one of these rows has to be.
    pub fn who_needs(&self, changes: &Changes, place: &Place) -> BTreeSet<Target> {
        let writes = changes.get(place).map(Vec::as_slice).unwrap_or_default();
        if whole_after(writes).is_some() {
            return BTreeSet::new();
        }
        let lacking = self.lacking.get(place).into_iter().flatten();
        let mut who: BTreeSet<Target> = lacking.map(|(target, _)| *target).collect();
        let known = KnownRow::of(writes);
        who.extend(self.may_enter(place, &known, writes).flat_map(|own| own.followers.iter().copied()));
        who
    }

    /// The queries into which these writes, of which `known` is known, may have brought a row.
    fn may_enter<'a>(
        &'a self,
        place: &'a Place,
        known: &'a KnownRow<'a>,
        writes: &'a [Write],
    ) -> impl Iterator<Item = &'a Followed> {
        let answered = self.answers.get(place);
        self.candidates.of_writes(place, known).filter_map(move |id| {
            self.note_look();
            let is_new = answered.is_none_or(|seen| !seen.contains_key(&id));
            let own = self.followed.get(&id).filter(|own| is_new && own.query.keys.contains(&place.1))?;
            disturbs(writes, &Read::Query(own.query.clone())).then_some(own)
        })
    }

    /// Takes the changes. `read` are rows as of their end.
    pub fn turn(&mut self, changes: &Changes, read: &BTreeMap<Place, Row>) -> Turnover {
        let mut turnover = Turnover::default();
        for (place, writes) in changes {
            let before = self.change_answers(place, writes, &mut turnover);
            let whole = whole_after(writes);
            if let Some(row) = whole.as_ref().or_else(|| read.get(place)) {
                self.enter(place, row, &before, &mut turnover);
            }
        }
        for (place, who) in std::mem::take(&mut self.lacking) {
            let whole = changes.get(&place).and_then(|writes| whole_after(writes));
            let row = whole.or_else(|| read.get(&place).cloned()).expect("what is lacked was read");
            self.find(place, &row, &who, &mut turnover);
        }
        turnover
    }

    /// Changes what is seen of a row. Returns of which queries it was an answer before.
    fn change_answers(&mut self, place: &Place, writes: &[Write], turnover: &mut Turnover) -> BTreeSet<QueryId> {
        let Some(seen) = self.answers.get_mut(place) else { return BTreeSet::new() };
        let mut left = Vec::new();
        let told = turnover.changed.entry(place.clone()).or_default();
        let whole = whole_after(writes);
        for (id, row) in seen.iter_mut() {
            let Some(own) = self.followed.get(id) else { continue };
            told.extend(own.followers.iter().copied());
            match &whole {
                Some(whole) => *row = own.seen_of(whole),
                None => apply_all(row, writes.iter().filter(|write| own.columns.contains(&write.cell.column))),
            }
            if !own.query.selects(&place.1, whole.as_ref().unwrap_or(row)) {
                turnover.left.entry(place.clone()).or_default().extend(own.followers.iter().copied());
                left.push(*id);
            }
        }
        let before = seen.keys().copied().collect();
        for id in left {
            self.drop_answer(id, place);
        }
        before
    }

    /// A row that is known whole comes into the queries that select it, but for those of which it was an answer already.
    fn enter(&mut self, place: &Place, row: &Row, before: &BTreeSet<QueryId>, turnover: &mut Turnover) {
        for id in self.candidates.of_row(place, row).difference(before) {
            self.note_look();
            let Some(own) = self.followed.get(id).filter(|own| own.query.selects(&place.1, row)) else { continue };
            let entered = turnover.entered.entry(place.clone()).or_insert_with(|| (row.clone(), BTreeSet::new()));
            entered.1.extend(own.followers.iter().copied());
            self.add_answer(*id, &place.1, row);
        }
    }

    /// Gives a row to those who lack it. Who follows one of their queries and does not lack it knows already whether it is an answer.
    fn find(&mut self, place: Place, row: &Row, who: &BTreeSet<(Target, QueryId)>, turnover: &mut Turnover) {
        for (target, id) in who {
            let selects = self.followed.get(id).is_some_and(|own| own.query.selects(&place.1, row));
            if selects {
                self.add_answer(*id, &place.1, row);
                let entered = turnover.entered.entry(place.clone()).or_insert_with(|| (row.clone(), BTreeSet::new()));
                entered.1.insert(*target);
            }
            turnover.found.insert((*target, place.clone()));
        }
    }
}
