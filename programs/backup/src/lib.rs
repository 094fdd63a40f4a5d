//! Backups of clusters: taken at one timestamp while clients go on, kept in a folder or in S3, and restored into a new cluster of any shape.
//!
//! Source: Iolite's own. What belongs in a backup: docs/decisions/0011-what-a-backup-holds.md; its format: docs/backup.md.
//!
//! Invariants:
//! - a backup is what one resolved timestamp shows of all shards; its manifest is written last, so an unfinished one is never taken for one;
//! - whatever the size of the store, a few parts of some megabytes are in memory, and the names of a million chunks;
//! - a store that is being restored is marked before the first row, and served only after all rows were read back and compared;
//! - before the first row of a restored store all chunks are durable that its rows name, under the name of the new store: it shares no object with the
//!   store that the backup is of.

mod comparing;
mod digest;
mod format;
mod manifest;
mod naming;
mod place;
mod reading;
mod restoring;
mod row_writes;
mod store_requests;
mod stored_chunk;
mod taking;

pub use format::{FORMAT_VERSION, FormatError, PART_BYTES_MAX, Part, PartKind, PartWriter};
pub use manifest::{
    ChunksSummary, ClientsSummary, MANIFEST_BYTES_MAX, Manifest, ManifestError, PARTS_MAX, PartSummary, TableSummary,
};
pub use place::{Place, PlaceError};
pub use reading::ReadError;
pub use restoring::chunks::CHUNKS_AT_ONCE;
pub use restoring::{RestoreError, check_backup, restore_backup};
pub use row_writes::writes_of;
pub use store_requests::RequestError;
pub use stored_chunk::StoredChunk;
pub use taking::chunks::{LACKING_TOLD_MAX, Lack, NAMES_MAX, READS_OPEN_MAX};
pub use taking::{BackupError, Taken, take_backup};
