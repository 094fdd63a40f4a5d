//! What a closure reads and writes with.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_client::{Content, Question, RowVersion, Splice};
use iolite_values::{
    Cell, CellState, ColumnId, ColumnType, Id, KeyRange, ListOrder, Operation, OperationError, Row, RowKey, Table,
    TableId, Value,
};

use crate::error::{Abort, Result};
use crate::key::IntoKey;
use crate::row::{Record, default_state};

/// One run of a closure, on one snapshot. Reads see the closure's own writes.
///
/// Closures are synchronous, and may run several times: when data is not here yet, it is fetched and the closure runs again from its start;
/// after a conflict it runs on newer data. So a closure depends on nothing but its arguments and what it reads.
pub struct Transaction<'a> {
    core: iolite_client::Transaction<'a>,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(core: iolite_client::Transaction<'a>) -> Transaction<'a> {
        Transaction { core }
    }

    /// Microseconds since 1970 on this device's clock when the mutation was called: the same at every run.
    pub fn now_micros(&self) -> u64 {
        self.core.now().as_micros()
    }

    /// An id that no other call makes: the same at every run of this mutation.
    pub fn new_id(&mut self) -> Id {
        self.core.new_id()
    }

    /// 64 bits that look random: the same at every run of this mutation.
    pub fn random(&mut self) -> u64 {
        self.core.random()
    }

    /// A row; `None` if there is none.
    ///
    /// # Errors
    /// [`Abort::Run`]: the data is being fetched, the table or key does not fit the schema, or a limit is passed.
    pub fn row(&mut self, table: &str, key: impl IntoKey) -> Result<Option<Record>> {
        let (id, row_key) = (self.table(table)?, self.key(&key)?);
        let row = self.core.row(id, &row_key)?;
        row.map(|row| {
            let texts = self.texts(id, &row_key, &row);
            Ok(Record::new(self.definition(table)?, key.values(), row).with_texts(texts))
        })
        .transpose()
    }

    /// The version of a row, in a table that syncs: keep it beside what the user sees, and give it to [`Transaction::on_base`]. `None`: there is no such row.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn version(&mut self, table: &str, key: impl IntoKey) -> Result<Option<RowVersion>> {
        let (id, key) = (self.table(table)?, self.key(&key)?);
        Ok(self.core.version(id, &key)?)
    }

    /// Says which version of a row the user saw who makes this change. If the server's row is another, it is a conflict, also if this device has that row
    /// already. Without this, the user saw the row as this device shows it when the call runs.
    ///
    /// # Errors
    /// [`Abort::Mistake`]: no key of a table.
    pub fn on_base(&mut self, key: impl IntoKey, version: RowVersion) -> Result<()> {
        let key = self.key(&key)?;
        self.core.base(&key, version);
        Ok(())
    }

    /// The rows whose key begins with these values, in key order; all rows of the table for no values.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn rows(&mut self, table: &str, prefix: &[Value]) -> Result<Vec<Record>> {
        let range = KeyRange::prefix(prefix).map_err(invalid_key)?;
        let rows = self.core.range(self.table(table)?, &range, None, false)?;
        self.records(table, rows)
    }

    /// The first rows whose key begins with these values, or the last ones, from the end: `limit` at most. No more are fetched, but for some to spare.
    /// What conflicts with this read ends at the last of them.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn some_rows(&mut self, table: &str, prefix: &[Value], limit: usize, from_end: bool) -> Result<Vec<Record>> {
        let range = KeyRange::prefix(prefix).map_err(invalid_key)?;
        let rows = self.core.range(self.table(table)?, &range, Some(limit), from_end)?;
        self.records(table, rows)
    }

    /// The rows that a question by column names asks for.
    pub(crate) fn ask(&mut self, table: &str, question: &Question) -> Result<Vec<Record>> {
        let rows = self.core.ask(self.table(table)?, question)?;
        self.records(table, rows)
    }

    /// Whether the row exists, without reading its columns.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn exists(&mut self, table: &str, key: impl IntoKey) -> Result<bool> {
        let key = self.key(&key)?;
        Ok(self.core.exists(self.table(table)?, &key)?)
    }

    /// One column of a row, without reading the others; its default, or `None`, if nothing was ever written to it.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn cell(&mut self, table: &str, key: impl IntoKey, column: &str) -> Result<Option<CellState>> {
        let cell = self.cell_of(table, &key, column)?;
        let state = self.core.cell(&cell)?;
        Ok(state.or(self.definition(table)?.columns.get(column).and_then(default_state)))
    }

    /// A record that holds one column of a row only.
    pub(crate) fn cell_record(&mut self, table: &str, key: impl IntoKey, column: &str) -> Result<Record> {
        let cell = self.cell_of(table, &key, column)?;
        let state = self.core.cell(&cell)?;
        let row = Row::from_parts(true, state.map(|state| (cell.column, state)));
        let texts = self.texts(cell.table, &cell.row, &row);
        Ok(Record::new(self.definition(table)?, key.values(), row).with_texts(texts))
    }

    /// One counter of a row, 0 if nothing was ever added to it.
    ///
    /// # Errors
    /// As [`Transaction::row`], and [`Abort::Mistake`] when the column is no counter.
    pub fn counter(&mut self, table: &str, key: impl IntoKey, column: &str) -> Result<i64> {
        match self.cell(table, key, column)? {
            None => Ok(0),
            Some(CellState::Counter(total)) => Ok(total),
            Some(other) => Err(Abort::Mistake(format!("column {column:?} is a {}, not a counter", other.name()))),
        }
    }

    /// Whether a set holds a member: conflicts with changes of that member only.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn contains(&mut self, table: &str, key: impl IntoKey, column: &str, member: impl Into<Value>) -> Result<bool> {
        let cell = self.cell_of(table, &key, column)?;
        Ok(self.core.contains(&cell, &member.into())?)
    }

    /// The member of a set at a place in its order: conflicts with changes of it and of what comes before it only.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn member_at(&mut self, table: &str, key: impl IntoKey, column: &str, index: u32) -> Result<Option<Value>> {
        let cell = self.cell_of(table, &key, column)?;
        Ok(self.core.member_at(&cell, index)?)
    }

    /// One element of a list: conflicts with changes of that element only, or, past the end, with any append.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn element(&mut self, table: &str, key: impl IntoKey, column: &str, index: u32) -> Result<Option<Value>> {
        let cell = self.cell_of(table, &key, column)?;
        Ok(self.core.element(&cell, index)?)
    }

    /// Elements of a list, or as many of them as there are: conflicts with changes of them only, or, past the end, with any append.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn elements(
        &mut self,
        table: &str,
        key: impl IntoKey,
        column: &str,
        range: std::ops::Range<u32>,
    ) -> Result<Vec<Value>> {
        let cell = self.cell_of(table, &key, column)?;
        Ok(self.core.elements(&cell, range.start, range.end)?)
    }

    /// One entry of a map: conflicts with changes of that entry only.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn entry(&mut self, table: &str, key: impl IntoKey, column: &str, entry: &str) -> Result<Option<Value>> {
        let cell = self.cell_of(table, &key, column)?;
        Ok(self.core.entry(&cell, &Arc::from(entry))?)
    }

    /// What a text says.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn text(&mut self, table: &str, key: impl IntoKey, column: &str) -> Result<String> {
        let cell = self.cell_of(table, &key, column)?;
        Ok(self.core.text(&cell)?)
    }

    /// How long a text is, in UTF-16 units.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn text_length(&mut self, table: &str, key: impl IntoKey, column: &str) -> Result<u32> {
        let cell = self.cell_of(table, &key, column)?;
        Ok(self.core.text_length(&cell)?)
    }

    /// Removes so many units of a text and inserts others in their place, at a position, in UTF-16 units, of the text as this closure sees it. Never
    /// conflicts with what others do to the text.
    ///
    /// # Errors
    /// As [`Transaction::set`], and when the text has no such position.
    pub fn splice(
        &mut self,
        table: &str,
        key: impl IntoKey,
        column: &str,
        at: u32,
        removed: u32,
        inserted: &str,
    ) -> Result<()> {
        let cell = self.cell_of(table, &key, column)?;
        Ok(self.core.splice(&cell, &Splice { at, removed, inserted })?)
    }

    /// Creates a row with these scalars and registers. Columns that are not given begin with their default, null or empty. Where nothing is known of the key here,
    /// it is taken to be free; if it turns out not to be when the mutation is sent, the closure runs again where that is known.
    ///
    /// # Errors
    /// [`Abort::Run`]: as [`Transaction::row`], the row exists, or a column is missing or of another type.
    pub fn insert<'v>(
        &mut self,
        table: &str,
        key: impl IntoKey,
        columns: impl IntoIterator<Item = (&'v str, Value)>,
    ) -> Result<()> {
        let mut content = Vec::new();
        for (column, value) in columns {
            content.push((column, vec![self.set_operation(table, column, value)?]));
        }
        self.insert_content(table, &key, content)
    }

    pub(crate) fn insert_content(
        &mut self,
        table: &str,
        key: &impl IntoKey,
        columns: Vec<(&str, Vec<Operation>)>,
    ) -> Result<()> {
        let key = self.key(key)?;
        let content = columns.into_iter().map(|(column, made)| {
            let left_empty = made.is_empty() && self.is_null_beside_a_default(table, column);
            let made = if left_empty { vec![self.set_operation(table, column, Value::Null)?] } else { made };
            Ok((ColumnId::of(column), made))
        });
        let content: Content = content.collect::<Result<_>>()?;
        Ok(self.core.insert(self.table(table)?, &key, content)?)
    }

    /// Deletes a row and all that it holds.
    ///
    /// # Errors
    /// [`Abort::Run`]: as [`Transaction::row`], or the row does not exist.
    pub fn delete(&mut self, table: &str, key: impl IntoKey) -> Result<()> {
        let key = self.key(&key)?;
        Ok(self.core.delete(self.table(table)?, &key)?)
    }

    /// Sets a scalar or a register.
    ///
    /// # Errors
    /// [`Abort::Run`]: as [`Transaction::row`], the row does not exist, or the column is of another type.
    pub fn set(&mut self, table: &str, key: impl IntoKey, column: &str, value: impl Into<Value>) -> Result<()> {
        let operation = self.set_operation(table, column, value.into())?;
        self.write(table, key, column, operation)
    }

    /// Adds to a counter. Never conflicts with other additions.
    ///
    /// # Errors
    /// As [`Transaction::set`].
    pub fn add(&mut self, table: &str, key: impl IntoKey, column: &str, amount: i64) -> Result<()> {
        self.write(table, key, column, Operation::Add(amount))
    }

    /// Gives a counter a total, whatever was added before.
    ///
    /// # Errors
    /// As [`Transaction::set`].
    pub fn set_total(&mut self, table: &str, key: impl IntoKey, column: &str, total: i64) -> Result<()> {
        self.write(table, key, column, Operation::PutTotal(total))
    }

    /// Puts a member into a set.
    ///
    /// # Errors
    /// As [`Transaction::set`].
    pub fn insert_member(
        &mut self,
        table: &str,
        key: impl IntoKey,
        column: &str,
        member: impl Into<Value>,
    ) -> Result<()> {
        self.write(table, key, column, Operation::Insert(member.into()))
    }

    /// Takes a member out of a set.
    ///
    /// # Errors
    /// As [`Transaction::set`].
    pub fn remove_member(
        &mut self,
        table: &str,
        key: impl IntoKey,
        column: &str,
        member: impl Into<Value>,
    ) -> Result<()> {
        self.write(table, key, column, Operation::Remove(member.into()))
    }

    /// Appends to a list, in the order that the schema says.
    ///
    /// # Errors
    /// As [`Transaction::set`].
    pub fn append(&mut self, table: &str, key: impl IntoKey, column: &str, value: impl Into<Value>) -> Result<()> {
        let order = match self.column_type(table, column) {
            Some(ColumnType::List { order, .. }) => order,
            // Whichever: the column is no list, and the write says so.
            _ => ListOrder::Commit,
        };
        self.write(table, key, column, Operation::Append { value: value.into(), order })
    }

    /// Replaces an element of a list.
    ///
    /// # Errors
    /// As [`Transaction::set`], or there is no element of this index.
    pub fn set_element(
        &mut self,
        table: &str,
        key: impl IntoKey,
        column: &str,
        index: u32,
        value: impl Into<Value>,
    ) -> Result<()> {
        self.write(table, key, column, Operation::SetAt { index, value: value.into() })
    }

    /// Puts an entry into a map.
    ///
    /// # Errors
    /// As [`Transaction::set`].
    pub fn put_entry(
        &mut self,
        table: &str,
        key: impl IntoKey,
        column: &str,
        entry: &str,
        value: impl Into<Value>,
    ) -> Result<()> {
        self.write(table, key, column, Operation::PutEntry { key: Arc::from(entry), value: value.into() })
    }

    /// Takes an entry out of a map.
    ///
    /// # Errors
    /// As [`Transaction::set`].
    pub fn remove_entry(&mut self, table: &str, key: impl IntoKey, column: &str, entry: &str) -> Result<()> {
        self.write(table, key, column, Operation::RemoveEntry { key: Arc::from(entry) })
    }

    pub(crate) fn write(&mut self, table: &str, key: impl IntoKey, column: &str, operation: Operation) -> Result<()> {
        let cell = self.cell_of(table, &key, column)?;
        Ok(self.core.write(cell, operation)?)
    }

    fn set_operation(&self, table: &str, column: &str, value: Value) -> Result<Operation> {
        match self.column_type(table, column) {
            Some(ColumnType::Register(_)) => Ok(Operation::Assign(value)),
            // Of any other type the write itself says what is wrong.
            _ => Ok(Operation::Put(value)),
        }
    }

    fn records(&self, table: &str, rows: Vec<(RowKey, Row)>) -> Result<Vec<Record>> {
        let definition = self.definition(table)?;
        let record = |(key, row): (RowKey, Row)| Ok(Record::new(definition, key.values().map_err(invalid_key)?, row));
        rows.into_iter().map(record).collect()
    }

    /// Whether a column that is left empty has to say so, because it would hold its default otherwise.
    fn is_null_beside_a_default(&self, table: &str, column: &str) -> bool {
        let column = self.core.schema().table(table).and_then(|table| table.columns.get(column));
        column.is_some_and(|column| column.optional && column.default.is_some())
    }

    /// What the texts of a row say, from the documents that are held.
    fn texts(&self, table: TableId, key: &RowKey, row: &Row) -> BTreeMap<ColumnId, String> {
        let texts = row.cells().filter_map(|(column, state)| match state {
            CellState::Text(text) => Some((column, text)),
            _ => None,
        });
        let cell = |column| Cell { table, row: key.clone(), column };
        texts.map(|(column, text)| (column, self.core.text_of(&cell(column), text))).collect()
    }

    fn column_type(&self, table: &str, column: &str) -> Option<ColumnType> {
        let table = self.core.schema().table(table)?;
        table.columns.get(column).map(|column| column.kind)
    }

    fn cell_of(&self, table: &str, key: &impl IntoKey, column: &str) -> Result<Cell> {
        let id = self.table(table)?;
        let known = self.core.schema().table(table).is_some_and(|table| table.columns.contains_key(column));
        if !known {
            return Err(Abort::Mistake(format!("table {table:?} has no column {column:?}")));
        }
        Ok(Cell { table: id, row: self.key(key)?, column: ColumnId::of(column) })
    }

    fn table(&self, name: &str) -> Result<TableId> {
        self.definition(name).map(|_| TableId::of(name))
    }

    fn definition(&self, table: &str) -> Result<&'a Table> {
        let definition = self.core.schema().table(table);
        definition.ok_or_else(|| Abort::Mistake(format!("the schema has no table {table:?}")))
    }

    fn key(&self, key: &impl IntoKey) -> Result<RowKey> {
        key.key().map_err(invalid_key)
    }
}

fn invalid_key(error: iolite_values::KeyError) -> Abort {
    Abort::Run(iolite_client::RunError::Invalid(OperationError::from(error)))
}
