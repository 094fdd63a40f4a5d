//! Steps of a world up to a time, or until something is so.

use super::World;
use super::client_node::ClientNode;
use crate::checker::{Invariant, Violation};
use crate::history::Moment;

impl World {
    pub fn step_for(&mut self, time: Moment) {
        let end = self.moment + time;
        while self.moment < end && self.step() {}
    }

    /// # Errors
    /// It is not so in time.
    pub fn step_until(&mut self, time: Moment, wanted: &str, is_so: impl Fn(&World) -> bool) -> Result<(), Violation> {
        let end = self.moment + time;
        while !is_so(self) {
            if self.moment > end || !self.step() {
                return Err(self.restless(&format!("not in time: {wanted}")));
            }
        }
        Ok(())
    }

    /// A violation that says what every client waits for.
    pub fn restless(&self, what: &str) -> Violation {
        let nodes: Vec<String> = self.clients.iter().map(ClientNode::restlessness).collect();
        Violation::new(Invariant::Liveness, format!("{what}: {nodes:?}"))
    }
}
