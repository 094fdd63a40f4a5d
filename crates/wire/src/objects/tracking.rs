//! Questions to tracking, and its answers.

use iolite_values::{DeviceRight, NodeId, ObjectEpoch, ObjectName};

use super::NotRun;
use super::parts::{read_name, read_node, write_name, write_node};
use crate::DecodeError;
use crate::encoding::{Reader, Writer, each, required};
use crate::generated::proto;
use crate::limits::{CLASSES, MANAGERS, PLACES};

/// The line above a class, as far as other nodes have to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The version of the methods: nodes with another one refuse calls.
    pub version: u32,
    /// In their canonical text. Empty: there are none.
    pub managers: String,
    pub devices: DeviceRight,
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

pub(super) fn write_declared(declared: &Declared, writer: &mut Writer) -> proto::ObjectDeclared {
    let devices = match declared.devices {
        DeviceRight::Call => proto::ObjectDevices::Call,
        DeviceRight::Read => proto::ObjectDevices::Read,
        DeviceRight::Hold => proto::ObjectDevices::Hold,
    };
    proto::ObjectDeclared {
        version: declared.version,
        managers: writer.text(&declared.managers, MANAGERS),
        devices: devices.into(),
    }
}

pub(super) fn read_declared(declared: Option<proto::ObjectDeclared>, reader: &Reader) -> Result<Declared, DecodeError> {
    let declared = required(declared, "a class without its declaration")?;
    let unknown = DecodeError::malformed("devices have no right that is known here");
    let devices = match proto::ObjectDevices::try_from(declared.devices).map_err(|_| unknown)? {
        proto::ObjectDevices::Unspecified => return Err(unknown),
        proto::ObjectDevices::Call => DeviceRight::Call,
        proto::ObjectDevices::Read => DeviceRight::Read,
        proto::ObjectDevices::Hold => DeviceRight::Hold,
    };
    Ok(Declared { version: declared.version, managers: reader.text(declared.managers, MANAGERS)?, devices })
}

pub(super) fn write_classes(classes: &[OfferedClass], writer: &mut Writer) -> Vec<proto::ObjectClass> {
    writer.count(classes.len(), CLASSES);
    let mut write = |class: &OfferedClass| proto::ObjectClass {
        name: class.name.clone(),
        declared: Some(write_declared(&class.declared, writer)),
    };
    classes.iter().map(&mut write).collect()
}

pub(super) fn read_classes(
    classes: Vec<proto::ObjectClass>,
    reader: &Reader,
) -> Result<Vec<OfferedClass>, DecodeError> {
    reader.count(classes.len(), CLASSES)?;
    each(classes, |class| {
        // The name has to be one that an object can have.
        ObjectName::new(&class.name, "id").map_err(|_| DecodeError::malformed("a class has no such name"))?;
        Ok(OfferedClass { name: class.name, declared: read_declared(class.declared, reader)? })
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
