//! Holds back what must not leave before something is durable.
//!
//! Invariant: an item leaves only when `persisted` has reached its `after`, and items leave in the order in which they came.

use std::collections::VecDeque;

use crate::PersistId;

/// A host keeps a machine's outputs here until the disk has caught up with them.
#[derive(Debug)]
pub struct Gate<T> {
    persisted: PersistId,
    /// The furthest position that anything ever waited for.
    awaited: PersistId,
    waiting: VecDeque<(PersistId, T)>,
}

impl<T> Gate<T> {
    pub fn new() -> Gate<T> {
        Gate { persisted: PersistId::START, awaited: PersistId::START, waiting: VecDeque::new() }
    }

    /// Takes an item that may leave once everything up to `after` is durable.
    pub fn hold(&mut self, after: PersistId, item: T) {
        self.awaited = self.awaited.max(after);
        self.waiting.push_back((after, item));
    }

    /// How far things have to be durable for everything here to leave: nothing waits for what is beyond.
    pub fn awaited(&self) -> PersistId {
        self.awaited
    }

    /// Everything up to `persisted` is durable now. A lower position than before changes nothing.
    pub fn advance(&mut self, persisted: PersistId) {
        self.persisted = self.persisted.max(persisted);
    }

    /// The next item that may leave.
    pub fn release(&mut self) -> Option<T> {
        let (after, _) = self.waiting.front()?;
        if *after > self.persisted {
            return None;
        }
        self.waiting.pop_front().map(|(_, item)| item)
    }

    pub fn persisted(&self) -> PersistId {
        self.persisted
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

impl<T> Default for Gate<T> {
    fn default() -> Gate<T> {
        Gate::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_leaves_only_when_its_position_is_durable() {
        let mut gate = Gate::new();
        gate.hold(PersistId(2), "b");
        gate.hold(PersistId(1), "a");
        assert_eq!(gate.awaited(), PersistId(2));
        gate.advance(PersistId(1));
        assert_eq!(gate.release(), None, "order is kept, so `a` waits behind `b`");
        gate.advance(PersistId(2));
        assert_eq!(gate.release(), Some("b"));
        assert_eq!(gate.release(), Some("a"));
        assert!(gate.is_empty());
    }
}
