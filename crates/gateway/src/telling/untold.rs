//! What a session is not told yet, because its client's own outcomes are read.
//!
//! Invariants:
//! - told one after the other, the stretches make of what the client holds what telling each segment as it came would have made;
//! - nothing comes behind the change by which a row leaves a query, nor behind a row that has entered one, in the same stretch. Put together, a row that has left
//!   may look like an answer again, though not all of it was followed;
//! - what waits is bounded. Past the bound it is dropped, and what the session has missed is read.

use std::collections::VecDeque;

use iolite_machine::Now;
use iolite_values::Timestamp;

use crate::telling::coalesce::coalesce;
use crate::telling::routing::Touched;
use crate::{Gateway, SessionId, size};

/// Everything that changed of the live interests of a session above its `seen` (but for what waits in its batch), oldest first.
#[derive(Debug, Default)]
pub struct Untold {
    stretches: VecDeque<Stretch>,
    bytes: usize,
}

/// Segments that are told at once.
#[derive(Debug)]
struct Stretch {
    to: Timestamp,
    touched: Touched,
}

impl Untold {
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// Takes what a segment brings. False if this is more than may wait.
    fn push(&mut self, to: Timestamp, touched: Touched, bytes_max: usize) -> bool {
        self.bytes += touched.size();
        match self.stretches.back_mut().filter(|last| !last.touched.moves_rows()) {
            Some(last) => {
                last.to = to;
                last.touched.append(touched);
            }
            None => self.stretches.push_back(Stretch { to, touched }),
        }
        if self.bytes <= bytes_max {
            return true;
        }
        for Stretch { touched, to: _ } in &mut self.stretches {
            touched.changes = coalesce(std::mem::take(&mut touched.changes));
        }
        self.bytes = self.counted();
        // Less than that would be put together again soon.
        self.bytes <= bytes_max / 2
    }

    /// The oldest stretch, and as of when it is to be told: the last one as of now.
    fn pop(&mut self, now: Timestamp) -> Option<(Timestamp, Touched)> {
        let Stretch { to, mut touched } = self.stretches.pop_front()?;
        self.bytes -= touched.size();
        touched.changes = coalesce(touched.changes);
        Some((if self.is_empty() { now } else { to }, touched))
    }

    /// The session is caught up from `seen` later.
    pub fn drop_all(&mut self) {
        *self = Untold::default();
    }

    fn counted(&self) -> usize {
        self.stretches.iter().map(|own| own.touched.size()).sum()
    }

    pub fn validate(&self) {
        assert_eq!(self.bytes, self.counted(), "what is not told is counted");
        assert!(self.stretches.iter().is_sorted_by_key(|own| own.to), "it is told in order");
        let mut closed = self.stretches.iter().rev().skip(1);
        assert!(closed.all(|own| own.touched.moves_rows()), "what may be told at once is");
    }
}

impl Gateway {
    /// Keeps what a segment brings until the session may be told.
    pub(crate) fn hold_back(&mut self, id: SessionId, touched: Touched) {
        let (position, bytes_max) = (self.position(), self.settings.limits.load_buffer_bytes);
        let Some(open) = self.open_mut(id) else { return };
        if !open.untold.push(position, touched, bytes_max) {
            open.untold.drop_all();
            open.batch.drop_all();
            let seen = open.seen;
            self.read_missed(id, seen);
        }
    }

    /// Tells what was kept, now that the session may be told.
    pub(crate) fn tell_held_back(&mut self, now: Now, id: SessionId) {
        let position = self.position();
        while let Some(open) = self.open_mut(id).filter(|open| open.is_live()) {
            let Some((to, touched)) = open.untold.pop(position) else { return };
            self.tell(now, id, to, touched);
        }
    }
}

impl Touched {
    /// Whether a row enters a query, or leaves one.
    fn moves_rows(&self) -> bool {
        self.has_left || !self.entered.is_empty() || !self.gone.is_empty()
    }

    /// Takes what comes behind it.
    fn append(&mut self, later: Touched) {
        let Touched { changes, entered, has_left, gone, queries, loads } = later;
        assert!(!self.moves_rows() && loads.is_empty(), "what comes behind can be told with it");
        self.changes.extend(changes);
        self.queries.extend(queries);
        (self.entered, self.has_left, self.gone) = (entered, has_left, gone);
    }

    fn size(&self) -> usize {
        let changes = self.changes.iter().map(size::write).sum::<usize>();
        let gone = self.gone.iter().map(|(_, key)| 8 + key.as_bytes().len()).sum::<usize>();
        changes + self.entered.iter().map(size::row_snapshot).sum::<usize>() + gone
    }
}
