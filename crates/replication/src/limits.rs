//! Every limit and fixed time of this crate in one place to look at; each is defined where it is used.

pub use crate::coordinator::IDLE_CLOSE_BEHIND;
pub use crate::journal::{CHUNK_BYTES_MAX, RECORD_BYTES_MAX, ROW_BYTES_MAX};
pub use crate::replica::{
    ATTEMPTS_MAX, CEILING_AHEAD, CLOCK_LEAD_MAX, CLOSED_WRITES_MAX, COLLECTED_EACH_TIME, PROPOSAL_LEAD_MAX,
};
