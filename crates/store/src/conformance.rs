//! The suite that every [`crate::Store`] passes.
//!
//! A store's tests call [`run`] with a function that makes an empty store. Each behaviour gets a fresh one.
//!
//! ```ignore
//! #[test]
//! fn conforms() {
//!     iolite_store::conformance::run(&mut || Box::new(my_store()));
//! }
//! ```

mod completions;
mod conflicts;
mod driver;
mod feed;
mod first_committer;
mod levels;
mod queries;
mod reads;
mod validation;
mod writes;

use crate::Store;
use driver::Driver;
pub use first_committer::first_committer_wins;

/// A behaviour: its name says what a store does, and the function panics if it does not.
type Behaviour = (&'static str, fn(&mut Driver));

/// Runs every behaviour.
///
/// # Panics
/// At the first behaviour that the store does not have; the message names it.
pub fn run(make: &mut dyn FnMut() -> Box<dyn Store>) {
    for (name, behaviour) in behaviours() {
        let mut driver = Driver::new(name, make());
        behaviour(&mut driver);
        driver.finish();
    }
}

/// The names of all behaviours, for reports.
pub fn names() -> Vec<&'static str> {
    behaviours().into_iter().map(|(name, _)| name).collect()
}

fn behaviours() -> Vec<Behaviour> {
    [
        writes::BEHAVIOURS,
        reads::BEHAVIOURS,
        queries::BEHAVIOURS,
        conflicts::BEHAVIOURS,
        levels::BEHAVIOURS,
        completions::BEHAVIOURS,
        validation::BEHAVIOURS,
        feed::BEHAVIOURS,
    ]
    .concat()
}
