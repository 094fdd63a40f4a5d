//! Databases that cannot be used: what has to be corrected ends the gateway with a word, and what passes is waited for.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use iolite::{Client, Mutators, Options, Schema};

use super::gateway::{NodeFile, psql};
use super::server::{Server, USER};
use crate::support::folder::{Folder, PATIENCE};

/// Whoever made the server may do everything; others need a password.
const ACCESS: &str =
    "local all iolite trust\nlocal all all scram-sha-256\nhostssl all all 127.0.0.1/32 scram-sha-256\n";

async fn works(url: &str, token: &str) {
    let json = r#"{"tables": {"marks": {"key": ["name"], "columns": {"name": {"type": "string"}}}}}"#;
    let schema = Schema::from_json(json).expect("a valid schema");
    let mutators = Mutators::new().with("mark", |tx, name: String| tx.insert("marks", &name, []));
    let client = Client::connect(url, token, schema, Options::new().mutators(mutators)).expect("in memory");
    let marked = client.mutate("mark", "here").expect("called");
    tokio::time::timeout(PATIENCE, marked.confirmed()).await.expect("it is served").expect("confirmed");
}

#[test]
fn what_has_to_be_corrected_is_said_in_one_line() {
    let server = Server::start_with(5432, &[("pg_hba.conf", ACCESS)], &[]);
    psql(&server, "CREATE ROLE app LOGIN PASSWORD 'right'");
    let folder = Folder::new("postgres-refused");
    let socket = server.folder().display();
    let secret = folder.0.join("password");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    std::fs::write(&secret, "wrong\n").expect("a temporary folder");
    std::fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("its own file");
    let as_app = format!("address = \"host={socket} user=app dbname=postgres\"\n");
    for (postgres, told) in [
        (format!("{as_app}password_file = \"../password\""), "password authentication failed for user \"app\""),
        (as_app.clone(), "password missing"),
        (format!("{as_app}password_file = \"../nothing\""), "Correct `password_file`"),
        (format!("{as_app}password_variable = \"IOLITE_NOT_SET\""), "IOLITE_NOT_SET"),
        (
            format!("address = \"host={socket} user={USER} dbname=nowhere\""),
            "database \"nowhere\" does not exist: create it",
        ),
        (format!("address = \"host={socket} user={USER} password=x\""), "has a password in it"),
        (format!("address = \"host=db.example user={USER}\""), "neither `authority = FILE`"),
    ] {
        let said = NodeFile::write(&folder.0, 0, &postgres).fails();
        assert!(said.contains(told), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!said.contains("wrong"), "{said}");
    }
    std::fs::write(&secret, "right\n").expect("a temporary folder");
    let postgres = format!("{as_app}password_file = \"../password\"");
    let said = NodeFile::write(&folder.0, 0, &postgres).fails();
    assert!(said.contains("permission denied for database postgres") && said.contains("CREATE SCHEMA"), "{said}");
}

#[tokio::test]
async fn a_database_that_comes_later_is_waited_for_and_said_to_be_missing() {
    let mut server = Server::start();
    server.kill();
    let folder = Folder::new("postgres-later");
    let postgres = format!("address = \"host={} user={USER} dbname=postgres\"", server.folder().display());
    let mut gateway = NodeFile::write(&folder.0, 0, &postgres).start(&[]);
    gateway.wait_for("/readyz", |answer| answer.starts_with("HTTP/1.1 503"));
    while !gateway.log().contains("waiting for the database: the database cannot be reached") {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    server.start_again();
    gateway.wait_until_ready();
    works(&gateway.sync_url(), &gateway.token()).await;
    gateway.wait_for("/metrics", |metrics| metrics.contains("iolite_postgres_heard_at_milliseconds 1"));
    let log = gateway.log();
    let mut lines: Vec<&str> = log.lines().collect();
    let count = lines.len();
    lines.dedup();
    assert_eq!(lines.len(), count, "each reason is told once: {log}");
    gateway.terminate();
}

#[tokio::test]
async fn a_password_of_the_environment_goes_over_tls_to_the_server_that_is_trusted() {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let (certificate, key) = (own.cert.pem(), own.signing_key.serialize_pem());
    let files = [("pg_hba.conf", ACCESS), ("server.crt", &certificate), ("server.key", &key)];
    let port = iolite_cluster::free_ports(&["127.0.0.1".parse().expect("an address")], 1).expect("one is free")[0];
    let server = Server::start_with(port, &files, &["listen_addresses=127.0.0.1", "ssl=on"]);
    psql(&server, "CREATE ROLE app LOGIN PASSWORD 'right'; CREATE SCHEMA iolite AUTHORIZATION app");
    let folder = Folder::new("postgres-tls");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    std::fs::write(folder.0.join("own.crt"), certificate).expect("a temporary folder");
    std::fs::write(folder.0.join("other.crt"), other.cert.pem()).expect("a temporary folder");
    let postgres = |authority: &str| {
        format!(
            "address = \"host=127.0.0.1 port={port} user=app dbname=postgres\"\nauthority = \"../{authority}\"\npassword_variable = \"DATABASE_PASSWORD\""
        )
    };
    let password = [("DATABASE_PASSWORD", "right")];
    let mut gateway = NodeFile::write(&folder.0, 0, &postgres("own.crt")).start(&password);
    gateway.wait_until_ready();
    works(&gateway.sync_url(), &gateway.token()).await;
    let stranger = NodeFile::write(&folder.0, 1, &postgres("other.crt")).start(&password);
    let said = stranger.wait_for_end();
    assert!(said.contains("the server is not the one that is trusted"), "{said}");
}
