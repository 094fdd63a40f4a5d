//! The store over a real PostgreSQL passes the suite that every store passes, and the suite finds broken ones.

use std::panic::{AssertUnwindSafe, catch_unwind};

use iolite_postgres::{Broken, PostgresSettings, SchemaName};
use iolite_store::conformance;
use iolite_values::CoordinatorId;

use crate::blocking::Blocking;
use crate::server::Server;

/// Each behaviour gets a schema of its own in the same database.
fn run(server: &Server, broken: Broken) {
    let mut made = 0;
    conformance::run(&mut || {
        made += 1;
        let schema = format!("{broken:?}_{made}").to_lowercase();
        let schema = SchemaName::new(&schema).expect("letters and digits");
        let settings = PostgresSettings::new(server.database(), CoordinatorId::default());
        Box::new(Blocking::open(PostgresSettings { schema, broken, ..settings }))
    });
}

#[test]
fn postgresql_is_a_store() {
    run(&Server::start(), Broken::Nothing);
}

#[test]
fn the_suite_finds_broken_stores() {
    let server = Server::start();
    // It is not for want of a database.
    drop(Blocking::open(PostgresSettings::new(server.database(), CoordinatorId::default())));
    for broken in [Broken::SkipReadValidation, Broken::NoCompletionRecords] {
        let run = || run(&server, broken);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "{broken:?} passes");
    }
}
