//! TLS to the database: used when asked for, and never without a certificate that is trusted.

use std::net::TcpListener;

use iolite_postgres::{Encryption, OpenError, PostgresSettings, PostgresStore};
use iolite_values::Operation;
use rcgen::CertifiedKey;

use crate::gateway::Gateway;
use crate::server::{Server, USER};
use crate::writer::{Writer, in_time, number, raw, settings, write};

/// A server on a free port of the loopback, with TLS if it has a certificate.
fn serve(tls: Option<&CertifiedKey<rcgen::KeyPair>>) -> (Server, u16) {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
    let listen = "listen_addresses=127.0.0.1";
    let Some(tls) = tls else { return (Server::start_with(port, &[], &[listen]), port) };
    let files = [("server.crt", tls.cert.pem()), ("server.key", tls.signing_key.serialize_pem())];
    let files = files.each_ref().map(|(name, content)| (*name, content.as_str()));
    (Server::start_with(port, &files, &[listen, "ssl=on"]), port)
}

fn certificate(name: &str) -> CertifiedKey<rcgen::KeyPair> {
    rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate")
}

/// Over the loopback, and only with what `trusted` vouches for.
fn secured(server: &Server, port: u16, trusted: &CertifiedKey<rcgen::KeyPair>) -> PostgresSettings {
    let authority = server.folder().join("authority.crt");
    std::fs::write(&authority, trusted.cert.pem()).expect("the folder can be written");
    let encryption = Encryption::trusting(&authority).expect("a certificate");
    let mut database = tokio_postgres::Config::new();
    database.host("127.0.0.1").port(port).user(USER).dbname("postgres");
    PostgresSettings { database, encryption, ..settings(server, 1) }
}

#[tokio::test]
async fn a_store_works_over_tls() {
    let own = certificate("127.0.0.1");
    let (server, port) = serve(Some(&own));
    let gateway = Gateway::open(secured(&server, port, &own)).await;
    let at = Writer::at(&gateway, 1).commit(vec![write(1, Operation::Add(1))]).await;
    in_time(gateway.reach(at)).await;
    let open = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'iolite_1' AND NOT ssl";
    assert_eq!(number(&raw(&server).await, open).await, 0, "every connection is protected");
}

#[tokio::test]
async fn a_server_without_tls_or_with_another_certificate_is_refused() {
    let (own, other) = (certificate("127.0.0.1"), certificate("127.0.0.1"));
    let elsewhere = certificate("somewhere.else");
    let plain: Option<&CertifiedKey<rcgen::KeyPair>> = None;
    for (presented, trusted) in [(Some(&own), &other), (Some(&elsewhere), &elsewhere)] {
        let (server, port) = serve(presented);
        let refused = PostgresStore::open(secured(&server, port, trusted)).await.expect_err("another server");
        assert!(matches!(&refused, OpenError::NotTrusted(_)) && !refused.may_pass(), "{refused:?}");
        assert!(refused.to_string().contains("certificate"), "{refused}");
    }
    let (server, port) = serve(plain);
    let refused = PostgresStore::open(secured(&server, port, &own)).await.expect_err("a server without TLS");
    assert!(refused.to_string().contains("does not support TLS") && !refused.may_pass(), "{refused}");
}

#[test]
fn a_file_that_holds_no_certificate_is_refused_and_not_quoted() {
    let file = std::env::temp_dir().join(format!("iolite-authority-{}", std::process::id()));
    assert!(Encryption::trusting(&file).expect_err("it is not there").to_string().contains("No such file"));
    let key = certificate("a").signing_key.serialize_pem();
    std::fs::write(&file, &key).expect("a temporary file");
    let refused = Encryption::trusting(&file).expect_err("a key").to_string();
    assert!(refused.contains("no certificate") && !refused.contains(&key[30..60]), "{refused}");
    std::fs::remove_file(file).expect("it is there");
}
