//! Want of room: a reactive transaction fails for it only when all that is needed takes more than a client's cache may hold.
//!
//! What exactly a client holds for whom, nobody here knows: a row may be held by a range or a query of another one's. So it is counted as if all rows of
//! the tables that are read were needed. Whoever gives up what is needed while something else is left is found when that is still too little.

use std::collections::BTreeSet;

use iolite_values::TableId;

use super::{Invariant, Violation};
use crate::app::Model;
use crate::history::Refusal;

/// Holds it against the model at its timestamp.
///
/// # Errors
/// What is needed would have fitted in.
pub fn check(model: &Model, refusal: &Refusal) -> Result<(), Violation> {
    let Some(watchers) = &refusal.needed_by else { return Ok(()) };
    let tables: BTreeSet<TableId> = watchers.iter().flat_map(|watcher| watcher.tables()).collect();
    let needed: usize = tables.into_iter().map(|table| model.footprint(table)).sum();
    if needed > refusal.cache_bytes_max {
        return Ok(());
    }
    Err(Violation::new(
        Invariant::Room,
        format!("{:?} had no room: {refusal:?} although no more than {needed} bytes are needed", refusal.client),
    ))
}
