//! The state of the benchmark as a log: an array of ints, and the operations that fill it and increment runs of it.

use iolite::{Mutators, Options, Result, Schema, Table, Transaction, schema};

/// 100 KB of ints.
pub const SIZE: i64 = 12_500;
/// Ints that one operation fills: below what a run may write.
const FILLED_AT_ONCE: i64 = 1_000;
pub const LOG: &str = "array";
pub const INSTANCE: &str = "shared";

#[derive(Table)]
#[table(live, log = "array")]
pub struct Ints {
    #[key]
    array: String,
    #[key]
    at: i64,
    #[column(default = 0)]
    pub value: i64,
}

/// The schema and the options that a member opens its client with.
///
/// # Errors
/// When the schema is wrong, which it is not.
pub fn settings() -> anyhow::Result<(Schema, Options)> {
    let mutators = Mutators::new().operation(LOG, "fill", |tx, from: i64| fill(tx, from)).operation(
        LOG,
        "add",
        |tx, (from, count): (i64, i64)| increment(tx, from, count),
    );
    Ok((schema().with::<Ints>().build()?, Options::new().mutators(mutators)))
}

/// The first places of the operations that fill the array.
pub fn fills() -> impl Iterator<Item = i64> {
    (0..SIZE).step_by(FILLED_AT_ONCE.unsigned_abs() as usize)
}

/// How many entries fill the array.
pub fn fill_count() -> u64 {
    fills().count() as u64
}

fn fill(tx: &mut Transaction<'_>, from: i64) -> Result<()> {
    for at in from..(from + FILLED_AT_ONCE).min(SIZE) {
        tx.at(Ints::VALUE, (INSTANCE, at)).set(0)?;
    }
    Ok(())
}

fn increment(tx: &mut Transaction<'_>, from: i64, count: i64) -> Result<()> {
    for at in (from..from + count).map(|at| at % SIZE) {
        let value = tx.at(Ints::VALUE, (INSTANCE, at)).get()?;
        tx.at(Ints::VALUE, (INSTANCE, at)).set(value + 1)?;
    }
    Ok(())
}
