//! Objects and the nodes that they live on, by name.
//!
//! Source: Zhang 2017, section 2.3: an object has a name that does not say where it is.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::{CoordinatorId, Id, TableId};

/// An object, wherever it is: its class, and what its app calls it. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ObjectName {
    /// The class, and the id behind it: one count of references to change for a clone.
    text: Arc<str>,
    class_bytes: u8,
}

/// Why no object has a name. Each message says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectNameError {
    #[error("the name of a class has 1 to {max} bytes, not {0}", max = ObjectName::CLASS_BYTES_MAX)]
    Class(usize),
    #[error("the id of an object has 1 to {max} bytes, not {0}", max = ObjectName::ID_BYTES_MAX)]
    Id(usize),
}

impl ObjectName {
    pub const CLASS_BYTES_MAX: usize = 64;
    pub const ID_BYTES_MAX: usize = 128;

    /// # Errors
    /// [`ObjectNameError`], when a part is empty or too long.
    pub fn new(class: &str, id: &str) -> Result<ObjectName, ObjectNameError> {
        if class.is_empty() || class.len() > ObjectName::CLASS_BYTES_MAX {
            return Err(ObjectNameError::Class(class.len()));
        }
        if id.is_empty() || id.len() > ObjectName::ID_BYTES_MAX {
            return Err(ObjectNameError::Id(id.len()));
        }
        Ok(ObjectName { text: [class, id].concat().into(), class_bytes: class.len() as u8 })
    }

    pub fn class(&self) -> &str {
        self.parts().0
    }

    pub fn id(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (&str, &str) {
        self.text.split_at(usize::from(self.class_bytes))
    }
}

/// By class, and then by id.
impl Ord for ObjectName {
    fn cmp(&self, other: &ObjectName) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for ObjectName {
    fn partial_cmp(&self, other: &ObjectName) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.class(), self.id())
    }
}

impl fmt::Debug for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A 64th of all objects. One server at a time runs the coordinators of its objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bucket(u8);

impl Bucket {
    pub const COUNT: u8 = 64;
    pub const FIRST: Bucket = Bucket(0);

    /// The bucket with this number. None: there are fewer.
    pub fn new(number: u8) -> Option<Bucket> {
        (number < Bucket::COUNT).then_some(Bucket(number))
    }

    /// The bucket of an object, by the first bits of a hash of its name. Rows of the store depend on it: it must never change.
    pub fn of(object: &ObjectName) -> Bucket {
        // FNV-1a, whose low bits are the better ones: the product brings them to the front.
        let hash = TableId::of(&object.to_string()).0.wrapping_mul(0x9e37_79b1);
        Bucket((hash >> 26) as u8)
    }

    pub fn all() -> impl Iterator<Item = Bucket> + Clone {
        (0..Bucket::COUNT).map(Bucket)
    }

    pub fn number(self) -> u8 {
        self.0
    }
}

/// A node that objects can live on: a gateway's process, or whatever dials one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeName {
    /// The gateway with this number.
    Server(CoordinatorId),
    /// A browser, a phone, a program: an id that it drew.
    Device(Id),
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeName::Server(gateway) => write!(f, "gateway-{}", gateway.number()),
            NodeName::Device(id) => write!(f, "device-{id}"),
        }
    }
}

impl fmt::Debug for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text names no node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a node is called gateway-NUMBER or device-ID, not {0:?}")]
pub struct ParseNodeNameError(String);

impl std::str::FromStr for NodeName {
    type Err = ParseNodeNameError;

    fn from_str(text: &str) -> Result<NodeName, ParseNodeNameError> {
        let name = match text.split_once('-') {
            Some(("gateway", number)) => number.parse().ok().and_then(CoordinatorId::new).map(NodeName::Server),
            Some(("device", id)) => id.parse().ok().map(NodeName::Device),
            Some(_) | None => None,
        };
        // One spelling a node: not `gateway-07`.
        let name = name.filter(|name| name.to_string() == text);
        name.ok_or_else(|| ParseNodeNameError(text.chars().take(64).collect()))
    }
}

/// Counts the lives of a node that had instances: what an earlier life held is gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeLife(pub u64);

/// One life of a node. Instances are placed on lives: a node that starts again has none of those that it had.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId {
    pub name: NodeName,
    pub life: NodeLife,
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.life.0)
    }
}

impl std::str::FromStr for NodeId {
    type Err = ParseNodeNameError;

    fn from_str(text: &str) -> Result<NodeId, ParseNodeNameError> {
        let node = text
            .split_once('#')
            .and_then(|(name, life)| Some(NodeId { name: name.parse().ok()?, life: NodeLife(life.parse().ok()?) }));
        node.filter(|node| node.to_string() == text).ok_or_else(|| ParseNodeNameError(text.chars().take(64).collect()))
    }
}

/// Counts the changes of an object's places, from 1. The highest one that is committed is right.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ObjectEpoch(pub u64);

impl ObjectEpoch {
    #[must_use]
    pub fn next(self) -> ObjectEpoch {
        ObjectEpoch(self.0 + 1)
    }
}

/// The most that the devices of users may do with objects of a class. Servers may do everything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum DeviceRight {
    #[default]
    Call,
    /// Hold copies, for reading.
    Read,
    /// Be owner.
    Hold,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_name_has_two_parts_within_their_limits() {
        let (class, id) = ("c".repeat(64), "i".repeat(128));
        assert_eq!(ObjectName::new(&class, &id).map(|name| name.to_string()), Ok(format!("{class}/{id}")));
        assert_eq!(ObjectName::new("", &id), Err(ObjectNameError::Class(0)));
        assert_eq!(ObjectName::new(&(class.clone() + "c"), &id), Err(ObjectNameError::Class(65)));
        assert_eq!(ObjectName::new(&class, ""), Err(ObjectNameError::Id(0)));
        assert_eq!(ObjectName::new(&class, &(id + "i")), Err(ObjectNameError::Id(129)));
    }

    #[test]
    fn objects_are_spread_over_the_buckets_and_stay_where_they_are() {
        let bucket = |id: &str| Bucket::of(&ObjectName::new("Note", id).expect("a short name"));
        assert_eq!(bucket("a").number(), 6);
        let mut counts: BTreeMap<Bucket, usize> = BTreeMap::new();
        for number in 0..6_400 {
            *counts.entry(bucket(&number.to_string())).or_default() += 1;
        }
        assert!(counts.keys().copied().eq(Bucket::all()) && counts.values().all(|count| (50..200).contains(count)));
    }

    #[test]
    fn a_node_has_one_spelling() {
        let server = NodeName::Server(CoordinatorId::new(7).expect("small"));
        for name in [server, NodeName::Device(Id::from_u128(0xab))] {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        for wrong in ["gateway-07", "gateway-4096", "device-7", "store-1", "gateway", ""] {
            assert!(wrong.parse::<NodeName>().is_err(), "{wrong}");
        }
    }
}
