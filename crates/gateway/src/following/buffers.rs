//! The changes that a session's loads keep while rows are read.
//!
//! Invariant: a load ends, however much is written meanwhile. The changes that are kept are bounded; past the bound a load is read again, each time with room
//! for twice as much, and at last what it has not read is declined for now, so that its client asks again.

use std::collections::BTreeSet;

use iolite_wire::message::{Declination, SubscriptionId};

use crate::following::load::{Load, LoadId};
use crate::limits::Limits;
use crate::sessions::session::Open;
use crate::{Gateway, SessionId};

/// A load that keeps more than it may.
enum Overfull {
    /// It may keep more when it is read again.
    Again(LoadId),
    /// It was read again often enough.
    Declined(LoadId),
}

impl Gateway {
    pub(crate) fn make_room_in_buffers(&mut self, id: SessionId) {
        let limits = self.settings.limits;
        while let Some(overfull) = self.open_mut(id).and_then(|open| open.overfull(&limits)) {
            match overfull {
                Overfull::Again(load) => self.read_snapshots(id, load),
                Overfull::Declined(load) => self.decline_unread(id, load),
            }
        }
    }

    /// Declines what is told by the buffer. Of queries whose answers were read nothing is in it.
    fn decline_unread(&mut self, id: SessionId, load: LoadId) {
        let Some(own) = self.open_mut(id).and_then(|open| open.loads.get_mut(&load)) else { return };
        own.drop_buffer();
        let unread: BTreeSet<SubscriptionId> =
            own.subscriptions.iter().filter(|name| !own.has_answer_to(**name)).copied().collect();
        for name in unread {
            self.decline(id, load, name, Declination::Later);
        }
    }
}

impl Open {
    /// The load that keeps most, if all together keep too much.
    fn overfull(&mut self, limits: &Limits) -> Option<Overfull> {
        let room = self.loads.values().map(|load| load.room(limits)).max()?;
        if self.buffer_bytes() <= room {
            return None;
        }
        self.loads.values_mut().for_each(Load::coalesce_buffer);
        // Less than that would be put together again soon.
        if self.buffer_bytes() <= room / 2 {
            return None;
        }
        let (id, load) = self.loads.iter_mut().max_by_key(|(_, load)| load.buffer_bytes())?;
        if room >= limits.load_buffer_bytes_max {
            return Some(Overfull::Declined(*id));
        }
        load.note_refill();
        Some(Overfull::Again(*id))
    }

    fn buffer_bytes(&self) -> usize {
        self.loads.values().map(Load::buffer_bytes).sum()
    }
}
