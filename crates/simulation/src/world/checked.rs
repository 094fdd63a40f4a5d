//! A machine whose invariants are checked after all that it does, and not again before it does more: most steps of a run are of one machine of many.
//!
//! Invariant: whatever may have changed the machine marks it as not checked. A poll that gave nothing changed nothing.

use std::ops::{Deref, DerefMut};

use iolite_machine::Machine;

#[derive(Debug)]
pub struct Checked<M> {
    machine: M,
    is_checked: bool,
}

impl<M> Checked<M> {
    pub fn new(machine: M) -> Checked<M> {
        Checked { machine, is_checked: false }
    }
}

impl<M: Machine> Checked<M> {
    pub fn poll(&mut self) -> Option<M::Output> {
        let output = self.machine.poll();
        self.is_checked &= output.is_none();
        output
    }

    pub fn validate(&mut self) {
        if !std::mem::replace(&mut self.is_checked, true) {
            self.machine.validate();
        }
    }
}

impl<M> Deref for Checked<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.machine
    }
}

impl<M> DerefMut for Checked<M> {
    fn deref_mut(&mut self) -> &mut M {
        self.is_checked = false;
        &mut self.machine
    }
}
