//! Reads a history back.
//!
//! Invariant: a line that is not understood is an error; nothing is skipped.

use std::io::{self, BufRead};

use serde_json::Value as Json;
use thiserror::Error;

use super::VERSION;
use super::fields::{Fields, all, array, boolean, number, only, required, short, signed, small_number, text};
use super::operations::from_json;
use crate::history::{BankSetup, Client, Commit, CommitTimestamp, Fault, History, Moment, Outcome, Setup, Transaction};

#[derive(Debug, Error)]
pub enum ReadError {
    #[error("cannot read the history: {0}")]
    Io(#[from] io::Error),
    #[error(
        "this is not a history: its first line must be {{\"iolite_history\":{VERSION},\"banks\":[]}}, with its banks: {problem}"
    )]
    NotAHistory { problem: String },
    #[error("the history has version {version}, and this program reads {VERSION}: use the program that recorded it")]
    OtherVersion { version: u64 },
    #[error("line {line}: {problem}")]
    Line { line: usize, problem: String },
    #[error(
        "the history is cut off after {transactions} transactions: its last line, {{\"end\":N}}, is missing. The recorder was stopped; run again"
    )]
    CutOff { transactions: usize },
    #[error(
        "the history holds {transactions} transactions, and its last line says {said}: lines are missing or doubled"
    )]
    OtherCount { transactions: usize, said: u64 },
}

/// Reads a history that a [`Recorder`](super::Recorder) wrote.
///
/// # Errors
/// [`ReadError`], with the line and what was expected there.
pub fn read(source: impl BufRead) -> Result<History, ReadError> {
    let mut lines = source.lines().enumerate();
    let first = match lines.next() {
        Some((_, first)) => first?,
        None => return Err(ReadError::NotAHistory { problem: "the file is empty".to_owned() }),
    };
    let mut history = History { setup: header(&first)?, ..History::default() };
    let mut end = None;
    for (index, line) in lines {
        let line = line?;
        let at_line = |problem| ReadError::Line { line: index + 1, problem };
        if end.is_some() {
            return Err(at_line("nothing may follow the line with the end".to_owned()));
        }
        end = add_line(&mut history, &line).map_err(at_line)?;
    }
    let transactions = history.transactions.len() + history.last.len();
    match end {
        None => Err(ReadError::CutOff { transactions }),
        Some(said) if said != transactions as u64 => Err(ReadError::OtherCount { transactions, said }),
        Some(_) => Ok(history),
    }
}

fn header(line: &str) -> Result<Setup, ReadError> {
    let not_a_history = |problem| ReadError::NotAHistory { problem };
    let fields = fields(line).map_err(not_a_history)?;
    let version = required(&fields, "iolite_history").and_then(|json| number(json, "the version"));
    let version = version.map_err(not_a_history)?;
    if version != VERSION {
        return Err(ReadError::OtherVersion { version });
    }
    setup(&fields).map_err(not_a_history)
}

fn setup(header: &Fields) -> Result<Setup, String> {
    only(header, &["iolite_history", "banks"])?;
    let bank = |json: &Json| {
        let bank = json.as_object().ok_or_else(|| format!("a bank must be an object, not {}", short(json)))?;
        only(bank, &["balances", "lowest"])?;
        let balances = all(required(bank, "balances")?, "a balance", signed)?;
        Ok(BankSetup { balances, lowest: signed(required(bank, "lowest")?, "`lowest`")? })
    };
    let banks: Result<Vec<BankSetup>, String> =
        array(required(header, "banks")?, "`banks`")?.iter().map(bank).collect();
    Ok(Setup { banks: banks? })
}

fn fields(line: &str) -> Result<Fields, String> {
    match serde_json::from_str(line) {
        Ok(Json::Object(fields)) => Ok(fields),
        Ok(other) => Err(format!("a line must be a JSON object, not {}", short(&other))),
        Err(error) => Err(format!("no JSON: {error}")),
    }
}

/// Adds what a line says; the count, if it is the last one.
fn add_line(history: &mut History, line: &str) -> Result<Option<u64>, String> {
    let fields = fields(line)?;
    if let Some(count) = fields.get("end") {
        only(&fields, &["end"])?;
        return number(count, "`end`").map(Some);
    }
    if let Some(what) = fields.get("fault") {
        only(&fields, &["fault", "at"])?;
        let at = Moment(number(required(&fields, "at")?, "`at`")?);
        history.faults.push(Fault { at, what: text(what, "`fault`")?.to_owned() });
        return Ok(None);
    }
    let transaction = transaction(&fields)?;
    match fields.get("last") {
        Some(last) if boolean(last, "`last`")? => history.last.push(transaction),
        Some(_) | None => history.transactions.push(transaction),
    }
    Ok(None)
}

fn transaction(fields: &Fields) -> Result<Transaction, String> {
    only(fields, &["client", "invoked", "completed", "outcome", "timestamp", "operations", "last"])?;
    let moment = |name: &str| number(required(fields, name)?, &format!("`{name}`")).map(Moment);
    let operations = array(required(fields, "operations")?, "`operations`")?.iter().map(from_json);
    let transaction = Transaction {
        client: Client(small_number(required(fields, "client")?, "`client`")?),
        invoked: moment("invoked")?,
        completed: moment("completed")?,
        operations: operations.collect::<Result<_, _>>()?,
        outcome: outcome(fields)?,
    };
    if transaction.completed < transaction.invoked {
        return Err("`completed` is before `invoked`: record both with one monotonic clock".to_owned());
    }
    Ok(transaction)
}

fn outcome(fields: &Fields) -> Result<Outcome, String> {
    let timestamp = fields.get("timestamp");
    match (text(required(fields, "outcome")?, "`outcome`")?, timestamp) {
        ("committed", Some(at)) => Ok(Outcome::Committed(Commit::At(CommitTimestamp(number(at, "`timestamp`")?)))),
        ("committed", None) => Ok(Outcome::Committed(Commit::Unstamped)),
        ("aborted", None) => Ok(Outcome::Aborted),
        ("unknown", None) => Ok(Outcome::Unknown),
        ("aborted" | "unknown", Some(_)) => Err("only what committed has a `timestamp`".to_owned()),
        (other, _) => Err(format!("`outcome` must be committed, aborted or unknown, not {other:?}")),
    }
}
