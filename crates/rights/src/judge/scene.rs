//! Scenes: the things that a rule is asked about: a row and what is done to it, a log, or an object.

use std::borrow::Cow;
use std::collections::BTreeMap;

use iolite_values::{LogId, ObjectName, Value, Write};

use super::deeds::Deeds;
use super::view::{Seen, View};
use super::{Judge, Needs, RowName, Why};
use crate::{Part, Version};

pub(super) struct Scene<'a> {
    pub(super) judge: &'a Judge<'a>,
    /// All writes of the transaction.
    pub(super) writes: &'a BTreeMap<RowName, Vec<Write>>,
    pub(super) asking: Asking<'a>,
}

pub(super) enum Asking<'a> {
    Row {
        old: Option<View<'a>>,
        new: Option<View<'a>>,
        /// The version that `row` is.
        row: Version,
        /// The writes that `ops` judges.
        updates: Option<&'a [Write]>,
    },
    Log {
        key: Option<Value>,
        operation: Option<&'a str>,
    },
    Object {
        object: &'a ObjectName,
        method: Option<&'a str>,
    },
}

impl<'a> Asking<'a> {
    pub(super) fn of_log(log: &LogId, operation: Option<&'a str>) -> Asking<'a> {
        let key = log.instance.values().ok().and_then(|values| values.into_iter().next());
        Asking::Log { key, operation }
    }
}

impl<'a> Scene<'a> {
    /// A row that is read as it is.
    pub(super) fn reading(
        judge: &'a Judge<'a>,
        row: &RowName,
        nothing: &'a BTreeMap<RowName, Vec<Write>>,
    ) -> Result<Scene<'a>, Needs> {
        let table = judge.schema.table_by_id(row.table).expect("its name is known");
        let state = judge.known(row)?;
        let old = Some(View { table, name: row.clone(), row: state, writes: &[] });
        Ok(Scene { judge, writes: nothing, asking: Asking::Row { old, new: None, row: Version::Old, updates: None } })
    }

    /// The deeds of the transaction to a row.
    pub(super) fn writing(
        judge: &'a Judge<'a>,
        row: &RowName,
        writes: &'a BTreeMap<RowName, Vec<Write>>,
    ) -> Result<Result<Deeds<'a>, Why>, Needs> {
        let table = judge.schema.table_by_id(row.table).expect("its name is known");
        let own = writes.get(row).map_or(&[][..], |own| own);
        Ok(Deeds::of(table, row, judge.known(row)?, own))
    }

    /// The row that is judged, in one of its states.
    pub(super) fn version(&self, version: Version) -> Option<&View<'a>> {
        let Asking::Row { old, new, row, updates: _ } = &self.asking else { return None };
        match (version, row) {
            (Version::Old, _) | (Version::Row, Version::Old) => old.as_ref(),
            (Version::New, _) | (Version::Row, Version::New | Version::Row) => new.as_ref(),
        }
    }

    /// A part of what a log or an object is asked for.
    pub(super) fn part(&self, part: Part) -> Seen<Value> {
        let value = match (&self.asking, part) {
            (Asking::Log { key, operation: _ }, Part::Key) => key.clone(),
            (Asking::Log { key: _, operation }, Part::Operation) => operation.map(Value::string),
            (Asking::Object { object, method: _ }, Part::Class) => Some(Value::string(object.class())),
            (Asking::Object { object, method: _ }, Part::Id) => Some(Value::string(object.id())),
            (Asking::Object { object: _, method }, Part::Method) => method.map(Value::string),
            (Asking::Row { .. } | Asking::Log { .. } | Asking::Object { .. }, _) => None,
        };
        Seen::constant(value)
    }
}

impl<'a> Judge<'a> {
    /// A row before the transaction.
    pub(super) fn known(&self, row: &RowName) -> Result<Cow<'a, iolite_values::Row>, Needs> {
        self.rows.row(row).ok_or_else(|| Needs { rows: [row.clone()].into(), ..Needs::default() })
    }
}
