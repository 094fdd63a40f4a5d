//! The advance: changes, snapshots and outcomes.

use iolite_values::{Counter, Row, RowKey, TableId};

use crate::DecodeError;
use crate::centres::{read_clock, write_clock};
use crate::encoding::{Reader, Writer, bytes_of, id_of, required, row_key};
use crate::generated::proto::{self, advance::Delivered, outcome::Verdict as Field};
use crate::limits::REASON;
use crate::message::{
    Advance, Declination, Declined, GoneRow, Outcome, Rejection, RowSnapshot, Snapshot, SubscriptionId, Verdict,
};

use super::log_members;
use super::submit::{attempt, earlier_attempts};

pub(super) fn write(advance: &Advance, writer: &mut Writer) -> proto::Advance {
    let to = writer.timestamp(advance.to);
    proto::Advance {
        to_near: to.near,
        to: to.full,
        more: advance.more,
        changes: writer.writes(&advance.changes),
        snapshots: advance.snapshots.iter().map(|snapshot| write_snapshot(snapshot, writer)).collect(),
        outcomes: advance.outcomes.iter().map(|outcome| write_outcome(outcome, writer)).collect(),
        declined: advance.declined.iter().map(|declined| write_declined(declined, writer)).collect(),
        entered: write_rows(&advance.entered, writer),
        delivered: advance.delivered.map(|at| {
            let at = writer.timestamp(at);
            at.full.map_or(Delivered::DeliveredNear(at.near), Delivered::DeliveredFull)
        }),
        is_owed: advance.is_owed,
        members: advance.members.iter().map(|members| log_members::write(members, writer)).collect(),
        clock: write_clock(&advance.clock, writer),
        gone: write_gone(&advance.gone),
        rights: bytes_of(advance.rights),
    }
}

pub(super) fn read(advance: proto::Advance, reader: &mut Reader) -> Result<Advance, DecodeError> {
    let to = reader.timestamp(advance.to_near, advance.to)?;
    let changes = reader.writes(advance.changes)?;
    let snapshots = advance.snapshots.into_iter().map(|snapshot| read_snapshot(snapshot, reader));
    let snapshots = snapshots.collect::<Result<_, _>>()?;
    let outcomes = advance.outcomes.into_iter().map(|outcome| read_outcome(outcome, reader));
    let outcomes = outcomes.collect::<Result<_, _>>()?;
    let declined = advance.declined.into_iter().map(|declined| read_declined(declined, reader));
    let declined = declined.collect::<Result<_, _>>()?;
    let entered = read_rows(advance.entered, reader)?;
    let delivered = advance.delivered.map(|delivered| match delivered {
        Delivered::DeliveredNear(near) => reader.timestamp(near, None),
        Delivered::DeliveredFull(full) => reader.timestamp(0, Some(full)),
    });
    let delivered = delivered.transpose()?;
    let members = advance.members.into_iter().map(|members| log_members::read(members, reader));
    let members = members.collect::<Result<_, _>>()?;
    let (more, is_owed, clock) = (advance.more, advance.is_owed, read_clock(advance.clock, reader)?);
    let (gone, rights) = (read_gone(advance.gone)?, id_of(&advance.rights)?);
    Ok(Advance {
        to,
        more,
        changes,
        snapshots,
        outcomes,
        declined,
        entered,
        delivered,
        is_owed,
        members,
        clock,
        gone,
        rights,
    })
}

fn write_gone(gone: &[GoneRow]) -> Vec<proto::GoneRow> {
    let before = [0].into_iter().chain(gone.iter().map(|own| own.table.0));
    let written = gone
        .iter()
        .zip(before)
        .map(|(own, before)| proto::GoneRow { table_change: own.table.0 ^ before, key: own.key.as_bytes().to_vec() });
    written.collect()
}

fn read_gone(gone: Vec<proto::GoneRow>) -> Result<Vec<GoneRow>, DecodeError> {
    let mut table = 0;
    let mut read = Vec::with_capacity(gone.len());
    for own in gone {
        table ^= own.table_change;
        read.push(GoneRow { table: TableId(table), key: row_key(&own.key)? });
    }
    Ok(read)
}

pub(crate) fn write_snapshot(snapshot: &Snapshot, writer: &mut Writer) -> proto::Snapshot {
    let reaches = snapshot.reaches.as_ref().map(|range| Box::new(writer.key_bounds(range)));
    proto::Snapshot { subscription: snapshot.subscription.0, rows: write_rows(&snapshot.rows, writer), reaches }
}

pub(crate) fn read_snapshot(snapshot: proto::Snapshot, reader: &Reader) -> Result<Snapshot, DecodeError> {
    let rows = read_rows(snapshot.rows, reader)?;
    let reaches = snapshot.reaches.map(|bounds| reader.key_bounds(*bounds).map(Box::new)).transpose()?;
    Ok(Snapshot { subscription: SubscriptionId(snapshot.subscription), rows, reaches })
}

