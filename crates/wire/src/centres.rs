//! Messages between data centres, and the entries of their outboxes.
//!
//! A link is for one outbox: who dialled takes it, and the other serves it. Each message stands alone. docs/protocols/centres.md walks through it.
//!
//! Invariant: an entry's writes are effects, which commute with all others, so an entry can be applied wherever it comes.

mod clock;
mod entry;
mod message;
mod name;

pub use clock::{Ceiling, CentreNews, CentreToken, Clock};
pub(crate) use clock::{read_clock, read_name, read_token, write_clock, write_token};
pub use entry::{OutboxEntry, Place, Seen, ShippedTransaction, Taken};
pub use message::{Entries, FromCentre};
pub use name::{CentreName, CentreNameError};
