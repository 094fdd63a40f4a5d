//! OCC-Store: what was read is validated at the end, and nobody waits.
//!
//! A transaction prepares if all that it read is still the newest, nobody is about to write any of it, and nobody is about to read or
//! write what it writes. That is strict: it does not look at timestamps, and has none.
//! Source: Kung and Robinson, "On optimistic methods for concurrency control", with what is prepared between validation and write.

use iolite_baseline_client::{Prepare, Read, Tell, Validate};
use iolite_machine::Instant;

use super::leading::{Asker, Leading, Outputs, refused};
use super::locks::Mode;
use super::store::Store;
use crate::command::Prepared;

impl Leading {
    pub(super) fn prepare_valid(
        &mut self,
        now: Instant,
        store: &Store,
        asker: Asker,
        prepare: Prepare,
        outputs: &mut Outputs,
    ) {
        let Prepare { transaction, age, reads, writes, participants } = prepare;
        if !are_newest(store, &reads) {
            return outputs.push_back(asker.told(refused(None)));
        }
        let wants = reads.iter().map(|read| (&read.key, Mode::Read));
        let mut wants = wants.chain(writes.iter().map(|pair| (&pair.key, Mode::Write)));
        if let Err(holder) = wants.try_for_each(|(key, mode)| self.locks.try_lock(transaction, key, mode)) {
            let blocker = self.abandoned(now, store, holder);
            self.end_one(store, transaction, outputs);
            return outputs.push_back(asker.told(refused(blocker)));
        }
        let reads = reads.into_iter().map(|read| read.key).collect();
        self.propose_prepared(asker, age, Prepared { transaction, reads, writes, participants }, outputs);
    }

    /// A transaction that wrote nothing ran at the time of its last read, if by now nothing of what it read was written or is about to be.
    pub(super) fn confirm_valid(
        &mut self,
        now: Instant,
        store: &Store,
        asker: Asker,
        validate: Validate,
        outputs: &mut Outputs,
    ) {
        let Validate { transaction, reads } = validate;
        let writer = reads.iter().find_map(|read| self.locks.in_the_way(transaction, &read.key, Mode::Read).pop());
        match writer {
            Some(writer) => outputs.push_back(asker.told(refused(self.abandoned(now, store, writer)))),
            None if are_newest(store, &reads) => self.tell_confirmed(asker, Tell::Done(()), outputs),
            None => outputs.push_back(asker.told(refused(None))),
        }
    }
}

fn are_newest(store: &Store, reads: &[Read]) -> bool {
    reads.iter().all(|read| store.version(&read.key) == read.version)
}
