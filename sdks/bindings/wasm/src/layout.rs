//! Tables as the package sees them: columns in an order of its own, so that a row is an array.

use iolite_client::{Content, Transaction};
use iolite_values::{Cell, CellState, ColumnId, ColumnType, Row, RowKey, Scalar, Schema, TableId, Text, Value};
use js_sys::Array;
use wasm_bindgen::JsValue;

use crate::failure::Failure;
use crate::value::{Place, cell_to_js, operations_from_js, to_js, value_from_js};

/// One table, under the number that the package has for it.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) table: TableId,
    name: String,
    live: bool,
    slots: Vec<Slot>,
    /// The slots of the primary key, in its order.
    key: Vec<usize>,
}

/// One column.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) id: ColumnId,
    pub(crate) kind: ColumnType,
    name: String,
    /// What it holds while nothing was written to it. `None`: it is written with the row.
    initial: Option<Value>,
    optional: bool,
    /// Integers are bigints.
    wide: bool,
    /// Its place in the primary key.
    key_place: Option<usize>,
}

impl Layout {
    /// # Errors
    /// A table or column that the schema does not have.
    pub(crate) fn new(schema: &Schema, name: &str, columns: &[String], wide: &[bool]) -> Result<Layout, Failure> {
        let unknown = || Failure::of_transaction(format!("the schema has no such table or column in {name:?}"));
        let table = schema.table(name).ok_or_else(unknown)?;
        let slots = columns.iter().zip(wide).map(|(column_name, wide)| {
            let column = table.columns.get(column_name).ok_or_else(unknown)?;
            Ok(Slot {
                id: ColumnId::of(column_name),
                kind: column.kind,
                name: column_name.clone(),
                initial: column.initial(),
                optional: column.optional,
                wide: *wide,
                key_place: table.key.iter().position(|key| key == column_name),
            })
        });
        let slots: Vec<Slot> = slots.collect::<Result<_, Failure>>()?;
        let place = |key: &String| slots.iter().position(|slot| slot.name == *key).ok_or_else(unknown);
        let key = table.key.iter().map(place).collect::<Result<_, _>>()?;
        Ok(Layout { table: TableId::of(name), name: name.to_owned(), live: table.live, slots, key })
    }

    /// The first values of a key.
    ///
    /// # Errors
    /// Too many values, or one of another type than its column.
    pub(crate) fn key_values(&self, values: &Array) -> Result<Vec<Value>, Failure> {
        let most = self.key.len();
        if values.length() as usize > most {
            let message = format!("table {:?}: its key has {most} values, not {}", self.name, values.length());
            return Err(Failure::of_transaction(message));
        }
        let slots = self.key.iter().map(|slot| &self.slots[*slot]);
        slots.zip(values.iter()).map(|(slot, value)| value_from_js(&value, slot.scalar(), &self.place(slot))).collect()
    }

    /// The first value of a key.
    ///
    /// # Errors
    /// An integer that does not fit a number.
    pub(crate) fn first_of_key_to_js(&self, value: &Value) -> Result<JsValue, Failure> {
        let slot = self.key.first().map(|slot| &self.slots[*slot]);
        slot.map_or(Ok(JsValue::UNDEFINED), |slot| to_js(value, slot.wide, &self.place(slot)))
    }

    /// The values of a key.
    ///
    /// # Errors
    /// An integer that does not fit a number.
    pub(crate) fn key_to_js(&self, key: &RowKey) -> Result<Array, Failure> {
        let array = Array::new();
        for (slot, value) in self.key.iter().map(|slot| &self.slots[*slot]).zip(key.values()?) {
            array.push(&to_js(&value, slot.wide, &self.place(slot))?);
        }
        Ok(array)
    }

    /// # Errors
    /// As [`Layout::key_values`], and when values are missing.
    pub(crate) fn row_key(&self, values: &Array) -> Result<RowKey, Failure> {
        let values = self.key_values(values)?;
        if values.len() < self.key.len() {
            let message = format!("table {:?}: its key has {} values, not {}", self.name, self.key.len(), values.len());
            return Err(Failure::of_transaction(message));
        }
        Ok(RowKey::new(&values)?)
    }

    /// # Errors
    /// As [`Layout::row_key`], or a column that is none.
    pub(crate) fn cell(&self, key: &Array, column: u32) -> Result<(Cell, &Slot), Failure> {
        let slot = self.slot(column)?;
        Ok((Cell { table: self.table, row: self.row_key(key)?, column: slot.id }, slot))
    }

    pub(crate) fn slot(&self, column: u32) -> Result<&Slot, Failure> {
        let slot = self.slots.get(column as usize);
        slot.ok_or_else(|| Failure::of_transaction(format!("table {:?} has no column {column}", self.name)))
    }

