//! The second evaluator: the rights of the app once more, as closures over whole rows.
//!
//! Invariant: no code is shared with the gateway or with `crates/rights`. Only how operations change a cell is shared, which is the store's.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{CellState, ColumnId, Operation, Row, RowKey, TableId, Value, Write};

use super::app::{self, PAY_MOST, Regime};
use super::person::{Person, Speaker};

/// All rows of a store at one timestamp.
#[derive(Clone, Debug, Default)]
pub struct State(BTreeMap<(TableId, RowKey), Row>);

/// A row that writes touch, before and after them, by whom, and by which of its columns.
struct Deed<'a> {
    me: Person,
    at: &'a State,
    after: &'a State,
    old: Option<&'a Row>,
    new: Option<&'a Row>,
    key: Vec<Value>,
    columns: BTreeSet<ColumnId>,
}

impl State {
    pub fn apply(&mut self, writes: &[Write]) {
        for write in writes {
            let id = (write.cell.table, write.cell.row.clone());
            let row = self.0.entry(id).or_default();
            row.apply(write.cell.column, &write.operation).expect("committed writes fit the schema");
        }
    }

    /// All that the app's watcher has to show somebody, in words, and whether it has some messages and others are hidden.
    pub fn seen_by(&self, speaker: Speaker, regime: Option<Regime>) -> (String, bool) {
        let all = |table| self.0.iter().filter(move |((own, _), row)| *own == table && row.exists());
        let sees = |row: &Row| match (speaker, regime) {
            (Speaker::Operator, _) | (_, Some(Regime::Quiet)) => true,
            (Speaker::User(me), Some(Regime::Members | Regime::Owners)) => self.has_member(number(row, "room"), me),
            (Speaker::User(_), None) => false,
        };
        let rows = |table| all(table).map(|((_, key), row)| (key.clone(), row.clone())).collect::<Vec<_>>();
        let messages: Vec<_> = rows(app::messages()).into_iter().filter(|(_, row)| sees(row)).collect();
        let hides = !messages.is_empty() && messages.len() < all(app::messages()).count();
        (format!("{:?}", vec![rows(app::rooms()), rows(app::members()), messages]), hides)
    }

    fn row(&self, table: TableId, key: &RowKey) -> Option<&Row> {
        let row = self.0.get(&(table, key.clone()))?;
        (row.exists() || table == app::accounts()).then_some(row)
    }

    fn has_member(&self, room: Option<i64>, person: Person) -> bool {
        room.is_some_and(|room| self.row(app::members(), &app::member_key(room, person)).is_some())
    }

    fn owns(&self, room: Option<i64>, person: Person) -> bool {
        let row = room.and_then(|room| self.row(app::rooms(), &app::room_key(room)));
        row.is_some_and(|row| text(row, "owner") == Some(person.name()))
    }
}

/// Why a speaker may not do this under these rights, of a state and the state after the writes.
pub fn denied(speaker: Speaker, regime: Regime, at: &State, after: &State, writes: &[Write]) -> Option<String> {
    let mut rows: BTreeMap<(TableId, &RowKey), Vec<&Write>> = BTreeMap::new();
    for write in writes {
        rows.entry((write.cell.table, &write.cell.row)).or_default().push(write);
    }
    for ((table, key), writes) in rows {
        if let Some(why) = unsound(table, after.row(table, key)) {
            return Some(why.to_owned());
        }
        let Speaker::User(me) = speaker else { continue };
        let deed = Deed {
            me,
            at,
            after,
            old: at.row(table, key),
            new: after.row(table, key),
            key: key.values().expect("a key can be read"),
            columns: writes.iter().map(|write| write.cell.column).collect(),
        };
        let replaced = writes.iter().any(|write| write.operation == Operation::Delete);
        let is_allowed = match (deed.old.is_some(), deed.new.is_some()) {
            _ if table == app::accounts() => deed.pays(),
            (true, true) if replaced => deed.deletes(table, regime) && deed.creates(table, regime),
            (true, true) => deed.updates(table, regime),
            (true, false) => deed.deletes(table, regime),
            (false, true) => deed.creates(table, regime),
            // It was created and deleted, so nothing came of it; or it was never there, and may not be written.
            (false, false) => writes.iter().any(|write| write.operation == Operation::Create),
        };
        if !is_allowed {
            return Some(format!("{me:?} may not write {table:?} {:?} under {regime:?}", deed.key));
        }
    }
    None
}

