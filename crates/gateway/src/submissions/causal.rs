//! Transactions of tables that merge: how large they may be, and which times they may carry.
//!
//! Invariant: no register gets a time that is further ahead of this gateway's clock than [`HybridTime::AHEAD_MAX`]. So a wrong clock wins for so long, and not
//! for ever.

use iolite_machine::WallTime;
use iolite_values::{Effect, HybridTime, Operation, Transaction, Write};

/// Whether effects are as they have to be.
///
/// # Errors
/// Why they are not, for the app.
pub fn check(transaction: &Transaction, bytes: usize, wall: WallTime) -> Result<(), String> {
    let limit = Effect::TRANSACTION_BYTES_MAX;
    if bytes > limit {
        return Err(format!("a transaction of tables that merge has at most {limit} bytes, not {bytes}: split it"));
    }
    let last = HybridTime::last_at(wall.as_micros());
    match transaction.writes().iter().filter_map(time_of).max() {
        Some(time) if time > last => {
            let ahead = HybridTime::AHEAD_MAX.as_secs();
            Err(format!(
                "a register was assigned with a time more than {ahead} s ahead of the server's: set the device's clock"
            ))
        }
        Some(_) | None => Ok(()),
    }
}

fn time_of(write: &Write) -> Option<HybridTime> {
    let Operation::Merge(effect) = &write.operation else { return None };
    effect.time()
}
