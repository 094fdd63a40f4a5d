//! The closures of the mutations.

use std::collections::BTreeMap;

use iolite_client::Content;
use iolite_values::{Cell, CellState, ColumnId, KeyRange, ListOrder, Operation, Row, TableId, Value};

use super::handle::{Handle, Stop, between, cell, row_key};
use super::questions::{come_to, in_state, of_ranks, ordered, owned_by, with_tag_or_of};
use super::{ACCOUNTS, Call, GAME, JOBS_IN_STATE, OPENING_BALANCE, SEATS, STATES};
use super::{chairs, levels};

/// Runs a call's closure.
///
/// # Errors
/// [`Stop`].
pub fn run_call(call: &Call, tx: &mut dyn Handle) -> Result<(), Stop> {
    match call {
        Call::Open => open(tx),
        Call::Hit { key, amount } => tx.write(cell("hits", &[*key], "value"), Operation::Add(*amount)),
        Call::Transfer { from, to, amount } => transfer(tx, *from, *to, *amount),
        Call::Audit { key } => {
            let accounts = tx.range(TableId::of("accounts"), &KeyRange::all(), None, false)?;
            let sum = accounts.iter().map(|(_, row)| balance_of(row)).sum();
            put_number(tx, *key, sum)
        }
        Call::Bump { key } => {
            let row = tx.row(TableId::of("numbers"), &row_key(&[*key]))?;
            let value = row.as_ref().and_then(|row| int(row.cell(ColumnId::of("value")))).unwrap_or(0);
            put_number(tx, *key, value + 1)
        }
        Call::Log { key, element } => append(tx, *key, "log", *element, ListOrder::Strict),
        Call::Note { key, element } => append(tx, *key, "notes", *element, ListOrder::Commit),
        Call::Rewrite { key, index, element } => {
            tx.write(thing(*key, "notes"), Operation::SetAt { index: *index, value: Value::Int(*element) })
        }
        Call::Tag { key, tag } => tx.write(thing(*key, "tags"), Operation::Insert(Value::Int(*tag))),
        Call::Untag { key, tag } => untag(tx, *key, *tag),
        Call::Part { key, part, count } => put_part(tx, *key, part, *count),
        Call::Double { key, part } => match tx.entry(&thing(*key, "parts"), &part.as_str().into())? {
            Some(Value::Int(count)) => put_part(tx, *key, part, count * 2),
            _ => Err(Stop::Abort("no such part".into())),
        },
        Call::Own { key, owner } => tx.write(thing(*key, "owner"), Operation::Assign(Value::Int(*owner))),
        Call::Sit { group, guest } => sit(tx, *group, *guest),
        Call::Leave { group, guest } => tx.delete(TableId::of("seats"), &row_key(&[*group, *guest])),
        Call::Shuffle { group, guest } => tx.write(cell("seats", &[*group, *guest], "moves"), Operation::Add(1)),
        Call::Usher { group, low, high, reverse } => usher(tx, *group, *low, *high, *reverse),
        Call::Weigh { key, weight } => tx.write(thing(*key, "weight"), Operation::Put(Value::Float(*weight as f64))),
        Call::Rank { key } => tx.write(thing(*key, "rank"), Operation::Add(1)),
        Call::Visit { key } => match int(tx.cell(&thing(*key, "rank"))?.as_ref()) {
            Some(rank) => tx.write(cell("visits", &[*key], "value"), Operation::Add(rank)),
            None => Err(Stop::Abort("not ranked".into())),
        },
        Call::Enqueue { key, state, rank } => enqueue(tx, *key, *state, *rank),
        Call::Take { state, reverse } => take(tx, *state, *reverse),
        Call::Promote { key, rank } => tx.write(job(*key, "rank"), Operation::Put(Value::Int(*rank))),
        Call::Try { key } => tx.write(job(*key, "tries"), Operation::Add(1)),
        Call::Unqueue { key } => tx.delete(TableId::of("jobs"), &row_key(&[*key])),
        Call::Sweep { low, high, state } => sweep(tx, *low, *high, *state),
        Call::Tally { key, state } => {
            let jobs = tx.ask(TableId::of("jobs"), &in_state(*state))?;
            put_number(tx, *key, jobs.len() as i64)
        }
        Call::Crown { key, owner } => crown(tx, *key, *owner),
        Call::Cull { tag } => cull(tx, *tag),
        Call::Charge { key, least } => charge(tx, *key, *least),
        Call::Weak { table, key, what } => levels::run(tx, *table, *key, *what),
        Call::Chair { room, chair, what } => chairs::run(tx, *room, *chair, *what),
        Call::Move { round, amount } => take_turn(tx, *round, *amount),
        Call::Edit(typing) => typing.run(tx),
        Call::Rows(call) => call.run(tx).map(drop),
        Call::Centres(call) => call.run(tx).map(drop),
        Call::Rights(call) => call.run(tx),
    }
}

