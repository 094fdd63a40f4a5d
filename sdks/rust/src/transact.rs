//! Anonymous transactions: closures of this process, which work online only.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolite_client::CallError;
use iolite_values::Attempt;

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
    /// What the last run returned belongs to this attempt and the next ones, until it runs again.
    fn submitted(&mut self, attempt: Attempt);
    /// This attempt was committed. It need not be the last one.
    fn took_effect(&mut self, attempt: Attempt);
}

/// Invariant: what an attempt returned is kept until it is known which attempt took effect.
pub(crate) struct Results<T> {
    last: Option<T>,
    /// By the first attempt that was submitted with it.
    submitted: BTreeMap<Attempt, T>,
    committed: Option<T>,
}

pub(crate) type Shelf<T> = Arc<Mutex<Results<T>>>;

pub(crate) struct Shelved<T, F> {
    closure: F,
    results: Shelf<T>,
}

impl<T, F> Shelved<T, F> {
    pub(crate) fn new(closure: F) -> (Shelved<T, F>, Shelf<T>) {
        let results = Results { last: None, submitted: BTreeMap::new(), committed: None };
        let results = Arc::new(Mutex::new(results));
        (Shelved { closure, results: results.clone() }, results)
    }
}

impl<T: Send, F: FnMut(&mut Transaction<'_>) -> Result<T> + Send> Transactional for Shelved<T, F> {
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<()> {
        let value = (self.closure)(transaction)?;
        lock(&self.results).last = Some(value);
        Ok(())
    }

    fn submitted(&mut self, attempt: Attempt) {
        let mut results = lock(&self.results);
        if let Some(last) = results.last.take() {
            results.submitted.insert(attempt, last);
        }
    }

    fn took_effect(&mut self, attempt: Attempt) {
        let mut results = lock(&self.results);
        let first = results.submitted.range(..=attempt).next_back().map(|(first, _)| *first);
        results.committed = first.and_then(|first| results.submitted.remove(&first));
    }
}

/// The result of the attempt that took effect.
///
/// # Errors
/// When the server's word on that makes no sense.
pub(crate) fn committed<T>(results: &Shelf<T>) -> std::result::Result<T, MutationEnd> {
    let reason = "the server committed an attempt that this client never made";
    lock(results).committed.take().ok_or_else(|| MutationEnd::Quarantined { reason: reason.into() })
}

fn lock<T>(results: &Shelf<T>) -> MutexGuard<'_, Results<T>> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}
