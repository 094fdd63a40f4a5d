//! A second evaluator: closures over whole rows, in a logic of three values. It shares no code with the judge.
//!
//! True, false, or nothing where something is missing. `and` is false if a part is false, else nothing if a part is nothing.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{CellState, ColumnId, TableId, Value};

use super::first_life;
use super::world::{Move, Moves, Store};
use crate::{
    Allowed, Change, Claim, Claims, Comparison, Operand, Relation, Right, Rights, RowName, Rule, Set, TableRights,
    Version, When, Why,
};

#[derive(Clone, Debug)]
enum Plain {
    One(Value),
    Many(BTreeSet<Value>),
}

/// A row by the names of its columns, its key included.
type Line = BTreeMap<&'static str, Plain>;
type Table = BTreeMap<(&'static str, Vec<Value>), Line>;
type Truth = Option<bool>;
type Valued<'a> = Box<dyn Fn(&Sight) -> Option<Plain> + 'a>;

struct Sight<'a> {
    before: &'a Table,
    after: &'a Table,
    old: Option<Line>,
    new: Option<Line>,
    row: Option<Line>,
    moves: Option<&'a [Move]>,
    claims: &'a Claims,
}

fn empty(table: &str, key: &[Value]) -> Line {
    let one = |value: &Value| Plain::One(value.clone());
    match table {
        "notes" => Line::from([
            ("id", one(&key[0])),
            ("room", one(&Value::Null)),
            ("author", one(&Value::Null)),
            ("rank", one(&Value::Null)),
            ("likes", one(&Value::Int(0))),
            ("tags", Plain::Many(BTreeSet::new())),
        ]),
        _ => Line::from([("user", one(&key[0])), ("room", one(&key[1])), ("role", one(&Value::Null))]),
    }
}

fn tables(store: &Store) -> Table {
    let known = ["notes", "members"];
    let line = |(name, row): (&RowName, &iolite_values::Row)| {
        let table = *known.iter().find(|own| TableId::of(own) == name.table)?;
        let key = name.key.values().ok()?;
        let mut line = empty(table, &key);
        for (column, state) in row.cells() {
            let (_, cell) = line.iter_mut().find(|(own, _)| ColumnId::of(own) == column)?;
            *cell = match state {
                CellState::Scalar(value) | CellState::Register(value) => Plain::One(value.clone()),
                CellState::Counter(total) => Plain::One(Value::Int(*total)),
                CellState::Set(members) => Plain::Many(members.clone()),
                _ => return None,
            };
        }
        Some(((table, key), line))
    };
    store.rows.iter().filter(|(_, row)| row.exists()).filter_map(line).collect()
}

/// The line after moves, if there is one; also as it was before it was last deleted.
fn moved(table: &str, key: &[Value], line: Option<Line>, moves: &[Move]) -> (Option<Line>, Option<Line>) {
    let (mut line, mut last) = (line, None);
    for own in moves {
        match own {
            Move::Create => line = Some(empty(table, key)),
            Move::Delete => last = line.take().or(last),
            // What is written to a row that is not there, nobody sees.
            Move::Put(..) | Move::Add(..) | Move::Tag(..) => {
                let Some(line) = &mut line else { continue };
                match (own, line) {
                    (Move::Put(column, value), line) => drop(line.insert(column, Plain::One(value.clone()))),
                    (Move::Add(amount), line) => {
                        if let Some(Plain::One(Value::Int(total))) = line.get_mut("likes") {
                            *total += amount;
                        }
                    }
                    (Move::Tag(tag, comes), line) => {
                        if let Some(Plain::Many(tags)) = line.get_mut("tags") {
                            let _ = if *comes { tags.insert(tag.clone()) } else { tags.remove(tag) };
                        }
                    }
                    (Move::Create | Move::Delete, _) => {}
                }
            }
        }
    }
    (line, last)
}

fn value(operand: &Operand) -> Valued<'_> {
    match operand {
        Operand::Column { of, column } => Box::new(move |sight| {
            let line = match of {
                Version::Row => &sight.row,
                Version::Old => &sight.old,
                Version::New => &sight.new,
            };
            line.as_ref()?.get(column.as_str()).cloned()
        }),
        Operand::Followed { row, column } => {
            Box::new(move |sight| found(row, sight)?.and_then(|line| line.get(column.as_str()).cloned()))
        }
        Operand::Claim(name) => Box::new(move |sight| {
            Some(match sight.claims.get(name)? {
                Claim::Text(text) => Plain::One(Value::from(text.as_str())),
                Claim::Number(number) => Plain::One(Value::Int(*number)),
                Claim::Flag(flag) => Plain::One(Value::Bool(*flag)),
                Claim::Texts(texts) => Plain::Many(texts.iter().map(|text| Value::from(text.as_str())).collect()),
            })
        }),
        Operand::Literal(value) => Box::new(move |_| Some(Plain::One(value.clone()))),
        Operand::Now => Box::new(|_| Some(Plain::One(Value::Int(2)))),
        Operand::Part(_) => Box::new(|_| None),
    }
}

