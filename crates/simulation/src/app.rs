//! The app that simulated clients run: mutations over every data type, and reactive transactions over several tables.
//!
//! Each closure is written once, over [`Handle`], and runs twice: in a client, and later in the checker's model, where it must come to the
//! same writes.

mod call;
mod handle;
mod model;
mod mutators;
mod watchers;

use iolite_values::Schema;

pub use call::Call;
pub use handle::{InClient, Stop};
pub use model::Model;
pub use mutators::run_call;
pub use watchers::Watcher;

/// Accounts, and what each begins with.
pub const ACCOUNTS: i64 = 4;
pub const OPENING_BALANCE: i64 = 100;
/// Keys of the other tables.
pub const KEYS: i64 = 3;
/// Seats in a group.
pub const SEATS: usize = 3;

const SCHEMA: &str = r#"{"tables":{
  "hits":{"columns":{"key":{"type":"int"},"value":{"type":"counter"}},"key":["key"],"live":true},
  "accounts":{"columns":{"key":{"type":"int"},"balance":{"type":"int"}},"key":["key"]},
  "numbers":{"columns":{"key":{"type":"int"},"value":{"type":"int"}},"key":["key"]},
  "things":{"columns":{"key":{"type":"int"},"tags":{"type":"set","of":"int"},"parts":{"type":"map","of":"int"},
    "owner":{"type":"register","of":"int","optional":true},"log":{"type":"list","of":"int"},
    "notes":{"type":"list","of":"int","order":"commit"},"weight":{"type":"float","default":0.5}},"key":["key"],"live":true},
  "seats":{"columns":{"group":{"type":"int"},"guest":{"type":"int"},"name":{"type":"string"},"moves":{"type":"counter"}},"key":["group","guest"]}
}}"#;

pub fn schema() -> Schema {
    Schema::from_json(SCHEMA).expect("it is tested")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_good() {
        assert_eq!(super::schema().tables().count(), 5);
    }
}
