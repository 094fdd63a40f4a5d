//! Micro-operations as JSON: a list of a word, the object's number, and what is written or was seen.

use serde_json::{Value as Json, json};

use super::fields::{all, array, boolean, number, short, signed, small_number, text};
use crate::operation::{Account, Bank, Counter, List, Operation, Register, Set, Value};

pub fn to_json(operation: &Operation) -> Json {
    let numbers = |values: &[Value]| values.iter().map(|value| value.0).collect::<Vec<u64>>();
    match operation {
        Operation::Write { register, value } => json!(["write", register.0, value.0]),
        Operation::Read { register, value } => json!(["read", register.0, value.map(|value| value.0)]),
        Operation::Append { list, value } => json!(["append", list.0, value.0]),
        Operation::ReadList { list, values } => json!(["list", list.0, numbers(values)]),
        Operation::Add { counter, amount } => json!(["add", counter.0, amount]),
        Operation::ReadCounter { counter, total } => json!(["counter", counter.0, total]),
        Operation::Transfer { bank, from, to, amount } => json!(["transfer", bank.0, from.0, to.0, amount]),
        Operation::ReadAccount { bank, account, balance } => json!(["account", bank.0, account.0, balance]),
        Operation::ReadBank { bank, balances } => json!(["bank", bank.0, balances]),
        Operation::Insert { set, value } => json!(["insert", set.0, value.0]),
        Operation::Remove { set, value } => json!(["remove", set.0, value.0]),
        Operation::Contains { set, value, found } => json!(["contains", set.0, value.0, found]),
        Operation::ReadSet { set, values } => json!(["set", set.0, numbers(values)]),
    }
}

pub fn from_json(json: &Json) -> Result<Operation, String> {
    let parts = array(json, "an operation")?;
    let [word, object, rest @ ..] = parts else {
        return Err(format!("an operation is a word, a number and more, not {}", short(json)));
    };
    let word = text(word, "the word of an operation")?;
    let object = small_number(object, "the number of an object")?;
    of_value(word, object, rest)
        .or_else(|| of_amount(word, object, rest))
        .unwrap_or_else(|| Err(format!("no operation is {} with {} parts", short(json), parts.len())))
}

/// Operations on registers, lists and sets.
fn of_value(word: &str, object: u32, rest: &[Json]) -> Option<Result<Operation, String>> {
    let (register, list, set) = (Register(object), List(object), Set(object));
    let value = |json: &Json| number(json, "a value").map(Value);
    let values = |json: &Json| all(json, "values", |json, _| value(json));
    Some(match (word, rest) {
        ("write", [written]) => value(written).map(|value| Operation::Write { register, value }),
        ("read", [Json::Null]) => Ok(Operation::Read { register, value: None }),
        ("read", [seen]) => value(seen).map(|value| Operation::Read { register, value: Some(value) }),
        ("append", [written]) => value(written).map(|value| Operation::Append { list, value }),
        ("list", [seen]) => values(seen).map(|values| Operation::ReadList { list, values }),
        ("insert", [written]) => value(written).map(|value| Operation::Insert { set, value }),
        ("remove", [written]) => value(written).map(|value| Operation::Remove { set, value }),
        ("contains", [asked, found]) => value(asked)
            .and_then(|value| Ok(Operation::Contains { set, value, found: boolean(found, "what was found")? })),
        ("set", [seen]) => values(seen).map(|values| Operation::ReadSet { set, values }),
        _ => return None,
    })
}

/// Operations on counters and banks.
fn of_amount(word: &str, object: u32, rest: &[Json]) -> Option<Result<Operation, String>> {
    let (counter, bank) = (Counter(object), Bank(object));
    let account = |json: &Json| small_number(json, "an account").map(Account);
    let amount = |json: &Json| signed(json, "an amount");
    Some(match (word, rest) {
        ("add", [added]) => amount(added).map(|amount| Operation::Add { counter, amount }),
        ("counter", [seen]) => amount(seen).map(|total| Operation::ReadCounter { counter, total }),
        ("transfer", [from, to, moved]) => account(from)
            .and_then(|from| Ok(Operation::Transfer { bank, from, to: account(to)?, amount: amount(moved)? })),
        ("account", [place, seen]) => {
            account(place).and_then(|account| Ok(Operation::ReadAccount { bank, account, balance: amount(seen)? }))
        }
        ("bank", [seen]) => {
            all(seen, "balances", |json, _| amount(json)).map(|balances| Operation::ReadBank { bank, balances })
        }
        _ => return None,
    })
}
