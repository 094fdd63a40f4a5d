//! What a transaction below the strict level is promised: it came to what it did on one state that was committed, and what its level guards held until its
//! timestamp.
//!
//! - What it read is of one moment, and of none before its own client's last commit.
//! - At the level of a snapshot nothing that does not commute with its writes was committed since that moment, and nothing in a cell that it both read and
//!   changed: no update is lost. What others wrote that it only read may have changed: a write skew is allowed.
//! - Read committed, nothing more.
//!
//! Which moment that was is looked for: any that fits will do. Source: docs/decisions/0016-what-each-level-guards.md.

use std::collections::BTreeMap;

use iolite_store::conformance::first_committer_wins;
use iolite_values::{ClientId, Level, TableId, Timestamp, Write};

use super::commits::Completed;
use crate::app::{Call, Model, Stop, Weak, run_call};

/// The states of the tables of weaker levels, and what clients committed last.
#[derive(Debug)]
pub struct States {
    tables: Vec<TableId>,
    /// Each from its timestamp on, with the writes that it began with.
    states: BTreeMap<Timestamp, (Model, Vec<Write>)>,
    last_of: BTreeMap<ClientId, Timestamp>,
}

impl States {
    pub fn new() -> States {
        let empty = (Model::default(), Vec::new());
        let tables = Weak::ALL.map(Weak::table).into();
        States { tables, states: [(Timestamp::ZERO, empty)].into(), last_of: BTreeMap::new() }
    }

    /// A commit, which the model contains now.
    pub fn note(&mut self, at: Timestamp, completed: &Completed, is_lost: bool, model: &Model) {
        // What aborted is in no state that its client would wait for.
        if !is_lost && completed.writes.is_some() {
            self.last_of.insert(completed.transaction.client, at);
        }
        let writes = completed.writes.as_deref().unwrap_or_default();
        let own: Vec<Write> = writes.iter().filter(|write| self.tables.contains(&write.cell.table)).cloned().collect();
        if !own.is_empty() {
            self.states.insert(at, (model.of_tables(&self.tables), own));
        }
    }

    /// Whether there is a state on which a call comes to what was committed, and since which nothing happened that its level guards it from.
    pub fn explain(&self, call: &Call, completed: &Completed) -> bool {
        let seen = self.last_of.get(&completed.transaction.client).copied().unwrap_or_default();
        for (from, (model, began_with)) in self.states.iter().rev() {
            if came_to(call, model, completed) {
                return true;
            }
            // The state before this one is older than the first of these.
            if *from <= seen || guards(call, completed, began_with) {
                return false;
            }
        }
        false
    }
}

fn came_to(call: &Call, model: &Model, completed: &Completed) -> bool {
    let mut model = model.clone();
    let result = run_call(call, &mut model);
    match (result, &completed.writes) {
        (Ok(()), Some(writes)) => model.take_written() == *writes,
        (Err(Stop::Abort(_)), None) => true,
        (Ok(()) | Err(_), _) => false,
    }
}

/// Whether these writes must not have come between what a transaction read and its timestamp.
fn guards(call: &Call, completed: &Completed, others: &[Write]) -> bool {
    let own = completed.writes.as_deref().unwrap_or_default();
    let decides = matches!(call, Call::Weak { what, .. } if what.decides_on_what_it_changes());
    let decided_on = || decides && own.iter().any(|own| others.iter().any(|other| own.cell == other.cell));
    match completed.level {
        Level::Strict | Level::Serializable => true,
        Level::Snapshot => first_committer_wins(completed.level, own, others) || decided_on(),
        Level::ReadCommitted => false,
    }
}
