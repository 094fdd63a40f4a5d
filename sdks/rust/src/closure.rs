//! Runs the app's closures, whatever they do.
//!
//! Invariant: a panic in a closure ends the run and nothing else; while a closure runs, its thread may not call a client, its own or another: each waits for
//! its lock, and two whose closures call each other would wait for ever.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use iolite_client::Closed;

use crate::error::{Abort, Result};

thread_local! {
    /// Whether this thread runs a closure.
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs a closure, of any client.
pub(crate) fn runs_one() -> bool {
    RUNNING.get()
}

pub(crate) fn run(closure: impl FnOnce() -> Result<()>) -> Closed {
    RUNNING.set(true);
    let result = catch_unwind(AssertUnwindSafe(closure));
    RUNNING.set(false);
    match result {
        Ok(Ok(())) => Closed::Returned,
        Ok(Err(Abort::Reason(reason))) => Closed::Aborted(reason),
        Ok(Err(Abort::Run(error))) => Closed::Failed(error.to_string()),
        Ok(Err(Abort::Mistake(problem))) => Closed::Failed(problem),
        Err(panic) => Closed::Failed(format!("the closure panicked: {}", panic_message(&*panic))),
    }
}

/// The message of a closure that did not return.
pub(crate) fn message_of(closed: Closed) -> String {
    match closed {
        Closed::Failed(message) | Closed::Aborted(message) => message,
        Closed::Returned | Closed::Unknown => String::new(),
    }
}

/// The message of a panic.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
