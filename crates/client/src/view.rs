//! Views: the same data as of different stages of the pending mutations.
//!
//! Source: Hercules (Lebeck 2020), whose Submitted, Durable, Authoritative and Visible are optimistic, durable, confirmed and delivered here.

mod answers;
mod changed;
mod difference;
mod digest;
mod overlay;
mod reader;

pub(crate) use changed::Changed;
pub use difference::Difference;
pub(crate) use difference::{Comparison, Side};
pub(crate) use digest::Answer;
pub(crate) use overlay::Overlay;
pub use reader::Reader;
pub(crate) use reader::Unheld;

/// Which pending mutations a reader sees on top of the confirmed state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum View {
    /// All of them.
    #[default]
    Optimistic,
    /// Those that are on this device's disk, and so will be sent.
    Durable,
    /// None.
    Confirmed,
    /// None, and of the confirmed state only what was there before the first own change that not everybody has applied who follows it. Of tables that
    /// say `delivered`, and of those of logs, each log by itself.
    Delivered,
}

impl View {
    /// The name of the view in all languages.
    pub fn name(self) -> &'static str {
        match self {
            View::Optimistic => "optimistic",
            View::Durable => "durable",
            View::Confirmed => "confirmed",
            View::Delivered => "delivered",
        }
    }
}
