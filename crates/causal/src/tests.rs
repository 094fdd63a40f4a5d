//! Data centres that speak with each other, each over a store of its own.

mod history;
mod hostile;
mod judged;
mod limit;
mod store;
mod together;
mod world;

pub(crate) use world::{effects, id};
