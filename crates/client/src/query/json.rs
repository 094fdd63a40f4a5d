//! Questions in JSON, as languages hand them over that have no types of ours.
//!
//! `{"where": {"owner": "ann", "price": {"gte": 1, "lt": 5}}, "anyOf": [[{"done": true}, {"votes": 3}]], "orderBy": [["createdAt", "desc"]], "limit": 20,
//! "after": {"createdAt": 7, "id": "x"}}`

use std::collections::BTreeSet;

use iolite_values::{Direction, Scalar, Table, Test, Value};
use serde_json::Value as Json;

use super::{Alternative, Question, QuestionError};

impl Question {
    /// Reads a question to a table.
    ///
    /// # Errors
    /// [`QuestionError`].
    pub fn from_json(name: &str, table: &Table, json: &str) -> Result<Question, QuestionError> {
        let malformed = |what| QuestionError::NoQuestion { table: name.into(), what };
        let json: Json = serde_json::from_str(json).map_err(|_| malformed("no JSON"))?;
        let Json::Object(parts) = json else { return Err(malformed("no object")) };
        let mut question = Question::default();
        for (part, value) in parts {
            match (part.as_str(), value) {
                ("where", asked) => question.conditions.extend(all(name, table, &asked)?),
                ("anyOf", Json::Array(listed)) => {
                    for alternatives in &listed {
                        let alternatives = alternatives.as_array().ok_or_else(|| malformed("anyOf"))?;
                        let alternatives = alternatives.iter().map(|asked| all(name, table, asked));
                        question.ask_any_of(alternatives.collect::<Result<_, _>>()?);
                    }
                }
                ("orderBy", Json::Array(columns)) => {
                    let order = columns.iter().map(ordered).collect::<Option<Vec<_>>>();
                    question.order = order.ok_or_else(|| malformed("orderBy"))?;
                }
                ("limit", Json::Null) => {}
                ("limit", Json::Number(limit)) => {
                    let limit = limit.as_u64().and_then(|limit| usize::try_from(limit).ok());
                    question.limit = Some(limit.ok_or_else(|| malformed("limit"))?);
                }
                ("after", Json::Object(columns)) => {
                    let values = columns.iter().map(|(column, value)| had(name, table, column, value));
                    question.after = Some(values.collect::<Result<_, _>>()?);
                }
                _ => return Err(malformed("a part that is none")),
            }
        }
        Ok(question)
    }
}

fn ordered(json: &Json) -> Option<(String, Direction)> {
    let [Json::String(column), Json::String(direction)] = json.as_array()?.as_slice() else { return None };
    let direction = match direction.as_str() {
        "asc" => Direction::Ascending,
        "desc" => Direction::Descending,
        _ => return None,
    };
    Some((column.clone(), direction))
}

/// What a row has in a column.
fn had(name: &str, table: &Table, column: &str, value: &Json) -> Result<(String, Value), QuestionError> {
    let of = scalar(name, table, column)?;
    let own = if value.is_null() { Some(Value::Null) } else { of.from_json(value) };
    let malformed = || QuestionError::Malformed { table: name.into(), column: column.into(), asked: value.to_string() };
    Ok((column.to_owned(), own.ok_or_else(malformed)?))
}

/// Conditions that all hold.
fn all(name: &str, table: &Table, asked: &Json) -> Result<Alternative, QuestionError> {
    let malformed = || QuestionError::NoQuestion { table: name.into(), what: "conditions" };
    let mut all = Vec::new();
    match asked {
        Json::Object(columns) => {
            for (column, asked) in columns {
                all.extend(conditions(name, table, column, asked)?);
            }
        }
        // Several of one column, as programs put them together.
        Json::Array(listed) => {
            for one in listed {
                let Some([Json::String(column), asked]) = one.as_array().map(Vec::as_slice) else {
                    return Err(malformed());
                };
                all.extend(conditions(name, table, column, asked)?);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => return Err(malformed()),
    }
    Ok(all)
}

fn conditions(name: &str, table: &Table, column: &str, asked: &Json) -> Result<Vec<(String, Test)>, QuestionError> {
    let of = scalar(name, table, column)?;
    let value = |json: &Json| if json.is_null() { Some(Value::Null) } else { of.from_json(json) };
    let tests = match asked {
        Json::Object(tests) => {
            let tests = tests.iter().map(|(test, operand)| compared(test, operand, value));
            tests.collect::<Option<Vec<Test>>>().filter(|tests| !tests.is_empty())
        }
        equal => value(equal).map(|value| vec![Test::Equal(value)]),
    };
    let malformed = || QuestionError::Malformed { table: name.into(), column: column.into(), asked: asked.to_string() };
    let tests = tests.ok_or_else(malformed)?;
    Ok(tests.into_iter().map(|test| (column.to_owned(), test)).collect())
}

/// The type of a column's values, or of their elements.
fn scalar(name: &str, table: &Table, column: &str) -> Result<Scalar, QuestionError> {
    let definition = table.columns.get(column);
    // No query compares texts, and it will be told so.
    let of = definition.map(|definition| definition.kind.element());
    of.ok_or_else(|| QuestionError::NoColumn { table: name.into(), column: column.into() })
}

fn compared(test: &str, operand: &Json, value: impl Fn(&Json) -> Option<Value>) -> Option<Test> {
    Some(match test {
        "eq" => Test::Equal(value(operand)?),
        "not" => Test::NotEqual(value(operand)?),
        "lt" => Test::Less(value(operand)?),
        "lte" => Test::AtMost(value(operand)?),
        "gt" => Test::Greater(value(operand)?),
        "gte" => Test::AtLeast(value(operand)?),
        "in" => Test::OneOf(operand.as_array()?.iter().map(value).collect::<Option<BTreeSet<_>>>()?),
        "startsWith" => Test::BeginsWith(operand.as_str()?.into()),
        "contains" => Test::Contains(value(operand)?),
        _ => return None,
    })
}
