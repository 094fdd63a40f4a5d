//! What the gateway tells the client.
//!
//! Invariant: an `Advance` is applied whole, when its last part is there and all of it fits the schema; otherwise the link is dropped and
//! nothing has changed.

use iolite_machine::Now;
use iolite_values::{CellState, ColumnId, ColumnType, Counter, Id, OperationError, Write};
use iolite_wire::message::{Advance, FromClient, FromGateway, Outcome, Rejection, RowSnapshot, Verdict};

use super::Client;
use super::delivery::AdvanceSummary;
use crate::cache::RowId;
use crate::interface::{Broken, MutationStatus};
use crate::queue::{Decided, GivenUp};
use crate::reason::shortened;
use crate::session::Phase;

impl Client {
    pub(super) fn on_frame(&mut self, now: Now, frame: &[u8]) {
        let Some(link) = self.session.link_mut() else { return };
        link.hear(now.instant);
        let phase = link.phase;
        match (link.decoder.decode(frame), phase) {
            (Ok(FromGateway::Welcome(welcome)), Phase::Greeting) => self.on_welcome(now, welcome),
            (Ok(FromGateway::SchemaWanted), Phase::Greeting) => self.send(FromClient::Schema(self.schema.to_json())),
            (Ok(FromGateway::Advance(part)), Phase::Resuming | Phase::Open) => self.on_part(now, part),
            (Ok(FromGateway::Pong(number)), _) => self.on_pong(now, number),
            (Ok(FromGateway::Goodbye(goodbye)), _) => self.on_goodbye(now, &goodbye),
            (Ok(FromGateway::LogWanted(part)), Phase::Resuming | Phase::Open) => self.on_log_wanted(part),
            (Ok(FromGateway::LogDiffers(hash)), Phase::Resuming | Phase::Open) => self.on_log_differs(&hash),
            (Ok(FromGateway::Stored(counter)), Phase::Resuming | Phase::Open) => self.on_stored(counter),
            (Ok(FromGateway::Renewed(left)), Phase::Resuming | Phase::Open) => self.on_renewed(now.instant, left),
            (
                Ok(
                    FromGateway::Welcome(_)
                    | FromGateway::SchemaWanted
                    | FromGateway::Advance(_)
                    | FromGateway::LogWanted(_)
                    | FromGateway::LogDiffers(_)
                    | FromGateway::Stored(_)
                    | FromGateway::Renewed(_),
                ),
                _,
            )
            | (Err(_), _) => self.leave(now),
        }
    }

    /// A call is in the data centre. What it is told of it later is its outcome.
    fn on_stored(&mut self, counter: Counter) {
        let Some(entry) = self.queue.entry_mut(counter) else { return };
        entry.is_in_centre = true;
        self.report(counter);
    }

    fn on_pong(&mut self, now: Now, number: u32) {
        let after = self.session.link_mut().and_then(|link| link.pong(now.instant, number));
        if let Some(after) = after {
            self.session.answered(after);
        }
    }

    /// The gateway makes no sense: the link is of no use. Another may be.
    fn leave(&mut self, now: Now) {
        self.drop_link();
        self.session.lost(now.instant, Some(std::time::Duration::from_secs(1)));
    }

    fn on_part(&mut self, now: Now, part: Advance) {
        let more = part.more;
        let whole = match self.partial.take() {
            Some(so_far) => joined(so_far, part),
            None => part,
        };
        self.session.link_mut().into_iter().for_each(|link| link.expect_part(more));
        if more {
            self.partial = Some(whole);
        } else if self.fits_schema(&whole) && self.moving.is_staging() {
            self.stage(now, whole);
        } else if self.fits_schema(&whole) && whole.to >= self.cache.at() {
            self.on_advance(now, whole);
        } else {
            self.leave(now);
        }
    }

    fn fits_schema(&self, advance: &Advance) -> bool {
        let changes = advance.changes.iter().all(|write| self.write_fits_schema(write));
        let rows = advance.snapshots.iter().flat_map(|snapshot| &snapshot.rows);
        changes && rows.chain(&advance.entered).all(|row| self.row_fits_schema(row))
    }

    /// A server with a newer schema has columns that this client does not know: they are held, and not looked at.
    fn write_fits_schema(&self, write: &Write) -> bool {
        match self.schema.check_write(write) {
            Ok(()) | Err(OperationError::UnknownColumn { .. }) => true,
            Err(
                OperationError::UnknownTable(_)
                | OperationError::Type { .. }
                | OperationError::Key { .. }
                | OperationError::LifeOfLiveRow { .. }
                | OperationError::NoEffect { .. }
                | OperationError::InsertedOnly { .. }
                | OperationError::AddedOnly { .. }
                | OperationError::TwoDomains { .. }
                | OperationError::Query(_)
                | OperationError::Malformed(_),
            ) => false,
        }
    }

    pub(super) fn row_fits_schema(&self, snapshot: &RowSnapshot) -> bool {
        let Some(table) = self.schema.table_by_id(snapshot.table) else { return false };
        let fits = |(column, state): (ColumnId, &CellState)| {
            table.column(column).is_none_or(|(_, definition)| is_of_type(state, table.stored_kind(definition.kind)))
        };
        snapshot.row.cells().all(fits)
    }

