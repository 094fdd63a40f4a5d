//! Rights that TypeScript wrote: they are canonical, fit their schema, and allow what the examples do.

mod agreement;
mod examples;
mod store;
