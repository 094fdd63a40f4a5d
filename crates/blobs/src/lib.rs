//! Blobs: cutting, trees of chunks, and the machines that move chunks between a client and a gateway.

mod build;
mod download;
mod edit;
mod geometry;
mod leases;
pub mod limits;
mod names;
mod news;
mod node;
mod pack;
mod sealing;
mod session;
mod upload;
mod walk;

pub use build::{Builder, Chunk, Finished};
pub use download::{Download, DownloadError, DownloadInput, DownloadNumber, DownloadOutput};
pub use edit::{Edit, EditError};
pub use geometry::{Geometry, Place};
pub use leases::{Held, LEASES_TABLE, Lease, Leases, ObjectName, RowCommit, SEALS_TABLE};
pub use names::{Names, Need};
pub use news::{News, Step, missing};
pub use node::{NodeError, decode_node, encode_node};
pub use pack::{pack, unpack};
pub use session::{Around, Done, Effect, Session, SessionInput, Ticket};
pub use upload::{Part, Upload, UploadError, UploadInput, UploadOutput};
pub use walk::{Met, Walk};
