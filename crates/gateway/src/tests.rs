//! What gateways do, against a store in memory whose replies and feed come when the test says so. Whole lists of outputs are compared.

mod fake_store;
mod greeting;
mod mutations;
mod order;
mod world;
