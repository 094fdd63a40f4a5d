//! Building and sending advances.
//!
//! Invariants:
//! - an advance is sent only to a session whose flow is live, so nothing overtakes a catch-up;
//! - the parts of one advance follow each other without anything between them;
//! - rows of one subscription that are spread over parts are one snapshot.

use std::mem;

use iolite_machine::Now;
use iolite_values::Timestamp;
use iolite_wire::message::{Advance, FromGateway, GoneRow, Snapshot};

use crate::following::load::News;
use crate::{Gateway, SessionId, size};

impl Gateway {
    /// Tells a live session what changed, and all outcomes that are due.
    pub(crate) fn send_advance(&mut self, now: Now, id: SessionId, news: News) {
        self.send_advance_to(now, id, self.position(), news);
    }

    /// The same as of an earlier timestamp, if more is told right behind it.
    pub(crate) fn send_advance_to(&mut self, now: Now, id: SessionId, to: Timestamp, news: News) {
        let limits = self.settings.limits;
        let Some(open) = self.open_mut(id) else { return };
        assert!(open.is_live(), "an advance would overtake what the session misses");
        // Only a gateway that publishes past the resolved timestamp has told of anything above the position.
        let to = to.max(open.seen);
        open.seen = to;
        let outcomes = open.take_outcomes(to);
        let (client, delivered_due) = (open.client, std::mem::take(&mut open.delivered_due));
        let (told, rights) = (open.clock_told, open.sight.take_untold());
        let News { changes, snapshots, declined, entered, gone } = news;
        let mut changes = open.batch.take(now.instant, changes);
        // What was written in them before is told no more, either.
        if !gone.is_empty() {
            changes.retain(|write| !gone.contains(&(write.cell.table, write.cell.row.clone())));
        }
        let delivered = delivered_due.then(|| self.delivery.delivered(client, to));
        let is_owed = self.delivery.is_awaited(client, to);
        let (clock, told) = self.group.as_ref().map(|group| group.changed_since(told)).unwrap_or_default();
        self.open_mut(id).into_iter().for_each(|open| open.clock_told = told);
        let members = self.members.take(client, |other| self.delivery.is_out(other));
        let whole = Advance {
            to,
            more: false,
            changes,
            snapshots,
            outcomes,
            declined,
            entered,
            delivered,
            is_owed,
            members,
            clock,
            gone: gone.into_iter().map(|(table, key)| GoneRow { table, key }).collect(),
            rights,
        };
        for part in parts(whole, limits.advance_part_bytes) {
            self.say(id, FromGateway::Advance(part));
        }
        if self.sessions.get(&id).is_some_and(|session| session.outbound.bytes() > limits.undrained_bytes_max) {
            self.fall_behind(now, id);
        }
    }
}

/// Cuts an advance into parts of `part_bytes`. All but the last say `more`.
fn parts(whole: Advance, part_bytes: usize) -> Vec<Advance> {
    if size::advance(&whole) <= part_bytes {
        return vec![whole];
    }
    let part = Advance { to: whole.to, ..Advance::default() };
    let mut cutter = Cutter { part_bytes, part, bytes: 0, done: Vec::new() };
    for change in whole.changes {
        cutter.make_room(size::write(&change));
        cutter.part.changes.push(change);
    }
    for snapshot in whole.snapshots {
        let subscription = snapshot.subscription;
        let mut rows = snapshot.rows.into_iter();
        let first = rows.next();
        cutter.make_room(8 + first.as_ref().map_or(0, size::row_snapshot));
        // Of a snapshot in several parts, each says how far all of it reaches.
        let part = |rows| Snapshot { subscription, rows, reaches: snapshot.reaches.clone() };
        cutter.part.snapshots.push(part(first.into_iter().collect()));
        for row in rows {
            if cutter.make_room(size::row_snapshot(&row)) {
                cutter.part.snapshots.push(part(Vec::new()));
            }
            cutter.part.snapshots.last_mut().expect("one was pushed").rows.push(row);
        }
    }
    for row in whole.entered {
        cutter.make_room(size::row_snapshot(&row));
        cutter.part.entered.push(row);
    }
    for row in whole.gone {
        cutter.make_room(size::gone(&row));
        cutter.part.gone.push(row);
    }
    for outcome in whole.outcomes {
        cutter.make_room(size::outcome(&outcome));
        cutter.part.outcomes.push(outcome);
    }
    for declined in whole.declined {
        cutter.make_room(size::declined(&declined));
        cutter.part.declined.push(declined);
    }
    for members in whole.members {
        cutter.make_room(size::log_members(&members));
        cutter.part.members.push(members);
    }
    (cutter.part.delivered, cutter.part.is_owed, cutter.part.clock) = (whole.delivered, whole.is_owed, whole.clock);
    cutter.part.rights = whole.rights;
    cutter.done.push(cutter.part);
    cutter.done
}

