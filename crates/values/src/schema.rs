//! Schemas: which tables there are, of which columns, under which policy.
//!
//! An app writes its schema in its own language; it travels as canonical JSON: object keys sorted, no white space, defaults
//! written out. Equal schemas have equal hashes in every language. What Iolite cannot do yet is a clear error here, never accepted and
//! ignored.

mod check;
mod index;
mod json;
mod merge;
mod merging;
mod syncing;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::log::{LogPages, LogStart, logs_of};
use crate::{
    ColumnId, Isolation, LOG_CHECKPOINTS_TABLE, LOG_TABLE, Level, ListOrder, LogCheckpoint, Operation, Read, TableId,
    Value, ValueType, Write,
};

pub use check::OperationError;
pub use index::QueryError;

/// All tables of an app.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Schema {
    tables: BTreeMap<String, Table>,
    names: BTreeMap<TableId, String>,
    /// All logs that tables are of.
    logs: BTreeMap<String, LogStart>,
}

/// The first 16 bytes of the SHA-256 of the canonical JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaHash(pub [u8; 16]);

/// One table: its policy, its primary key, its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub consistency: Consistency,
    pub isolation: Isolation,
    pub offline: Offline,
    /// Rows of a live table exist without being inserted (the papers' `rmap`): a bare data type under a key.
    pub live: bool,
    /// The gateway tells a client when everybody who follows its changes here has applied them: the delivered view.
    pub delivered: bool,
    /// The columns of the primary key, in order. Their values are in the row key, not in cells.
    pub key: Vec<String>,
    pub columns: BTreeMap<String, Column>,
    /// Secondary indexes by name, each an ordered list of columns.
    pub indexes: BTreeMap<String, Vec<String>>,
    numbers: BTreeMap<ColumnId, String>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub kind: ColumnType,
    /// A scalar or register that may be null, and is when not given.
    pub optional: bool,
    /// What a scalar or register holds when not given. A column that is added to a table later is optional or has one.
    pub default: Option<Value>,
    /// When a device fetches the chunks of a blob. Of other types: with the row.
    pub fetch: Fetch,
}

/// When a device fetches the chunks of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// As soon as it has the row.
    WithRow,
    /// When somebody reads them.
    OnDemand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    Scalar(Scalar),
    /// Last writer wins, without conflict.
    Register(Scalar),
    Counter,
    Set(Scalar),
    List {
        of: Scalar,
        order: ListOrder,
    },
    /// From strings.
    Map(Scalar),
    /// Collaborative text.
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    Bool,
    Int,
    Float,
    String,
    Bytes,
    Id,
    /// Large: its cell holds up to 4 KiB of it, or names the chunks.
    Blob,
}

/// How a table's transactions are committed. The other policies come with their crates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consistency {
    Strong,
    /// A variable of this log.
    Log {
        name: Arc<str>,
    },
    /// Written offline. Of two who write a column unseen by each other, the later write stands.
    Eventual,
    /// Written offline. Two who write a row unseen by each other are in conflict.
    Causal {
        on_conflict: OnConflict,
    },
}

/// How a conflict of a causal table ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// The app is shown it, and decides.
    Manual,
    /// There is none: each column is of a type that merges.
    Merge { rows: RowsWin },
}

/// Who wins when a row is deleted and updated at once, in a table that merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsWin {
    /// The row comes back whole.
    Updates,
}

/// What a mutation of a strong table does while there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offline {
    /// It waits in the durable queue.
    Queue,
    /// It is refused.
    Refuse,
}

/// What is wrong with a schema, and where. `table` and `column` are empty where they do not apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("schema{}: {problem}", place(.table, .column))]
pub struct SchemaError {
    pub table: String,
    pub column: String,
    pub problem: String,
}

fn place(table: &str, column: &str) -> String {
    match (table.is_empty(), column.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!(", table {table:?}"),
        (false, false) => format!(", table {table:?}, column {column:?}"),
    }
}

impl SchemaError {
    pub(crate) fn new(table: &str, column: &str, problem: impl Into<String>) -> SchemaError {
        SchemaError { table: table.into(), column: column.into(), problem: problem.into() }
    }
}

impl Schema {
    /// Puts tables together and checks what concerns them all.
    ///
    /// # Errors
    /// Two table names with one number, a name that is no name, too many tables, or more than [`Schema::JSON_BYTES_MAX`] as canonical JSON:
    /// nobody could send it.
    pub fn new(tables: BTreeMap<String, Table>) -> Result<Schema, SchemaError> {
        Schema::with_logs(tables, BTreeMap::new())
    }

