//! Any message: what proptest makes of each type.

mod nodes;
mod records;
mod session;
mod tabs;
mod values;

pub use records::{
    checkpoint_chunk, journal_record, stored_end, stored_interest, stored_meta, stored_mutation, stored_row,
};
pub use session::{from_client, from_gateway};
pub use tabs::{from_tab, to_tab};
