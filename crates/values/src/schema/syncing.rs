//! Tables that sync: eventual ones, and causal ones whose conflicts the app resolves.
//!
//! Invariant: such a table holds scalars and blobs, and each of its rows stands for itself. So a change of a row is a value for each of its columns, and two
//! rows can be compared.

use super::{ColumnType, Consistency, Offline, OnConflict, Schema, SchemaError, Table};
use crate::{Operation, TableId, Value};

impl Schema {
    /// Whether a table is there, and syncs.
    pub fn syncs(&self, table: TableId) -> bool {
        self.table_by_id(table).is_some_and(Table::syncs)
    }
}

impl Table {
    /// Whether its calls are kept on the device and sent as change sets.
    pub fn syncs(&self) -> bool {
        match self.consistency {
            Consistency::Eventual | Consistency::Causal { on_conflict: OnConflict::Manual } => true,
            Consistency::Strong
            | Consistency::Log { .. }
            | Consistency::Causal { on_conflict: OnConflict::Merge { .. } } => false,
        }
    }

    /// The same table, under a policy by which it syncs or merges.
    ///
    /// # Errors
    /// A column of a type that such a table cannot have; a policy that it cannot have.
    pub fn synced(self, name: &str, consistency: Consistency) -> Result<Table, SchemaError> {
        let table = Table { consistency, ..self };
        table.check_syncing(name)?;
        table.check_merging(name)?;
        Ok(table)
    }

    /// Whether a table that syncs is one that can.
    pub(super) fn check_syncing(&self, name: &str) -> Result<(), SchemaError> {
        if !self.syncs() {
            return Ok(());
        }
        let policy = self.consistency.name();
        let wrong = [
            (self.live, "is not live: its rows are inserted"),
            (self.delivered, "has no delivered view: that is of strong tables and of logs"),
            (self.offline == Offline::Refuse, "takes changes offline: leave out `offline`, or make it strong"),
        ];
        if let Some((_, problem)) = wrong.iter().find(|(is_wrong, _)| *is_wrong) {
            return Err(SchemaError::new(name, "", format!("a table that is {policy} {problem}")));
        }
        match self.columns.iter().find(|(_, column)| !matches!(column.kind, ColumnType::Scalar(_))) {
            Some((column, definition)) => {
                let kind = definition.kind.name();
                let problem = format!(
                    "a table that is {policy} holds scalars and blobs, and this is a {kind}, which merges: take a scalar, or a strong table"
                );
                Err(SchemaError::new(name, column, problem))
            }
            None => Ok(()),
        }
    }

    /// How the cells of a column are stored. In an eventual table, and in one that merges, each scalar is a register: the later write stands.
    pub fn stored_kind(&self, kind: ColumnType) -> ColumnType {
        match (&self.consistency, kind) {
            (
                Consistency::Eventual | Consistency::Causal { on_conflict: OnConflict::Merge { .. } },
                ColumnType::Scalar(of),
            ) => ColumnType::Register(of),
            (
                Consistency::Eventual | Consistency::Strong | Consistency::Log { .. } | Consistency::Causal { .. },
                own,
            ) => own,
        }
    }

    /// The operation that puts a scalar into a cell of this table.
    pub fn put(&self, value: Value) -> Operation {
        match self.consistency {
            Consistency::Eventual => Operation::Assign(value),
            Consistency::Strong | Consistency::Log { .. } | Consistency::Causal { .. } => Operation::Put(value),
        }
    }
}
