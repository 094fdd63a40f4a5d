//! The world of tables that merge: apps whose calls take place at the device, with a connection and without, in front of one data centre.
//!
//! It is the main world with another app ([`app`]), another way to rest ([`live`](mod@live)) and another checker. The checker sees what clients were shown
//! ([`told`]), and at the end what the store's journal holds ([`checker`]). Several data centres come later.

pub mod app;
mod checker;
pub mod guests;
mod live;
mod names;
mod snapshot;
mod told;

pub use app::{Named, OfCentres};
pub use checker::check;
pub use live::live;
pub use names::Name;
pub use told::{CentreEvent, CentresTold, Views};
