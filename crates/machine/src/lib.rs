//! The contract of a state machine: inputs, outputs, deadlines, persistence.
//!
//! Every protocol half in Iolite (replica, coordinator, gateway, client) is a pure state machine: it owns no socket, clock,
//! thread, async task or source of randomness. A host drives it: the native event loop, the browser, or the simulation.
//! The same logic runs in all three.
//!
//! Invariant: equal inputs at equal times give equal outputs.

mod backoff;
mod gate;
mod tallied;
mod time;

pub use backoff::Backoff;
pub use gate::Gate;
pub use tallied::Tallied;
pub use time::{Instant, Now, WallTime};

/// The position of a record that a machine asked its host to make durable. Positions of one machine grow without gaps from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PersistId(pub u64);

impl PersistId {
    /// Durable before the machine started: a reply after it need not wait.
    pub const START: PersistId = PersistId(0);

    pub fn next(self) -> PersistId {
        PersistId(self.0 + 1)
    }
}

/// A pure state machine. The host feeds it inputs, drains its outputs, and calls it again when its deadline has passed.
pub trait Machine {
    type Input;
    type Output;

    /// Takes one input. Never blocks; effects are read with [`Machine::poll`].
    fn handle(&mut self, now: Now, input: Self::Input);

    /// The next output, oldest first. The host drains until `None` after every `handle` and `on_deadline`.
    fn poll(&mut self) -> Option<Self::Output>;

    /// When the machine wants `on_deadline`, if nothing else happens before. It may change with every input.
    fn deadline(&self) -> Option<Instant>;

    /// Called at or after `deadline`. A call that comes early does nothing.
    fn on_deadline(&mut self, now: Now);

    /// Checks the machine's own invariants; the simulation calls it after every step.
    ///
    /// # Panics
    /// When an invariant is broken, which is a bug in the machine and never the fault of a peer.
    fn validate(&self);
}
