//! Points between two steps of the lock, at which tests let the other side go first.
//!
//! Invariant: outside of this crate's tests, a point does nothing.

/// A point between two steps. Each is named after the step that comes next, or was just made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// Every store that the program made is visible after this point.
    Barrier,
    /// A reader has the word, and not the place.
    ReaderSawWord,
    /// A reader has found a claim.
    ReaderWaits,
    /// The saver has written a copy, and not looked whether it still is one.
    SaverWrote,
    /// The saver has looked, and publishes the copy next.
    SaverPublishes,
    /// A thread of the program is about to bring an object back.
    Restores,
    /// A claim that a daemon left is about to be ended.
    Settles,
    /// A put has room in a bundle, and nothing announces it yet.
    PutTookRoom,
    /// A put has announced itself, and its bytes are not there yet.
    PutFills,
    /// An object is about to be dropped.
    Drops,
}

#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn at(_: Point) {}

#[cfg(test)]
pub(crate) use for_tests::at;

#[cfg(test)]
pub(crate) mod for_tests {
    use std::cell::RefCell;

    use super::Point;

    type Step = Box<dyn FnOnce()>;

    thread_local! {
        static STEPS: RefCell<Vec<(Point, Step)>> = const { RefCell::new(Vec::new()) };
    }

    /// Makes the step of this thread that waits for the point, if there is one.
    pub(crate) fn at(point: Point) {
        let step = STEPS.with_borrow_mut(|steps| {
            let first = steps.iter().position(|(of, _)| *of == point);
            first.map(|first| steps.remove(first).1)
        });
        if let Some(step) = step {
            step();
        }
    }

    /// Makes a step when this thread comes to the point the next time.
    pub(crate) fn once_at(point: Point, step: impl FnOnce() + 'static) {
        STEPS.with_borrow_mut(|steps| steps.push((point, Box::new(step))));
    }

    /// Whether this thread came to every point that steps waited for.
    pub(crate) fn all_made() -> bool {
        STEPS.with_borrow(Vec::is_empty)
    }
}
