//! The judge: whether what clients saw is what the design promises. It sees histories only, and shares no code with designs or modules.

mod causal;
mod hunt;
mod linearizable;
mod operation;
mod read_latest;

pub use hunt::{Found, hunt};

use crate::design::Promise;
use crate::engine::{Content, Key};
use crate::quantity::Span;
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
    if promise == Promise::Causal {
        return match causal::check(history, &before) {
            Err((key, what)) => Verdict::Broken { key, what },
            Ok(()) => {
                Verdict::Holds { operations: history.len(), objects: operation::by_object(history, before).len() }
            }
        };
    }
    let objects = operation::by_object(history, before);
    for (key, operations) in &objects {
        let broken = match promise {
            Promise::Linearizable => linearizable::check(operations),
            Promise::ReadLatest => read_latest::check(operations, Span::ZERO),
            Promise::BoundedStaleness(bound) => read_latest::check(operations, bound),
            Promise::MissAllowed => read_latest::check(&operation::without_misses(operations), Span::ZERO),
            Promise::Causal => unreachable!("it is judged over all objects at once"),
        };
        if let Err(what) = broken {
            return Verdict::Broken { key: *key, what };
        }
    }
    Verdict::Holds { operations: history.len(), objects: objects.len() }
}
