//! What gateways do, against a store in memory whose replies and feed come when the test says so. Whole lists of outputs are compared.

mod bad_input;
mod batches;
mod client_view;
mod fake_store;
mod frames;
mod giving_up;
mod greeting;
mod isolation;
mod many_queries;
mod mutations;
mod order;
mod page;
mod pressure;
mod queries;
mod query_answers;
mod query_histories;
mod quiescence;
mod reader;
mod reading;
mod real_store;
mod real_world;
mod resumption;
mod schemas;
mod time;
mod without;
mod world;
