//! The store over PostgreSQL: several gateways commit, read and follow one feed through a database that they share.
//!
//! Source: Iolite's own. Validation is that of the replica (data-type OCC, Zhang 2017, 3.4); the locks, the timestamps and the feed are described,
//! with the reasons why they are right, in docs/protocols/postgres.md.

mod address;
mod collect;
mod commit;
mod connection;
mod encryption;
mod error;
mod facts;
mod feed;
mod figures;
mod follower;
pub mod limits;
mod locks;
mod log;
mod numbers;
mod read;
mod records;
mod requests;
mod rows;
mod settings;
mod shared;
mod stamps;
mod store;
mod tables;
mod time_limits;
mod validate;

pub use address::{Address, AddressError};
pub use encryption::{AuthorityError, Encryption};
pub use error::OpenError;
pub use facts::Malformed;
pub use figures::Figures;
pub use settings::{Broken, Clock, PostgresSettings, Retention, SchemaName, SchemaNameError};
pub use store::PostgresStore;
