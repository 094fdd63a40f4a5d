//! Blobs: cutting, trees of chunks, and the machines that move chunks between a client and a gateway.
//!
//! Invariants, one a file: a tree that is sealed has all of its chunks (`sealing.rs`, `session.rs`); a seal is asked for when all is stored, and not
//! before (`upload.rs`); what is kept is what its name says (`download.rs`); an edit shares what it did not touch (`edit.rs`); memory is what is under
//! way, whatever the length of a blob (`build.rs`, `walk.rs`).
//! Source: Simba (Perkins 2015, chapter 3). Deviations: docs/decisions/0028-leases-are-rows.md. The page: docs/protocols/blobs.md.
//!
//! A host drives the machines: it carries out what [`Client::poll`] and [`Session::poll`] return, and hands over what came of it. Here both sides share
//! a thread, and their stores are maps.
//!
//! ```
//! use std::collections::BTreeMap;
//! use iolite_blobs::*;
//! use iolite_machine::Now;
//! use iolite_values::{ChunkId, ClientId, Id, StoreIncarnation, Timestamp};
//!
//! // A device makes a blob of a stream. It keeps each chunk as it comes out.
//! let mut device: BTreeMap<ChunkId, Vec<u8>> = BTreeMap::new();
//! let mut builder = Builder::new();
//! builder.push(&[7; 200_000])?;
//! while let Some(chunk) = builder.pop() {
//!     device.insert(chunk.id, chunk.content);
//! }
//! let mut finished = builder.finish()?;
//! while let Some(chunk) = finished.pop() {
//!     device.insert(chunk.id, chunk.content);
//! }
//!
//! // It uploads the blob, with all others of its mutation. `from` is the cell that a changed blob was made from.
//! let mut client = Client::new();
//! let upload = Upload::new(vec![Part { blob: finished.blob, from: None }]);
//! client.handle(ClientInput::Upload(UploadNumber(1), Box::new(upload)));
//! let name = ClientId(Id::from_u128(1));
//! client.handle(ClientInput::Connected { client: name, token: "secret".into() });
//!
//! // The gateway reads `Hello`, lets the client in, and begins a session with 16 random bytes.
//! let mut session = Session::new(name, StoreIncarnation(Id::from_u128(5)), [9; 16]);
//! let mut objects: BTreeMap<ObjectName, Vec<u8>> = BTreeMap::new();
//! let (mut leases, mut clock) = (Leases::default(), 0);
//! let mut inputs = Vec::new();
//! let mut sealed = None;
//! while sealed.is_none() {
//!     while let Some(output) = client.poll() {
//!         match output {
//!             ClientOutput::Send(iolite_wire::blobs::BlobRequest::Hello(_)) => {}
//!             ClientOutput::Send(request) => inputs.push(SessionInput::Request(request)),
//!             ClientOutput::Upload(number, UploadOutput::Load(id)) => {
//!                 client.handle(ClientInput::Loaded(number, id, device.get(&id).cloned()));
//!             }
//!             ClientOutput::Upload(_, UploadOutput::Sealed { blobs, .. }) => sealed = Some(blobs),
//!             other => println!("{other:?}"),
//!         }
//!     }
//!     for input in inputs.drain(..) {
//!         session.handle(Now::default(), input, Around { leases: &leases, is_full: false, is_ruled: false });
//!     }
//!     while let Some(effect) = session.poll() {
//!         let (ticket, done) = match effect {
//!             Effect::Send(reply) => {
//!                 client.handle(ClientInput::Reply(reply));
//!                 continue;
//!             }
//!             // A transaction of `_leases` or `_seals`. The feed tells `leases` of it.
//!             Effect::Commit(ticket, commit) => {
//!                 clock += 1;
//!                 let at = Timestamp::from_u64(clock);
//!                 if let RowCommit::Grant { lease, row } = commit {
//!                     leases.set(lease, Some(row));
//!                 }
//!                 (ticket, Done::Committed(at))
//!             }
//!             Effect::Store(ticket, object, content) => {
//!                 objects.insert(object, content);
//!                 (ticket, Done::Stored)
//!             }
//!             Effect::Load(ticket, object) => (ticket, Done::Loaded(objects.get(&object).cloned())),
//!             Effect::Look(ticket, object) => (ticket, Done::Looked(objects.contains_key(&object))),
//!             Effect::ReadCell(ticket, _cell) => (ticket, Done::Cell(None)),
//!             Effect::End => break,
//!         };
//!         inputs.push(SessionInput::Done(ticket, done));
//!     }
//! }
//! // Now the mutation may name this value. Three chunks are equal, so two objects are stored.
//! assert_eq!(sealed.expect("it was sealed")[0].length(), 200_000);
//! assert_eq!(objects.len(), 2);
//! # Ok::<(), iolite_values::BlobError>(())
//! ```

mod build;
mod checked;
mod client;
mod download;
mod edit;
mod geometry;
mod leases;
pub mod limits;
mod names;
mod news;
mod node;
mod pack;
mod rows;
mod sealing;
mod session;
mod sweep;
mod upload;
mod walk;

pub use build::{Builder, Chunk, Finished};
pub use checked::CheckedPut;
pub use client::{Client, ClientInput, ClientOutput, UploadNumber};
pub use download::{Download, DownloadError, DownloadInput, DownloadNumber, DownloadOutput};
pub use edit::{Edit, EditError};
pub use geometry::{Geometry, Place};
pub use leases::{Held, LEASES_TABLE, Lease, Leases, ObjectName, RowCommit, SEALS_TABLE};
pub use names::{Names, Need};
pub use news::{News, Step, missing};
pub use node::{NodeError, decode_node, encode_node};
pub use pack::{pack, unpack};
pub use rows::{RowTransaction, blob_of_cell, blobs_of_row, lease_of_row, lease_read};
pub use session::{Around, Done, Effect, Session, SessionInput, Ticket};
pub use sweep::{Sweep, SweepEffect, SweepInput, SweepReport, SweepSettings};
pub use upload::{Part, Upload, UploadError, UploadInput, UploadOutput};
pub use walk::{Met, Walk};