/// The line of a reference, or that there is none. Nothing, if its key is missing.
fn found(row: &crate::Reference, sight: &Sight) -> Option<Option<Line>> {
    let mut key = Vec::new();
    for part in &row.key {
        match value(part)(sight)? {
            Plain::One(Value::Null) | Plain::Many(_) => return None,
            Plain::One(value) => key.push(value),
        }
    }
    let tables = if row.when == When::At { sight.before } else { sight.after };
    Some(tables.iter().find(|((table, own), _)| *table == row.table && *own == key).map(|(_, line)| line.clone()))
}

fn compared(of: Option<Plain>, relation: Relation, with: Option<Plain>) -> Truth {
    let Plain::One(with) = with? else { return None };
    match of? {
        Plain::Many(members) => (relation == Relation::Contains).then(|| members.contains(&with)),
        Plain::One(of) => match relation {
            Relation::Equal => Some(of == with),
            Relation::NotEqual => Some(of != with),
            Relation::Contains => None,
            Relation::BeginsWith => match (of, with) {
                (Value::String(of), Value::String(with)) => Some(of.starts_with(&*with)),
                (_, Value::String(_)) => Some(false),
                _ => None,
            },
            _ if with == Value::Null => None,
            _ if of == Value::Null => Some(false),
            Relation::Less => Some(of < with),
            Relation::AtMost => Some(of <= with),
            Relation::Greater => Some(of > with),
            Relation::AtLeast => Some(of >= with),
        },
    }
}

fn all(truths: impl Iterator<Item = Truth>) -> Truth {
    let truths: Vec<_> = truths.collect();
    if truths.contains(&Some(false)) {
        Some(false)
    } else {
        truths.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
    }
}

fn closure<'a>(rule: &'a Rule) -> Box<dyn Fn(&Sight) -> Truth + 'a> {
    let closures = |parts: &'a [Rule]| parts.iter().map(closure).collect::<Vec<_>>();
    match rule {
        Rule::And(parts) => {
            let parts = closures(parts);
            Box::new(move |sight| all(parts.iter().map(|part| part(sight))))
        }
        Rule::Or(parts) => {
            let parts = closures(parts);
            Box::new(move |sight| all(parts.iter().map(|part| part(sight).map(|own| !own))).map(|own| !own))
        }
        Rule::Not(part) => {
            let part = closure(part);
            Box::new(move |sight| part(sight).map(|own| !own))
        }
        Rule::Test { of, is } => Box::new(move |sight| compared(value(of)(sight), is.relation, value(&is.with)(sight))),
        Rule::Claim { name, is } => Box::new(move |sight| {
            compared(value(&Operand::Claim(name.clone()))(sight), is.relation, value(&is.with)(sight))
        }),
        Rule::In { of, set } => Box::new(move |sight| {
            let Plain::One(of) = value(of)(sight)? else { return None };
            Some(members(set, sight)?.contains(&of))
        }),
        Rule::Exists { row, conditions } => Box::new(move |sight| {
            let Some(line) = found(row, sight)? else { return Some(false) };
            let asked = |own: &crate::Asked| {
                compared(line.get(own.column.as_str()).cloned(), own.is.relation, value(&own.is.with)(sight))
            };
            all(conditions.iter().map(asked))
        }),
        Rule::Ops(columns) => Box::new(move |sight| {
            let moves = sight.moves?;
            let names = moves.iter().filter_map(|own| match own {
                Move::Create | Move::Delete => None,
                Move::Put(column, _) => Some(*column),
                Move::Add(_) => Some("likes"),
                Move::Tag(..) => Some("tags"),
            });
            let sum: i64 = moves.iter().map(|own| if let Move::Add(amount) = own { *amount } else { 0 }).sum();
            let may = |column: &str, change: Change, carried: &Value| {
                columns.get(column).is_some_and(|all| all.iter().any(|own| permits(own, change, carried, sight)))
            };
            let each = moves.iter().all(|own| match own {
                Move::Create | Move::Delete => true,
                Move::Put(column, value) => may(column, Change::Put, value),
                Move::Add(_) => may("likes", Change::Add, &Value::Int(sum)),
                Move::Tag(tag, true) => may("tags", Change::Insert, tag),
                Move::Tag(tag, false) => may("tags", Change::Remove, tag),
            });
            (each && names.into_iter().all(|column| columns.contains_key(column))).then_some(true)
        }),
    }
}

