//! Messages that show every field of every message of proto/: what the golden bytes say.

mod answers;
mod asks;
mod blobs;
mod centres;
mod nodes;
mod objects;
mod peers;
mod queries;
mod records;
mod session;
mod tabs;
mod values;

use crate::decoders::Content;

#[allow(dead_code, reason = "each test binary uses its part")]
pub struct Sample {
    /// The message of proto/ that it shows: the name of its file.
    pub name: &'static str,
    pub comment: &'static str,
    pub content: Content,
}

pub fn all() -> Vec<Sample> {
    let between_nodes = [nodes::all(), asks::all(), answers::all(), peers::all()].concat();
    let others = [
        values::all(),
        queries::all(),
        session::all(),
        records::all(),
        tabs::all(),
        blobs::all(),
        centres::all(),
        objects::all(),
    ]
    .concat();
    let all = others.into_iter().chain(between_nodes);
    all.map(|(name, comment, content)| Sample { name, comment, content }).collect()
}
