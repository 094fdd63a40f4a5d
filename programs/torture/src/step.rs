//! What a transaction does, and what it saw: as arguments of a mutation, and as the row that it leaves behind.

use iolite::{CellState, Result, Transaction, Value, abort};
use iolite_histories::{self as histories, Account, Bank, Counter, List, Operation, Register, Set};
use serde::{Deserialize, Serialize};

use crate::random::Random;

/// Of every object so many at a time.
pub const OBJECTS: u32 = 5;
/// Of the one bank.
pub const ACCOUNTS: u32 = 8;
pub const BALANCE: i64 = 100;

/// One operation, before it is run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Step {
    Write(u32, u64),
    Read(u32),
    Append(u32, u64),
    List(u32),
    Add(u32, i64),
    Count(u32),
    Transfer(u32, u32, i64),
    Bank,
    Insert(u32, u64),
    Remove(u32, u64),
    Contains(u32, u64),
    Set(u32),
}

/// What a step saw. Written steps saw nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Seen {
    Nothing,
    Value(Option<u64>),
    Values(Vec<u64>),
    Total(i64),
    Balances(Vec<i64>),
    Found(bool),
}

/// A transaction, with a name of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub client: i64,
    pub number: i64,
    pub steps: Vec<Step>,
}

pub const SCHEMA: &str = r#"{"tables":{
  "registers":{"live":true,"key":["n"],"columns":{"n":{"type":"int"},"value":{"type":"int","optional":true}}},
  "lists":{"live":true,"key":["n"],"columns":{"n":{"type":"int"},"values":{"type":"list","of":"int","order":"strict"}}},
  "counters":{"live":true,"key":["n"],"columns":{"n":{"type":"int"},"total":{"type":"counter"}}},
  "sets":{"live":true,"key":["n"],"columns":{"n":{"type":"int"},"values":{"type":"set","of":"int"}}},
  "accounts":{"live":true,"key":["n"],"columns":{"n":{"type":"int"},"balance":{"type":"int","optional":true}}},
  "seen":{"key":["client","number"],"columns":{"client":{"type":"int"},"number":{"type":"int"},"what":{"type":"string"}}}
}}"#;

/// Runs a plan, and leaves what it saw in the table `seen`.
pub fn transact(tx: &mut Transaction<'_>, plan: &Plan) -> Result<()> {
    let mut seen = Vec::new();
    for step in &plan.steps {
        seen.push(perform(tx, step)?);
    }
    let seen = serde_json::to_string(&seen).expect("numbers and lists");
    tx.insert("seen", (plan.client, plan.number), [("what", Value::from(seen.as_str()))])
}

fn perform(tx: &mut Transaction<'_>, step: &Step) -> Result<Seen> {
    match *step {
        Step::Write(n, value) => tx.set("registers", i64::from(n), "value", int(value)).map(|()| Seen::Nothing),
        Step::Read(n) => Ok(Seen::Value(match tx.cell("registers", i64::from(n), "value")? {
            Some(CellState::Scalar(Value::Int(value))) => Some(value as u64),
            _ => None,
        })),
        Step::Append(n, value) => tx.append("lists", i64::from(n), "values", int(value)).map(|()| Seen::Nothing),
        Step::List(n) => Ok(Seen::Values(match tx.cell("lists", i64::from(n), "values")? {
            Some(CellState::List(values)) => values.iter().filter_map(number).collect(),
            _ => Vec::new(),
        })),
        Step::Add(n, amount) => tx.add("counters", i64::from(n), "total", amount).map(|()| Seen::Nothing),
        Step::Count(n) => tx.counter("counters", i64::from(n), "total").map(Seen::Total),
        Step::Transfer(from, to, amount) => transfer(tx, from, to, amount),
        Step::Bank => {
            let balances: Result<Vec<i64>> = (0..ACCOUNTS).map(|account| balance(tx, account)).collect();
            balances.map(Seen::Balances)
        }
        Step::Insert(n, value) => tx.insert_member("sets", i64::from(n), "values", int(value)).map(|()| Seen::Nothing),
        Step::Remove(n, value) => tx.remove_member("sets", i64::from(n), "values", int(value)).map(|()| Seen::Nothing),
        Step::Contains(n, value) => tx.contains("sets", i64::from(n), "values", int(value)).map(Seen::Found),
        Step::Set(n) => Ok(Seen::Values(match tx.cell("sets", i64::from(n), "values")? {
            Some(CellState::Set(values)) => values.iter().filter_map(number).collect(),
            _ => Vec::new(),
        })),
    }
}

/// Refuses what the account does not have.
fn transfer(tx: &mut Transaction<'_>, from: u32, to: u32, amount: i64) -> Result<Seen> {
    let (has, other) = (balance(tx, from)?, balance(tx, to)?);
    if has < amount {
        return Err(abort(format!("account {from} has {has}, which is less than {amount}")));
    }
    tx.set("accounts", i64::from(from), "balance", Value::Int(has - amount))?;
    tx.set("accounts", i64::from(to), "balance", Value::Int(other + amount))?;
    Ok(Seen::Balances(vec![has, other]))
}

fn balance(tx: &mut Transaction<'_>, account: u32) -> Result<i64> {
    Ok(match tx.cell("accounts", i64::from(account), "balance")? {
        Some(CellState::Scalar(Value::Int(balance))) => balance,
        // Before anybody has moved anything.
        _ => BALANCE,
    })
}

fn int(value: u64) -> Value {
    Value::Int(value as i64)
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(value) => Some(*value as u64),
        _ => None,
    }
}

