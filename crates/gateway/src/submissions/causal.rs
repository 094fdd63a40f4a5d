//! Transactions of tables that merge: how large they may be, which marks they may make, and which times they may carry.
//!
//! Invariants: no two transactions of one device make one mark, and a device writes for one user (`sessions/devices.rs`), so their effects commute. No register gets a time that is further ahead of this gateway's clock than [`HybridTime::AHEAD_MAX`]. So a wrong clock wins for so long, and not
//! for ever. A time depends on a clock, so one that is too far ahead is taken later, and nothing is recorded.

use std::collections::BTreeSet;

use iolite_machine::WallTime;
use iolite_values::{ClientId, Effect, HybridTime, Mark, Transaction, TransactionId};

/// Whether effects are as they have to be.
///
/// # Errors
/// Why they are not, for the app.
pub fn check(transaction: &Transaction, device: ClientId, bytes: usize) -> Result<(), String> {
    let limit = Effect::TRANSACTION_BYTES_MAX;
    if bytes > limit {
        return Err(format!("a transaction of tables that merge has at most {limit} bytes, not {bytes}: split it"));
    }
    check_marks(transaction, device)
}

/// Whether each mark that it makes is its own, and made once. What the device drew goes into them: the id of the client is not known yet to a device
/// that makes effects before its first session.
fn check_marks(transaction: &Transaction, ClientId(device): ClientId) -> Result<(), String> {
    let mut made = BTreeSet::new();
    for mark in transaction.writes().iter().filter_map(|write| write.operation.mark()) {
        if !made.insert(mark) {
            return Err("two effects make one mark: use a client that makes effects".to_owned());
        }
    }
    let TransactionId { client: _, counter } = transaction.id;
    let mut index = 0;
    while !made.is_empty() && index < Mark::INDEX_MAX {
        index += 1;
        made.remove(&Mark::of(device, counter, index));
    }
    match made.is_empty() {
        true => Ok(()),
        false => Err("an effect makes a mark that is not of this transaction: use a client that makes effects".into()),
    }
}

/// Why a transaction cannot be taken yet, for people.
pub fn not_yet(transaction: &Transaction, wall: WallTime) -> Option<String> {
    let last = HybridTime::last_at(wall.as_micros());
    let time = transaction.writes().iter().filter_map(|write| write.operation.time()).max()?;
    let (ahead, counter) = (HybridTime::AHEAD_MAX.as_secs(), transaction.id.counter.0);
    (time > last).then(|| {
        format!("mutation {counter} assigns a register with a time more than {ahead} s ahead of the server's clock: it is taken when the clock is there")
    })
}
