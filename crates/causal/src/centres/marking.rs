//! Marks and trimming: what this data centre tells of others' outboxes, and what it forgets of its own.

use iolite_store::{Reply, Request};
use iolite_values::{Attempt, ClientId, Counter, TransactionId};
use iolite_wire::centres::{OutboxEntry, Place, Seen};

use super::own::Purpose;
use super::{Centres, Stage};
use crate::commits::{Causal, Judged};
use crate::marks::Due;
use crate::rows::Column;

impl Centres {
    /// The gateway's side says that a client needs no outcome through a counter. Its transactions through it are in K data centres.
    pub(super) fn on_acknowledged(&mut self, client: ClientId, through: Counter) {
        if let Stage::Running(running) = &mut self.stage {
            running.marks.acknowledge(client, through);
        }
    }

    /// A mark of a peer, before which everything of its outbox is here.
    pub(super) fn on_mark(&mut self, seen: Seen) {
        let Stage::Running(running) = &mut self.stage else { return };
        for (name, through) in &seen.through {
            if let Some(taking) = running.taking.get_mut(name)
                && taking.raise(*through)
            {
                running.marks.owe(name);
            }
        }
        let new =
            seen.acknowledged.into_iter().filter(|(client, through)| running.marks.acknowledge(*client, *through));
        let new: Vec<_> = new.collect();
        for (client, through) in new {
            self.ask(Purpose::Acknowledge, Request::Acknowledge { client, through });
        }
    }

    /// Writes the mark that is due.
    pub(super) fn mark(&mut self) {
        let now = self.now.instant;
        let Stage::Running(running) = &mut self.stage else { return };
        let Some(Due { about, acknowledged }) = running.marks.due(now) else { return };
        let place = |name: &_| running.taking.get(name).map_or(Place::START, |taking| taking.through());
        let through = about.into_iter().map(|name| (name.clone(), place(&name))).collect();
        let (entry, floor) = (OutboxEntry::Seen(Seen { through, acknowledged }), running.position);
        let counter = self.names.next();
        let id = TransactionId { client: self.settings.client, counter };
        let number = self.number(Purpose::Mark(counter));
        let Stage::Running(running) = &mut self.stage else { return };
        let causal = Causal { id, attempt: Attempt(1), entry, floor, within: None, judged: Judged::default() };
        if let Err(refusal) = running.commits.begin(number, causal) {
            self.on_reply(number, Reply::Refused(refusal));
        }
    }

    /// A mark has come to an end.
    pub(super) fn on_marked(&mut self, is_written: bool) {
        if let Stage::Running(running) = &mut self.stage {
            running.marks.ended(is_written);
        }
    }

    /// Deletes pages that all peers have, but for those that are lost, and the oldest ones past the limit.
    pub(super) fn trim(&mut self) {
        let Stage::Running(running) = &mut self.stage else { return };
        let applied = running.taking.keys().map(|peer| running.rows.place(peer, Column::Applied));
        let least = applied.filter(|place| !running.trimming.lacks(*place)).min().unwrap_or(running.tail.last());
        let writes = running.trimming.due(least, running.tail.page(), running.position, self.settings.outbox_bytes_max);
        if !writes.is_empty() {
            self.commit_own(Vec::new(), writes, Purpose::Trim);
        }
    }
}