fn permits(allowed: &Allowed, change: Change, carried: &Value, sight: &Sight) -> bool {
    let holds = |bound: &Comparison| {
        compared(Some(Plain::One(carried.clone())), bound.relation, value(&bound.with)(sight)) == Some(true)
    };
    [change, Change::Any].contains(&allowed.change) && allowed.bounds.iter().all(holds)
}

fn members(set: &Set, sight: &Sight) -> Option<BTreeSet<Value>> {
    match set {
        Set::Values(values) => Some(values.iter().cloned().collect()),
        Set::Claim(name) => match value(&Operand::Claim(name.clone()))(sight)? {
            Plain::Many(texts) => Some(texts),
            Plain::One(_) => None,
        },
        Set::Mine { table, column, conditions } => {
            let lines = sight.before.iter().filter(|((own, _), _)| own == table).map(|(_, line)| line);
            let is_own = |line: &&Line| {
                conditions.iter().all(|own| {
                    let of = line.get(own.column.as_str()).cloned();
                    compared(of, own.is.relation, value(&own.is.with)(sight)) == Some(true)
                })
            };
            let values = lines.filter(is_own).filter_map(|line| match line.get(column.as_str())? {
                Plain::One(value) => Some(value.clone()),
                Plain::Many(_) => None,
            });
            Some(values.collect())
        }
    }
}

/// Whether all of it is allowed; else why, if the row's life is the reason.
pub fn transaction(rights: &Rights, claims: &Claims, store: &Store, moves: &Moves) -> Result<(), Option<Why>> {
    let before = tables(store);
    let mut after = before.clone();
    for ((table, key), own) in moves {
        match moved(table, key, before.get(&(*table, key.clone())).cloned(), own).0 {
            Some(line) => drop(after.insert((table, key.clone()), line)),
            None => drop(after.remove(&(*table, key.clone()))),
        }
    }
    let answers: Vec<_> = moves.iter().map(|(row, own)| one_row(rights, claims, (&before, &after), row, own)).collect();
    for why in [Some(Why::Taken), Some(Why::Missing), None] {
        if answers.contains(&Err(why)) {
            return Err(why);
        }
    }
    Ok(())
}

fn one_row(
    rights: &Rights,
    claims: &Claims,
    (before, after): (&Table, &Table),
    (table, key): &(&'static str, Vec<Value>),
    moves: &[Move],
) -> Result<(), Option<Why>> {
    let rules = match rights.tables.get(*table) {
        Some(TableRights::Rules(rules)) => rules,
        Some(TableRights::Open) => return Ok(()),
        None => return Err(None),
    };
    let old = before.get(&(*table, key.clone())).cloned();
    let (end, last) = moved(table, key, old.clone(), moves);
    let judged = match (&old, first_life(moves), &end) {
        (Some(_), None, _) => vec![Right::Update],
        (Some(_), Some(false), None) => vec![Right::Delete],
        (Some(_), Some(false), Some(_)) => vec![Right::Delete, Right::Create],
        (None, Some(true), _) => vec![Right::Create],
        (Some(_), Some(true), _) => return Err(Some(Why::Taken)),
        (None, _, _) => return Err(Some(Why::Missing)),
    };
    let new = end.or(last);
    let created = judged.contains(&Right::Create);
    let sight = |right: Right| {
        let old = match right {
            Right::Create => None,
            Right::Check if created => Some(empty(table, key)),
            _ => old.clone(),
        };
        let new = if right == Right::Delete { None } else { new.clone() };
        let row = if right == Right::Delete { old.clone() } else { new.clone() };
        Sight { before, after, old, new, row, moves: (right == Right::Update).then_some(moves), claims }
    };
    let holds = |right| rules.rule(right).is_some_and(|rule| closure(rule)(&sight(right)) == Some(true));
    let is_kept = judged.iter().any(|right| *right != Right::Delete);
    let is_fine = !is_kept || rules.check.is_none() || holds(Right::Check);
    if judged.into_iter().all(holds) && is_fine { Ok(()) } else { Err(None) }
}

/// Whether the read rule lets the user see a row.
pub fn reads(rights: &Rights, claims: &Claims, store: &Store, name: &RowName) -> bool {
    let before = tables(store);
    let key = name.key.values().expect("a key");
    let line = before.get(&("notes", key)).cloned();
    let sight = Sight { before: &before, after: &before, old: line.clone(), new: None, row: line, moves: None, claims };
    match rights.tables.get("notes") {
        Some(TableRights::Rules(rules)) => rules.read.as_ref().is_some_and(|rule| closure(rule)(&sight) == Some(true)),
        Some(TableRights::Open) => true,
        None => false,
    }
}
