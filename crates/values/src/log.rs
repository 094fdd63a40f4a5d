//! Logs: tables that are the variables of one shared state machine, whose operations every member replays in one order.
//!
//! The entries of all logs are rows of one table of the system, [`LOG_TABLE`]: pages of a commit-ordered list. The tables of a log have no row in the
//! store: clients make them by replaying.
//!
//! Invariant: a log's tables share the first column of their keys, which names the instance.
//! Source: Hercules (Lebeck 2020, section 3.3).

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::{
    Cell, Column, ColumnId, ColumnType, Interest, KeyError, KeyRange, ListOrder, RowKey, Scalar, Schema, SchemaError,
    Table, TableId, Value,
};

/// The table that holds the entries of all logs. Apps do not name it.
pub const LOG_TABLE: &str = "_log";

/// One log: a state machine of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogId {
    /// As the schema calls it.
    pub name: Arc<str>,
    /// The value of the first key column, as a key of one column.
    pub instance: RowKey,
}

/// How a log begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogStart {
    /// The operation that every member replays before all entries, if there is one.
    pub initial: Option<String>,
}

/// The pages of [`LOG_TABLE`]: how their keys and cells are made.
#[derive(Clone, Copy, Debug)]
pub struct LogPages;

impl LogId {
    /// # Errors
    /// As [`RowKey::new`].
    pub fn new(name: &str, instance: &Value) -> Result<LogId, KeyError> {
        Ok(LogId { name: name.into(), instance: RowKey::new(std::slice::from_ref(instance))? })
    }

    /// The rows of a log's table that are of this instance.
    pub fn rows(&self, table: TableId) -> Interest {
        let values = self.instance.values().unwrap_or_default();
        Interest::Range { table, range: KeyRange::prefix(&values).expect("it was a key before") }
    }

    /// The log that all pages, or all checkpoints, of an interest are of. None: they are of several logs, or of none.
    pub fn of_all(interest: &Interest) -> Option<LogId> {
        let range = match interest {
            Interest::Cell(cell) => KeyRange::one(&cell.row),
            Interest::Range { table: _, range } => range.clone(),
            Interest::Query(query) => query.keys.clone(),
        };
        let first = RowKey::from_bytes(&range.lower).ok()?.values().ok()?;
        let [Value::String(name), Value::Bytes(instance), ..] = &first[..] else { return None };
        let is_of_it = KeyRange::prefix(&first[..2]).is_ok_and(|own| own.covers(&range));
        let instance = RowKey::from_bytes(instance).ok()?;
        is_of_it.then(|| LogId { name: name.as_ref().into(), instance })
    }

    /// The key of a page.
    ///
    /// # Errors
    /// [`KeyError::TooLong`]: the name or the instance is too long.
    pub fn page(&self, page: u64) -> Result<RowKey, KeyError> {
        RowKey::new(&[self.name_value(), self.instance_value(), Value::Int(page as i64)])
    }

    /// Pages from one on, so many as are asked for.
    ///
    /// # Errors
    /// As [`LogId::page`].
    pub fn pages(&self, from: u64, count: u64) -> Result<Interest, KeyError> {
        let (lower, upper) = (self.page(from)?, self.page(from + count)?);
        let range = KeyRange { lower: lower.as_bytes().into(), upper: Some(upper.as_bytes().into()) };
        Ok(Interest::Range { table: LogPages::table(), range })
    }

    fn name_value(&self) -> Value {
        Value::from(&*self.name)
    }

    fn instance_value(&self) -> Value {
        Value::Bytes(self.instance.as_bytes().into())
    }
}

impl LogPages {
    pub fn table() -> TableId {
        static TABLE: OnceLock<TableId> = OnceLock::new();
        *TABLE.get_or_init(|| TableId::of(LOG_TABLE))
    }

    /// The list of a page's entries.
    pub fn entries(page: RowKey) -> Cell {
        Cell { table: LogPages::table(), row: page, column: LogPages::entries_column() }
    }

