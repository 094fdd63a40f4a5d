//! The journal's files in a directory, each with what its header says.

use crate::Disk;
use crate::failure::{Damage, OpenError};
use crate::file_name::{self, FileKind};
use crate::header::{HEADER_BYTES, Header, HeaderReading};
use crate::identity::{Incarnation, SegmentNumber};
use crate::journal_disk::JournalDisk;

#[derive(Debug)]
pub(super) struct Survey {
    /// What all headers agree on; `None` if no header is valid.
    pub incarnation: Option<Incarnation>,
    /// In the order of their numbers.
    pub segments: Vec<Found>,
    /// In the order of their numbers.
    pub checkpoints: Vec<Found>,
}

#[derive(Debug)]
pub(super) struct Found {
    pub number: SegmentNumber,
    pub name: String,
    pub reading: HeaderReading,
}

/// Reads all headers. Refuses a directory in which any file is of another format, or of another store than the rest.
pub(super) fn take<D: Disk>(disk: &JournalDisk<D>) -> Result<Survey, OpenError> {
    let mut survey = Survey { incarnation: None, segments: Vec::new(), checkpoints: Vec::new() };
    for name in disk.list()? {
        let Some((kind, number)) = file_name::parse(&name) else { continue };
        let reading = Header::read(kind, number, &disk.read_start(&name, HEADER_BYTES)?, disk.length(&name)?);
        survey.agree(&name, reading)?;
        let found = Found { number, name, reading };
        match kind {
            FileKind::Segment => survey.segments.push(found),
            FileKind::Checkpoint => survey.checkpoints.push(found),
        }
    }
    survey.segments.sort_by_key(|found| found.number);
    survey.checkpoints.sort_by_key(|found| found.number);
    Ok(survey)
}

impl Survey {
    /// Whether no store was ever finished being created here.
    pub fn is_new(&self) -> bool {
        let no_segment = match self.segments.as_slice() {
            [] => true,
            [only] => only.number == SegmentNumber::FIRST && only.reading == HeaderReading::Unfinished,
            [_, ..] => false,
        };
        no_segment && self.checkpoints.is_empty()
    }

    fn agree(&mut self, name: &str, reading: HeaderReading) -> Result<(), OpenError> {
        match reading {
            HeaderReading::Valid(header) => {
                if *self.incarnation.get_or_insert(header.incarnation) == header.incarnation {
                    Ok(())
                } else {
                    Err(OpenError::Damaged { file: name.to_owned(), offset: 0, damage: Damage::Foreign })
                }
            }
            HeaderReading::UnknownVersion(version) => Err(OpenError::UnknownVersion { file: name.to_owned(), version }),
            HeaderReading::Unfinished | HeaderReading::Damaged => Ok(()),
        }
    }
}
