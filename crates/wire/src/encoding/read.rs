//! Reads.

use iolite_values::{Author, Element, Read};

use crate::DecodeError;
use crate::generated::proto::{self, read::Part};
use crate::limits::MAP_KEY;

use super::reader::each;
use super::{Reader, Writer, value};

impl Writer {
    pub(crate) fn reads(&mut self, reads: &[Read]) -> Vec<proto::Read> {
        reads.iter().map(|read| self.read(read)).collect()
    }

    fn read(&mut self, read: &Read) -> proto::Read {
        match read {
            Read::Cell { cell, element } => {
                let cell = self.cell(cell);
                let part = match element {
                    Element::Whole => None,
                    Element::Member(value) => Some(Part::Member(value::write(value))),
                    Element::Entry(key) => Some(Part::Entry(self.text(key, MAP_KEY))),
                    Element::Index(index) => Some(Part::Index(*index)),
                    Element::Author(author) => Some(match super::text::by_width(author.0) {
                        (narrow, 0) => Part::Author(narrow),
                        (_, wide) => Part::WideAuthor(wide),
                    }),
                    Element::UpTo(value) => Some(Part::UpTo(value::write(value))),
                    Element::Slice { from, to } => {
                        Some(Part::Slice(proto::ListSlice { from: *from, count: to.saturating_sub(*from) }))
                    }
                };
                proto::Read { cell: cell.number, name: cell.name, part }
            }
            Read::Range { table, range } => {
                proto::Read { cell: 0, name: None, part: Some(Part::Range(Box::new(self.range(*table, range)))) }
            }
            Read::Query(query) => {
                proto::Read { cell: 0, name: None, part: Some(Part::Query(Box::new(self.query(query)))) }
            }
        }
    }
}

impl Reader {
    pub(crate) fn reads(&mut self, reads: Vec<proto::Read>) -> Result<Vec<Read>, DecodeError> {
        each(reads, |read| self.read(read))
    }

    fn read(&mut self, read: proto::Read) -> Result<Read, DecodeError> {
        let element = match read.part {
            None => Element::Whole,
            Some(Part::Member(value)) => Element::Member(value::read(value)?),
            Some(Part::Entry(key)) => Element::Entry(self.map_key(key)?),
            Some(Part::Index(index)) => Element::Index(index),
            Some(Part::Author(author)) => Element::Author(Author(author.into())),
            Some(Part::WideAuthor(author)) if author <= u32::MAX.into() || author > Author::LAST.0 => {
                return Err(DecodeError::malformed("an author in the field of wider ones, or past the last"));
            }
            Some(Part::WideAuthor(author)) => Element::Author(Author(author)),
            Some(Part::UpTo(value)) => Element::UpTo(value::read(value)?),
            Some(Part::Slice(proto::ListSlice { from, count })) => {
                let to = from.checked_add(count).ok_or(DecodeError::malformed("a slice past every list"))?;
                Element::Slice { from, to }
            }
            Some(Part::Range(_) | Part::Query(_)) if read.cell != 0 || read.name.is_some() => {
                return Err(DecodeError::malformed("a read is of a cell, of a range or of a query"));
            }
            Some(Part::Query(query)) => return Ok(Read::Query(self.query(*query)?)),
            Some(Part::Range(range)) => {
                let (table, range) = self.range(*range)?;
                return Ok(Read::Range { table, range });
            }
        };
        Ok(Read::Cell { cell: self.cell(read.cell, read.name)?, element })
    }
}
