//! Records a history while it happens.
//!
//! Invariant: a file without its last line, which holds the count, is not a whole history, and is read as none.

use std::io::{self, Write};

use serde_json::{Value as Json, json};

use super::VERSION;
use super::operations::to_json;
use crate::history::{Client, Commit, Fault, History, Moment, Outcome, Setup, Transaction};

/// Writes a history line by line. Give it a buffered writer.
///
/// The runner records each transaction when its client knows the outcome, and before [`Recorder::finish`] every one that is still open, as
/// unknown: a write that is not in the file looks as if nobody had made it.
///
/// ```
/// use iolite_histories::{Client, Moment, Operation, Outcome, Recorder, Register, Setup, Transaction, Value, judge, read};
///
/// let mut recorder = Recorder::begin(Vec::new(), &Setup::default())?;
/// recorder.transaction(&Transaction {
///     client: Client(1),
///     invoked: Moment(1_000),
///     completed: Moment(9_000),
///     operations: vec![Operation::Write { register: Register(0), value: Value(7) }],
///     outcome: Outcome::Unknown,
/// })?;
/// let file = recorder.finish()?;
/// assert!(judge(&read(file.as_slice())?)?.is_clean());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recorder<W: Write> {
    sink: W,
    transactions: u64,
}

impl<W: Write> Recorder<W> {
    /// # Errors
    /// Those of the writer, as for all methods.
    pub fn begin(mut sink: W, setup: &Setup) -> io::Result<Recorder<W>> {
        let bank = |bank: &crate::BankSetup| json!({"balances": bank.balances, "lowest": bank.lowest});
        let banks: Vec<Json> = setup.banks.iter().map(bank).collect();
        write_line(&mut sink, &json!({"iolite_history": VERSION, "banks": banks}))?;
        Ok(Recorder { sink, transactions: 0 })
    }

    /// One whole history at once.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn record(history: &History, sink: W) -> io::Result<()> {
        let mut recorder = Recorder::begin(sink, &history.setup)?;
        history.faults.iter().try_for_each(|fault| recorder.fault(fault))?;
        history.transactions.iter().try_for_each(|transaction| recorder.transaction(transaction))?;
        history.last.iter().try_for_each(|transaction| recorder.last(transaction))?;
        recorder.finish().map(|_| ())
    }

    /// Records a transaction whose client knows the outcome, or gave up.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn transaction(&mut self, transaction: &Transaction) -> io::Result<()> {
        self.transactions += 1;
        write_line(&mut self.sink, &Json::Object(line(transaction)))
    }

    /// Records a transaction that reads the last state.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn last(&mut self, transaction: &Transaction) -> io::Result<()> {
        self.transactions += 1;
        let mut line = line(transaction);
        line.insert("last".to_owned(), Json::Bool(true));
        write_line(&mut self.sink, &Json::Object(line))
    }

    /// Records a fault that the runner made.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn fault(&mut self, fault: &Fault) -> io::Result<()> {
        write_line(&mut self.sink, &json!({"fault": fault.what, "at": fault.at.0}))
    }

    /// Ends the file, and gives the writer back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        write_line(&mut self.sink, &json!({"end": self.transactions}))?;
        self.sink.flush()?;
        Ok(self.sink)
    }
}

fn write_line(sink: &mut impl Write, line: &Json) -> io::Result<()> {
    serde_json::to_writer(&mut *sink, line)?;
    sink.write_all(b"\n")
}

fn line(transaction: &Transaction) -> super::fields::Fields {
    let Transaction { client: Client(client), invoked: Moment(invoked), completed: Moment(completed), .. } =
        transaction;
    let mut line = super::fields::Fields::new();
    line.insert("client".to_owned(), json!(client));
    line.insert("invoked".to_owned(), json!(invoked));
    line.insert("completed".to_owned(), json!(completed));
    let outcome = match transaction.outcome {
        Outcome::Committed(Commit::At(at)) => {
            line.insert("timestamp".to_owned(), json!(at.0));
            "committed"
        }
        Outcome::Committed(Commit::Unstamped) => "committed",
        Outcome::Aborted => "aborted",
        Outcome::Unknown => "unknown",
    };
    line.insert("outcome".to_owned(), json!(outcome));
    line.insert("operations".to_owned(), transaction.operations.iter().map(to_json).collect());
    line
}
