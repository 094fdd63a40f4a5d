//! Guests, who write notes: rights over tables that merge, in front of several data centres.
//!
//! An operator lets users in and sends them away. A note is made and changed by its author, while a guest. The app asks nothing of that: its gateway does.
//! Invariants: nothing of this touches the people and walls of the app, so a denied call takes nothing from those; the rule is said once more by
//! [`check`], which shares no code with the gateway.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use iolite_catalog::Deployment;
use iolite_client::Content;
use iolite_rights::{Rights, TableRights, TableRules, at, everybody, nobody, old, row, user};
use iolite_values::{
    Cell, CellState, ColumnId, KeyRange, Operation, Row, RowKey, Schema, TableId, TransactionId, Value, Write,
};
use serde::{Deserialize, Serialize};

use super::app;
use super::checker::effects::Effects;
use super::names::Name;
use crate::app::{Handle, Stop, row_key};
use crate::checker::{Commits, Invariant, Violation};
use crate::history::History;
use crate::random::Random;
use crate::rights::{Person, Speaker};

const TABLES: &str = r#"{"tables":{
  "guests":{"columns":{"user":{"type":"string"}},"key":["user"],"consistency":"causal","onConflict":"merge"},
  "notes":{"columns":{"id":{"type":"int"},"by":{"type":"string"},"text":{"type":"register","of":"int"}},"key":["id"],"consistency":"causal","onConflict":"merge"},
"#;

static READ: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let tables = app::SCHEMA.replacen(r#"{"tables":{"#, TABLES, 1);
    Arc::new(Schema::from_json(&tables).expect("it is tested"))
});

pub fn schema() -> Arc<Schema> {
    READ.clone()
}

/// As every data centre is given it.
pub fn deployment() -> Deployment {
    let is_guest = || at("guests", [user("sub")]).exists();
    let guests = TableRules::default().read(everybody()).create(nobody()).delete(nobody());
    let notes = TableRules::default()
        .read(everybody())
        .create(row("by").is(user("sub")).and(is_guest()))
        .update(old("by").is(user("sub")).and(is_guest()));
    let mut rights = Rights::default().table("guests", guests).table("notes", notes);
    for open in [app::PEOPLE, app::WALL] {
        rights.tables.insert(open.to_owned(), TableRights::Open);
    }
    Deployment { schema: (*schema()).clone(), rights }
}

/// The calls about guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OfGuests {
    /// Gives up if the user is a guest.
    LetIn {
        person: Person,
    },
    /// Gives up if the user is none.
    SendAway {
        person: Person,
    },
    Note {
        by: Person,
    },
    /// Changes the last note of a user; gives up if there is none.
    Change {
        by: Person,
    },
}

impl OfGuests {
    /// A call of a speaker; `users` have devices.
    pub fn random(random: &mut Random, speaker: Speaker, users: u64) -> OfGuests {
        match speaker {
            Speaker::Operator => {
                let person = Person(random.below(users) as u8);
                if random.chance(500) { OfGuests::LetIn { person } } else { OfGuests::SendAway { person } }
            }
            Speaker::User(by) if random.chance(700) => OfGuests::Note { by },
            Speaker::User(by) => OfGuests::Change { by },
        }
    }

    /// Runs the closure of the call with this name.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn run(self, tx: &mut dyn Handle, name: Name) -> Result<(), Stop> {
        match self {
            OfGuests::LetIn { person } => match tx.exists(guests(), &guest(person))? {
                true => Err(Stop::Abort("they are a guest".into())),
                false => tx.insert(guests(), &guest(person), Content::new()),
            },
            OfGuests::SendAway { person } => match tx.exists(guests(), &guest(person))? {
                true => tx.delete(guests(), &guest(person)),
                false => Err(Stop::Abort("they are no guest".into())),
            },
            OfGuests::Note { by } => {
                let by = (ColumnId::of("by"), vec![Operation::Put(Value::string(by.name()))]);
                let text = (ColumnId::of("text"), vec![Operation::Assign(Value::Int(name))]);
                tx.insert(notes(), &row_key(&[name]), Content::from([by, text]))
            }
            OfGuests::Change { by } => {
                let all = tx.range(notes(), &KeyRange::all(), None, true)?;
                let is_own = |row: &Row| author(row).as_deref() == Some(&*by.name());
                let own = all.into_iter().find(|(_, row)| is_own(row));
                let (key, _) = own.ok_or_else(|| Stop::Abort("there is no note".into()))?;
                let cell = Cell { table: notes(), row: key, column: ColumnId::of("text") };
                tx.write(cell, Operation::Assign(Value::Int(name)))
            }
        }
    }
}

/// Every note was made and changed by its author while that user was a guest, at the data centre that took the call. Any of those that have it may be that one:
/// the others have all that it rested on.
///
/// # Errors
/// The first [`Violation`] that is found.
pub fn check(history: &History, stores: &[Commits]) -> Result<(), Violation> {
    let (mut allowed, mut denied) = (BTreeSet::new(), BTreeMap::new());
    for commits in stores {
        let mut before = Effects::default();
        for (at, completed) in &commits.by_time {
            let own: Vec<&Write> = completed.writes.iter().flatten().filter(|write| is_of_guests(write)).collect();
            let was_guest = guests_in(&before);
            let added = own.iter().try_for_each(|write| before.add(write));
            added.map_err(|what| Violation::new(Invariant::Merged, what))?;
            let rows: BTreeSet<&RowKey> =
                own.iter().filter(|write| write.cell.table == notes()).map(|write| &write.cell.row).collect();
            let speaker = history.rights.speaker(completed.transaction.client);
            let Some(Speaker::User(me)) = speaker.filter(|_| !rows.is_empty()) else { continue };
            let after = before.rows(notes());
            let is_mine = |key: &RowKey| after.iter().any(|(own, row)| own == key && author(row) == Some(me.name()));
            if was_guest.contains(&guest(me)) && rows.iter().all(|key| is_mine(key)) {
                allowed.insert(completed.transaction);
            } else {
                denied.insert(completed.transaction, (me, *at));
            }
        }
    }
    let wrong = |(id, _): &(&TransactionId, &(Person, _))| !allowed.contains(*id);
    match denied.iter().find(wrong) {
        None => Ok(()),
        Some((id, (me, at))) => {
            let what = format!("{id:?} of {me:?} at {at:?} writes a note, and {me:?} was no guest, or not its author");
            Err(Violation::new(Invariant::Allowed, what))
        }
    }
}

fn guests_in(effects: &Effects) -> BTreeSet<RowKey> {
    effects.rows(guests()).into_iter().map(|(key, _)| key).collect()
}

fn is_of_guests(write: &Write) -> bool {
    [guests(), notes()].contains(&write.cell.table)
}

fn author(row: &Row) -> Option<String> {
    match row.cell(ColumnId::of("by"))? {
        CellState::Scalar(Value::String(by)) | CellState::Register(Value::String(by)) => Some(by.to_string()),
        _ => None,
    }
}

pub fn guests() -> TableId {
    TableId::of("guests")
}

pub fn notes() -> TableId {
    TableId::of("notes")
}

fn guest(person: Person) -> RowKey {
    RowKey::new(&[Value::string(person.name())]).expect("short")
}

#[cfg(test)]
mod tests {
    use iolite_catalog::{Catalog, SchemaPolicy};

    use super::*;

    #[test]
    fn the_rights_can_be_deployed() {
        let mut catalog = Catalog::new(SchemaPolicy::Grow);
        catalog.fold(&[]).expect("nothing");
        assert!(catalog.deploy(&deployment(), None, true).expect("good rights").is_some());
    }
}
