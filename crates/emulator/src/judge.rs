//! The judge: whether what clients saw is what the design promises. It sees histories only, and shares no code with designs or modules.

mod hunt;
mod linearizable;
mod operation;
mod read_latest;

pub use hunt::{Found, hunt};

use crate::design::Promise;
use crate::engine::{Content, Key};
use crate::workload::Recorded;

/// The judge's answer about a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Holds {
        operations: usize,
        objects: usize,
    },
    /// A client saw something that the promise rules out.
    Broken {
        key: Key,
        what: String,
    },
}

/// Judges a history; `before` gives what each object held before it.
pub fn judge(promise: Promise, history: &[Recorded], before: impl Fn(Key) -> Option<Content>) -> Verdict {
    let objects = operation::by_object(history, before);
    for (key, operations) in &objects {
        let broken = match promise {
            Promise::Linearizable => linearizable::check(operations),
            Promise::ReadLatest => read_latest::check(operations),
        };
        if let Err(what) = broken {
            return Verdict::Broken { key: *key, what };
        }
    }
    Verdict::Holds { operations: history.len(), objects: objects.len() }
}