    /// Whether a page takes no entries any more. Who appends has read it, so an append and the turn of its page conflict.
    pub fn closed(page: RowKey) -> Cell {
        Cell { table: LogPages::table(), row: page, column: LogPages::closed_column() }
    }

    pub fn entries_column() -> ColumnId {
        ColumnId::of("entries")
    }

    pub fn closed_column() -> ColumnId {
        ColumnId::of("closed")
    }

    /// The log and the number of the page that has this key; none if it is no key of a page.
    pub fn read_key(key: &RowKey) -> Option<(LogId, u64)> {
        let values: [Value; 3] = key.values().ok()?.try_into().ok()?;
        let [Value::String(name), Value::Bytes(instance), Value::Int(page)] = values else { return None };
        let instance = RowKey::from_bytes(&instance).ok()?;
        Some((LogId { name: name.as_ref().into(), instance }, u64::try_from(page).ok()?))
    }

    pub(crate) fn definition() -> &'static Table {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| {
            let scalar = |scalar| Column::of(ColumnType::Scalar(scalar));
            let entries = ColumnType::List { of: Scalar::Bytes, order: ListOrder::Commit };
            let columns = [
                ("log", scalar(Scalar::String)),
                ("instance", scalar(Scalar::Bytes)),
                ("page", scalar(Scalar::Int)),
                ("entries", Column::of(entries)),
                ("closed", Column { optional: true, ..scalar(Scalar::Bool) }),
            ];
            let columns = columns.map(|(name, column)| (name.to_owned(), column)).into();
            let key = ["log", "instance", "page"].map(str::to_owned).into();
            // Members say what they have replayed.
            Table::new(LOG_TABLE, key, columns).expect("its definition is right").followed(true)
        })
    }
}

impl Table {
    /// Whether it can be read in the delivered view.
    pub fn has_delivered_view(&self) -> bool {
        self.delivered || self.log().is_some()
    }

    /// The log that it is a variable of.
    pub fn log(&self) -> Option<&Arc<str>> {
        match &self.consistency {
            crate::Consistency::Log { name } => Some(name),
            crate::Consistency::Strong | crate::Consistency::Eventual | crate::Consistency::Causal { .. } => None,
        }
    }
}

impl Schema {
    pub fn has_logs(&self) -> bool {
        !self.logs().is_empty()
    }

    /// The tables of a log.
    pub fn tables_of_log<'a>(&'a self, name: &'a str) -> impl Iterator<Item = TableId> + 'a {
        self.tables()
            .filter(move |(_, table)| table.log().is_some_and(|log| **log == *name))
            .map(|(own, _)| TableId::of(own))
    }

    /// The log that a row of a table belongs to; none of a table that is no log's. Of a page: the log whose entries it holds.
    pub fn log_of(&self, table: TableId, row: &RowKey) -> Option<LogId> {
        if table == LogPages::table() {
            return LogPages::read_key(row).map(|(log, _)| log);
        }
        let name = self.table_by_id(table)?.log()?;
        let instance = row.values().ok()?.into_iter().next()?;
        LogId::new(name, &instance).ok()
    }
}

