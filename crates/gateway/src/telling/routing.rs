//! Sorts what a segment brings by the sessions, and by what it is to each of them.

use std::collections::{BTreeMap, BTreeSet};

use iolite_store::Commit;
use iolite_values::{Cell, TransactionId, Write};
use iolite_wire::message::{RowSnapshot, SubscriptionId};

use crate::following::index::Target;
use crate::following::load::{LoadId, LoadNews};
use crate::following::queries::{Place, Turnover};
use crate::interface::Broken;
use crate::sessions::session::{Standing, Subscription};
use crate::{Gateway, SessionId};

/// What a segment holds for one session.
#[derive(Debug, Default)]
pub struct Touched {
    pub changes: Vec<Write>,
    pub entered: Vec<RowSnapshot>,
    /// Whether a row is an answer of one of its live queries no longer.
    pub has_left: bool,
    /// Rows that have left all of its live interests, and perhaps its user's sight: what was written in them is not told.
    pub gone: BTreeSet<Place>,
    /// The live queries of which these rows are, or were, answers.
    pub queries: BTreeSet<SubscriptionId>,
    pub loads: BTreeMap<LoadId, LoadNews>,
}

/// What a change is to a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Concern {
    /// It is told.
    Live,
    /// It is kept, to be told with the answer of a load or to be folded into what that reads.
    Buffer(LoadId),
    /// It changes an answer that waits to be told.
    Answer(LoadId, SubscriptionId),
}

type All = BTreeMap<SessionId, Touched>;

impl Gateway {
    /// Sorts changes, and what they do to the answers of queries, by the sessions that they concern.
    pub(crate) fn route(&self, commits: &[Commit], turnover: Turnover) -> All {
        let mut all = All::new();
        let gone = self.gone(&turnover);
        for commit in commits {
            for write in commit.writes.iter() {
                let place = (write.cell.table, write.cell.row.clone());
                let answered = turnover.changed.get(&place);
                let is_told = |session| {
                    let is_gone = gone.get(&place).is_some_and(|sessions| sessions.contains(&session));
                    !is_gone && !self.was_published(commit.transaction, session)
                };
                for (session, concern) in self.concerned(write, answered) {
                    if concern != Concern::Live || is_told(session) {
                        all.entry(session).or_default().take(concern, write);
                    }
                }
            }
        }
        for (place, sessions) in gone {
            for session in sessions {
                all.entry(session).or_default().gone.insert(place.clone());
            }
        }
        for target in turnover.changed.into_values().flatten() {
            if self.subscription(target).standing == Standing::Live {
                touched(&mut all, target).queries.insert(target.subscription);
            }
        }
        for target in turnover.left.into_values().flatten() {
            if self.subscription(target).standing == Standing::Live {
                touched(&mut all, target).has_left = true;
            }
        }
        for ((table, key), (row, targets)) in turnover.entered {
            let snapshot = RowSnapshot { table, key, row };
            self.route_entered(&mut all, &snapshot, targets);
        }
        for (target, place) in turnover.found {
            if let Standing::Loading(load) = self.subscription(target).standing {
                let own = touched(&mut all, target).loads.entry(load).or_default();
                own.found.push((target.subscription, place.1));
            }
        }
        all
    }

    /// The rows that have left all live interests of a user's session, where a rule says what it may see. Nobody is told whether the rule has hidden it, nor
    /// what was written in it.
    fn gone(&self, turnover: &Turnover) -> BTreeMap<Place, BTreeSet<SessionId>> {
        let mut gone: BTreeMap<Place, BTreeSet<SessionId>> = BTreeMap::new();
        if self.settings.broken == Broken::TellTheLeavingChange {
            return gone;
        }
        for (place, left) in &turnover.left {
            let is_live = |target: &&Target| self.subscription(**target).standing == Standing::Live;
            let ruled = left.iter().filter(is_live).filter(|target| self.subscription(**target).ruled.is_some());
            let mut sessions: BTreeSet<SessionId> = ruled.map(|target| target.session).collect();
            if sessions.is_empty() {
                continue;
            }
            let stayed = turnover.changed.get(place).into_iter().flatten().filter(|target| !left.contains(target));
            let entered = turnover.entered.get(place).into_iter().flat_map(|(_, targets)| targets);
            for target in stayed.chain(entered).filter(is_live) {
                sessions.remove(&target.session);
            }
            self.index.matches(&Cell::row(place.0, place.1.clone()), |target| {
                if is_live(&&target) {
                    sessions.remove(&target.session);
                }
            });
            gone.insert(place.clone(), sessions);
        }
        gone
    }

    /// What a change is to the sessions that have an interest in it: the same once, however many interests include it.
    pub(crate) fn concerned(
        &self,
        write: &Write,
        answered: Option<&BTreeSet<Target>>,
    ) -> BTreeSet<(SessionId, Concern)> {
        let mut concerned = BTreeSet::new();
        self.index.matches(&write.cell, |target| {
            let concern = match self.subscription(target).standing {
                Standing::Live => Concern::Live,
                Standing::Loading(load) => Concern::Buffer(load),
            };
            concerned.insert((target.session, concern));
        });
        for target in answered.into_iter().flatten() {
            match self.subscription(*target).standing {
                Standing::Live => drop(concerned.insert((target.session, Concern::Live))),
                Standing::Loading(load) => {
                    concerned.insert((target.session, Concern::Answer(load, target.subscription)));
                }
            }
        }
        concerned
    }

    fn route_entered(&self, all: &mut All, row: &RowSnapshot, targets: BTreeSet<Target>) {
        let mut told = BTreeSet::new();
        for target in targets {
            let own = touched(all, target);
            match self.subscription(target).standing {
                Standing::Live => {
                    own.queries.insert(target.subscription);
                    if told.insert(target.session) {
                        own.entered.push(row.clone());
                    }
                }
                Standing::Loading(load) => {
                    own.loads.entry(load).or_default().entered.push((target.subscription, row.clone()));
                }
            }
        }
    }

    fn subscription(&self, target: Target) -> &Subscription {
        let open = self.open(target.session).expect("who is told of changes has an open session");
        open.subscriptions.get(&target.subscription).expect("what is told of changes is subscribed to")
    }

    fn was_published(&self, transaction: TransactionId, session: SessionId) -> bool {
        self.published.get(&transaction).is_some_and(|told| told.contains(&session))
    }
}

fn touched(all: &mut All, target: Target) -> &mut Touched {
    all.entry(target.session).or_default()
}

impl Touched {
    fn take(&mut self, concern: Concern, write: &Write) {
        let write = write.clone();
        match concern {
            Concern::Live => self.changes.push(write),
            Concern::Buffer(load) => self.loads.entry(load).or_default().buffer.push(write),
            Concern::Answer(load, name) => self.loads.entry(load).or_default().of_answers.push((name, write)),
        }
    }
}
