//! How far a member has replayed a log.
//!
//! Invariant: entries are taken one by one, in the order of (page, place), and the position moves with each: none is skipped, and none comes twice. The
//! entry that turns a page is the last one of it.
//! Source: Hercules (Lebeck 2020, sections 3.4.3 and 3.4.4).

use iolite_values::{Counter, LogId};
use iolite_wire::logs::LogEntry;

use crate::initial_seed;
use crate::pages::{BLOCK_PAGES, Page};

/// A member's place in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub log: LogId,
    /// The page of the next entry.
    page: u64,
    /// The place of the next entry there.
    place: u64,
    /// Entries that were replayed, the one that the log begins with among them.
    index: u64,
    stuck: Option<Stuck>,
}

/// Why a member replays nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The entry that it cannot replay.
    pub index: u64,
    pub reason: String,
}

/// The next thing that a member replays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Entry(LogEntry),
    /// Bytes that are no entry: they have no effect, at every member alike.
    Nothing,
}

impl Member {
    /// At the beginning of a log.
    pub fn new(log: LogId) -> Member {
        Member::at(log, 0, 0, 0)
    }

    /// Where an earlier life was.
    pub fn at(log: LogId, page: u64, place: u64, index: u64) -> Member {
        Member { log, page, place, index, stuck: None }
    }

    /// The page and the place in it of the next entry.
    pub fn position(&self) -> (u64, u64) {
        (self.page, self.place)
    }

    /// How many entries it has replayed.
    pub fn index(&self) -> u64 {
        self.index
    }

    pub fn stuck(&self) -> Option<&Stuck> {
        self.stuck.as_ref()
    }

    /// The first pages of the blocks that it needs: that of its page, and the one behind it.
    pub fn blocks(&self) -> [u64; 2] {
        let own = self.page - self.page % BLOCK_PAGES;
        [own, own + BLOCK_PAGES]
    }

    /// The next entry, if it is there. `page` is that of [`Member::position`].
    pub fn next(&self, page: Page<'_>, initial: Option<&str>) -> Option<Next> {
        if self.stuck.is_some() {
            return None;
        }
        if let (0, Some(operation)) = (self.index, initial) {
            return Some(Next::Entry(LogEntry {
                origin: None,
                counter: Counter(1),
                called_at_micros: 0,
                seed: initial_seed(&self.log),
                operation: operation.to_owned(),
                version: 0,
                arguments: "null".to_owned(),
                turns: false,
            }));
        }
        let bytes = page.entry(self.place)?;
        Some(LogEntry::decode(bytes).map_or(Next::Nothing, Next::Entry))
    }

    /// The next entry is replayed: what [`Member::next`] gave. Returns whether its page was turned.
    pub fn replayed(&mut self, next: &Next, initial: Option<&str>) -> bool {
        let begins = self.index == 0 && initial.is_some();
        self.index += 1;
        if begins {
            return false;
        }
        match next {
            Next::Entry(entry) if entry.turns => {
                (self.page, self.place) = (self.page + 1, 0);
                true
            }
            Next::Entry(_) | Next::Nothing => {
                self.place += 1;
                false
            }
        }
    }

    /// The next entry cannot be replayed here.
    pub fn stop(&mut self, reason: String) {
        self.stuck = Some(Stuck { index: self.index, reason });
    }

    /// The number of the page that takes entries, as far as pages are here: `page` gives each that is.
    pub fn open_page<'a>(&self, page: impl Fn(u64) -> Option<Page<'a>>) -> Option<u64> {
        let mut number = self.page;
        while page(number)?.is_closed() {
            number += 1;
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::{CellState, ColumnId, LogPages, Row, Value};

    use super::*;

    fn log() -> LogId {
        LogId::new("sheet", &Value::Int(1)).expect("short")
    }

    #[test]
    fn a_member_needs_the_block_of_its_page_and_the_next_one() {
        assert_eq!(Member::at(log(), 0, 0, 0).blocks(), [0, 8]);
        assert_eq!(Member::at(log(), 9, 0, 0).blocks(), [8, 16]);
    }

    #[test]
    fn one_that_stands_still_gets_nothing() {
        let mut member = Member::new(log());
        assert!(member.next(Page::of(None), Some("begin")).is_some());
        member.stop("it is unknown".into());
        assert_eq!(member.next(Page::of(None), Some("begin")), None);
    }

    #[test]
    fn what_a_log_begins_with_draws_from_the_log_alone() {
        let seed = |log| match Member::new(log).next(Page::of(None), Some("begin")) {
            Some(Next::Entry(entry)) => entry.seed,
            other => panic!("{other:?}"),
        };
        assert_eq!(seed(log()), initial_seed(&log()));
        assert_ne!(seed(log()), seed(LogId::new("sheet", &Value::Int(2)).expect("short")));
    }

    #[test]
    fn the_open_page_is_the_first_one_from_the_members_on_that_is_not_closed() {
        let closed = [(LogPages::closed_column(), CellState::Scalar(Value::Bool(true)))];
        let closed = Row::from_parts(true, closed);
        let open = Row::from_parts(true, <[(ColumnId, CellState); 0]>::default());
        let rows = [&closed, &closed, &open];
        let held = |number: u64| rows.get(number as usize).map(|row| Page::of(Some(row)));
        assert_eq!(Member::new(log()).open_page(held), Some(2));
        assert_eq!(Member::at(log(), 2, 0, 0).open_page(held), Some(2));
        let fewer = |number: u64| (number < 2).then(|| Page::of(Some(&closed)));
        assert_eq!(Member::new(log()).open_page(fewer), None, "the next page is not here yet");
    }
}