fn open(tx: &mut dyn Handle) -> Result<(), Stop> {
    for key in 0..ACCOUNTS {
        if !tx.exists(TableId::of("accounts"), &row_key(&[key]))? {
            let content = [(ColumnId::of("balance"), vec![Operation::Put(Value::Int(OPENING_BALANCE))])];
            tx.insert(TableId::of("accounts"), &row_key(&[key]), content.into())?;
        }
    }
    Ok(())
}

fn transfer(tx: &mut dyn Handle, from: i64, to: i64, amount: i64) -> Result<(), Stop> {
    let (payer, payee) = (cell("accounts", &[from], "balance"), cell("accounts", &[to], "balance"));
    let (Some(has), Some(gets)) = (int(tx.cell(&payer)?.as_ref()), int(tx.cell(&payee)?.as_ref())) else {
        return Err(Stop::Abort("no such account".into()));
    };
    if has < amount {
        return Err(Stop::Abort("insufficient".into()));
    }
    tx.write(payer, Operation::Put(Value::Int(has - amount)))?;
    tx.write(payee, Operation::Put(Value::Int(gets + amount)))
}

pub(super) fn put_number(tx: &mut dyn Handle, key: i64, value: i64) -> Result<(), Stop> {
    let (table, row) = (TableId::of("numbers"), row_key(&[key]));
    let put = Operation::Put(Value::Int(value));
    if tx.exists(table, &row)? {
        tx.write(cell("numbers", &[key], "value"), put)
    } else {
        let content: Content = BTreeMap::from([(ColumnId::of("value"), vec![put])]);
        tx.insert(table, &row, content)
    }
}

fn append(tx: &mut dyn Handle, key: i64, column: &str, element: i64, order: ListOrder) -> Result<(), Stop> {
    tx.write(thing(key, column), Operation::Append { value: Value::Int(element), order })
}

fn untag(tx: &mut dyn Handle, key: i64, tag: i64) -> Result<(), Stop> {
    if !tx.contains(&thing(key, "tags"), &Value::Int(tag))? {
        return Err(Stop::Abort("no such tag".into()));
    }
    tx.write(thing(key, "tags"), Operation::Remove(Value::Int(tag)))?;
    tx.write(cell("hits", &[key], "value"), Operation::Add(1))
}

fn put_part(tx: &mut dyn Handle, key: i64, part: &str, count: i64) -> Result<(), Stop> {
    tx.write(thing(key, "parts"), Operation::PutEntry { key: part.into(), value: Value::Int(count) })
}

fn sit(tx: &mut dyn Handle, group: i64, guest: i64) -> Result<(), Stop> {
    let range = KeyRange::prefix(&[Value::Int(group)]).expect("an integer is a key");
    if tx.range(TableId::of("seats"), &range, Some(SEATS), false)?.len() == SEATS {
        return Err(Stop::Abort("full".into()));
    }
    let content = [(ColumnId::of("name"), vec![Operation::Put(Value::from(format!("guest {guest}")))])];
    tx.insert(TableId::of("seats"), &row_key(&[group, guest]), content.into())
}

