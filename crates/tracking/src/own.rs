//! The names of tracking's own transactions, and which outcomes the store may forget.
//!
//! Invariant: an outcome is acknowledged when every transaction before it has ended too, so the store never forgets one that is still open.

use std::collections::BTreeSet;

use iolite_values::Counter;

#[derive(Debug, Default)]
pub struct Names {
    last: Counter,
    open: BTreeSet<Counter>,
    /// The last one of which the store has a record.
    recorded: Counter,
    acknowledged: Counter,
    is_acknowledging: bool,
}

impl Names {
    pub fn begin(&mut self) -> Counter {
        self.last = self.last.next();
        self.open.insert(self.last);
        self.last
    }

    /// The outcome of one is known. `is_recorded`: the store remembers it.
    pub fn ended(&mut self, counter: Counter, is_recorded: bool) {
        self.open.remove(&counter);
        if is_recorded {
            self.recorded = self.recorded.max(counter);
        }
    }

    /// Through which counter the store is to be told to forget. One such request is open at a time.
    pub fn due(&mut self) -> Option<Counter> {
        let through = self.open.first().map_or(self.last, |first| Counter(first.0 - 1));
        // Confirmations leave no record, and a store need not hear of them.
        let is_due = !self.is_acknowledging && through > self.acknowledged && self.recorded > self.acknowledged;
        is_due.then(|| {
            (self.acknowledged, self.is_acknowledging) = (through, true);
            through
        })
    }

    pub fn acknowledged(&mut self) {
        self.is_acknowledging = false;
    }

    /// The store has begun anew, and what is open was told to be in doubt.
    pub fn clear(&mut self) {
        self.open.clear();
        self.is_acknowledging = false;
        // Some of them may be recorded.
        self.recorded = self.last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_forgotten_behind_one_that_is_open_and_one_request_is_under_way() {
        let mut names = Names::default();
        let [first, second, third] = [names.begin(), names.begin(), names.begin()];
        names.ended(second, true);
        assert_eq!(names.due(), None, "the first one is open");
        names.ended(first, false);
        assert_eq!((names.due(), names.due()), (Some(second), None));
        names.ended(third, true);
        assert_eq!(names.due(), None, "the request before has no reply");
        names.acknowledged();
        assert_eq!(names.due(), Some(third));
        names.acknowledged();
        let fourth = names.begin();
        names.ended(fourth, false);
        assert_eq!(names.due(), None, "nothing of it is recorded");
    }
}