    /// The same, where some logs begin with an operation.
    ///
    /// # Errors
    /// As [`Schema::new`]; a log that no table is of.
    pub fn with_logs(
        tables: BTreeMap<String, Table>,
        starts: BTreeMap<String, LogStart>,
    ) -> Result<Schema, SchemaError> {
        if tables.len() > Schema::TABLES_MAX {
            return Err(SchemaError::new("", "", format!("more than {} tables", Schema::TABLES_MAX)));
        }
        let mut names = BTreeMap::new();
        for name in tables.keys() {
            check_name(name).map_err(|problem| SchemaError::new(name, "", problem))?;
            if let Some(other) = names.insert(TableId::of(name), name.clone()) {
                return Err(SchemaError::new(name, "", format!("its number is that of table {other:?}: rename one")));
            }
        }
        let logs = logs_of(&tables, starts)?;
        let schema = Schema { tables, names, logs };
        Schema::check_length(&schema.to_json())?;
        Ok(schema)
    }

    pub const TABLES_MAX: usize = 1000;

    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(name)
    }

    /// A table of the app, or one that the system keeps for its logs.
    pub fn table_by_id(&self, id: TableId) -> Option<&Table> {
        match self.names.get(&id) {
            Some(name) => self.tables.get(name),
            None => self.kept_for_logs(id).map(|(_, table)| table),
        }
    }

    pub fn table_name(&self, id: TableId) -> Option<&str> {
        self.names.get(&id).map(String::as_str).or_else(|| self.kept_for_logs(id).map(|(name, _)| name))
    }

    fn kept_for_logs(&self, id: TableId) -> Option<(&'static str, &'static Table)> {
        let pages = || (LOG_TABLE, LogPages::definition());
        let checkpoints = || (LOG_CHECKPOINTS_TABLE, LogCheckpoint::definition());
        if !self.has_logs() {
            return None;
        }
        let is_of_checkpoints = (id == LogCheckpoint::table()).then(checkpoints);
        (id == LogPages::table()).then(pages).or(is_of_checkpoints)
    }

    /// All logs, and how they begin.
    pub fn logs(&self) -> &BTreeMap<String, LogStart> {
        &self.logs
    }

    /// The level of a transaction that reads and writes this: that of the strictest table which it touches. Of a table that is not here, strict.
    pub fn level(&self, reads: &[Read], writes: &[Write]) -> Level {
        let tables = reads.iter().map(Read::table).chain(writes.iter().map(|write| write.cell.table));
        let isolation =
            |table| self.table_by_id(table).map_or(Isolation::StrictSerializable, Table::promised_isolation);
        tables.map(isolation).max().map_or(Level::Strict, Isolation::level)
    }

    /// Whether changes of any table are followed until everybody has applied them: of one that says so, or of a log.
    pub fn follows_delivery(&self) -> bool {
        self.has_logs() || self.tables.values().any(|table| table.delivered)
    }

    /// Whether the table is there, and its changes are followed until everybody has applied them.
    pub fn is_delivered(&self, table: TableId) -> bool {
        self.table_by_id(table).is_some_and(|table| table.delivered)
    }

    /// Whether a table is there, and can be read in the delivered view: it says so, or it is of a log.
    pub fn has_delivered_view(&self, table: TableId) -> bool {
        self.table_by_id(table).is_some_and(Table::has_delivered_view)
    }

    /// Whether a table has a column of blobs.
    pub fn has_blobs(&self) -> bool {
        self.tables.values().any(|table| table.columns.values().any(Column::is_blob))
    }

    pub fn tables(&self) -> impl Iterator<Item = (&str, &Table)> {
        self.tables.iter().map(|(name, table)| (name.as_str(), table))
    }
}

impl Table {
    pub const COLUMNS_MAX: usize = 1000;

    /// A strong, strictly serializable table.
    ///
    /// # Errors
    /// A key that is empty, repeats a column or names one that cannot be a key; names that clash; a default of another type.
    pub fn new(name: &str, key: Vec<String>, columns: BTreeMap<String, Column>) -> Result<Table, SchemaError> {
        let mut table = Table {
            consistency: Consistency::Strong,
            isolation: Isolation::StrictSerializable,
            offline: Offline::Queue,
            live: false,
            delivered: false,
            key,
            columns,
            indexes: BTreeMap::new(),
            numbers: BTreeMap::new(),
        };
        table.number_columns(name)?;
        table.check_key(name)?;
        for (column_name, column) in &table.columns {
            column.check().map_err(|problem| SchemaError::new(name, column_name, problem))?;
        }
        Ok(table)
    }

