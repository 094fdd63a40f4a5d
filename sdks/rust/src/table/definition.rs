//! A schema from types.

use std::collections::BTreeMap;

use iolite_values::{Column, ColumnType, Consistency, Fetch, ListOrder, LogStart, Schema, SchemaError, Value};

use super::{ColumnKind, Table};

/// What a column of a struct is in the schema.
#[derive(Clone, Debug)]
pub struct ColumnDefinition {
    column: Column,
}

/// Collects tables.
#[derive(Debug, Default)]
pub struct SchemaBuilder {
    tables: Vec<Result<(String, iolite_values::Table), SchemaError>>,
    starts: BTreeMap<String, LogStart>,
}

/// A schema from types: see [`crate::table`].
pub fn schema() -> SchemaBuilder {
    SchemaBuilder::default()
}

impl SchemaBuilder {
    /// Adds a table.
    #[must_use]
    pub fn with<T: Table>(mut self) -> SchemaBuilder {
        let key = T::key_columns().into_iter().map(str::to_owned).collect();
        let columns: BTreeMap<String, Column> =
            T::columns().into_iter().map(|(name, definition)| (name.to_owned(), definition.column)).collect();
        let table = iolite_values::Table::new(T::NAME, key, columns);
        let table = table.map(|table| table.isolated(T::ISOLATION).followed(T::DELIVERED).of_log(T::LOG));
        let indexed = |table: iolite_values::Table| {
            T::indexes().into_iter().try_fold(table, |table, (index, columns)| {
                table.indexed(T::NAME, index, columns.into_iter().map(str::to_owned).collect())
            })
        };
        let table = table.and_then(indexed);
        let table = table.and_then(|table| if T::LIVE { table.live(T::NAME) } else { Ok(table) });
        let syncs = matches!(T::CONSISTENCY, Consistency::Eventual | Consistency::Causal { .. });
        let table = table.map(|table| table.when_offline(T::OFFLINE));
        let table = table.and_then(|table| if syncs { table.synced(T::NAME, T::CONSISTENCY) } else { Ok(table) });
        self.tables.push(table.map(|table| (T::NAME.to_owned(), table)));
        self
    }

    /// Every instance of a log begins with an operation, which takes no arguments and which every member replays before all entries.
    #[must_use]
    pub fn beginning_with(mut self, log: &str, operation: &str) -> SchemaBuilder {
        self.starts.insert(log.to_owned(), LogStart { initial: Some(operation.to_owned()) });
        self
    }

    /// The schema.
    ///
    /// # Errors
    /// [`SchemaError`], with the table and column.
    pub fn build(self) -> Result<Schema, SchemaError> {
        Schema::with_logs(self.tables.into_iter().collect::<Result<_, _>>()?, self.starts)
    }
}

impl ColumnDefinition {
    #[doc(hidden)]
    pub fn of<C: ColumnKind>() -> ColumnDefinition {
        ColumnDefinition { column: Column { optional: C::OPTIONAL, ..Column::of(C::column_type()) } }
    }

    #[doc(hidden)]
    #[must_use]
    pub fn with_default(mut self, default: Value) -> ColumnDefinition {
        self.column.default = Some(default);
        self
    }

    /// Of a column that is no list, an order means nothing.
    #[doc(hidden)]
    #[must_use]
    pub fn with_order(mut self, order: &str) -> ColumnDefinition {
        if let ColumnType::List { of, .. } = self.column.kind {
            let order = if order == "strict" { ListOrder::Strict } else { ListOrder::Commit };
            self.column.kind = ColumnType::List { of, order };
        }
        self
    }

    /// A blob that is fetched when it is read. A schema error in a column of another type.
    #[doc(hidden)]
    #[must_use]
    pub fn fetched_on_demand(mut self) -> ColumnDefinition {
        self.column.fetch = Fetch::OnDemand;
        self
    }

    pub(crate) fn column(&self) -> &Column {
        &self.column
    }

    pub(super) fn order(&self) -> ListOrder {
        match self.column.kind {
            ColumnType::List { order, .. } => order,
            ColumnType::Scalar(_)
            | ColumnType::Register(_)
            | ColumnType::Counter
            | ColumnType::Set(_)
            | ColumnType::Map(_)
            | ColumnType::Text => ListOrder::Commit,
        }
    }
}
