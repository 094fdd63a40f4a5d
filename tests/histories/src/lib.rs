//! Decides whether a history of real processes under faults is strictly serializable, and whether it lost anything.
//!
//! Clients record what they asked and what came back, with the times of one machine's monotonic clock ([`History`], and [`Recorder`] for the
//! file that outlives the run). [`judge`] holds the history against two checkers that share no code: the `adya` crate, and our own ([`own`]),
//! which knows counters, banks and sets too, replays by commit timestamps where they are known, and counts what the last state lacks, doubles or
//! made up. The page is `docs/histories.md`.
//!
//! ```
//! use iolite_histories::{Client, Commit, History, List, Moment, Operation, Outcome, Transaction, Value, judge};
//!
//! let list = List(0);
//! let transaction = |client, from, to, operation| Transaction {
//!     client: Client(client),
//!     invoked: Moment(from),
//!     completed: Moment(to),
//!     operations: vec![operation],
//!     outcome: Outcome::Committed(Commit::Unstamped),
//! };
//! let mut history = History::default();
//! history.transactions.push(transaction(1, 0, 10, Operation::Append { list, value: Value(7) }));
//! // It began after the append was acknowledged, and does not see it.
//! history.transactions.push(transaction(2, 20, 30, Operation::ReadList { list, values: vec![] }));
//!
//! let report = judge(&history)?;
//! assert!(!report.is_clean());
//! println!("{report}");
//! # Ok::<(), iolite_histories::Malformed>(())
//! ```
//!
//! Source: Adya, "Weak Consistency" (1999); Kingsbury and Alvaro, "Elle" (VLDB 2020); Gibbons and Korach, "Testing Shared Memories" (1997).

mod class;
mod explain;
mod file;
mod form;
mod history;
mod judge;
mod last_state;
mod operation;
pub mod own;
mod peer;
mod report;
mod violation;

pub use class::{Class, Pattern};
pub use file::{ReadError, Recorder, read};
pub use form::Malformed;
pub use history::{BankSetup, Client, Commit, CommitTimestamp, Fault, History, Moment, Outcome, Setup, Transaction};
pub use judge::judge;
pub use last_state::LastState;
pub use operation::{Account, Bank, Counter, List, Object, Operation, Register, Set, Value};
pub use peer::{PeerReport, PeerVerdict};
pub use report::{Counts, Milliseconds, Report};
pub use violation::{Findings, TransactionNumber, Violation};
