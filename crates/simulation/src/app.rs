//! The app that simulated clients run: mutations over every data type, and reactive transactions over several tables.
//!
//! Each closure is written once, over [`Handle`], and runs twice: in a client, and later in the checker's model, where it must come to the
//! same writes.

mod call;
pub mod chairs;
mod handle;
mod levels;
mod model;
mod mutators;
mod pages;
mod paper;
mod questions;
mod watchers;

use std::sync::{Arc, LazyLock};

use iolite_values::{Cell, Schema, TableId};

pub use call::Call;
#[cfg(test)]
pub use handle::cell;
pub use handle::{Handle, InClient, Stop, row_key};
pub use levels::{OfLevel, Weak};
pub use model::Model;
pub use mutators::run_call;
pub use pages::{Draft, Letters, PAGES, Typing, page};
pub use watchers::Watcher;

/// Accounts, and what each begins with.
pub const ACCOUNTS: i64 = 4;
pub const OPENING_BALANCE: i64 = 100;
/// Keys of the other tables.
pub const KEYS: i64 = 3;
/// Where the counters of a game are, beside the other keys.
const GAME: i64 = 100;
/// Seats in a group.
pub const SEATS: usize = 3;
/// Keys of jobs, the states that they go through, the ranks that they have, and how many may be in one when another one comes to it.
const JOBS: u64 = 8;
const STATES: i64 = 3;
const RANKS: u64 = 6;
const JOBS_IN_STATE: usize = 2;

const SCHEMA: &str = r#"{"tables":{
  "hits":{"columns":{"key":{"type":"int"},"value":{"type":"counter"}},"key":["key"],"indexes":{"byValue":["value"]},"live":true},
  "accounts":{"columns":{"key":{"type":"int"},"balance":{"type":"int"}},"key":["key"]},
  "numbers":{"columns":{"key":{"type":"int"},"value":{"type":"int"}},"key":["key"]},
  "things":{"columns":{"key":{"type":"int"},"tags":{"type":"set","of":"int"},"parts":{"type":"map","of":"int"},
    "owner":{"type":"register","of":"int","optional":true},"log":{"type":"list","of":"int"},
    "notes":{"type":"list","of":"int","order":"commit"},"weight":{"type":"float","default":0.5}},"key":["key"],"indexes":{"byOwner":["owner"]},"live":true},
  "jobs":{"columns":{"key":{"type":"int"},"state":{"type":"int"},"rank":{"type":"int"},"tries":{"type":"counter"}},"key":["key"],
    "indexes":{"byState":["state","rank"],"byRank":["rank"]}},
  "seats":{"columns":{"group":{"type":"int"},"guest":{"type":"int"},"name":{"type":"string"},"moves":{"type":"counter"}},"key":["group","guest"]},
  "shelves":{"columns":{"key":{"type":"int"},"label":{"type":"int","default":0},"left":{"type":"counter"}},"key":["key"],"isolation":"snapshot","live":true},
  "scores":{"columns":{"key":{"type":"int"},"label":{"type":"int","default":0},"left":{"type":"counter"}},"key":["key"],"isolation":"read-committed","live":true},
  "pages":{"columns":{"key":{"type":"int"},"body":{"type":"text"}},"key":["key"],"live":true},
  "chairs":{"columns":{"key":{"type":"int"},"x":{"type":"int"},"sat":{"type":"counter"}},"key":["key"],"indexes":{"byX":["x"]},"delivered":true}
}}"#;

/// What the second version adds, and the third one does without.
const GROWN_TABLE: &str =
    r#"{"tables":{"visits":{"columns":{"key":{"type":"int"},"value":{"type":"counter"}},"key":["key"],"live":true},"#;
const GROWN_COLUMN: &str = r#"{"type":"list","of":"int"},"rank":{"type":"counter"},"#;
const PRUNED_COLUMN: &str = r#","weight":{"type":"float","default":0.5}"#;

static SCHEMAS: LazyLock<[Arc<Schema>; 3]> = LazyLock::new(|| {
    let grown =
        SCHEMA.replacen(r#"{"tables":{"#, GROWN_TABLE, 1).replacen(r#"{"type":"list","of":"int"},"#, GROWN_COLUMN, 1);
    let pruned = grown.replacen(PRUNED_COLUMN, "", 1);
    let read = |json: &str| Arc::new(Schema::from_json(json).expect("it is tested"));
    [read(SCHEMA), read(&grown), read(&pruned)]
});

/// A version of the app. Clients start with the first and go on to later ones; the server's schema holds what any of them has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchemaVersion {
    First,
    /// With a table and a column more.
    Grown,
    /// With a column less.
    Pruned,
    /// The other app, whose tables sync.
    Rows,
    /// The other app, whose tables merge.
    Centres,
    /// The same with users who have rights.
    Guests,
    /// The other app, which has users with rights.
    Rights,
}

impl SchemaVersion {
    /// Whether its users have names, and rights.
    pub fn has_users(self) -> bool {
        matches!(self, SchemaVersion::Guests | SchemaVersion::Rights)
    }

    pub fn schema(self) -> Arc<Schema> {
        let [first, grown, pruned] = &*SCHEMAS;
        match self {
            SchemaVersion::First => first.clone(),
            SchemaVersion::Grown => grown.clone(),
            SchemaVersion::Pruned => pruned.clone(),
            SchemaVersion::Rows => crate::rows::app::schema(),
            SchemaVersion::Centres => crate::centres::app::schema(),
            SchemaVersion::Guests => crate::centres::guests::schema(),
            SchemaVersion::Rights => crate::rights::app::schema(),
        }
    }
}

/// A cell in words: `things[2].log`.
pub fn cell_name(cell: &Cell) -> String {
    let schema = SchemaVersion::Grown.schema();
    let column = schema.table_by_id(cell.table).and_then(|table| table.column(cell.column)).map(|(name, _)| name);
    let key: Vec<String> = cell.row.values().unwrap_or_default().iter().map(|part| format!("{part:?}")).collect();
    let table = table_name(cell.table);
    format!("{table}[{}].{}", key.join(", "), column.unwrap_or("(the row itself)"))
}

pub fn table_name(table: TableId) -> String {
    SchemaVersion::Grown.schema().table_name(table).unwrap_or("(a table of the system)").to_owned()
}

#[cfg(test)]
mod tests {
    use super::SchemaVersion::{First, Grown, Pruned};
    use super::*;

    #[test]
    fn versions_differ_by_a_table_and_a_column() {
        assert_eq!([First, Grown, Pruned].map(|version| version.schema().tables().count()), [10, 11, 11]);
        let columns = |version: SchemaVersion| {
            let schema = version.schema();
            let things = schema.table_by_id(iolite_values::TableId::of("things")).expect("it has things");
            ["rank", "weight"].map(|name| things.column(iolite_values::ColumnId::of(name)).is_some())
        };
        assert_eq!([First, Grown, Pruned].map(columns), [[false, true], [true, true], [true, false]]);
    }
}
