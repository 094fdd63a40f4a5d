//! Following a shard that has ended to the two that have its rows.
//!
//! Invariants:
//! - a replica tells that the shard has ended only when a majority is drained: what was decided there is known to those that go on;
//! - what was proposed to the shard and is not decided is found out by taking it over, and the shard's lower part answers for it;
//! - the feed goes on where the shard was closed to.

use std::collections::BTreeMap;

use iolite_machine::Now;
use iolite_store::RequestId;

use super::close::Closer;
use super::timers::Timer;
use super::{Coordinator, Session};
use crate::node::{Ask, ShardId, Split};

impl Coordinator {
    pub(super) fn on_ended(&mut self, now: Now, split: &Split) {
        let parent = split.parent().shard;
        let acknowledgements = self.acknowledgements_at(parent);
        if !self.settings.shards.split(split) {
            return;
        }
        self.questions.drop_each(|question| question.to.shard == parent);
        self.views.remove(&parent);
        self.looked_for.remove(&parent);
        self.close_parts(now, split);
        self.take_over_at(now, parent);
        self.take_over_in_epoch(now, parent);
        self.read_in_parts(now, split);
        self.validate_in_parts(now, parent);
        self.acknowledge_in_parts(now, acknowledgements);
        if matches!(self.session, Session::Opening(_)) {
            self.open(now);
        }
    }

    fn close_parts(&mut self, now: Now, split: &Split) {
        let Some(closer) = self.closers.remove(&split.parent().shard) else { return };
        for shard in [split.lower().shard, split.upper().shard] {
            let (part, at) = Closer::going_on(&self.settings, &closer, now.instant);
            self.closers.insert(shard, part);
            self.set_timer(at, Timer::Closer(shard));
        }
    }

    fn acknowledge_in_parts(&mut self, now: Now, acknowledgements: BTreeMap<RequestId, Ask>) {
        for (request, ask) in acknowledgements {
            let Ask::Acknowledge { client, .. } = &ask else { continue };
            let home: ShardId = self.settings.shards.of_client(*client);
            self.acknowledge_at(now, home, request, &ask);
        }
    }
}
