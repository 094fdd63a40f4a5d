//! Runs the app's closures, whatever they do.
//!
//! Invariant: a panic in a closure ends the run and nothing else; while a closure runs, its thread may not call its client.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use iolite_client::Closed;

use crate::error::{Abort, Result};

thread_local! {
    /// The client, by its address, one of whose closures this thread runs.
    static RUNNING: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread runs a closure of the client at this address.
pub(crate) fn runs_inside(client: usize) -> bool {
    RUNNING.get() == client
}

/// Runs a closure of the client at this address.
pub(crate) fn run(client: usize, closure: impl FnOnce() -> Result<()>) -> Closed {
    let before = RUNNING.replace(client);
    let result = catch_unwind(AssertUnwindSafe(closure));
    RUNNING.set(before);
    match result {
        Ok(Ok(())) => Closed::Returned,
        Ok(Err(Abort::Reason(reason))) => Closed::Aborted(reason),
        Ok(Err(Abort::Run(error))) => Closed::Failed(error.to_string()),
        Ok(Err(Abort::Mistake(problem))) => Closed::Failed(problem),
        Err(panic) => Closed::Failed(format!("the closure panicked: {}", message(&*panic))),
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
