//! Saving objects ahead of time, so that taking their memory later writes nothing.
//!
//! Invariants: a record is published only if no write came since the copy began; what could not be saved stays dirty and in memory.
//! Source: Marvin (Lebeck 2020) 4.5.3, ahead-of-time swap. The order is that of the lock: clear the mark, barrier, look for writers, copy, publish.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::clock::{end_round, note};
use crate::error::SaveError;
use crate::limits::OBJECT_BYTES_MAX;
use crate::region::table::{Mode, barrier};
use crate::shared::{Shared, Wish, set_record, take_record};
use crate::steps::{Point, at};
use crate::swap::Swap;
use crate::word::Word;

/// How many objects share one barrier.
const BATCH: usize = 256;
const LOCKED: &str = "nothing panics while it holds this lock";

/// How a pass of the saver went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    pub objects: u64,
    pub bytes: u64,
    /// Objects that were being written.
    pub busy: u64,
}

/// The saving thread, until the region ends. It ends the Clock's rounds, too, which are so long.
pub(crate) fn run(shared: &Arc<Shared>, every: Duration, round_of: fn(Mode) -> Duration) {
    let state = &shared.saver;
    let mut round_began = Instant::now();
    while !state.is_ending.load(Ordering::Acquire) {
        let wish = {
            let wish = state.wish.lock().expect(LOCKED);
            let wait = |wish: &mut Wish| *wish == Wish::Nothing && !state.is_ending.load(Ordering::Acquire);
            let (mut wish, _) = state.woken.wait_timeout_while(wish, every, wait).expect(LOCKED);
            std::mem::take(&mut *wish)
        };
        if state.is_ending.load(Ordering::Acquire) {
            return;
        }
        let result = pass(shared, wish);
        state.passes.fetch_add(1, Ordering::Relaxed);
        *state.last_error.lock().expect(LOCKED) = result.err();
        shared.end_rests_now();
        if round_began.elapsed() >= round_of(shared.table.mode()) {
            round_began = Instant::now();
            end_round(&shared.table);
        }
    }
}

/// Saves what is dirty; unless everything is wished for, not what was written since the pass before.
pub(crate) fn pass(shared: &Shared, wish: Wish) -> Result<Saved, SaveError> {
    let swap = shared.swap.as_ref().ok_or(SaveError::NoSwap)?;
    let _turn = shared.saver.turn.lock().expect(LOCKED);
    let mut saver = Saver { shared, swap, buffer: Vec::new(), sum: Saved::default() };
    let used = shared.table.entries_used();
    let mut batch = Vec::with_capacity(BATCH);
    for index in 0..used {
        if let Some(saving) = saver.begin(index, wish) {
            batch.push((index, saving));
        }
        if batch.len() == BATCH || index + 1 == used && !batch.is_empty() {
            saver.save(&batch)?;
            batch.clear();
        }
    }
    Ok(saver.sum)
}

struct Saver<'a> {
    shared: &'a Shared,
    swap: &'a Swap,
    buffer: Vec<u8>,
    sum: Saved,
}

impl Saver<'_> {
    /// Clears the entry's mark, if it is to be saved now.
    fn begin(&self, index: u32, wish: Wish) -> Option<Word> {
        let entry = self.shared.table.entry(index);
        let word = entry.word();
        let saving = word.saving()?;
        if wish == Wish::Nothing && note(entry) {
            return None;
        }
        entry.change(word, saving).then_some(saving)
    }

    fn save(&mut self, batch: &[(u32, Word)]) -> Result<(), SaveError> {
        barrier();
        let hazards = self.shared.table.hazards();
        let mut failed = None;
        for &(index, saving) in batch {
            let is_written = hazards.binary_search(&(index, true)).is_ok();
            if is_written || failed.is_some() {
                self.leave(index, saving);
                self.sum.busy += u64::from(is_written);
            } else if let Err(error) = self.copy(index, saving) {
                self.leave(index, saving);
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// The object stays dirty. If the exchange fails, a writer has marked it, or it was dropped.
    fn leave(&self, index: u32, saving: Word) {
        let entry = self.shared.table.entry(index);
        let dirty = saving.dirtied().expect("a word that the saver made is usable");
        entry.change(saving, dirty);
    }

    fn copy(&mut self, index: u32, saving: Word) -> Result<(), SaveError> {
        let entry = self.shared.table.entry(index);
        let bytes = entry.bytes.load(Ordering::Relaxed);
        let offset = entry.offset.load(Ordering::Relaxed);
        // The object may have been dropped, and its entry used again: the exchange below then fails, and the copy is worth nothing.
        if bytes > OBJECT_BYTES_MAX || entry.word() != saving {
            return Ok(());
        }
        self.buffer.resize(usize::try_from(bytes).expect("an object has an address"), 0);
        self.shared.data.copy(offset, &mut self.buffer).map_err(SaveError::SwapIo)?;
        if entry.word() != saving {
            return Ok(());
        }
        let record = self.swap.write(&self.buffer)?;
        at(Point::SaverWrote);
        let _stripe = self.shared.stripe(index);
        if entry.word() != saving {
            self.swap.free_record(&record);
            return Ok(());
        }
        at(Point::SaverPublishes);
        // The slot's owner may write now, but not drop the object: the stripe is held.
        if let Some(old) = take_record(entry, bytes) {
            self.swap.free_record(&old);
        }
        set_record(entry, &record);
        let saved = saving.saved().expect("a word that the saver made is clean");
        if entry.change(saving, saved) {
            self.sum.objects += 1;
            self.sum.bytes += bytes;
            self.shared.counters.saved.add(1);
            self.shared.counters.saved_bytes.add(bytes);
        }
        Ok(())
    }
}
