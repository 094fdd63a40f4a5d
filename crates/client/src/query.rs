//! Questions as apps ask them: conditions on columns by name, an order, a limit. Every SDK hands them over in this form.
//!
//! Source: Iolite's own (docs/protocols/client.md, "Queries").

mod after;
mod json;
mod plan;

use std::collections::BTreeMap;

use iolite_values::{Direction, Test, Value};

pub use plan::Plan;

/// Conditions that all hold, where others may hold instead.
pub type Alternative = Vec<(String, Test)>;

/// What an app asks of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// All of them have to hold. Columns by name.
    pub conditions: Vec<(String, Test)>,
    /// Of each of these one alternative has to hold, or more. Where there is none to choose from none does, so there is no answer.
    pub any_of: Vec<Vec<Alternative>>,
    /// By the first column, then by the next. Without any, in the order of the index that is used, or of the primary key.
    pub order: Vec<(String, Direction)>,
    /// Only so many rows, the first ones in the order.
    pub limit: Option<usize>,
    /// Only rows that come after this one in the order; rows that are equal in it, by the rest of the index and then by their primary keys. Columns by name,
    /// at least those of the index and of the primary key that are not asked to be equal.
    pub after: Option<BTreeMap<String, Value>>,
}

impl Question {
    /// Asks that one of these holds, beside what is asked already. One alone is conditions like others, which may choose an index.
    pub fn ask_any_of(&mut self, mut alternatives: Vec<Alternative>) {
        match &mut alternatives[..] {
            [alone] if !alone.is_empty() => self.conditions.append(alone),
            _ => self.any_of.push(alternatives),
        }
    }
}

/// A question that has no answer as it is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    #[error("table {table:?} has no column {column:?}")]
    NoColumn { table: String, column: String },
    #[error("column {column:?} of table {table:?} is a {is}, which has no order")]
    NoOrder { table: String, column: String, is: &'static str },
    #[error(
        "column {column:?} of table {table:?} is asked for {asked}, which is no value of its type or no comparison"
    )]
    Malformed { table: String, column: String, asked: String },
    #[error(
        "a question to table {table:?} is not of the form {{\"where\": {{..}}, \"anyOf\": [[{{..}}, {{..}}]], \"orderBy\": [[column, \"asc\" or \"desc\"]], \"limit\": n, \"after\": {{..}}}}: {what}"
    )]
    NoQuestion { table: String, what: &'static str },
    #[error(
        "no index of table {table:?} has the rows in this order, which a limit and `after` need: declare one of the columns {columns:?}"
    )]
    NoIndex { table: String, columns: Vec<String> },
    #[error(
        "a limit and `after` need one direction for all columns of the order, and table {table:?} is asked for two: leave them out, or order by fewer columns"
    )]
    TwoDirections { table: String },
    #[error(
        "a question to table {table:?} is for what comes after a row of which {columns:?} is not said: give the row as a query returned it"
    )]
    NoPlace { table: String, columns: Vec<String> },
}

#[cfg(test)]
mod tests;