    /// The same table, whose rows exist without being inserted.
    ///
    /// # Errors
    /// When a column has to be given at insertion, as nobody inserts.
    pub fn live(mut self, name: &str) -> Result<Table, SchemaError> {
        let needy =
            self.data_columns().find(|(_, column)| column.initial().is_none()).map(|(column, _)| column.to_owned());
        if let Some(column) = needy {
            let problem = "in a live table nobody inserts rows: make the column optional or give it a default";
            return Err(SchemaError::new(name, &column, problem));
        }
        self.live = true;
        Ok(self)
    }

    /// The isolation that its policy promises.
    fn promised_isolation(&self) -> Isolation {
        match self.consistency {
            Consistency::Strong => self.isolation,
            // Its rows are in no transaction.
            Consistency::Log { .. } => Isolation::StrictSerializable,
            Consistency::Eventual => Isolation::ReadCommitted,
            Consistency::Causal { on_conflict: OnConflict::Manual } => Isolation::StrictSerializable,
            // Effects conflict with nothing, so nothing is guarded.
            Consistency::Causal { on_conflict: OnConflict::Merge { .. } } => Isolation::ReadCommitted,
        }
    }

    /// The same table, at another level of isolation.
    #[must_use]
    pub fn isolated(mut self, isolation: Isolation) -> Table {
        self.isolation = isolation;
        self
    }

    /// The same table, of whose changes it is told when everybody who follows them has applied them, or not.
    #[must_use]
    pub fn followed(mut self, delivered: bool) -> Table {
        self.delivered = delivered;
        self
    }

    /// The same table, whose changes wait for a connection or are refused without one.
    #[must_use]
    pub fn when_offline(mut self, offline: Offline) -> Table {
        self.offline = offline;
        self
    }

    /// The same table, as a variable of a log, or as it is.
    #[must_use]
    pub fn of_log(mut self, log: Option<&str>) -> Table {
        if let Some(name) = log {
            self.consistency = Consistency::Log { name: name.into() };
        }
        self
    }

    pub fn column(&self, id: ColumnId) -> Option<(&str, &Column)> {
        let name = self.numbers.get(&id)?;
        self.columns.get(name).map(|column| (name.as_str(), column))
    }

    /// The columns that are cells: all but those of the primary key.
    pub fn data_columns(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.columns.iter().filter(|(name, _)| !self.key.contains(name)).map(|(name, column)| (name.as_str(), column))
    }

    /// The types of the primary key's columns.
    pub fn key_types(&self) -> impl Iterator<Item = Scalar> {
        self.key.iter().map(|name| match self.columns.get(name).map(|column| column.kind) {
            Some(ColumnType::Scalar(scalar)) => scalar,
            _ => unreachable!("check_key lets only scalars into a key"),
        })
    }

    fn number_columns(&mut self, table: &str) -> Result<(), SchemaError> {
        if self.columns.len() > Table::COLUMNS_MAX {
            return Err(SchemaError::new(table, "", format!("more than {} columns", Table::COLUMNS_MAX)));
        }
        for name in self.columns.keys() {
            check_name(name).map_err(|problem| SchemaError::new(table, name, problem))?;
            let id = ColumnId::of(name);
            let other = self.numbers.insert(id, name.clone());
            if id == ColumnId::ROW || other.is_some() {
                return Err(SchemaError::new(table, name, "its number is taken: rename the column"));
            }
        }
        Ok(())
    }

    fn check_key(&self, table: &str) -> Result<(), SchemaError> {
        if self.key.is_empty() {
            return Err(SchemaError::new(table, "", "it needs a primary key of one column or more"));
        }
        for (place, name) in self.key.iter().enumerate() {
            let problem = match self.columns.get(name) {
                None => "the primary key names it, but there is no such column",
                Some(Column { optional: true, .. }) => "a column of the primary key cannot be optional",
                Some(Column { kind: ColumnType::Scalar(Scalar::Float), .. }) => "a float cannot be in a primary key",
                Some(Column { kind: ColumnType::Scalar(Scalar::Blob), .. }) => "a blob cannot be in a primary key",
                Some(Column { kind: ColumnType::Scalar(_), .. }) if self.key[..place].contains(name) => {
                    "it is in the primary key twice"
                }
                Some(Column { kind: ColumnType::Scalar(_), .. }) => continue,
                Some(_) => "a mergeable type cannot be in a primary key",
            };
            return Err(SchemaError::new(table, name, problem));
        }
        Ok(())
    }
}

impl Column {
    pub fn of(kind: ColumnType) -> Column {
        Column { kind, optional: false, default: None, fetch: Fetch::WithRow }
    }

    /// The value of a scalar or register that was not given; nothing if it has to be given. Collections begin empty: null.
    pub fn initial(&self) -> Option<Value> {
        match self.kind {
            ColumnType::Scalar(_) | ColumnType::Register(_) => {
                self.default.clone().or(if self.optional { Some(Value::Null) } else { None })
            }
            ColumnType::Counter
            | ColumnType::Set(_)
            | ColumnType::List { .. }
            | ColumnType::Map(_)
            | ColumnType::Text => Some(Value::Null),
        }
    }

