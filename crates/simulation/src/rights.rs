//! The world of rights: users with names, rooms whose members come and go, rights that are deployed while everybody works, and one hostile user.
//!
//! It is the main world with another app ([`app`]), another way to rest ([`live`](mod@live)) and another checker ([`checker`]). The hostile user has no
//! client: `world/hostile.rs` says to gateways what no client says. The checker sees the store's journals, and what gateways were given and said ([`told`]).

pub mod app;
mod checker;
mod live;
mod person;
mod rules;
mod sights;
mod told;

pub use app::OfRights;
pub use live::live;
pub use person::{Person, Speaker};
pub use told::{RightsEvent, RightsTold};