/// The check of each row, whoever wrote it.
fn unsound(table: TableId, row: Option<&Row>) -> Option<&'static str> {
    let row = row?;
    if table == app::accounts() && count(row, "balance") < 0 {
        return Some("an account is below zero");
    }
    (table == app::messages() && text(row, "text").as_deref() == Some("spam")).then_some("a message is spam")
}

impl Deed<'_> {
    fn creates(&self, table: TableId, regime: Regime) -> bool {
        let (Some(new), me) = (self.new, self.me) else { return false };
        let room = number(new, "room");
        if table == app::rooms() {
            return text(new, "owner") == Some(me.name()) && self.after.has_member(self.first_key(), me);
        }
        if table == app::members() {
            return self.after.owns(self.first_key(), me);
        }
        let may_say = match regime {
            Regime::Members => self.at.has_member(room, me),
            Regime::Owners => self.at.owns(room, me),
            Regime::Quiet => false,
        };
        table == app::messages() && may_say && self.is_mine(new) && count(new, "likes") == 0
    }

    fn updates(&self, table: TableId, regime: Regime) -> bool {
        let (Some(old), Some(new)) = (self.old, self.new) else { return false };
        let only = |column: &str| self.columns == BTreeSet::from([ColumnId::of(column)]);
        let likes = only("likes") && count(new, "likes") == count(old, "likes") + 1;
        let edits = only("text") && self.is_mine(old);
        let is_member = self.at.has_member(number(old, "room"), self.me);
        let may = match regime {
            Regime::Members => is_member && (likes || edits),
            Regime::Owners => edits,
            Regime::Quiet => likes,
        };
        table == app::messages() && may
    }

    fn deletes(&self, table: TableId, regime: Regime) -> bool {
        let (Some(old), me) = (self.old, self.me) else { return false };
        if table == app::rooms() {
            return text(old, "owner") == Some(me.name());
        }
        if table == app::members() {
            let leaves = self.key.get(1) == Some(&Value::string(me.name()));
            let owns = self.at.owns(self.first_key(), me);
            return match regime {
                Regime::Members => leaves || owns,
                Regime::Owners => owns,
                Regime::Quiet => leaves,
            };
        }
        let may_unsay = match regime {
            Regime::Members => self.at.has_member(number(old, "room"), me),
            Regime::Owners => false,
            Regime::Quiet => true,
        };
        table == app::messages() && may_unsay && self.is_mine(old)
    }

    /// Accounts are always there.
    fn pays(&self) -> bool {
        let before = self.old.map_or(0, |row| count(row, "balance"));
        let paid = self.new.map_or(0, |row| count(row, "balance")) - before;
        let is_own = self.key.first() == Some(&Value::string(self.me.name()));
        is_own && (-PAY_MOST..=PAY_MOST).contains(&paid)
    }

    fn is_mine(&self, row: &Row) -> bool {
        text(row, "author") == Some(self.me.name())
    }

    fn first_key(&self) -> Option<i64> {
        match self.key.first() {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        }
    }
}

fn text(row: &Row, column: &str) -> Option<String> {
    match row.cell(ColumnId::of(column)) {
        Some(CellState::Scalar(Value::String(text))) => Some(text.to_string()),
        _ => None,
    }
}

fn number(row: &Row, column: &str) -> Option<i64> {
    match row.cell(ColumnId::of(column)) {
        Some(CellState::Scalar(Value::Int(number))) => Some(*number),
        _ => None,
    }
}

fn count(row: &Row, column: &str) -> i64 {
    match row.cell(ColumnId::of(column)) {
        Some(CellState::Counter(count)) => *count,
        _ => 0,
    }
}
