//! Back-pressure: a session whose socket takes nothing costs nothing, until it is caught up or given up.
//!
//! Invariant: of a session that is behind only the position is kept. Its interests are not in the index and nothing is read for it.

use std::collections::BTreeSet;

use iolite_machine::Now;
use iolite_values::Timestamp;

use crate::following::load::{Load, Stage};
use crate::sessions::session::{Flow, Phase, Standing};
use crate::{Gateway, SessionId};

impl Gateway {
    pub(crate) fn on_drained(&mut self, now: Now, id: SessionId, messages: usize) {
        let enough = self.settings.limits.catch_up_undrained_bytes;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.outbound.drained(messages);
        let drained = session.outbound.bytes() <= enough;
        if drained && self.open(id).is_some_and(|open| open.is_behind()) {
            self.catch_up(now, id);
        }
    }

    /// Builds no more for this session.
    pub(crate) fn fall_behind(&mut self, now: Now, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Phase::Open(open) = &mut session.phase else { return };
        open.flow = Flow::Behind { since: now.instant };
        open.batch.drop_all();
        open.untold.drop_all();
        let given_up: Vec<_> = open.loads.values_mut().flat_map(|load| load.restart(Stage::Idle)).collect();
        let deadline = session.deadline(&self.settings.limits);
        self.timers.set(id, deadline);
        self.give_up(given_up);
        let names: Vec<_> = self.open(id).into_iter().flat_map(|open| open.subscriptions.keys().copied()).collect();
        names.into_iter().for_each(|name| self.unlist_one(id, name));
    }

    /// Reads what the session has missed, and what it asked for meanwhile.
    fn catch_up(&mut self, now: Now, id: SessionId) {
        self.list(id);
        let Some(open) = self.open_mut(id) else { return };
        let idle: Vec<_> = open.loads.keys().copied().collect();
        let seen = open.seen;
        open.flow = Flow::Live;
        self.read_missed(id, seen);
        for load in idle {
            self.read_snapshots(id, load);
        }
        self.read_own_outcomes(id);
        self.finish_loads(now, id);
    }

    /// Reads what has changed of all that the client holds, which is as of `after`. Nothing else is told before that.
    pub(crate) fn read_missed(&mut self, id: SessionId, after: Timestamp) {
        let Some(open) = self.open_mut(id) else { return };
        let live = open.subscriptions.iter().filter(|(_, own)| own.standing == Standing::Live);
        let missed: BTreeSet<_> = live.map(|(name, _)| *name).collect();
        if !missed.is_empty() {
            let load = open.add_load(Load::new(missed));
            open.flow = Flow::CatchingUp(load);
            self.read_changes(id, load, after);
        }
    }
}
