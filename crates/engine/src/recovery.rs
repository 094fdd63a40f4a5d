//! What a directory holds: a new store, a store to go on with, or a reason to refuse it.
//!
//! Invariant: nothing here writes. A directory that is refused is exactly as it was.
//! Source: the rules of `docs/protocols/journal.md`, "Opening a directory".

mod survey;

use crate::Disk;
use crate::checkpoint::{self, CheckpointContent, CheckpointReading};
use crate::failure::{Damage, DiskFailure, OpenError};
use crate::file_name::FileKind;
use crate::header::{Header, HeaderReading};
use crate::identity::{Incarnation, Position, SegmentNumber};
use crate::journal_disk::JournalDisk;
use crate::scan::{self, RecoveredRecord, SegmentEnd};
use survey::{Found, Survey};

/// What to do with a directory.
#[derive(Debug)]
pub(crate) enum Plan {
    Create,
    Resume(Box<Resume>),
}

/// A store to go on with.
#[derive(Debug)]
pub(crate) struct Resume {
    pub incarnation: Incarnation,
    pub checkpoint: Option<Checkpoint>,
    pub records: Vec<RecoveredRecord>,
    /// The position of the next record.
    pub next: Position,
    /// The segments before the last one, with their lengths.
    pub closed: Vec<(SegmentNumber, u64)>,
    pub last: LastSegment,
    /// Files that the checkpoint replaces, and checkpoints that were never finished.
    pub obsolete: Vec<String>,
}

/// A complete checkpoint.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    pub header: Header,
    pub content: CheckpointContent,
}

