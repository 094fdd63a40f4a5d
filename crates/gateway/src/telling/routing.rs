//! Sorts what a segment brings by the sessions, and by what it is to each of them.

use std::collections::{BTreeMap, BTreeSet};

use iolite_store::Commit;
use iolite_values::{TransactionId, Write};
use iolite_wire::message::{RowSnapshot, SubscriptionId};

use crate::following::index::Target;
use crate::following::load::{LoadId, LoadNews};
use crate::following::queries::Turnover;
use crate::sessions::session::{Standing, Subscription};
use crate::{Gateway, SessionId};

/// What a segment holds for one session.
#[derive(Debug, Default)]
pub struct Touched {
    pub changes: Vec<Write>,
    pub entered: Vec<RowSnapshot>,
    /// Whether a row is an answer of one of its live queries no longer.
    pub has_left: bool,
    /// The live queries of which these rows are, or were, answers.
    pub queries: BTreeSet<SubscriptionId>,
    pub loads: BTreeMap<LoadId, LoadNews>,
}

/// What a change is to a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Concern {
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
        for commit in commits {
            for write in commit.writes.iter() {
                let place = (write.cell.table, write.cell.row.clone());
                let answered = turnover.changed.get(&place);
                for (session, concern) in self.concerned(write, answered) {
                    if concern != Concern::Live || !self.was_published(commit.transaction, session) {
                        all.entry(session).or_default().take(concern, write);
                    }
                }
            }
        }
        for target in turnover.changed.into_values().flatten() {
            if self.subscription(target).standing == Standing::Live {
                touched(&mut all, target).queries.insert(target.subscription);
            }
        }
        for target in turnover.left {
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

    /// What a change is to the sessions that have an interest in it: the same once, however many interests include it.
    fn concerned(&self, write: &Write, answered: Option<&BTreeSet<Target>>) -> BTreeSet<(SessionId, Concern)> {
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