    /// The operations that give a cell its first content, where an insertion gives none.
    pub fn initial_operations(&self) -> Vec<Operation> {
        match (self.kind, self.initial()) {
            (ColumnType::Scalar(_), Some(value)) => vec![Operation::Put(value)],
            (ColumnType::Register(_), Some(value)) => vec![Operation::Assign(value)],
            (
                ColumnType::Scalar(_)
                | ColumnType::Register(_)
                | ColumnType::Counter
                | ColumnType::Set(_)
                | ColumnType::List { .. }
                | ColumnType::Map(_)
                | ColumnType::Text,
                _,
            ) => Vec::new(),
        }
    }

    /// Whether its cells hold blobs.
    pub fn is_blob(&self) -> bool {
        self.kind == ColumnType::Scalar(Scalar::Blob)
    }

    fn check(&self) -> Result<(), String> {
        if self.kind.element() == Scalar::Blob && !self.is_blob() {
            return Err(format!("a {} has no blobs: a blob is a column of its own", self.kind.name()));
        }
        if self.fetch == Fetch::OnDemand && !self.is_blob() {
            return Err(format!("fetch belongs to blobs, not to a {}", self.kind.name()));
        }
        match (&self.kind, &self.default) {
            (ColumnType::Scalar(scalar) | ColumnType::Register(scalar), Some(value)) if !scalar.holds(value) => {
                Err(format!("its default {value:?} is not of type {}", scalar.name()))
            }
            (ColumnType::Scalar(_) | ColumnType::Register(_), Some(value)) => check_default(value),
            (ColumnType::Scalar(_) | ColumnType::Register(_), None) => Ok(()),
            (_, Some(_)) => Err("only scalars and registers have defaults".into()),
            (_, None) if self.optional => Err("only scalars and registers are optional: others begin empty".into()),
            (_, None) => Ok(()),
        }
    }
}

/// A schema travels as JSON, which does not have all values.
fn check_default(value: &Value) -> Result<(), String> {
    match value {
        Value::Float(number) if !number.is_finite() => Err(format!("its default {number} is no finite number")),
        Value::Bytes(_) => Err("a bytes column has no default: make it optional".into()),
        Value::Blob(_) => Err("a blob column has no default: make it optional".into()),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_) | Value::Id(_) => Ok(()),
    }
}

impl Scalar {
    pub const ALL: [Scalar; 7] =
        [Scalar::Bool, Scalar::Int, Scalar::Float, Scalar::String, Scalar::Bytes, Scalar::Id, Scalar::Blob];

    pub fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::Int => "int",
            Scalar::Float => "float",
            Scalar::String => "string",
            Scalar::Bytes => "bytes",
            Scalar::Id => "id",
            Scalar::Blob => "blob",
        }
    }

    /// Whether it is a value of this type. A float that [`Value::float`] would not have made has no encoding, and is none.
    pub fn holds(self, value: &Value) -> bool {
        if let Value::Float(number) = value {
            return self == Scalar::Float && Value::float(*number).is_ok_and(|made| made == *value);
        }
        let wanted = match self {
            Scalar::Bool => ValueType::Bool,
            Scalar::Int => ValueType::Int,
            Scalar::Float => ValueType::Float,
            Scalar::String => ValueType::String,
            Scalar::Bytes => ValueType::Bytes,
            Scalar::Id => ValueType::Id,
            Scalar::Blob => ValueType::Blob,
        };
        value.kind() == wanted
    }
}

impl ColumnType {
    pub fn name(self) -> &'static str {
        match self {
            ColumnType::Scalar(scalar) => scalar.name(),
            ColumnType::Register(_) => "register",
            ColumnType::Counter => "counter",
            ColumnType::Set(_) => "set",
            ColumnType::List { .. } => "list",
            ColumnType::Map(_) => "map",
            ColumnType::Text => "text",
        }
    }

    /// The type of a column's values, or of their elements: of a counter its total, of a text its string.
    pub fn element(self) -> Scalar {
        match self {
            ColumnType::Scalar(of) | ColumnType::Register(of) | ColumnType::Set(of) | ColumnType::Map(of) => of,
            ColumnType::List { of, order: _ } => of,
            ColumnType::Counter => Scalar::Int,
            ColumnType::Text => Scalar::String,
        }
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if plain && starts && name.len() <= 64 {
        Ok(())
    } else {
        Err("a name is a letter, then letters, digits and underscores, 64 at most".into())
    }
}

#[cfg(test)]
mod tests;
