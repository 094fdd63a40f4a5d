//! `#[sapphire]` and `#[sapphire::methods]`: classes of objects from structs and their `impl` blocks.

mod chosen;
mod class;
mod method;
mod methods;
mod types;

pub use class::class;
pub use methods::methods;
