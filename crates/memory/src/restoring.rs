//! Bringing an object back from the swap file, and taking over a claim that its daemon does not end.
//!
//! Invariants: an object is usable again only after its bytes had their checksum; a place that a claim is on is never written to.
//! Source: Marvin (Lebeck 2020) 4.5.3, software object faults; docs/protocols/memory.md, "Taking a claim over".

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::error::AccessError;
use crate::region::data::{Place, pages_of};
use crate::region::table::{Entry, barrier};
use crate::shared::{Shared, record_of};
use crate::steps::{Point, at};
use crate::word::Word;

/// How long a reader waits for the daemon to end its claim. A batch takes longer, but a claim that is given back does not.
const CLAIM_WAIT: Duration = Duration::from_micros(50);

/// Does what is needed for an entry's word to become usable, or finds that it changed. The caller looks again.
pub(crate) fn make_usable(shared: &Shared, index: u32) -> Result<(), AccessError> {
    let entry = shared.table.entry(index);
    wait_for_claim(entry);
    let _stripe = shared.stripe(index);
    at(Point::Restores);
    let word = entry.word();
    let Some(restoring) = word.restoring() else { return Ok(()) };
    let bytes = entry.bytes.load(Ordering::Relaxed);
    if word.is_claimed() {
        move_from_claim(shared, index, bytes, word)
    } else {
        restore_in_place(shared, index, bytes, word, restoring)
    }
}

/// Brings all wanted objects back that are not in memory. Stops at the first object that cannot be read for want of room or of the disk.
pub(crate) fn restore_all(shared: &Shared, is_wanted: impl Fn(&Entry) -> bool) -> Result<u64, AccessError> {
    let mut restored = 0;
    for index in 0..shared.table.entries_used() {
        let entry = shared.table.entry(index);
        let word = entry.word();
        if word.is_valid() && !word.is_usable() && is_wanted(entry) {
            match make_usable(shared, index) {
                // Whoever reads that object is told.
                Ok(()) | Err(AccessError::Corrupt { .. }) => restored += 1,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(restored)
}

/// Ends the claims that a daemon left when it went, in its place: takes what nobody uses, so that the next daemon finds no claim.
pub(crate) fn settle_claims(shared: &Shared) {
    let claimed: Vec<u32> =
        (0..shared.table.entries_used()).filter(|&index| shared.table.entry(index).word().is_claimed()).collect();
    if claimed.is_empty() {
        return;
    }
    barrier();
    let hazards = shared.table.hazards();
    for index in claimed {
        // A guard may be from before the claim: a claim that it is on is left, and the next reader moves the object.
        if hazards.binary_search_by_key(&index, |(named, _)| *named).is_ok() {
            continue;
        }
        let entry = shared.table.entry(index);
        let _stripe = shared.stripe(index);
        at(Point::Settles);
        let word = entry.word();
        if let Some(reclaimed) = word.reclaimed() {
            let place = Place::at(entry.offset.load(Ordering::Relaxed), entry.bytes.load(Ordering::Relaxed));
            // The pages are worth nothing either way: the daemon may have taken them.
            let _ = shared.data.punch(place.page, place.pages);
            entry.change(word, reclaimed);
        }
    }
}

fn wait_for_claim(entry: &Entry) {
    if !entry.word().is_claimed() {
        return;
    }
    at(Point::ReaderWaits);
    let begun = Instant::now();
    while entry.word().is_claimed() && begun.elapsed() < CLAIM_WAIT {
        std::hint::spin_loop();
    }
}

/// The daemon is done with the place, which is empty: the bytes go back to it.
fn restore_in_place(shared: &Shared, index: u32, bytes: u64, word: Word, restoring: Word) -> Result<(), AccessError> {
    let entry = shared.table.entry(index);
    if !entry.change(word, restoring) {
        return Ok(());
    }
    let mut place = Place::at(entry.offset.load(Ordering::Relaxed), bytes);
    let read = read_back(shared, index, bytes, &mut place);
    end(shared, entry, restoring, bytes, &read);
    read
}

/// The daemon may punch the place at any moment: the bytes go to another one, and the old one rests until it is done.
fn move_from_claim(shared: &Shared, index: u32, bytes: u64, word: Word) -> Result<(), AccessError> {
    let entry = shared.table.entry(index);
    let mut place = shared.take_place(pages_of(bytes)).ok_or(AccessError::RegionFull)?;
    let restoring = word.restoring().expect("the caller has asked");
    if !entry.change(word, restoring) {
        shared.give_place(&place);
        return Ok(());
    }
    let old = Place::at(entry.offset.load(Ordering::Relaxed), bytes);
    entry.offset.store(place.offset(), Ordering::Relaxed);
    shared.rest(old, index);
    shared.counters.taken_over.add(1);
    let read = read_back(shared, index, bytes, &mut place);
    end(shared, entry, restoring, bytes, &read);
    read
}

fn read_back(shared: &Shared, index: u32, bytes: u64, place: &mut Place) -> Result<(), AccessError> {
    let swap = shared.swap.as_ref().expect("nothing is reclaimed from a region without a swap file");
    let record = record_of(shared.table.entry(index), bytes).expect("what is saved has a record");
    let read = shared.data.fill(place, bytes, |into| swap.read(index, &record, into)).map_err(AccessError::SwapIo);
    let read = read.and_then(|read| read);
    if read.is_err() {
        // Half of an object is in the place: nobody reads it, and its pages are needed elsewhere.
        let _ = shared.data.punch(place.page, place.pages);
    }
    read
}

fn end(shared: &Shared, entry: &Entry, restoring: Word, bytes: u64, read: &Result<(), AccessError>) {
    let word = match read {
        Ok(()) => {
            shared.counters.restored.add(1);
            shared.counters.restored_bytes.add(bytes);
            restoring.restored()
        }
        Err(AccessError::Corrupt { .. }) => {
            shared.counters.corrupt.add(1);
            restoring.restore_failed()
        }
        Err(_) => restoring.restore_failed(),
    };
    let word = word.expect("the word says that it is being restored");
    assert!(entry.change(restoring, word), "nobody else changes an entry that is being restored");
}
