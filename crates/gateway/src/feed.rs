//! The feed: every segment reaches the sessions that it concerns, each with one advance.
//!
//! Invariant: a change is told once to a session, however many of its interests include it.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Now;
use iolite_store::{Commit, Segment};
use iolite_values::{TransactionId, Write};

use crate::load::{LoadId, News};
use crate::session::Standing;
use crate::without::Without;
use crate::{Gateway, SessionId};

/// What a segment holds for one session.
#[derive(Debug, Default)]
struct Touched {
    live: Vec<Write>,
    loads: BTreeMap<LoadId, Vec<Write>>,
}

impl Gateway {
    pub(crate) fn on_segment(&mut self, now: Now, segment: Segment) {
        assert_eq!(segment.from, self.position(), "the feed's segments join");
        assert!(segment.to >= segment.from, "the feed goes forward");
        let surprised = self.surprised(&segment.commits);
        for (id, after) in &surprised {
            self.await_own_outcomes(*id, *after);
        }
        let touched = self.route(&segment.commits);
        self.watch_schemas(&segment.commits);
        self.home.set_position(segment.to);
        for commit in &segment.commits {
            self.published.remove(&commit.transaction);
        }
        let mut due = self.due.take(segment.to);
        for (id, touched) in touched {
            due.remove(&id);
            self.deliver(now, id, touched);
        }
        for id in due {
            self.finish_loads(now, id);
        }
        for id in surprised.into_keys() {
            self.read_own_outcomes(id);
        }
        self.finish_growth();
        self.retry_held(now);
        self.idle.note(!segment.commits.is_empty());
        self.schedule_idle(now);
    }

    /// Sorts changes by the sessions that they concern.
    fn route(&self, commits: &[Commit]) -> BTreeMap<SessionId, Touched> {
        let mut touched: BTreeMap<SessionId, Touched> = BTreeMap::new();
        for commit in commits {
            for write in commit.writes.iter() {
                for (session, standing) in self.concerned(write) {
                    let told = standing == Standing::Live && self.was_published(commit.transaction, session);
                    if told {
                        continue;
                    }
                    let own = touched.entry(session).or_default();
                    match standing {
                        Standing::Live => own.live.push(write.clone()),
                        Standing::Loading(load) => own.loads.entry(load).or_default().push(write.clone()),
                    }
                }
            }
        }
        touched
    }

    /// The sessions with an interest in a change, and what it is to them: each once, and each of their loads once.
    fn concerned(&self, write: &Write) -> BTreeSet<(SessionId, Standing)> {
        let mut concerned = BTreeSet::new();
        self.index.matches(&write.cell, |target| {
            let open = self.open(target.session).expect("the index names open sessions");
            let own = open.subscriptions.get(&target.subscription).expect("the index names their subscriptions");
            concerned.insert((target.session, own.standing));
        });
        concerned
    }

    fn deliver(&mut self, now: Now, id: SessionId, touched: Touched) {
        let buffer_bytes_max = self.settings.limits.load_buffer_bytes_max;
        let Some(open) = self.open_mut(id) else { return };
        let mut touched_loads = Vec::new();
        for (load, changes) in touched.loads {
            let own = open.loads.get_mut(&load).expect("a loading subscription has a load");
            own.push(changes);
            touched_loads.push(load);
        }
        if open.buffer_bytes() > buffer_bytes_max {
            touched_loads.into_iter().for_each(|load| self.read_snapshots(id, load));
        }
        if touched.live.is_empty() {
            self.finish_loads(now, id);
        } else if self.settings.without == Without::DataPush {
            self.send_notice(now, id, &touched.live);
        } else {
            self.tell_changes(now, id, touched.live);
        }
    }

    fn was_published(&self, transaction: TransactionId, session: SessionId) -> bool {
        self.published.get(&transaction).is_some_and(|told| told.contains(&session))
    }

    /// What no gateway should do: tells a commit before the feed does.
    pub(crate) fn publish_early(&mut self, now: Now, commit: &Commit) {
        let touched = self.route(std::slice::from_ref(commit));
        let live = touched.into_iter().filter(|(_, own)| !own.live.is_empty());
        let live: Vec<_> = live.filter(|(id, _)| self.open(*id).is_some_and(crate::session::Open::is_live)).collect();
        let told = live.iter().map(|(id, _)| *id).collect();
        self.published.insert(commit.transaction, told);
        for (id, touched) in live {
            if let Some(open) = self.open_mut(id) {
                open.seen = open.seen.max(commit.at);
            }
            self.send_advance(now, id, News { changes: touched.live, ..News::default() });
        }
    }
}
