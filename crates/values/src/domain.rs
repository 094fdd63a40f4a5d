//! Domains: the tables whose writes commit together. A transaction writes to one domain.
//!
//! Invariant: client and gateway decide by a `match` on the domain, without a `_` arm, what a mutation asks of the store and what a reply means. So the
//! compiler leads whoever adds a domain to each of these places.
//! Source: Iolite's own; the papers have one policy each.

use crate::{Cell, Consistency, LogId, OperationError, Schema, Table, TableId, Write};

/// Tables whose writes commit together, under one policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Domain {
    /// All strong tables.
    Strong,
    /// One log: its tables at a client, its pages at a server.
    Log(LogId),
    /// One table that syncs: eventual, or causal with conflicts that the app resolves.
    Rows(TableId),
    /// All tables that merge.
    Causal,
}

impl Consistency {
    /// As schemas spell it.
    pub fn name(&self) -> &'static str {
        match self {
            Consistency::Strong => "strong",
            Consistency::Log { .. } => "log",
            Consistency::Eventual => "eventual",
            Consistency::Causal { .. } => "causal",
        }
    }
}

impl Schema {
    /// The domain of a cell. A table that is not here counts as strong, which is the strictest policy.
    pub fn domain(&self, cell: &Cell) -> Domain {
        if self.table_by_id(cell.table).is_some_and(Table::syncs) {
            return Domain::Rows(cell.table);
        }
        if self.merges(cell.table) {
            return Domain::Causal;
        }
        self.log_of(cell.table, &cell.row).map_or(Domain::Strong, Domain::Log)
    }

    /// The domain that a transaction writes to; none if it writes nothing.
    ///
    /// # Errors
    /// [`OperationError::TwoDomains`].
    pub fn domain_of(&self, writes: &[Write]) -> Result<Option<Domain>, OperationError> {
        self.only_domain(writes)
    }

    /// Whether one more write is of the same domain as those before, which are of one.
    ///
    /// # Errors
    /// [`OperationError::TwoDomains`].
    pub fn check_domain(&self, so_far: &[Write], next: &Write) -> Result<(), OperationError> {
        self.only_domain(so_far.first().into_iter().chain([next])).map(drop)
    }

    fn only_domain<'a>(&self, writes: impl IntoIterator<Item = &'a Write>) -> Result<Option<Domain>, OperationError> {
        let cells = writes.into_iter().map(|write| &write.cell);
        only(cells.map(|cell| (cell.table, self.domain(cell))))
            .map_err(|[first, other]| OperationError::TwoDomains { first: self.named(first), other: self.named(other) })
    }

    fn named(&self, table: TableId) -> String {
        let policy = self.table_by_id(table).map_or(Consistency::Strong.name(), |table| table.consistency.name());
        format!("{:?} ({policy})", self.table_name(table).unwrap_or("?"))
    }
}

/// The one domain of these tables; the first two tables that differ, if there are two domains.
fn only<D: PartialEq>(tables: impl IntoIterator<Item = (TableId, D)>) -> Result<Option<D>, [TableId; 2]> {
    let mut tables = tables.into_iter();
    let Some((first, domain)) = tables.next() else { return Ok(None) };
    match tables.find(|(_, other)| *other != domain) {
        Some((other, _)) => Err([first, other]),
        None => Ok(Some(domain)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, ColumnId, Operation, RowKey, Value};

    fn schema() -> Schema {
        let table = r#"{"columns":{"id":{"type":"int"},"n":{"type":"counter"}},"key":["id"]}"#;
        Schema::from_json(&format!(r#"{{"tables":{{"a":{table},"b":{table}}}}}"#)).expect("a good schema")
    }

    fn add(table: &str) -> Write {
        let row = RowKey::new(&[Value::Int(1)]).expect("short");
        Write { cell: Cell { table: TableId::of(table), row, column: ColumnId::of("n") }, operation: Operation::Add(1) }
    }

    #[test]
    fn strong_tables_are_one_domain() {
        assert_eq!(schema().domain_of(&[add("a"), add("b")]), Ok(Some(Domain::Strong)));
        assert_eq!(schema().domain_of(&[]), Ok(None));
        assert_eq!(schema().domain(&add("nowhere").cell), Domain::Strong);
        assert_eq!(schema().check_domain(&[add("a")], &add("b")), Ok(()));
    }

    #[test]
    fn the_first_two_tables_of_different_domains_are_named() {
        let tables = |domains: &[u8]| only(domains.iter().enumerate().map(|(at, own)| (TableId(at as u32), *own)));
        assert_eq!(tables(&[]), Ok(None));
        assert_eq!(tables(&[7, 7, 7]), Ok(Some(7)));
        assert_eq!(tables(&[7, 7, 8, 9]), Err([TableId(0), TableId(2)]));
    }

    #[test]
    fn a_consistency_is_written_as_it_is_named() {
        assert!(schema().to_json().contains(&format!(r#""consistency":"{}""#, Consistency::Strong.name())));
    }
}