    /// A row as an array in the order of the columns. A cell that cannot be shown is the text of its failure there, and behind the cells an array lists the
    /// places of these.
    ///
    /// # Errors
    /// A required column without a value.
    pub(crate) fn row_to_js(
        &self,
        transaction: &Transaction<'_>,
        row_key: &RowKey,
        row: &Row,
    ) -> Result<Array, Failure> {
        self.any_row_to_js(&|cell, text| transaction.text_of(cell, text), row_key, row)
    }

    /// The same of a row of a table without texts, outside of a run.
    ///
    /// # Errors
    /// As [`Layout::row_to_js`].
    pub(crate) fn plain_row_to_js(&self, row_key: &RowKey, row: &Row) -> Result<Array, Failure> {
        self.any_row_to_js(&|_, _| String::new(), row_key, row)
    }

    fn any_row_to_js(
        &self,
        text_of: &dyn Fn(&Cell, &Text) -> String,
        row_key: &RowKey,
        row: &Row,
    ) -> Result<Array, Failure> {
        let key = row_key.values()?;
        let array = Array::new_with_length(self.slots.len() as u32);
        let hidden = Array::new();
        for (index, slot) in (0u32..).zip(&self.slots) {
            let value = match slot.key_place {
                Some(place) => to_js(&key[place], slot.wide, &self.place(slot)),
                None => self.any_state_to_js(text_of, row_key, slot, row.cell(slot.id)),
            };
            match value {
                Err(failure) if failure.is_of_showing() => {
                    hidden.push(&JsValue::from(index));
                    array.set(index, failure.into());
                }
                value => array.set(index, value?),
            }
        }
        if hidden.length() > 0 {
            array.push(&hidden);
        }
        Ok(array)
    }

    /// A cell's state, or what it begins with.
    ///
    /// # Errors
    /// An integer that does not fit a number; a required column without a value, which is one of a row that is not there.
    pub(crate) fn state_to_js(
        &self,
        transaction: &Transaction<'_>,
        key: &RowKey,
        slot: &Slot,
        state: Option<&CellState>,
    ) -> Result<JsValue, Failure> {
        self.any_state_to_js(&|cell, text| transaction.text_of(cell, text), key, slot, state)
    }

    fn any_state_to_js(
        &self,
        text_of: &dyn Fn(&Cell, &Text) -> String,
        key: &RowKey,
        slot: &Slot,
        state: Option<&CellState>,
    ) -> Result<JsValue, Failure> {
        let place = self.place(slot);
        let cell = || Cell { table: self.table, row: key.clone(), column: slot.id };
        let read = |text: &Text| text_of(&cell(), text);
        match (state, &slot.initial) {
            (Some(state), _) => cell_to_js(state, slot.wide, &place, read),
            (None, Some(initial)) => match slot.kind {
                ColumnType::Scalar(_) | ColumnType::Register(_) => to_js(initial, slot.wide, &place),
                ColumnType::Counter => cell_to_js(&CellState::Counter(0), slot.wide, &place, read),
                ColumnType::Set(_) => cell_to_js(&CellState::Set([].into()), slot.wide, &place, read),
                ColumnType::List { .. } => cell_to_js(&CellState::List(Vec::new()), slot.wide, &place, read),
                ColumnType::Map(_) => cell_to_js(&CellState::Map([].into()), slot.wide, &place, read),
                ColumnType::Text => Ok(JsValue::from_str("")),
            },
            (None, None) => Err(Failure::of_transaction(format!("table {:?} has no such row", self.name))),
        }
    }

    /// The first content of a row: for each of these columns its value.
    ///
    /// # Errors
    /// A value that does not fit its column.
    pub(crate) fn content(&self, columns: &[u32], values: &Array) -> Result<Content, Failure> {
        let mut content = Content::new();
        for (column, value) in columns.iter().zip(values.iter()) {
            let slot = self.slot(*column)?;
            content.insert(slot.id, operations_from_js(&value, slot, &self.place(slot))?);
        }
        Ok(content)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    pub(crate) fn place<'a>(&'a self, slot: &'a Slot) -> Place<'a> {
        Place { table: &self.name, column: &slot.name }
    }
}

impl Slot {
    /// The type of the column's values, or of their elements.
    pub(crate) fn scalar(&self) -> Scalar {
        self.kind.element()
    }

    pub(crate) fn is_wide(&self) -> bool {
        self.wide
    }

    /// # Errors
    /// A value of another type.
    pub(crate) fn value(&self, js: &JsValue, place: &Place<'_>) -> Result<Value, Failure> {
        if self.optional && js.is_null() {
            return Ok(Value::Null);
        }
        value_from_js(js, self.scalar(), place)
    }
}
