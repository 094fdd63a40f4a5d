//! Anonymous transactions: closures of this process, which work online only.

use std::sync::{Arc, Mutex, PoisonError};

use iolite_client::CallError;

use crate::error::Result;
use crate::mutation::MutationEnd;
use crate::transaction::Transaction;

/// Why a transaction had no effect, or why that is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransactError {
    /// It was not begun.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It ended without effect; or, [`MutationEnd::Closed`], the client was closed before its end was known.
    #[error(transparent)]
    End(#[from] MutationEnd),
}

/// A closure, whatever its results are.
pub(crate) trait Transactional: Send {
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<()>;
    /// What the last run returned is what was submitted.
    fn submitted(&mut self);
}

pub(crate) struct Results<T> {
    last: Option<T>,
    submitted: Option<T>,
}

pub(crate) type Shelf<T> = Arc<Mutex<Results<T>>>;

pub(crate) struct Shelved<T, F> {
    closure: F,
    results: Shelf<T>,
}

impl<T, F> Shelved<T, F> {
    pub(crate) fn new(closure: F) -> (Shelved<T, F>, Shelf<T>) {
        let results = Arc::new(Mutex::new(Results { last: None, submitted: None }));
        (Shelved { closure, results: results.clone() }, results)
    }
}

impl<T: Send, F: FnMut(&mut Transaction<'_>) -> Result<T> + Send> Transactional for Shelved<T, F> {
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<()> {
        let value = (self.closure)(transaction)?;
        self.results.lock().unwrap_or_else(PoisonError::into_inner).last = Some(value);
        Ok(())
    }

    fn submitted(&mut self) {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = results.last.take() {
            results.submitted = Some(last);
        }
    }
}

/// The result of the run that took effect.
pub(crate) fn committed<T>(results: &Shelf<T>) -> T {
    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
    results.submitted.take().expect("what was committed was submitted, after a run that returned")
}