    pub(super) fn on_advance(&mut self, now: Now, advance: Advance) {
        if !says_nothing(&advance) {
            self.note_use();
        }
        let summary = AdvanceSummary::of(&advance);
        let delivered = self.await_delivery(&advance);
        let foreseen = self.queue.foresee(&advance.outcomes, advance.to, &self.cache);
        let mut rows = self.cache.apply(&advance.changes);
        rows.extend(self.cache.enter(advance.entered));
        rows.extend(self.cache.take_away(advance.gone));
        let loaded = !advance.snapshots.is_empty();
        rows.extend(match advance.rights.is_some_and(|own| self.rights != Some(own)) {
            true => self.cache.replace_by_rights(advance.snapshots),
            false => self.cache.replace(advance.snapshots),
        });
        self.cache.advance(advance.to);
        self.note_rights(advance.rights);
        self.moving.see(advance.clock);
        self.compare_due = true;
        for outcome in &advance.outcomes {
            self.on_outcome(now, outcome);
        }
        let contained = self.queue.contained(self.cache.at());
        let is_contained = |counter: &Counter| contained.iter().any(|(own, _)| own == counter);
        let foreseen = foreseen.filter(|foreseen| foreseen.of.iter().all(is_contained));
        self.confirm(&contained, foreseen.as_ref());
        let expected = |id: &RowId| foreseen.as_ref().is_some_and(|own| own.is_as_foreseen(id, &self.cache));
        let others: Vec<RowId> = rows.iter().filter(|id| !expected(id)).cloned().collect();
        if loaded {
            self.queue.look_again(others);
        } else {
            self.queue.unsettle(others);
        }
        self.judge_kept(&rows);
        self.note_rows(rows);
        self.note_delivery(&summary, delivered);
        self.note_members(advance.members);
        advance.declined.into_iter().for_each(|declined| self.on_declined(declined));
        self.enter(now, Phase::Open);
    }

    /// Notes the rights that what is told from now on rests on.
    fn note_rights(&mut self, rights: Option<Id>) {
        if rights.is_some() && rights != self.rights {
            self.rights = rights;
            self.try_closed_logs_again();
        }
    }

    fn on_outcome(&mut self, now: Now, outcome: &Outcome) {
        if self.on_set_outcome(outcome) {
            return;
        }
        let decided = self.queue.decide(outcome);
        match &decided {
            None => {}
            // What follows one that conflicted was not tried.
            Some(Decided::Again) if !self.queue.is_first_undecided(outcome.counter) => {}
            Some(Decided::Again) => self.rest.conflicted(now.instant),
            Some(Decided::Committed(_) | Decided::GivenUp(_) | Decided::Rejected(_)) => self.rest.end(),
        }
        match decided {
            Some(Decided::Committed(at)) if self.broken == Broken::RemoveAtReply => {
                self.end(outcome.counter, MutationStatus::Confirmed { at });
            }
            Some(Decided::Committed(at)) => self.note_committed(outcome.counter, at),
            None => {}
            Some(Decided::Again) => self.doubt_seal(outcome.counter),
            Some(Decided::GivenUp(_)) if self.keep_after_all(outcome.counter) => {}
            Some(Decided::GivenUp(GivenUp::ByApp(reason))) => {
                self.end(outcome.counter, MutationStatus::Rejected { reason });
            }
            Some(Decided::GivenUp(GivenUp::ByClient(reason))) => {
                self.end(outcome.counter, MutationStatus::Quarantined { reason });
            }
            Some(Decided::Rejected(rejection)) => {
                let reason = match rejection {
                    Rejection::Invalid(reason) => reason,
                    Rejection::Denied(reason) => denied(&reason),
                    Rejection::Forgotten => "its outcome is known no more: this device's store is an old copy".into(),
                };
                self.end(outcome.counter, MutationStatus::Quarantined { reason });
            }
        }
        if let Verdict::Conflict(_) = outcome.verdict {
            self.report(outcome.counter);
        }
    }
}

/// The reason that the app is given of a mutation which its user may not do.
pub(in crate::client) fn denied(reason: &str) -> String {
    shortened(format!("denied: {reason}"))
}

/// Whether it only says how far the feed is.
fn says_nothing(advance: &Advance) -> bool {
    advance.changes.is_empty()
        && advance.snapshots.is_empty()
        && advance.outcomes.is_empty()
        && advance.declined.is_empty()
        && advance.entered.is_empty()
        && advance.gone.is_empty()
        && advance.delivered.is_none()
        && !advance.is_owed
        && advance.members.is_empty()
}

/// Puts a part behind those before it. Rows of one subscription that are spread over parts are one snapshot.
fn joined(mut so_far: Advance, part: Advance) -> Advance {
    so_far.to = so_far.to.max(part.to);
    so_far.changes.extend(part.changes);
    so_far.outcomes.extend(part.outcomes);
    so_far.declined.extend(part.declined);
    so_far.entered.extend(part.entered);
    so_far.gone.extend(part.gone);
    so_far.delivered = so_far.delivered.max(part.delivered);
    so_far.is_owed |= part.is_owed;
    so_far.members.extend(part.members);
    so_far.clock.extend(part.clock);
    so_far.rights = part.rights.or(so_far.rights);
    for snapshot in part.snapshots {
        match so_far.snapshots.last_mut() {
            Some(last) if last.subscription == snapshot.subscription => last.rows.extend(snapshot.rows),
            Some(_) | None => so_far.snapshots.push(snapshot),
        }
    }
    so_far
}

fn is_of_type(state: &CellState, kind: ColumnType) -> bool {
    match state {
        CellState::Row(_) => false,
        CellState::Scalar(_) => matches!(kind, ColumnType::Scalar(_)),
        CellState::Register(_) => matches!(kind, ColumnType::Register(_)),
        CellState::Counter(_) => matches!(kind, ColumnType::Counter),
        CellState::Set(_) => matches!(kind, ColumnType::Set(_)),
        CellState::List(_) => matches!(kind, ColumnType::List { .. }),
        CellState::Map(_) => matches!(kind, ColumnType::Map(_)),
        CellState::Text(_) => matches!(kind, ColumnType::Text),
        CellState::Merged(merged) => is_of_type(merged.plain(), kind),
    }
}
