//! Objects and the nodes that they live on, by name.
//!
//! Source: Zhang 2017, section 2.3: an object has a name that does not say where it is.

use std::fmt;
use std::sync::Arc;

use crate::{CoordinatorId, Id};

/// An object, wherever it is: its class, and what its app calls it. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    class: Arc<str>,
    id: Arc<str>,
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
        Ok(ObjectName { class: class.into(), id: id.into() })
    }

    pub fn class(&self) -> &str {
        &self.class
    }

    pub fn id(&self) -> &str {
        &self.id
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.class, self.id)
    }
}

impl fmt::Debug for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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
