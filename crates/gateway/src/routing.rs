//! Sorts what a segment brings by the sessions, and by what it is to each of them.

use std::collections::{BTreeMap, BTreeSet};

use iolite_store::Commit;
use iolite_values::{TransactionId, Write};
use iolite_wire::message::{RowSnapshot, SubscriptionId};

use crate::index::Target;
use crate::load::{LoadId, LoadNews};
use crate::queries::{Place, Turnover};
use crate::session::{Standing, Subscription};
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
    /// It changes a row that waits to be told because it entered.
    Entered(LoadId),
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
                for (session, concern) in self.concerned(write, &place, answered) {
                    if concern != Concern::Live || !self.was_published(commit.transaction, session) {
                        all.entry(session).or_default().take(concern, write);
                    }
                }
            }
        }
        for (place, targets) in turnover.changed {
            targets.into_iter().for_each(|target| self.note_changed(&mut all, target, &place));
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
    fn concerned(
        &self,
        write: &Write,
        place: &Place,
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
                    let concerns = self.concerns_of_load(*target, load, place);
                    concerned.extend(concerns.map(|concern| (target.session, concern)));
                }
            }
        }
        concerned
    }

    /// A row that has entered may be one that the client holds already: then its changes are kept as well, to be told if it leaves before the row is.
    fn concerns_of_load(&self, target: Target, load: LoadId, place: &Place) -> impl Iterator<Item = Concern> {
        let own = self.open(target.session).and_then(|open| open.loads.get(&load));
        let own = own.expect("a loading subscription has a load");
        let (answer, entered) = (own.has_answer_to(target.subscription), own.has_entered(place));
        let answer_concern = answer.then_some(Concern::Answer(load, target.subscription));
        let entered_concern = (!answer && entered).then_some(Concern::Entered(load));
        let buffer_concern = (!answer && own.buffers(place)).then_some(Concern::Buffer(load));
        [answer_concern, entered_concern, buffer_concern].into_iter().flatten()
    }

    fn note_changed(&self, all: &mut All, target: Target, place: &Place) {
        let own = touched(all, target);
        match self.subscription(target).standing {
            Standing::Live => drop(own.queries.insert(target.subscription)),
            Standing::Loading(load) => {
                own.loads.entry(load).or_default().changed.push((target.subscription, place.clone()));
            }
        }
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
            Concern::Entered(load) => self.loads.entry(load).or_default().of_entered.push(write),
        }
    }
}