/// The operations of a transaction: with what it saw, or what it would write where nobody knows.
pub fn operations(steps: &[Step], seen: Option<&[Seen]>) -> Vec<Operation> {
    let nothing = Seen::Nothing;
    let seen_of = |index: usize| seen.map_or(&nothing, |seen| seen.get(index).unwrap_or(&nothing));
    steps.iter().enumerate().flat_map(|(index, step)| operation(step, seen_of(index))).collect()
}

fn operation(step: &Step, seen: &Seen) -> Vec<Operation> {
    let values = |values: &[u64]| values.iter().map(|value| histories::Value(*value)).collect::<Vec<_>>();
    let bank = Bank(0);
    match (step.clone(), seen) {
        (Step::Write(n, value), _) => vec![Operation::Write { register: Register(n), value: histories::Value(value) }],
        (Step::Append(n, value), _) => vec![Operation::Append { list: List(n), value: histories::Value(value) }],
        (Step::Add(n, amount), _) => vec![Operation::Add { counter: Counter(n), amount }],
        (Step::Insert(n, value), _) => vec![Operation::Insert { set: Set(n), value: histories::Value(value) }],
        (Step::Remove(n, value), _) => vec![Operation::Remove { set: Set(n), value: histories::Value(value) }],
        (Step::Transfer(from, to, amount), Seen::Balances(balances)) => {
            let read = |account, balance| Operation::ReadAccount { bank, account: Account(account), balance };
            let transfer = Operation::Transfer { bank, from: Account(from), to: Account(to), amount };
            vec![read(from, balances[0]), read(to, balances[1]), transfer]
        }
        (Step::Transfer(from, to, amount), _) => {
            vec![Operation::Transfer { bank, from: Account(from), to: Account(to), amount }]
        }
        (Step::Read(n), Seen::Value(value)) => {
            vec![Operation::Read { register: Register(n), value: value.map(histories::Value) }]
        }
        (Step::List(n), Seen::Values(seen)) => vec![Operation::ReadList { list: List(n), values: values(seen) }],
        (Step::Set(n), Seen::Values(seen)) => vec![Operation::ReadSet { set: Set(n), values: values(seen) }],
        (Step::Count(n), Seen::Total(total)) => vec![Operation::ReadCounter { counter: Counter(n), total: *total }],
        (Step::Bank, Seen::Balances(balances)) => vec![Operation::ReadBank { bank, balances: balances.clone() }],
        (Step::Contains(n, value), Seen::Found(found)) => {
            vec![Operation::Contains { set: Set(n), value: histories::Value(value), found: *found }]
        }
        // A read of which nobody knows what it saw.
        (Step::Read(_) | Step::List(_) | Step::Set(_) | Step::Count(_) | Step::Bank | Step::Contains(..), _) => {
            Vec::new()
        }
    }
}

/// What one client does next.
#[derive(Debug)]
pub struct Planner {
    random: Random,
    client: i64,
    number: i64,
    /// Inserted by this client, acknowledged, and not removed.
    members: Vec<(u32, u64)>,
}

/// After so many transactions of a client its lists and sets are others, so that they stay short.
const GENERATION: i64 = 300;

impl Planner {
    pub fn new(seed: u64, client: u32) -> Planner {
        Planner {
            random: Random::new(seed, 1 + u64::from(client)),
            client: client.into(),
            number: 0,
            members: Vec::new(),
        }
    }

    pub fn next(&mut self) -> Plan {
        self.number += 1;
        let count = 1 + self.random.below(4);
        let mut steps: Vec<Step> = Vec::new();
        for place in 0..count {
            let step = self.step(place);
            // Two transfers in one transaction would see each other's balances; one is enough.
            let is_money = |step: &Step| matches!(step, Step::Transfer(..) | Step::Bank);
            if !(is_money(&step) && steps.iter().any(is_money)) {
                steps.push(step);
            }
        }
        Plan { client: self.client, number: self.number, steps }
    }

    fn step(&mut self, place: u64) -> Step {
        let generation = (self.number / GENERATION) as u32 * OBJECTS;
        let object = generation + self.random.below(u64::from(OBJECTS)) as u32;
        // Unique in the run: which client, which transaction, which step.
        let value = (self.client as u64) << 40 | (self.number as u64) << 8 | place;
        match self.random.below(12) {
            0 | 1 => Step::Write(object, value),
            2 => Step::Read(object),
            3 => Step::Append(object, value),
            4 => Step::List(object),
            5 => Step::Add(object, 1 + self.random.below(1000) as i64),
            6 => Step::Count(object),
            7 => {
                let from = self.random.below(u64::from(ACCOUNTS)) as u32;
                let to = (from + 1 + self.random.below(u64::from(ACCOUNTS) - 1) as u32) % ACCOUNTS;
                Step::Transfer(from, to, 1 + self.random.below(40) as i64)
            }
            8 => Step::Bank,
            9 => Step::Insert(object, value),
            10 => match self.members.pop() {
                Some((set, value)) if self.random.percent(50) => Step::Remove(set, value),
                Some((set, value)) => {
                    self.members.push((set, value));
                    Step::Contains(set, value)
                }
                None => Step::Insert(object, value),
            },
            _ => Step::Set(object),
        }
    }

    /// What was inserted may be removed from now on.
    pub fn acknowledged(&mut self, plan: &Plan) {
        for step in &plan.steps {
            if let Step::Insert(set, value) = *step {
                self.members.push((set, value));
            }
        }
    }

    /// Every object that any client of so many transactions may have used.
    pub fn objects(transactions: i64) -> u32 {
        ((transactions / GENERATION) as u32 + 1) * OBJECTS
    }
}
