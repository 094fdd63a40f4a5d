//! The world of tables that sync: apps that write a causal, an eventual and a strong table, with a connection and without, and people who decide conflicts.
//!
//! It is the main world with another app ([`app`]), another way to rest ([`live`](mod@live)) and another checker ([`checker`]). The checker sees the store's
//! journals, and what clients were shown and told ([`told`]).

pub mod app;
mod checker;
mod live;
mod told;

pub use app::{OfRows, Synced};
pub use live::live;
pub use told::{RowEvent, RowsTold};
