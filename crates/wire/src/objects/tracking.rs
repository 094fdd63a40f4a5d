//! Questions to tracking, and its answers.

use iolite_values::{DeviceRight, NodeId, ObjectEpoch, ObjectName};

use super::NotRun;
use super::parts::{read_name, read_node, write_name, write_node};
use super::peer::ServedClass;
use crate::DecodeError;
use crate::encoding::{Reader, Writer, each, required};
use crate::generated::proto;
use crate::limits::{CLASSES, MANAGERS, PLACES, SERVED_NODES};

/// The line above a class, as far as other nodes have to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The version of the methods: nodes with another one refuse calls.
    pub version: u32,
    /// In their canonical text. Empty: there are none.
    pub managers: String,
    pub devices: DeviceRight,
}

impl Declared {
    /// Whether a manager forbids to begin an object of the class anew when its node has ended.
    pub fn is_kept_for_good(&self) -> bool {
        self.has_manager("KeepInPlace")
    }

    /// Whether a manager keeps the objects of the class at nodes of the service.
    pub fn is_kept_in_cloud(&self) -> bool {
        self.has_manager("KeepInCloud")
    }

    fn has_manager(&self, name: &str) -> bool {
        self.managers.split(';').any(|manager| manager.split_whitespace().next() == Some(name))
    }
}

/// A class that a node can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedClass {
    pub name: String,
    pub declared: Declared,
}

/// An object that is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    pub object: ObjectName,
    pub declared: Declared,
}

/// The row of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    pub declared: Declared,
    pub epoch: ObjectEpoch,
    /// The owner is the first.
    pub places: Vec<NodeId>,
}

/// The answer of tracking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrackAnswer {
    /// The object was there.
    Found(Placed),
    /// The object is new.
    Begun(Placed),
    /// There is no such object.
    Unknown,
    /// The object's node is part of the service and lost. Whoever creates the object again gets a new one.
    Lost,
    /// The question changed nothing.
    Refused(NotRun),
}

pub(super) fn write_devices(devices: DeviceRight) -> proto::ObjectDevices {
    match devices {
        DeviceRight::Call => proto::ObjectDevices::Call,
        DeviceRight::Read => proto::ObjectDevices::Read,
        DeviceRight::Hold => proto::ObjectDevices::Hold,
    }
}

pub(super) fn read_devices(devices: i32) -> Result<DeviceRight, DecodeError> {
    let unknown = DecodeError::malformed("devices have no right that is known here");
    match proto::ObjectDevices::try_from(devices).map_err(|_| unknown)? {
        proto::ObjectDevices::Unspecified => Err(unknown),
        proto::ObjectDevices::Call => Ok(DeviceRight::Call),
        proto::ObjectDevices::Read => Ok(DeviceRight::Read),
        proto::ObjectDevices::Hold => Ok(DeviceRight::Hold),
    }
}

pub(super) fn write_declared(declared: &Declared, writer: &mut Writer) -> proto::ObjectDeclared {
    let devices = write_devices(declared.devices);
    proto::ObjectDeclared {
        version: declared.version,
        managers: writer.text(&declared.managers, MANAGERS),
        devices: devices.into(),
    }
}

pub(super) fn read_declared(declared: Option<proto::ObjectDeclared>, reader: &Reader) -> Result<Declared, DecodeError> {
    let declared = required(declared, "a class without its declaration")?;
    let devices = read_devices(declared.devices)?;
    Ok(Declared { version: declared.version, managers: reader.text(declared.managers, MANAGERS)?, devices })
}

pub(super) fn write_classes(classes: &[OfferedClass], writer: &mut Writer) -> Vec<proto::ObjectClass> {
    writer.count(classes.len(), CLASSES);
    classes.iter().map(|class| write_class(class, writer)).collect()
}

fn write_class(class: &OfferedClass, writer: &mut Writer) -> proto::ObjectClass {
    proto::ObjectClass { name: class.name.clone(), declared: Some(write_declared(&class.declared, writer)) }
}

pub(super) fn read_classes(
    classes: Vec<proto::ObjectClass>,
    reader: &Reader,
) -> Result<Vec<OfferedClass>, DecodeError> {
    reader.count(classes.len(), CLASSES)?;
    each(classes, |class| read_class(class, reader))
}

fn read_class(class: proto::ObjectClass, reader: &Reader) -> Result<OfferedClass, DecodeError> {
    // The name has to be one that an object can have.
    ObjectName::new(&class.name, "id").map_err(|_| DecodeError::malformed("a class has no such name"))?;
    Ok(OfferedClass { name: class.name, declared: read_declared(class.declared, reader)? })
}

pub(super) fn write_served(classes: &[ServedClass], writer: &mut Writer) -> Vec<proto::PeerServed> {
    writer.count(classes.len(), CLASSES);
    let mut write = |served: &ServedClass| {
        writer.count(served.nodes.len(), SERVED_NODES);
        let nodes = served.nodes.iter().copied().map(write_node).collect();
        proto::PeerServed { class: Some(write_class(&served.class, writer)), nodes }
    };
    classes.iter().map(&mut write).collect()
}

pub(super) fn read_served(classes: Vec<proto::PeerServed>, reader: &Reader) -> Result<Vec<ServedClass>, DecodeError> {
    reader.count(classes.len(), CLASSES)?;
    each(classes, |served| {
        reader.count(served.nodes.len(), SERVED_NODES)?;
        let class = read_class(required(served.class, "no class is served")?, reader)?;
        Ok(ServedClass { class, nodes: each(served.nodes, |node| read_node(Some(node)))? })
    })
}

pub(super) fn write_begin(begin: &Begin, writer: &mut Writer) -> proto::ObjectBegin {
    let object = Some(write_name(&begin.object));
    proto::ObjectBegin { object, declared: Some(write_declared(&begin.declared, writer)) }
}

pub(super) fn read_begin(begin: Option<proto::ObjectBegin>, reader: &Reader) -> Result<Begin, DecodeError> {
    let begin = required(begin, "no object begins")?;
    Ok(Begin { object: read_name(begin.object)?, declared: read_declared(begin.declared, reader)? })
}

pub(super) fn write_placed(placed: &Placed, writer: &mut Writer) -> proto::ObjectPlaced {
    writer.count(placed.places.len(), PLACES);
    proto::ObjectPlaced {
        declared: Some(write_declared(&placed.declared, writer)),
        epoch: placed.epoch.0,
        places: placed.places.iter().copied().map(write_node).collect(),
    }
}

pub(super) fn read_placed(placed: proto::ObjectPlaced, reader: &Reader) -> Result<Placed, DecodeError> {
    reader.count(placed.places.len(), PLACES)?;
    Ok(Placed {
        declared: read_declared(placed.declared, reader)?,
        epoch: ObjectEpoch(placed.epoch),
        places: each(placed.places, |place| read_node(Some(place)))?,
    })
}
