//! The kinds of messages of a design, by number: names are for files, numbers for nodes.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Kind(pub u16);

/// The first four are of every design; the others come in the order in which its file names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds(Vec<String>);

impl Kinds {
    pub const PUT: Kind = Kind(0);
    pub const GET: Kind = Kind(1);
    pub const PUT_RESPONSE: Kind = Kind(2);
    pub const GET_RESPONSE: Kind = Kind(3);

    pub fn name(&self, kind: Kind) -> &str {
        &self.0[usize::from(kind.0)]
    }

    pub fn find(&self, name: &str) -> Option<Kind> {
        let place = self.0.iter().position(|known| known == name)?;
        u16::try_from(place).ok().map(Kind)
    }

    /// The kind of this name; a new one if there is none.
    pub fn named(&mut self, name: &str) -> Kind {
        self.find(name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            Kind(u16::try_from(self.0.len() - 1).expect("a file does not name 65,536 kinds of messages"))
        })
    }
}

impl Default for Kinds {
    fn default() -> Kinds {
        Kinds(["put", "get", "put-response", "get-response"].map(str::to_owned).to_vec())
    }
}