struct Cutter {
    part_bytes: usize,
    part: Advance,
    bytes: usize,
    done: Vec<Advance>,
}

impl Cutter {
    /// Begins another part if this much more would be too much for this one. Returns whether it did.
    fn make_room(&mut self, bytes: usize) -> bool {
        let full = self.bytes > 0 && self.bytes + bytes > self.part_bytes;
        if full {
            let next = Advance { to: self.part.to, ..Advance::default() };
            self.done.push(Advance { more: true, ..mem::replace(&mut self.part, next) });
            self.bytes = 0;
        }
        self.bytes += bytes;
        full
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::{Cell, CellState, ColumnId, Operation, Row, RowKey, TableId, Timestamp, Value, Write};
    use iolite_wire::message::{RowSnapshot, SubscriptionId};

    use super::*;
    use crate::limits::ADVANCE_PART_BYTES;

    fn key(number: i64) -> RowKey {
        RowKey::new(&[Value::Int(number)]).expect("short")
    }

    fn row(number: i64, bytes: usize) -> RowSnapshot {
        let state = CellState::Scalar(Value::bytes(vec![0; bytes]));
        let row = Row::from_parts(true, [(ColumnId(1), state)]);
        RowSnapshot { table: TableId(1), key: key(number), row }
    }

    fn change(number: i64, bytes: usize) -> Write {
        let cell = Cell { table: TableId(1), row: key(number), column: ColumnId(1) };
        Write { cell, operation: Operation::Put(Value::bytes(vec![0; bytes])) }
    }

    #[test]
    fn a_small_advance_is_one_part() {
        let small = Advance { to: Timestamp::from_u64(5), changes: vec![change(1, 10)], ..Advance::default() };
        assert_eq!(parts(small.clone(), ADVANCE_PART_BYTES), vec![small]);
    }

    #[test]
    fn parts_are_bounded_and_together_are_the_whole() {
        let rows: Vec<RowSnapshot> = (0..40).map(|number| row(number, 20_000)).collect();
        let snapshots = vec![
            Snapshot { subscription: SubscriptionId(1), rows: rows.clone(), reaches: None },
            Snapshot { subscription: SubscriptionId(2), rows: Vec::new(), reaches: None },
        ];
        let changes: Vec<Write> = (0..40).map(|number| change(number, 20_000)).collect();
        let to = Timestamp::from_u64(5);
        let whole = Advance { to, more: false, changes: changes.clone(), snapshots, ..Advance::default() };
        let all = parts(whole, ADVANCE_PART_BYTES);
        let (last, before) = all.split_last().expect("at least one");
        assert!(before.len() >= 5 && before.iter().all(|part| part.more) && !last.more);
        assert!(all.iter().all(|part| part.to == to && size::advance(part) <= ADVANCE_PART_BYTES + 1000));
        assert_eq!(all.iter().flat_map(|part| part.changes.clone()).collect::<Vec<_>>(), changes);
        let snapshots = || all.iter().flat_map(|part| &part.snapshots);
        let first: Vec<RowSnapshot> =
            snapshots().filter(|own| own.subscription == SubscriptionId(1)).flat_map(|own| own.rows.clone()).collect();
        assert_eq!(first, rows);
        assert!(snapshots().any(|own| own.subscription == SubscriptionId(2)));
    }

    #[test]
    fn a_row_larger_than_a_part_is_a_part_of_its_own() {
        let rows = vec![row(1, 10), row(2, ADVANCE_PART_BYTES * 2), row(3, 10)];
        let snapshots = vec![Snapshot { subscription: SubscriptionId(1), rows, reaches: None }];
        let all = parts(Advance { snapshots, ..Advance::default() }, ADVANCE_PART_BYTES);
        let counts: Vec<usize> =
            all.iter().map(|part| part.snapshots.iter().map(|snapshot| snapshot.rows.len()).sum()).collect();
        assert_eq!(counts, vec![1, 1, 1]);
    }
}
