//! Any message: what proptest makes of each type.

mod answers;
mod asks;
mod blobs;
mod centres;
mod nodes;
mod objects;
mod peers;
mod records;
mod session;
mod tabs;
mod values;

pub use answers::from_replica;
pub use asks::to_replica;
pub use blobs::{blob_reply, blob_request};
pub use centres::{from_centre, outbox_entry};
pub use objects::{from_device, peer, to_device};
pub use peers::{between_replicas, nodes_hello};
pub use records::{
    checkpoint_chunk, journal_record, log_entry, log_state, stored_end, stored_interest, stored_log, stored_meta,
    stored_mutation, stored_row,
};
pub use session::{from_client, from_gateway};
pub use tabs::{from_tab, to_tab};
