//! Wanted: the thing that somebody wants to do, which is judged.

use iolite_values::{LogId, ObjectName, Schema, Write};
use serde_json::Value as Json;

use super::{Mistake, given};
use crate::{Right, RowName};

/// A thing that somebody wants to do with rows or with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    See(RowName),
    /// Be a member of a log.
    Join(LogId),
    /// Append this operation to a log.
    Run(LogId, String),
    /// Do this with an object: call a method, have a copy, or hold it.
    Use(ObjectName, Right, Option<String>),
    /// The writes of one mutation.
    Commit(Vec<Write>),
}

impl Wanted {
    /// Reads one write of a mutation, or several in an array: `["create", TABLE, ROW]`, `["update", TABLE, KEY, CHANGES]`, `["delete", TABLE, KEY]`. Or
    /// what is asked of a log or an object alone: `["join", LOG, INSTANCE]`, `["run", LOG, INSTANCE, OPERATION]`, `["call", CLASS, ID, METHOD]`,
    /// `["copy", CLASS, ID]`, `["hold", CLASS, ID]`.
    ///
    /// # Errors
    /// It does not fit the schema.
    pub fn from_json(schema: &Schema, json: &Json) -> Result<Wanted, Mistake> {
        let several = json.as_array().is_some_and(|all| all.iter().all(Json::is_array));
        let all = if several { json.as_array().map_or(&[][..], Vec::as_slice) } else { std::slice::from_ref(json) };
        if let [one] = all
            && let Some(wanted) = of_log(schema, one).or_else(|| of_object(one))
        {
            return wanted;
        }
        let writes = all.iter().map(|own| writes(schema, own)).collect::<Result<Vec<_>, _>>()?.concat();
        if writes.is_empty() {
            return Err(Mistake::new("nothing is written, so there is nothing to judge: say create, update or delete"));
        }
        Ok(Wanted::Commit(writes))
    }

    /// The writes that make a row.
    ///
    /// # Errors
    /// It does not fit the schema.
    pub fn row(schema: &Schema, table: &str, row: &Json) -> Result<Vec<Write>, Mistake> {
        given::creation(schema, table, row)
    }

    /// Reads what an operator types: a right, a table, a key, and the text of the row or of its changes.
    ///
    /// # Errors
    /// It does not fit the schema.
    pub fn typed(schema: &Schema, right: Right, table: &str, key: &str, with: Option<&str>) -> Result<Wanted, Mistake> {
        let definition = given::table(schema, table)?;
        let key = given::typed_key(schema, table, key)?;
        // Its shape is looked at before all else that is given.
        let row = given::row_name(schema, table, &key)?;
        let with = with.map(|text| {
            serde_json::from_str::<Json>(text).map_err(|error| {
                Mistake::new(format!("what --with names is no JSON: {error}. Write an object of columns and values"))
            })
        });
        let with = with.transpose()?;
        match (right, with) {
            (Right::Read, None) => Ok(Wanted::See(row)),
            (Right::Delete, None) => given::deletion(schema, table, &key).map(Wanted::Commit),
            (Right::Read | Right::Delete, Some(_)) => {
                Err(Mistake::new(format!("a row is {right} by its key alone: leave --with out", right = done(right))))
            }
            (Right::Create, with) => {
                let mut row = with.unwrap_or_else(|| Json::Object(serde_json::Map::new()));
                let keys = match &key {
                    Json::Array(values) => values.clone(),
                    one => vec![one.clone()],
                };
                if let Json::Object(columns) = &mut row {
                    for (column, value) in definition.key.iter().zip(keys) {
                        if columns.get(column).is_some_and(|own| *own != value) {
                            return Err(Mistake::new(format!(
                                "what --with names has another value of {column:?} than the key: leave it out there"
                            )));
                        }
                        columns.insert(column.clone(), value);
                    }
                }
                given::creation(schema, table, &row).map(Wanted::Commit)
            }
            (Right::Update, Some(changes)) => given::update(schema, table, &key, &changes).map(Wanted::Commit),
            (Right::Update, None) => Err(Mistake::new(
                "say what changes: --with names a file with an object of columns, such as {\"likes\": {\"add\": 1}}",
            )),
            (Right::Check | Right::Join | Right::Run | Right::Call | Right::Copy | Right::Hold, _) => {
                Err(Mistake::new(format!("{right} is not asked of a row: it is one of read, create, update, delete")))
            }
        }
    }
}

fn done(right: Right) -> &'static str {
    if right == Right::Read { "read" } else { "deleted" }
}

/// None: nothing is asked of a log.
fn of_log(schema: &Schema, json: &Json) -> Option<Result<Wanted, Mistake>> {
    let parts = json.as_array().map_or(&[][..], Vec::as_slice);
    let (deed, name) = (parts.first()?.as_str()?, parts.get(1).and_then(Json::as_str));
    let wanted = match (deed, name, parts) {
        ("join", Some(name), [_, _, instance]) => given::log(schema, name, instance).map(Wanted::Join),
        ("run", Some(name), [_, _, instance, Json::String(operation)]) => {
            given::log(schema, name, instance).map(|log| Wanted::Run(log, operation.clone()))
        }
        ("join" | "run", ..) => Err(Mistake::new(
            "say which log: \"join\" with a log and its instance, or \"run\" with a log, its instance and the name of an operation",
        )),
        _ => return None,
    };
    Some(wanted)
}

/// None: nothing is asked of an object.
fn of_object(json: &Json) -> Option<Result<Wanted, Mistake>> {
    let texts: Option<Vec<&str>> = json.as_array()?.iter().map(Json::as_str).collect();
    let (right, name, method) = match texts.as_deref() {
        Some(["call", class, id, method]) => (Right::Call, ObjectName::new(class, id), Some((*method).to_owned())),
        Some(["copy", class, id]) => (Right::Copy, ObjectName::new(class, id), None),
        Some(["hold", class, id]) => (Right::Hold, ObjectName::new(class, id), None),
        _ if ["call", "copy", "hold"].contains(&json.get(0)?.as_str()?) => {
            let problem = "say which object: \"call\" with a class, an id and a method, or \"copy\" or \"hold\" with a class and an id";
            return Some(Err(Mistake::new(problem)));
        }
        _ => return None,
    };
    Some(name.map(|name| Wanted::Use(name, right, method)).map_err(|error| Mistake::new(error.to_string())))
}

fn writes(schema: &Schema, json: &Json) -> Result<Vec<Write>, Mistake> {
    let parts = json.as_array().map_or(&[][..], Vec::as_slice);
    let names = (parts.first().and_then(Json::as_str), parts.get(1).and_then(Json::as_str));
    match (names, parts) {
        ((Some("create"), Some(table)), [_, _, row]) => given::creation(schema, table, row),
        ((Some("update"), Some(table)), [_, _, key, changes]) => given::update(schema, table, key, changes),
        ((Some("delete"), Some(table)), [_, _, key]) => given::deletion(schema, table, key),
        _ => Err(Mistake::new(
            "say what is written: \"create\" with a table and a row, \"update\" with a table, a key and changes, or \"delete\" with a table and a key",
        )),
    }
}