/// The segment in which writing goes on.
#[derive(Debug)]
pub(crate) enum LastSegment {
    Whole {
        header: Header,
        bytes: u64,
        end: MarkedEnd,
    },
    Torn {
        header: Header,
        valid_bytes: u64,
        lost_bytes: u64,
    },
    /// Its creation was cut short; `header` is the one to write.
    Unfinished {
        header: Header,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkedEnd {
    Marked,
    Unmarked,
}

/// Where recovery starts to read.
struct Base {
    checkpoint: Option<Checkpoint>,
    number: SegmentNumber,
    first: Position,
    /// The newest checkpoint, if it is not whole: named in the refusal if the older files cannot stand in for it.
    suspect: Option<OpenError>,
}

pub(crate) fn plan<D: Disk>(disk: &JournalDisk<D>) -> Result<Plan, OpenError> {
    let survey = survey::take(disk)?;
    if survey.is_new() {
        return Ok(Plan::Create);
    }
    let base = choose_base(disk, &survey)?;
    let mut resume = read_segments(disk, &survey, base)?;
    resume.obsolete = obsolete(&survey, &resume);
    Ok(Plan::Resume(Box::new(resume)))
}

/// The newest complete checkpoint; without one, the store's first segment.
fn choose_base<D: Disk>(disk: &JournalDisk<D>, survey: &Survey) -> Result<Base, DiskFailure> {
    let mut suspect = None;
    for found in survey.checkpoints.iter().rev() {
        let offset = match found.reading {
            HeaderReading::Valid(header) => match checkpoint::read(&header, &disk.read(&found.name)?) {
                CheckpointReading::Complete(content) => {
                    let checkpoint = Some(Checkpoint { header, content });
                    return Ok(Base { checkpoint, number: header.number, first: header.first, suspect });
                }
                CheckpointReading::Incomplete { valid_bytes } => valid_bytes as u64,
            },
            HeaderReading::Unfinished | HeaderReading::Damaged | HeaderReading::UnknownVersion(_) => 0,
        };
        suspect.get_or_insert(OpenError::Damaged { file: found.name.clone(), offset, damage: Damage::Frame });
    }
    Ok(Base { checkpoint: None, number: SegmentNumber::FIRST, first: Position::FIRST, suspect })
}

fn read_segments<D: Disk>(disk: &JournalDisk<D>, survey: &Survey, base: Base) -> Result<Resume, OpenError> {
    let Some(incarnation) = survey.incarnation else {
        let whole = survey.segments.iter().find(|found| found.number == base.number);
        return Err(whole.map_or(missing(base.number), |found| damaged(found, 0, Damage::Header)));
    };
    let kept: Vec<&Found> = survey.segments.iter().filter(|found| found.number >= base.number).collect();
    let mut expected = base.number;
    for found in &kept {
        if found.number != expected {
            return Err(base.suspect.unwrap_or(missing(expected)));
        }
        expected = expected.next();
    }
    let Some((last, closed)) = kept.split_last() else {
        return Err(base.suspect.unwrap_or(missing(expected)));
    };
    let mut resume = Resume {
        incarnation,
        checkpoint: base.checkpoint,
        records: Vec::new(),
        next: base.first,
        closed: Vec::new(),
        last: LastSegment::Unfinished { header: segment_header(incarnation, last.number, base.first) },
        obsolete: Vec::new(),
    };
    for found in closed {
        resume.read_closed(disk, found)?;
    }
    resume.read_last(disk, last)?;
    resume.check_reach(last)?;
    Ok(resume)
}

impl Resume {
    fn read_closed<D: Disk>(&mut self, disk: &JournalDisk<D>, found: &Found) -> Result<(), OpenError> {
        match self.read_frames(disk, found)? {
            LastSegment::Whole { bytes, .. } => {
                self.closed.push((found.number, bytes));
                Ok(())
            }
            // Rotation syncs a segment before it starts the next one.
            LastSegment::Torn { valid_bytes, .. } => Err(damaged(found, valid_bytes, Damage::Frame)),
            LastSegment::Unfinished { .. } => Err(damaged(found, 0, Damage::Header)),
        }
    }

    fn read_last<D: Disk>(&mut self, disk: &JournalDisk<D>, found: &Found) -> Result<(), OpenError> {
        let last = self.read_frames(disk, found)?;
        match last {
            // A base was durable before anything could be recovered from it.
            LastSegment::Unfinished { .. } if self.closed.is_empty() => Err(damaged(found, 0, Damage::Header)),
            LastSegment::Unfinished { .. } | LastSegment::Whole { .. } | LastSegment::Torn { .. } => {
                self.last = last;
                Ok(())
            }
        }
    }

    /// The records must reach as far as the checkpoint does, or it holds halves of records whose other halves are lost.
    fn check_reach(&self, last: &Found) -> Result<(), OpenError> {
        let reflected = self.checkpoint.as_ref().map_or(Position(0), |checkpoint| checkpoint.content.reflects);
        if reflected < self.next {
            return Ok(());
        }
        let valid_bytes = match self.last {
            LastSegment::Whole { bytes, .. } => bytes,
            LastSegment::Torn { valid_bytes, .. } => valid_bytes,
            LastSegment::Unfinished { .. } => 0,
        };
        Err(damaged(last, valid_bytes, Damage::Short))
    }

    /// Reads the records of one segment, whichever it is.
    fn read_frames<D: Disk>(&mut self, disk: &JournalDisk<D>, found: &Found) -> Result<LastSegment, OpenError> {
        let header = match found.reading {
            HeaderReading::Valid(header) => header,
            HeaderReading::Unfinished => {
                let header = segment_header(self.incarnation, found.number, self.next);
                return Ok(LastSegment::Unfinished { header });
            }
            HeaderReading::Damaged | HeaderReading::UnknownVersion(_) => {
                return Err(damaged(found, 0, Damage::Header));
            }
        };
        if header.first != self.next {
            return Err(damaged(found, 0, Damage::Foreign));
        }
        let file = disk.read(&found.name)?;
        let scan = scan::scan(&header, &file);
        let valid_bytes = scan.valid_bytes as u64;
        self.next = scan.next;
        self.records.extend(scan.records);
        match scan.end {
            SegmentEnd::Marked => Ok(LastSegment::Whole { header, bytes: valid_bytes, end: MarkedEnd::Marked }),
            SegmentEnd::Unmarked => Ok(LastSegment::Whole { header, bytes: valid_bytes, end: MarkedEnd::Unmarked }),
            SegmentEnd::Torn => {
                Ok(LastSegment::Torn { header, valid_bytes, lost_bytes: file.len() as u64 - valid_bytes })
            }
            SegmentEnd::Damaged(damage) => Err(damaged(found, valid_bytes, damage)),
        }
    }
}

fn obsolete(survey: &Survey, resume: &Resume) -> Vec<String> {
    let base = resume.checkpoint.as_ref().map(|checkpoint| checkpoint.header.number);
    let segments = survey.segments.iter().filter(|found| Some(found.number) < base);
    let checkpoints = survey.checkpoints.iter().filter(|found| Some(found.number) != base);
    segments.chain(checkpoints).map(|found| found.name.clone()).collect()
}

pub(crate) fn segment_header(incarnation: Incarnation, number: SegmentNumber, first: Position) -> Header {
    Header { kind: FileKind::Segment, incarnation, number, first }
}

fn damaged(found: &Found, offset: u64, damage: Damage) -> OpenError {
    OpenError::Damaged { file: found.name.clone(), offset, damage }
}

fn missing(number: SegmentNumber) -> OpenError {
    OpenError::Missing { file: FileKind::Segment.file_name(number) }
}
