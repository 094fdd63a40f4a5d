//! The names of the journal's files: `<16 hexadecimal digits>.segment` and `.checkpoint`.
//!
//! Names of other shapes belong to someone else, and the journal never touches them.

use crate::identity::SegmentNumber;

/// The two kinds of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileKind {
    Segment,
    Checkpoint,
}

impl FileKind {
    fn extension(self) -> &'static str {
        match self {
            FileKind::Segment => "segment",
            FileKind::Checkpoint => "checkpoint",
        }
    }

    pub fn file_name(self, number: SegmentNumber) -> String {
        format!("{:016x}.{}", number.0, self.extension())
    }
}

pub(crate) fn parse(name: &str) -> Option<(FileKind, SegmentNumber)> {
    let (digits, extension) = name.split_once('.')?;
    let kind =
        [FileKind::Segment, FileKind::Checkpoint].into_iter().find(|candidate| candidate.extension() == extension)?;
    let number = SegmentNumber(u64::from_str_radix(digits, 16).ok()?);
    // One spelling only: `1.segment` and upper case are not ours.
    (kind.file_name(number) == name).then_some((kind, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_and_other_spellings_are_not_ours() {
        for kind in [FileKind::Segment, FileKind::Checkpoint] {
            let number = SegmentNumber(0xab);
            assert_eq!(parse(&kind.file_name(number)), Some((kind, number)));
        }
        for name in ["", "LOCK", "1.segment", "00000000000000AB.segment", "00000000000000ab.segment.old", "+0.segment"]
        {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
