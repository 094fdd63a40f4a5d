//! What a gateway is made to do without, so that it can be measured what that is good for.
//!
//! Source: the ablations of Diamond's evaluation (Zhang 2017, Figures 3.7 to 3.9).

use std::collections::BTreeSet;

use iolite_machine::Now;
use iolite_values::{Cell, ColumnId, Element, Interest, Operation, Read, Timestamp, Write};
use iolite_wire::message::{Declination, Declined, SubscriptionId};

use crate::following::load::News;
use crate::{Gateway, SessionId};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Without {
    #[default]
    Nothing,
    /// Sessions are told which interests have changed, and not what they hold: they have to ask again.
    DataPush,
    /// Operations conflict as if each were a read of its whole cell and a put.
    DataTypes,
}

impl Gateway {
    /// Tells a live session only that what these changes touch is to be asked for again, and of these queries the answers.
    pub(crate) fn send_notice(
        &mut self,
        now: Now,
        id: SessionId,
        to: Timestamp,
        changes: &[Write],
        queries: BTreeSet<SubscriptionId>,
    ) {
        let Some(open) = self.open(id) else { return };
        let is_touched = |cell: &Cell| changes.iter().any(|write| cell.is_changed_with(&write.cell));
        let touched = open.subscriptions.iter().filter(|(name, own)| match &own.interest {
            Interest::Cell(cell) => is_touched(cell),
            range @ Interest::Range { .. } => changes.iter().any(|write| range.includes(&write.cell)),
            Interest::Query(_) => queries.contains(name),
        });
        let names: Vec<_> = touched.map(|(name, _)| *name).collect();
        for name in &names {
            self.remove_subscription(id, *name);
        }
        let declined = names.into_iter().map(|subscription| Declined { subscription, why: Declination::Later });
        self.send_advance_to(now, id, to, News { declined: declined.collect(), ..News::default() });
    }
}

/// What plain values would have to be read for these operations.
pub(crate) fn plain_reads(writes: &[Write]) -> impl Iterator<Item = Read> {
    let created: BTreeSet<_> = writes
        .iter()
        .filter(|write| write.operation == Operation::Create)
        .map(|write| (write.cell.table, &write.cell.row))
        .collect();
    let merging = writes.iter().filter(move |write| {
        let own = write.cell.column != ColumnId::ROW && !created.contains(&(write.cell.table, &write.cell.row));
        own && !matches!(write.operation, Operation::Put(_) | Operation::PutTotal(_))
    });
    let cells: BTreeSet<Cell> = merging.map(|write| write.cell.clone()).collect();
    cells.into_iter().map(|cell| Read::Cell { cell, element: Element::Whole })
}
