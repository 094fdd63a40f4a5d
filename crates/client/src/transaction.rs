//! Transactions as app code sees them while its closure runs.
//!
//! Closures are synchronous. A read of something that is not held stops the run: every later call fails with [`RunError::Stopped`], the data
//! is fetched, and the closure runs again from the start. App code cannot swallow the signal, because a stopped run never counts.
//! Source: Diamond's interactive transactions (Zhang 2017, section 3.3.3).

mod error;
mod logs;
mod merging;
mod queries;
mod random;
mod ranges;
mod reads;
mod run;
mod texts;
mod writes;

use std::cell::RefCell;
use std::collections::BTreeMap;

use iolite_machine::WallTime;
use iolite_values::{ColumnId, Id, Operation, Schema};

pub use error::RunError;
pub(crate) use merging::{Marks, time_of};
pub(crate) use random::{Random, live_author, mix};
pub use run::{Closed, Run, RunOf};
pub(crate) use run::{Lives, Missed, Stopped};

use crate::text::Documents;
use crate::view::Reader;

/// The handle with which a closure reads and writes. Made by [`crate::Client::transaction`], for one run.
pub struct Transaction<'a> {
    schema: &'a Schema,
    reader: Reader<'a>,
    documents: &'a RefCell<Documents>,
    run: &'a mut Run,
}

/// The first content of a row's columns: the operations that lead there from nothing.
pub type Content = BTreeMap<ColumnId, Vec<Operation>>;

impl<'a> Transaction<'a> {
    pub(crate) fn new(
        schema: &'a Schema,
        reader: Reader<'a>,
        documents: &'a RefCell<Documents>,
        run: &'a mut Run,
    ) -> Transaction<'a> {
        Transaction { schema, reader, documents, run }
    }

    pub fn schema(&self) -> &'a Schema {
        self.schema
    }

    /// When the mutation was called, on the clock of the device that called it: the same at every run. For people, not for ordering.
    pub fn now(&self) -> WallTime {
        self.run.called_at
    }

    /// An id that no other call makes; the same at every run of the same mutation.
    pub fn new_id(&mut self) -> Id {
        self.run.random.next_id()
    }

    /// 64 bits that look random; the same at every run of the same mutation.
    pub fn random(&mut self) -> u64 {
        self.run.random.next_bits()
    }
}
