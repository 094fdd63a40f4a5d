//! Several askers share one store: whoever carries their requests numbers them, and knows by the number whom a reply is for.
//!
//! Invariant: no number is used twice, and a request that has no reply yet and was not given up is known by its number and by its asker.

use std::collections::BTreeMap;

use crate::RequestId;

/// The open requests of all askers. `A` says who asked, and by which id of its own.
#[derive(Debug)]
pub struct Asking<A> {
    last: u64,
    by_number: BTreeMap<RequestId, A>,
    by_asker: BTreeMap<A, RequestId>,
}

impl<A> Default for Asking<A> {
    fn default() -> Asking<A> {
        Asking { last: 0, by_number: BTreeMap::new(), by_asker: BTreeMap::new() }
    }
}

impl<A: Copy + Ord> Asking<A> {
    /// The number of a new request.
    ///
    /// # Panics
    /// When its asker has an open request under the same id: the asker's mistake.
    pub fn begin(&mut self, asker: A) -> RequestId {
        self.last += 1;
        let number = RequestId(self.last);
        self.by_number.insert(number, asker);
        let earlier = self.by_asker.insert(asker, number);
        assert!(earlier.is_none(), "an asker uses the id of an open request once");
        number
    }

    /// The asker of a request that the store has answered; none if it was given up.
    pub fn answered(&mut self, number: RequestId) -> Option<A> {
        let asker = self.by_number.remove(&number)?;
        self.by_asker.remove(&asker);
        Some(asker)
    }

    /// The number of a request that its asker gives up; none if it was answered.
    pub fn give_up(&mut self, asker: A) -> Option<RequestId> {
        let number = self.by_asker.remove(&asker)?;
        self.by_number.remove(&number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Asker {
        One(u64),
        Other(u64),
    }

    #[test]
    fn a_reply_goes_to_the_one_of_two_askers_that_has_asked() {
        let mut asking = Asking::default();
        let numbers = [Asker::One(1), Asker::Other(1), Asker::One(2)].map(|asker| asking.begin(asker));
        assert_eq!(numbers, [1, 2, 3].map(RequestId));
        assert_eq!(asking.answered(RequestId(2)), Some(Asker::Other(1)));
        assert_eq!(asking.answered(RequestId(1)), Some(Asker::One(1)));
        assert_eq!(asking.answered(RequestId(1)), None, "each is answered once");
        assert_eq!(asking.begin(Asker::One(1)), RequestId(4), "a number is not used again, an asker's id is");
    }

    #[test]
    fn what_is_given_up_is_for_nobody_whether_it_is_answered_or_not() {
        let mut asking = Asking::default();
        asking.begin(Asker::One(1));
        asking.begin(Asker::Other(1));
        assert_eq!(asking.give_up(Asker::Other(1)), Some(RequestId(2)));
        assert_eq!(asking.answered(RequestId(2)), None);
        assert_eq!(asking.answered(RequestId(1)), Some(Asker::One(1)));
        assert_eq!(asking.give_up(Asker::One(1)), None, "it is answered");
    }
}
