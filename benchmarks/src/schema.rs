//! The tables of all workloads.

use iolite::Schema;

/// Rows of accounts in each of the two tables.
pub const ACCOUNTS: i64 = 10;
/// What each account begins with.
pub const BALANCE: i64 = 100;
/// Lists that are appended to.
pub const LISTS: u64 = 16;

const JSON: &str = r#"{"tables": {
    "counters": {"key": ["name"], "live": true, "columns": {
        "name": {"type": "string"}, "total": {"type": "counter"}, "value": {"type": "int", "default": 0}}},
    "checking": {"key": ["number"], "columns": {"number": {"type": "int"}, "balance": {"type": "int"}}},
    "savings": {"key": ["number"], "columns": {"number": {"type": "int"}, "balance": {"type": "int"}}},
    "lists": {"key": ["name"], "live": true, "columns": {
        "name": {"type": "string"}, "elements": {"type": "list", "of": "string", "order": "strict"}}}
}}"#;

pub fn schema() -> Schema {
    Schema::from_json(JSON).expect("the schema of the benchmarks is valid")
}
