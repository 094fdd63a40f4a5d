//! Questions as apps ask them: conditions on columns by name, an order, a limit. Every SDK hands them over in this form.
//!
//! Source: Iolite's own (docs/protocols/client.md, "Queries").

mod json;
mod plan;

use iolite_values::{Direction, Test};

pub use plan::Plan;

/// What an app asks of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// All of them have to hold. Columns by name.
    pub conditions: Vec<(String, Test)>,
    /// By the first column, then by the next. Without any, in the order of the index that is used, or of the primary key.
    pub order: Vec<(String, Direction)>,
    /// Only so many rows, the first ones in the order.
    pub limit: Option<usize>,
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
        "a question to table {table:?} is not of the form {{\"where\": {{..}}, \"orderBy\": [[column, \"asc\" or \"desc\"]], \"limit\": n}}: {what}"
    )]
    NoQuestion { table: String, what: &'static str },
    #[error(
        "no index of table {table:?} has the rows in this order, which a limit needs: declare one of the columns {columns:?}"
    )]
    NoIndex { table: String, columns: Vec<String> },
    #[error(
        "a limit needs one direction for all columns of the order, and table {table:?} is asked for two: leave out the limit, or order by fewer columns"
    )]
    TwoDirections { table: String },
}

#[cfg(test)]
mod tests;
