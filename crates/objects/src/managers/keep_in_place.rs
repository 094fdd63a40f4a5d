//! An object stays where it began.
//!
//! Promise: it never moves, and is never begun anew: if its node has ended, calls are `Unreachable` for good.

use std::sync::Arc;

use iolite_wire::objects::NotRun;

use super::{Fact, InstanceManager, Kind, Manager, Settings, Slot};

/// `KeepInPlace`.
#[derive(Clone, Copy, Debug)]
pub struct KeepInPlace;

impl Manager for KeepInPlace {
    const KIND: Kind = Kind { name: "KeepInPlace", slot: Slot::Placement, facts: &[Fact::NeverAnew], settings: &[] };

    fn instance(&self, _settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        Some(Arc::new(Stays))
    }
}

struct Stays;

impl InstanceManager for Stays {
    fn may_move(&self) -> Result<(), NotRun> {
        Err(NotRun::NotPermitted)
    }
}
