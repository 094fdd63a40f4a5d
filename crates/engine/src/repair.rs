//! Makes a recovered directory whole again, so that writing can go on.
//!
//! Invariant: everything that recovery returns is durable before anything older is removed and before the caller sees it.
//! A process that was killed leaves bytes that were never synced; a power cut after the restart must not take them back.
//! Invariant: a crash at any step leaves a directory from which recovery reads the same.

use crate::Disk;
use crate::failure::DiskFailure;
use crate::file_name::FileKind;
use crate::identity::Position;
use crate::journal_disk::JournalDisk;
use crate::recovery::{LastSegment, MarkedEnd, Resume};
use crate::segment::Segment;

/// Returns the segment in which writing goes on.
pub(crate) fn repair<D: Disk>(disk: &mut JournalDisk<D>, resume: &Resume) -> Result<Segment, DiskFailure> {
    if let Some(checkpoint) = &resume.checkpoint {
        disk.sync(&checkpoint.header.file_name())?;
    }
    for (number, _) in &resume.closed {
        disk.sync(&FileKind::Segment.file_name(*number))?;
    }
    let (mut segment, end) = repair_last(disk, &resume.last)?;
    disk.sync_directory()?;
    if !resume.obsolete.is_empty() {
        for name in &resume.obsolete {
            disk.remove(name)?;
        }
        disk.sync_directory()?;
    }
    match end {
        MarkedEnd::Marked => {}
        MarkedEnd::Unmarked => segment.mark(disk, Position(resume.next.0 - 1))?,
    }
    Ok(segment)
}

fn repair_last<D: Disk>(disk: &mut JournalDisk<D>, last: &LastSegment) -> Result<(Segment, MarkedEnd), DiskFailure> {
    let (header, bytes, end) = match last {
        LastSegment::Unfinished { header } => return Ok((Segment::create(disk, header)?, MarkedEnd::Marked)),
        LastSegment::Whole { header, bytes, end } => (header, *bytes, *end),
        LastSegment::Torn { header, valid_bytes, .. } => {
            disk.truncate(&header.file_name(), *valid_bytes)?;
            (header, *valid_bytes, MarkedEnd::Unmarked)
        }
    };
    disk.sync(&header.file_name())?;
    Ok((Segment::at_end(header, bytes), end))
}