fn usher(tx: &mut dyn Handle, group: i64, low: i64, high: i64, reverse: bool) -> Result<(), Stop> {
    let range = between(&[group, low], &[group, high]);
    let found = tx.range(TableId::of("seats"), &range, Some(1), reverse)?;
    let Some((key, _)) = found.first() else { return Err(Stop::Abort("nobody is there".into())) };
    let seat = Cell { table: TableId::of("seats"), row: key.clone(), column: ColumnId::of("moves") };
    let moves = int(tx.cell(&seat)?.as_ref()).unwrap_or(0);
    let known = tx.row(TableId::of("seats"), key)?.is_some();
    tx.write(seat, Operation::Add(moves % 2 + i64::from(known)))
}

fn enqueue(tx: &mut dyn Handle, key: i64, state: i64, rank: i64) -> Result<(), Stop> {
    if tx.ask(TableId::of("jobs"), &in_state(state))?.len() >= JOBS_IN_STATE {
        return Err(Stop::Abort("full".into()));
    }
    let put = |column, value| (ColumnId::of(column), vec![Operation::Put(Value::Int(value))]);
    tx.insert(TableId::of("jobs"), &row_key(&[key]), [put("state", state), put("rank", rank)].into())
}

fn take(tx: &mut dyn Handle, state: i64, reverse: bool) -> Result<(), Stop> {
    let first = ordered(in_state(state), "rank", reverse, Some(1));
    let found = tx.ask(TableId::of("jobs"), &first)?;
    let Some((key, _)) = found.first() else { return Err(Stop::Abort("no job".into())) };
    let next = Operation::Put(Value::Int((state + 1) % STATES));
    tx.write(Cell { table: TableId::of("jobs"), row: key.clone(), column: ColumnId::of("state") }, next)
}

fn sweep(tx: &mut dyn Handle, low: i64, high: i64, state: i64) -> Result<(), Stop> {
    for (key, _) in tx.ask(TableId::of("jobs"), &of_ranks(low, high, state))? {
        tx.delete(TableId::of("jobs"), &key)?;
    }
    Ok(())
}

fn crown(tx: &mut dyn Handle, key: i64, owner: i64) -> Result<(), Stop> {
    if !tx.ask(TableId::of("things"), &owned_by(owner))?.is_empty() {
        return Err(Stop::Abort("taken".into()));
    }
    tx.write(thing(key, "owner"), Operation::Assign(Value::Int(owner)))
}

fn cull(tx: &mut dyn Handle, tag: i64) -> Result<(), Stop> {
    for (key, _) in tx.ask(TableId::of("things"), &with_tag_or_of(tag, tag))? {
        let tags = Cell { table: TableId::of("things"), row: key, column: ColumnId::of("tags") };
        tx.write(tags, Operation::Remove(Value::Int(tag)))?;
    }
    Ok(())
}

fn charge(tx: &mut dyn Handle, key: i64, least: i64) -> Result<(), Stop> {
    let largest = ordered(come_to(least), "value", true, Some(1));
    let found = tx.ask(TableId::of("hits"), &largest)?;
    let value = found.first().and_then(|(_, row)| int(row.cell(ColumnId::of("value"))));
    put_number(tx, key, value.ok_or(Stop::Abort("not so far".into()))?)
}

fn take_turn(tx: &mut dyn Handle, round: i64, amount: i64) -> Result<(), Stop> {
    let [turn, sum] = game();
    if int(tx.cell(&turn)?.as_ref()).unwrap_or(0) != round {
        return Err(Stop::Abort("not this round".into()));
    }
    tx.write(turn, Operation::Add(1))?;
    tx.write(sum, Operation::Add(amount))
}

/// The counters of a game: rounds that were played, and the sum.
pub(super) fn game() -> [Cell; 2] {
    [GAME, GAME + 1].map(|key| cell("hits", &[key], "value"))
}

fn thing(key: i64, column: &str) -> Cell {
    cell("things", &[key], column)
}

fn job(key: i64, column: &str) -> Cell {
    cell("jobs", &[key], column)
}

fn balance_of(row: &Row) -> i64 {
    int(row.cell(ColumnId::of("balance"))).unwrap_or(0)
}

pub(super) fn int(state: Option<&CellState>) -> Option<i64> {
    match state {
        Some(CellState::Scalar(Value::Int(value)) | CellState::Counter(value)) => Some(*value),
        _ => None,
    }
}
