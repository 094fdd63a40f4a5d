//! Everything that a gateway's process tells of the table with the delivered view, written down as it leaves.

use std::collections::BTreeSet;
use std::mem;

use iolite_gateway::SessionId;
use iolite_machine::Now;
use iolite_store::Event;
use iolite_values::{Cell, RowKey, TableId, Timestamp};
use iolite_wire::message::{Advance, FromGateway};

use super::front_node::FrontNode;
use crate::app::chairs;
use crate::counts::Counts;
use crate::history::{AtFront, History, Told};
use crate::occasions::Occasion;

/// An advance that leaves in parts.
#[derive(Debug, Default)]
pub struct Telling {
    /// Up to where the session was told before it.
    from: Timestamp,
    /// Cells whose changes it brings. A session may follow some of a row only.
    changed: BTreeSet<Cell>,
    /// Rows that it brings whole: the session may not have had them before.
    whole: BTreeSet<(TableId, RowKey)>,
    has_snapshots: bool,
}

impl Telling {
    fn add(&mut self, part: &Advance) {
        let is_chair = |table: TableId| table == chairs::table();
        let changed = part.changes.iter().map(|write| write.cell.clone());
        self.changed.extend(changed.filter(|cell| is_chair(cell.table)));
        self.whole.extend(part.entered.iter().map(|row| (row.table, row.key.clone())));
        self.has_snapshots |= !part.snapshots.is_empty();
    }

    /// The cells of which the session was told every change, from its last advance on.
    fn cells(self) -> BTreeSet<Cell> {
        if self.has_snapshots || self.from == Timestamp::ZERO {
            return BTreeSet::new();
        }
        let Telling { changed, whole, .. } = self;
        changed.into_iter().filter(|cell| !whole.contains(&(cell.table, cell.row.clone()))).collect()
    }
}

impl FrontNode {
    fn at_front(&self, history: &History) -> AtFront {
        (history.store_behind(self.number), self.number)
    }

    /// Before the gateway hears of it.
    pub(super) fn note_fed(&self, now: Now, event: &Event, history: &mut History) {
        let Event::Feed(segment) = event else { return };
        let place = self.at_front(history);
        for commit in &segment.commits {
            if commit.writes.iter().any(|write| write.cell.table == chairs::table()) {
                history.delivery.note_fed(now.instant.as_nanos(), place, commit.at);
            }
        }
    }

    pub(super) fn note_delivery(&mut self, now: Now, session: SessionId, message: &FromGateway, history: &mut History) {
        let (store, front) = self.at_front(history);
        let moment = now.instant.as_nanos();
        let Some(codec) = self.sessions.get_mut(&session) else { return };
        let Some(client) = codec.client else { return };
        let advance = match message {
            FromGateway::Welcome(_) => return history.delivery.session_opened(moment, front, session, client),
            FromGateway::Advance(advance) => advance,
            FromGateway::SchemaWanted
            | FromGateway::Pong(_)
            | FromGateway::Goodbye(_)
            | FromGateway::LogWanted(_)
            | FromGateway::LogDiffers(_)
            | FromGateway::Stored(_)
            | FromGateway::Renewed(_) => return,
        };
        codec.telling.add(advance);
        if advance.more {
            return;
        }
        let next = Telling { from: advance.to, ..Telling::default() };
        let telling = mem::replace(&mut codec.telling, next);
        let (from, to) = (telling.from, advance.to);
        let cells = telling.cells();
        if !cells.is_empty() {
            history.delivery.told.push(Told { store, front, session, client, from, to, cells });
        }
        if let Some(through) = advance.delivered {
            history.delivery.note_said(moment, (store, front), client, through);
        }
    }

    /// Compares who is out of the set with who was.
    pub(super) fn note_out(&mut self, now: Now, occasions: &mut Counts<Occasion>, history: &mut History) {
        let is_same = self.gateway.left_out().eq(self.out.iter().copied());
        if is_same {
            return;
        }
        let (moment, place) = (now.instant.as_nanos(), self.at_front(history));
        let out: BTreeSet<_> = self.gateway.left_out().collect();
        for client in out.difference(&self.out) {
            occasions.add(Occasion::LeftOut, 1);
            history.delivery.note_out(moment, place, *client);
        }
        for client in self.out.difference(&out) {
            let has_session = self.sessions.values().any(|codec| codec.client == Some(*client));
            occasions.add(Occasion::CameBack, u64::from(has_session));
            history.delivery.note_back(moment, place.1, *client);
        }
        self.out = out;
    }
}
