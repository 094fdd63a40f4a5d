//! Every limit and fixed time of this crate in one place to look at; each is defined where it is used.

pub use crate::coordinator::{CLOCK_WINDOW, IDLE_CLOSE_BEHIND, VALIDATIONS_MAX};
pub use crate::journal::{CHUNK_BYTES_MAX, RECORD_BYTES_MAX, ROW_BYTES_MAX};
pub use crate::replica::{
    CEILING_AHEAD, CLOCK_LEAD_MAX, CLOSED_WRITES_MAX, COLLECTED_EACH_TIME, DIVIDED_BALLOTS, FETCH_AGAIN_AFTER,
    PART_BYTES_MAX, PROPOSAL_LEAD_MAX, SEGMENT_WRITES_MAX, STATE_CHUNK_BYTES_MAX, STATE_HELD_FOR, STATE_TRIES_MAX,
    VIEW_CHANGE_AGAIN_AFTER, VIEW_CHANGE_PATIENCE,
};
pub use iolite_store::ATTEMPTS_MAX;
