//! Objects that run anywhere: a class says where it runs, and callers need not know.
//!
//! The kernel keeps instances, calls and references. A device has it behind a connection to a server ([`Device`]); a server has it behind the connections of
//! its devices ([`Server`]).
//!
//! Source: Zhang 2017, chapter 2 (Sapphire). docs/protocols/objects.md walks through it.
//!
//! Invariants:
//! - the kernel itself sends a call once, and runs a call once;
//! - an instance serves only in an epoch that is committed.

mod app;
mod broken;
mod device;
mod error;
mod executor;
mod kernel;
pub mod limits;
pub mod managers;
mod parts;
mod server;
mod table;
mod tokens;

pub use app::{
    AppSide, Call, Class, Created, Ended, FromApp, KeptObject, Placing, Run, RunId, Ticket, ToApp, ToKernel,
};
pub use broken::Broken;
pub use device::{DEVICE_LEASE, Device, DeviceInput, DeviceOutput, DeviceSettings, LinkState, Resumed};
pub use error::{CallError, CallResult};
pub use executor::Later;
pub use kernel::{IncomingId, Kernel, KernelInput, KernelOutput, KernelSettings};
pub use server::{
    AskId, LetIn, MayId, PeerEvent, PeerLink, Right, Server, ServerInput, ServerOutput, ServerSettings, SessionEvent,
    SessionId, TrackAsk, Tracked,
};
pub use tokens::TokenSource;
