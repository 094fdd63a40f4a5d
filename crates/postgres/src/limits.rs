//! Every limit and fixed time of this crate in one place to look at; each is defined where it is used.

pub use crate::connection::{ANSWER_WITHIN_MAX, IDLE_TRANSACTION_MAX, RECONNECT_AFTER_MAX};
pub use crate::locks::{LOCKS_MAX, SHARED_GROWTH_BYTES_MAX};
pub use crate::log::{STRETCH_BYTES_MAX, STRETCH_COMMITS_MAX};
pub use crate::shared::FOLD_AFTER;
pub use crate::stamps::{CLOCK_LEAD_MAX, FLOOR_LEAD_MAX};
pub use crate::tables::TABLES_VERSION;
