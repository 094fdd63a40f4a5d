//! What a client does, over and over, and what a fresh session reads at the end.

use std::hash::{DefaultHasher, Hash, Hasher};

use iolite::{Abort, Mutators, Result, Transaction, abort};
use serde::{Deserialize, Serialize};

use crate::arguments::Workload;
use crate::schema::{ACCOUNTS, BALANCE, LISTS};
use crate::talk::State;

/// The row that all clients fight for.
pub const HOT: &str = "hot";

/// A transfer from an account of one table to one of the other.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Transfer {
    from: i64,
    to: i64,
    amount: i64,
    direction: Direction,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Direction {
    Save,
    Spend,
}

pub fn mutators() -> Mutators {
    Mutators::new().with("increment", |tx, ()| increment(tx)).with("rmw", |tx, ()| rmw(tx)).with("transfer", transfer)
}

/// The name of the mutation that a workload calls; `None` for one that needs the result of its transaction.
pub fn mutation(workload: Workload) -> Option<&'static str> {
    match workload {
        Workload::Counter | Workload::Propagate => Some("increment"),
        Workload::Rmw => Some("rmw"),
        Workload::Bank => Some("transfer"),
        Workload::Append => None,
    }
}

pub fn total(tx: &mut Transaction<'_>) -> Result<i64> {
    tx.counter("counters", HOT, "total")
}

/// The sum of all accounts, on one snapshot.
pub fn sum(tx: &mut Transaction<'_>) -> Result<i64> {
    let mut sum = 0;
    for table in ["checking", "savings"] {
        for row in tx.rows(table, &[])? {
            sum += row.get::<i64>("balance")?;
        }
    }
    Ok(sum)
}

/// What all accounts hold together, always.
pub const SUM: i64 = 2 * ACCOUNTS * BALANCE;

/// Makes the accounts, if they are not there.
pub fn prepare(tx: &mut Transaction<'_>) -> Result<()> {
    for table in ["checking", "savings"] {
        for number in 0..ACCOUNTS {
            if !tx.exists(table, number)? {
                tx.insert(table, number, [("balance", BALANCE.into())])?;
            }
        }
    }
    Ok(())
}

/// A list, and what an append to it saw.
pub fn append(tx: &mut Transaction<'_>, list: &str, element: &str) -> Result<(usize, u64)> {
    let seen = elements(tx, list)?;
    tx.append("lists", list, "elements", element)?;
    Ok((seen.len(), digest(&seen)))
}

pub fn list_name(random: u64) -> String {
    format!("list-{}", random % LISTS)
}

pub fn state(tx: &mut Transaction<'_>, workload: Workload) -> Result<State> {
    let mut state = State::default();
    match workload {
        Workload::Counter | Workload::Propagate => state.total = total(tx)?,
        Workload::Rmw => state.total = value(tx)?,
        Workload::Bank => (state.total, state.sum) = (total(tx)?, sum(tx)?),
        Workload::Append => {
            for number in 0..LISTS {
                let name = list_name(number);
                let elements = elements(tx, &name)?;
                state.lists.insert(name, elements);
            }
        }
    }
    Ok(state)
}

/// Equal in all processes of one program.
pub fn digest(elements: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    elements.hash(&mut hasher);
    hasher.finish()
}

impl Transfer {
    pub fn random(random: u64) -> Transfer {
        let part = |shift: u32, below: i64| ((random >> shift) & 0xffff) as i64 % below;
        let direction = if random & 1 == 0 { Direction::Save } else { Direction::Spend };
        Transfer { from: part(8, ACCOUNTS), to: part(24, ACCOUNTS), amount: 1 + part(40, 10), direction }
    }
}

fn increment(tx: &mut Transaction<'_>) -> Result<()> {
    tx.add("counters", HOT, "total", 1)
}

fn value(tx: &mut Transaction<'_>) -> Result<i64> {
    match tx.cell("counters", HOT, "value")? {
        Some(iolite::CellState::Scalar(iolite::Value::Int(value))) => Ok(value),
        None => Ok(0),
        Some(other) => Err(Abort::Mistake(format!("{other:?} in the place of an int"))),
    }
}

fn rmw(tx: &mut Transaction<'_>) -> Result<()> {
    let value = value(tx)?;
    tx.set("counters", HOT, "value", value + 1)
}

fn transfer(tx: &mut Transaction<'_>, transfer: Transfer) -> Result<()> {
    let (source, target) = match transfer.direction {
        Direction::Save => ("checking", "savings"),
        Direction::Spend => ("savings", "checking"),
    };
    let has = balance(tx, source, transfer.from)?;
    if has < transfer.amount {
        return Err(abort("insufficient funds"));
    }
    let other = balance(tx, target, transfer.to)?;
    tx.set(source, transfer.from, "balance", has - transfer.amount)?;
    tx.set(target, transfer.to, "balance", other + transfer.amount)?;
    increment(tx)
}

fn balance(tx: &mut Transaction<'_>, table: &str, number: i64) -> Result<i64> {
    let row = tx.row(table, number)?.ok_or_else(|| Abort::Mistake(format!("no account {number} in {table}")))?;
    row.get("balance")
}

fn elements(tx: &mut Transaction<'_>, list: &str) -> Result<Vec<String>> {
    match tx.cell("lists", list, "elements")? {
        None => Ok(Vec::new()),
        Some(iolite::CellState::List(elements)) => Ok(elements
            .iter()
            .map(|element| match element {
                iolite::Value::String(text) => text.to_string(),
                other => format!("{other:?}"),
            })
            .collect()),
        Some(other) => Err(Abort::Mistake(format!("{other:?} in the place of a list"))),
    }
}
