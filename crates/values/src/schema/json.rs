//! The canonical JSON of a schema, and its hash.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    Column, ColumnType, Consistency, Fetch, Offline, OnConflict, RowsWin, Scalar, Schema, SchemaError, SchemaHash,
    Table, check_name,
};
use crate::{Isolation, ListOrder, LogStart, Value, map_of};

// Fields stand in alphabetical order, which makes the output canonical.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemaJson {
    /// Logs that begin with an operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    logs: BTreeMap<String, LogJson>,
    tables: BTreeMap<String, TableJson>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LogJson {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    initial: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableJson {
    columns: BTreeMap<String, ColumnJson>,
    #[serde(default = "strong")]
    consistency: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    delivered: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    indexes: BTreeMap<String, Vec<String>>,
    /// Absent: strict serializable. A table that syncs has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    isolation: Option<String>,
    key: Vec<String>,
    #[serde(default)]
    live: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    #[serde(default = "queue")]
    offline: String,
    /// Says of a causal table how its conflicts end.
    #[serde(default, rename = "onConflict", skip_serializing_if = "Option::is_none")]
    on_conflict: Option<String>,
    /// Says of a table that merges who wins when a row is deleted and updated at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnJson {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<serde_json::Value>,
    /// `on-demand`; absent: with the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fetch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    optional: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    /// Says of a set that removes win, which is not built yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wins: Option<String>,
}

fn strong() -> String {
    "strong".into()
}

fn queue() -> String {
    "queue".into()
}

impl Schema {
    /// Bytes of a schema in JSON, as it is written by an app and as it is sent.
    pub const JSON_BYTES_MAX: usize = 512 << 10;

    /// Reads a schema from JSON, canonical or not.
    ///
    /// # Errors
    /// [`SchemaError`] with the table and column: not JSON of this form, an unknown type or policy, or one that is not built yet.
    pub fn from_json(text: &str) -> Result<Schema, SchemaError> {
        Schema::check_length(text)?;
        let raw: SchemaJson =
            serde_json::from_str(text).map_err(|error| SchemaError::new("", "", error.to_string()))?;
        let tables = raw.tables.into_iter().map(|(name, table)| table.read(&name).map(|table| (name, table)));
        let starts = map_of(raw.logs.into_iter().map(|(name, log)| (name, LogStart { initial: log.initial })));
        Schema::with_logs(map_of(tables.collect::<Result<Vec<_>, _>>()?), starts)
    }

    /// The canonical JSON.
    pub fn to_json(&self) -> String {
        let tables = map_of(self.tables.iter().map(|(name, table)| (name.clone(), TableJson::write(table))));
        let begun = self.logs.iter().filter(|(_, start)| start.initial.is_some());
        let logs = map_of(begun.map(|(name, start)| (name.clone(), LogJson { initial: start.initial.clone() })));
        serde_json::to_string(&SchemaJson { logs, tables }).expect("maps with string keys are JSON")
    }

    pub(super) fn check_length(json: &str) -> Result<(), SchemaError> {
        if json.len() > Schema::JSON_BYTES_MAX {
            let problem = format!("longer than {} bytes as JSON, with {}", Schema::JSON_BYTES_MAX, json.len());
            return Err(SchemaError::new("", "", problem));
        }
        Ok(())
    }

    pub fn hash(&self) -> SchemaHash {
        let digest = Sha256::digest(self.to_json());
        let mut hash = [0; 16];
        hash.copy_from_slice(&digest[..16]);
        SchemaHash(hash)
    }
}

impl TableJson {
    fn read(self, name: &str) -> Result<Table, SchemaError> {
        let (consistency, isolation) = self.read_policy().map_err(|problem| SchemaError::new(name, "", problem))?;
        let columns = self.columns.into_iter().map(|(column_name, column)| {
            let read = column.read().map_err(|problem| SchemaError::new(name, &column_name, problem))?;
            Ok((column_name, read))
        });
        let mut table = Table::new(name, self.key, map_of(columns.collect::<Result<Vec<_>, _>>()?))?;
        (table.consistency, table.isolation, table.delivered) = (consistency, isolation, self.delivered);
        table.offline = match self.offline.as_str() {
            "queue" => Offline::Queue,
            "refuse" => Offline::Refuse,
            other => return Err(SchemaError::new(name, "", format!("offline is queue or refuse, not {other:?}"))),
        };
        let indexed =
            self.indexes.into_iter().try_fold(table, |table, (index, columns)| table.indexed(name, &index, columns));
        let table = if self.live { indexed?.live(name)? } else { indexed? };
        table.check_syncing(name)?;
        table.check_merging(name)?;
        Ok(table)
    }

    /// Consistency and isolation.
    fn read_policy(&self) -> Result<(Consistency, Isolation), String> {
        let consistency = match self.consistency.as_str() {
            "strong" if self.log.is_some() => return Err("a table of a log has consistency \"log\"".into()),
            "strong" => Consistency::Strong,
            "log" => Consistency::Log { name: self.read_log()?.into() },
            "eventual" => Consistency::Eventual,
            "causal" => Consistency::Causal { on_conflict: self.read_on_conflict()? },
            other => return Err(format!("unknown consistency {other:?}")),
        };
        if self.on_conflict.is_some() && !matches!(consistency, Consistency::Causal { .. }) {
            return Err(format!("onConflict belongs to causal tables, and this one is {}", self.consistency));
        }
        if self.rows.is_some() && !matches!(consistency, Consistency::Causal { on_conflict: OnConflict::Merge { .. } })
        {
            return Err("rows belongs to tables that merge: say consistency \"causal\" and onConflict \"merge\", or leave it out".into());
        }
        Ok((consistency, self.read_isolation()?))
    }

    fn read_on_conflict(&self) -> Result<OnConflict, String> {
        match self.on_conflict.as_deref() {
            Some("manual") => Ok(OnConflict::Manual),
            Some("merge") | None => Ok(OnConflict::Merge { rows: self.read_rows()? }),
            Some(other) => Err(format!("onConflict is manual or merge, not {other:?}")),
        }
    }

    fn read_rows(&self) -> Result<RowsWin, String> {
        match self.rows.as_deref() {
            Some("updates-win") | None => Ok(RowsWin::Updates),
            Some("deletes-win") => {
                Err("rows where deletes win are not built yet: say rows \"updates-win\", or leave it out".into())
            }
            Some(other) => Err(format!("rows is updates-win, not {other:?}")),
        }
    }

    fn read_isolation(&self) -> Result<Isolation, String> {
        let Some(named) = &self.isolation else { return Ok(Isolation::StrictSerializable) };
        if matches!(self.consistency.as_str(), "eventual" | "causal") {
            return Err(format!("a table that is {} has no isolation to choose: leave it out", self.consistency));
        }
        Isolation::ALL.into_iter().find(|isolation| isolation.name() == named).ok_or_else(|| {
            let names = Isolation::ALL.map(Isolation::name).join(", ");
            format!("isolation is one of {names}, not {named:?}")
        })
    }

    fn read_log(&self) -> Result<&str, String> {
        let name = self.log.as_deref().ok_or("consistency \"log\" needs the name of its log (\"log\")")?;
        check_name(name)?;
        Ok(name)
    }

    fn write(table: &Table) -> TableJson {
        let offline = match table.offline {
            Offline::Queue => "queue",
            Offline::Refuse => "refuse",
        };
        TableJson {
            columns: map_of(table.columns.iter().map(|(name, column)| (name.clone(), ColumnJson::write(column)))),
            consistency: table.consistency.name().into(),
            delivered: table.delivered,
            indexes: table.indexes.clone(),
            isolation: (!table.syncs() && !table.merges()).then(|| table.isolation.name().into()),
            key: table.key.clone(),
            live: table.live,
            log: table.log().map(|log| log.to_string()),
            offline: offline.into(),
            rows: table.merges().then(|| "updates-win".into()),
            on_conflict: match table.consistency {
                Consistency::Causal { on_conflict: OnConflict::Manual } => Some("manual".into()),
                Consistency::Causal { on_conflict: OnConflict::Merge { rows: RowsWin::Updates } } => {
                    Some("merge".into())
                }
                Consistency::Strong | Consistency::Log { .. } | Consistency::Eventual => None,
            },
        }
    }
}

impl ColumnJson {
    fn read(&self) -> Result<Column, String> {
        if self.wins.is_some() {
            return Err("sets where removes win are not built yet: leave out wins, and adds win".into());
        }
        let kind = self.read_type()?;
        let default = match (&self.default, kind) {
            (None, _) => None,
            (Some(json), ColumnType::Scalar(scalar) | ColumnType::Register(scalar)) => {
                Some(read_default(json, scalar)?)
            }
            (Some(_), _) => return Err("only scalars and registers have defaults".into()),
        };
        Ok(Column { kind, optional: self.optional, default, fetch: self.read_fetch()? })
    }

    fn read_fetch(&self) -> Result<Fetch, String> {
        match self.fetch.as_deref() {
            None | Some("with-row") => Ok(Fetch::WithRow),
            Some("on-demand") => Ok(Fetch::OnDemand),
            Some(other) => Err(format!("fetch is with-row or on-demand, not {other:?}")),
        }
    }

    fn read_type(&self) -> Result<ColumnType, String> {
        if self.order.is_some() && self.kind != "list" {
            return Err(format!("order belongs to lists, not to {}", self.kind));
        }
        if let Some(scalar) = read_scalar(&self.kind) {
            return match self.of {
                None => Ok(ColumnType::Scalar(scalar)),
                Some(_) => Err(format!("{} has no element type", self.kind)),
            };
        }
        match self.kind.as_str() {
            "counter" if self.of.is_none() => Ok(ColumnType::Counter),
            "text" if self.of.is_none() => Ok(ColumnType::Text),
            "counter" | "text" => Err(format!("{} has no element type", self.kind)),
            "register" => Ok(ColumnType::Register(self.element()?)),
            "set" => Ok(ColumnType::Set(self.element()?)),
            "map" => Ok(ColumnType::Map(self.element()?)),
            "list" => Ok(ColumnType::List { of: self.element()?, order: read_order(self.order.as_deref())? }),
            other => Err(format!("unknown type {other:?}")),
        }
    }

    fn element(&self) -> Result<Scalar, String> {
        let of = self.of.as_deref().ok_or_else(|| format!("{} needs an element type (\"of\")", self.kind))?;
        read_scalar(of).ok_or_else(|| format!("{of:?} is no scalar type"))
    }

    fn write(column: &Column) -> ColumnJson {
        let (kind, of, order) = match column.kind {
            ColumnType::Scalar(scalar) => (scalar.name(), None, None),
            ColumnType::Counter => ("counter", None, None),
            ColumnType::Text => ("text", None, None),
            ColumnType::Register(of) => ("register", Some(of), None),
            ColumnType::Set(of) => ("set", Some(of), None),
            ColumnType::Map(of) => ("map", Some(of), None),
            ColumnType::List { of, order } => ("list", Some(of), Some(order)),
        };
        ColumnJson {
            default: column.default.as_ref().map(write_default),
            fetch: match column.fetch {
                Fetch::WithRow => None,
                Fetch::OnDemand => Some("on-demand".to_owned()),
            },
            of: of.map(|scalar| scalar.name().to_owned()),
            optional: column.optional,
            order: order.map(|order| match order {
                ListOrder::Strict => "strict".to_owned(),
                ListOrder::Commit => "commit".to_owned(),
            }),
            kind: kind.to_owned(),
            wins: None,
        }
    }
}

fn read_scalar(name: &str) -> Option<Scalar> {
    Scalar::ALL.into_iter().find(|scalar| scalar.name() == name)
}

fn read_order(order: Option<&str>) -> Result<ListOrder, String> {
    match order {
        Some("strict") | None => Ok(ListOrder::Strict),
        Some("commit") => Ok(ListOrder::Commit),
        Some(other) => Err(format!("order is strict or commit, not {other:?}")),
    }
}

fn read_default(json: &serde_json::Value, scalar: Scalar) -> Result<Value, String> {
    let value = match scalar {
        Scalar::Bool => json.as_bool().map(Value::Bool),
        Scalar::Int => json.as_i64().map(Value::Int),
        Scalar::Float => json.as_f64().and_then(|number| Value::float(number).ok()),
        Scalar::String => json.as_str().map(Value::from),
        Scalar::Id => json.as_str().and_then(|text| text.parse().ok()).map(Value::Id),
        Scalar::Bytes | Scalar::Blob => {
            return Err(format!("a {} column has no default: make it optional", scalar.name()));
        }
    };
    value.ok_or_else(|| format!("its default {json} is not of type {}", scalar.name()))
}

fn write_default(value: &Value) -> serde_json::Value {
    match value {
        Value::Null | Value::Bytes(_) | Value::Blob(_) => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::String(text) => text.as_ref().into(),
        Value::Id(id) => id.to_string().into(),
    }
}
