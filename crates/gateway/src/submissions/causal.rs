//! Transactions of tables that merge: how large they may be, and which times they may carry.
//!
//! Invariant: no register gets a time that is further ahead of this gateway's clock than [`HybridTime::AHEAD_MAX`]. So a wrong clock wins for so long, and not
//! for ever. A time depends on a clock, so one that is too far ahead is taken later, and nothing is recorded.

use iolite_machine::WallTime;
use iolite_values::{Effect, HybridTime, Transaction};

/// Whether effects are as they have to be.
///
/// # Errors
/// Why they are not, for the app.
pub fn check(bytes: usize) -> Result<(), String> {
    let limit = Effect::TRANSACTION_BYTES_MAX;
    if bytes > limit {
        return Err(format!("a transaction of tables that merge has at most {limit} bytes, not {bytes}: split it"));
    }
    Ok(())
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