/// All logs of these tables, checked for what concerns all tables of one.
pub(crate) fn logs_of(
    tables: &BTreeMap<String, Table>,
    starts: BTreeMap<String, LogStart>,
) -> Result<BTreeMap<String, LogStart>, SchemaError> {
    let mut logs: BTreeMap<String, LogStart> = BTreeMap::new();
    let mut instances: BTreeMap<&str, (&str, Scalar)> = BTreeMap::new();
    for (name, table) in tables {
        let Some(log) = table.log() else { continue };
        if let Some((column, _)) = table.columns.iter().find(|(_, column)| column.is_blob()) {
            let problem = "a table of a log has no blobs: keep them in a strong table, and their keys here";
            return Err(SchemaError::new(name, column, problem));
        }
        if table.delivered {
            let problem = "it is of a log, which has the delivered view anyway: leave `delivered` out";
            return Err(SchemaError::new(name, "", problem));
        }
        let Some(first) = table.key_types().next() else { continue };
        let (other, kind) = *instances.entry(log).or_insert((name, first));
        if kind != first {
            let problem = format!(
                "the first column of its key is a {}, and that of table {other:?} of the same log {log:?} a {}: it names the instance",
                first.name(),
                kind.name(),
            );
            return Err(SchemaError::new(name, "", problem));
        }
        logs.entry(log.to_string()).or_default();
    }
    for (log, start) in starts {
        if logs.insert(log.clone(), start).is_none() {
            return Err(SchemaError::new("", "", format!("no table is of the log {log:?}")));
        }
    }
    Ok(logs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(more: &str) -> Result<Schema, SchemaError> {
        let text = if more == "blob" { "blob" } else { "string" };
        let table = |first: &str| {
            format!(
                r#"{{"columns":{{"sheet":{{"type":"{first}"}},"at":{{"type":"string"}},"text":{{"type":"{text}"}}}},"consistency":"log","log":"sheet","key":["sheet","at"]}}"#
            )
        };
        let (cells, marks) = (table("string"), table(if more == "int" { "int" } else { "string" }));
        let logs = if more == "logs" { r#""logs":{"sheet":{"initial":"header"}},"# } else { "" };
        let logs = if more == "other" { r#""logs":{"other":{}},"# } else { logs };
        Schema::from_json(&format!(r#"{{{logs}"tables":{{"cells":{cells},"marks":{marks}}}}}"#))
    }

    #[test]
    fn a_log_is_the_rows_of_one_instance_in_all_its_tables() {
        let schema = schema("logs").expect("a good schema");
        assert_eq!(Schema::from_json(&schema.to_json()).as_ref(), Ok(&schema));
        assert_eq!(schema.logs()["sheet"].initial.as_deref(), Some("header"));
        assert_eq!(schema.tables_of_log("sheet").count(), 2);
        let row = RowKey::new(&[Value::from("budget"), Value::from("B2")]).expect("short");
        let log = schema.log_of(TableId::of("cells"), &row).expect("it is a log's table");
        assert_eq!(log, LogId::new("sheet", &Value::from("budget")).expect("short"));
        let Interest::Range { range, .. } = log.rows(TableId::of("cells")) else { panic!("a range") };
        assert!(range.contains(&row));
        assert!(!range.contains(&RowKey::new(&[Value::from("budgets"), Value::from("B2")]).expect("short")));
    }

    #[test]
    fn pages_are_named_by_log_instance_and_number() {
        let log = LogId::new("sheet", &Value::Int(7)).expect("short");
        let key = log.page(3).expect("short");
        assert_eq!(LogPages::read_key(&key), Some((log.clone(), 3)));
        let Ok(Interest::Range { range, .. }) = log.pages(3, 2) else { panic!("a range") };
        assert!(range.contains(&key) && range.contains(&log.page(4).expect("short")));
        assert!(!range.contains(&log.page(2).expect("short")) && !range.contains(&log.page(5).expect("short")));
        let other = LogId::new("sheet", &Value::Int(8)).expect("short");
        assert!(!range.contains(&other.page(3).expect("short")));
        assert_eq!(LogPages::read_key(&RowKey::new(&[Value::Int(1)]).expect("short")), None);
    }

    #[test]
    fn the_table_of_pages_is_there_for_schemas_with_logs_and_in_no_list() {
        let with = schema("").expect("a good schema");
        assert!(with.has_logs() && with.table_by_id(LogPages::table()).is_some());
        assert_eq!(with.find(LogPages::table()).map(|(name, _)| name), Ok(LOG_TABLE));
        assert!(with.tables().all(|(name, _)| name != LOG_TABLE) && with.table(LOG_TABLE).is_none());
        assert!(Schema::default().table_by_id(LogPages::table()).is_none());
    }

    #[test]
    fn what_makes_no_log_is_named() {
        let problem = |more: &str| schema(more).expect_err("it is wrong").to_string();
        assert!(problem("int").contains("it names the instance"), "{}", problem("int"));
        assert!(problem("blob").contains("a table of a log has no blobs"), "{}", problem("blob"));
        assert!(problem("other").contains("no table is of the log \"other\""), "{}", problem("other"));
    }
}