pub(crate) fn write_rows(rows: &[RowSnapshot], writer: &mut Writer) -> Vec<proto::RowSnapshot> {
    write_rows_of(rows.iter().map(|row| (row.table, &row.key, &row.row)), writer)
}

pub(crate) fn read_rows(rows: Vec<proto::RowSnapshot>, reader: &Reader) -> Result<Vec<RowSnapshot>, DecodeError> {
    read_rows_as(rows, reader, |table, key, row| RowSnapshot { table, key, row })
}

/// Rows as whoever has them names their parts.
pub(crate) fn write_rows_of<'a>(
    rows: impl ExactSizeIterator<Item = (TableId, &'a RowKey, &'a Row)>,
    writer: &mut Writer,
) -> Vec<proto::RowSnapshot> {
    let mut table = 0;
    let mut written = Vec::with_capacity(rows.len());
    for (TableId(own), key, row) in rows {
        let row = Some(writer.row(row));
        written.push(proto::RowSnapshot { table_change: own ^ table, key: key.as_bytes().to_vec(), row });
        table = own;
    }
    written
}

pub(crate) fn read_rows_as<T>(
    rows: Vec<proto::RowSnapshot>,
    reader: &Reader,
    make: impl Fn(TableId, RowKey, Row) -> T,
) -> Result<Vec<T>, DecodeError> {
    let mut table = 0;
    let mut read = Vec::with_capacity(rows.len());
    for row in rows {
        table ^= row.table_change;
        let state = reader.row(required(row.row, "a row of a snapshot is missing")?)?;
        read.push(make(TableId(table), row_key(&row.key)?, state));
    }
    Ok(read)
}

pub(crate) fn write_declined(declined: &Declined, writer: &mut Writer) -> proto::Declined {
    let (reason, is_denied) = match &declined.why {
        Declination::Later => (None, false),
        Declination::TooLarge(reason) => (Some(reason), false),
        Declination::Denied(reason) => (Some(reason), true),
    };
    let too_large = reason.map(|reason| writer.text(reason, REASON));
    proto::Declined { subscription: declined.subscription.0, too_large, is_denied }
}

pub(crate) fn read_declined(declined: proto::Declined, reader: &Reader) -> Result<Declined, DecodeError> {
    let why = match (declined.too_large, declined.is_denied) {
        (None, _) => Declination::Later,
        (Some(reason), false) => Declination::TooLarge(reader.text(reason, REASON)?),
        (Some(reason), true) => Declination::Denied(reader.text(reason, REASON)?),
    };
    Ok(Declined { subscription: SubscriptionId(declined.subscription), why })
}

fn write_outcome(outcome: &Outcome, writer: &mut Writer) -> proto::Outcome {
    let verdict = match &outcome.verdict {
        Verdict::Committed(at) => {
            let at = writer.timestamp(*at);
            at.full.map_or(Field::CommittedNear(at.near), Field::Committed)
        }
        Verdict::Aborted => Field::Aborted(true),
        Verdict::Conflict(at) => {
            let at = writer.timestamp(*at);
            at.full.map_or(Field::ConflictNear(at.near), Field::Conflict)
        }
        Verdict::Rejected(Rejection::Invalid(reason)) => Field::Invalid(writer.text(reason, REASON)),
        Verdict::Rejected(Rejection::Denied(reason)) => Field::Denied(writer.text(reason, REASON)),
        Verdict::Rejected(Rejection::Forgotten) => Field::Forgotten(true),
    };
    proto::Outcome {
        counter: outcome.counter.0,
        earlier_attempts: earlier_attempts(outcome.attempt),
        verdict: Some(verdict),
    }
}

fn read_outcome(outcome: proto::Outcome, reader: &mut Reader) -> Result<Outcome, DecodeError> {
    let verdict = match required(outcome.verdict, "an outcome of no known verdict")? {
        Field::CommittedNear(near) => Verdict::Committed(reader.timestamp(near, None)?),
        Field::Committed(full) => Verdict::Committed(reader.timestamp(0, Some(full))?),
        Field::Aborted(true) => Verdict::Aborted,
        Field::ConflictNear(near) => Verdict::Conflict(reader.timestamp(near, None)?),
        Field::Conflict(full) => Verdict::Conflict(reader.timestamp(0, Some(full))?),
        Field::Invalid(reason) => Verdict::Rejected(Rejection::Invalid(reader.text(reason, REASON)?)),
        Field::Denied(reason) => Verdict::Rejected(Rejection::Denied(reader.text(reason, REASON)?)),
        Field::Forgotten(true) => Verdict::Rejected(Rejection::Forgotten),
        Field::Aborted(false) | Field::Forgotten(false) => {
            return Err(DecodeError::malformed("a verdict that is none"));
        }
    };
    Ok(Outcome { counter: Counter(outcome.counter), attempt: attempt(outcome.earlier_attempts), verdict })
}
