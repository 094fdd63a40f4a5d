//! Messages that show every field of every message of proto/: what the golden bytes say.

mod nodes;
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
    let all =
        values::all().into_iter().chain(session::all()).chain(records::all()).chain(nodes::all()).chain(tabs::all());
    all.map(|(name, comment, content)| Sample { name, comment, content }).collect()
}
