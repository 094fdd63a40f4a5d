//! The parts that messages are made of, to protobuf and back.
//!
//! A writer and a reader see the same parts in the same order, so they number cells and relate timestamps alike. A session has one a
//! direction for its whole life; a record has its own.

mod blob;
mod cell;
mod commit;
mod interest;
mod level;
mod merge;
mod name;
pub(crate) mod node;
mod operation;
mod query;
mod read;
mod reader;
pub(crate) mod refusal;
mod row;
mod text;
mod timestamp;
mod value;
mod writer;

pub(crate) use blob::{read_tree, write_tree};
pub(crate) use cell::{name as cell_name, named as named_cell, row_key};
pub(crate) use level::{read_level, write_level};
pub(crate) use query::{read_direction, write_direction};
pub(crate) use reader::{Reader, each, id_of, identity, only_true, required};
pub(crate) use writer::{Writer, bytes_of};
