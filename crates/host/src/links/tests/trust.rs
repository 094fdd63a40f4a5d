//! Who may make a link with whom, and what both sides say when not.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::super::hello::Hello;
use super::super::*;
use super::bed::*;
use crate::{Authority, TlsFiles};

/// Takes any certificate of a server: what strangers do.
#[derive(Debug)]
struct Credulous;

impl ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Connects as a stranger with such a certificate, or none, says that name, and gives what comes back.
async fn stranger(node: &TestNode, files: Option<&TlsFiles>, says: &str) -> std::io::Result<Vec<u8>> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(&[&TLS13]).expect("it has it");
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(Credulous));
    let config = match files.map(|files| files.read().expect("good files")) {
        Some(chain) => builder.with_client_auth_cert(chain.certificates, chain.key).expect("its key"),
        None => builder.with_no_client_auth(),
    };
    let stream = TcpStream::connect(node.address).await?;
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(identity::server_name(&name("any")), stream).await?;
    let hello = Hello { name: name(says), frame_bytes_max: 1000, said: vec![] };
    stream.write_all(&hello.encode().expect("short")).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

fn tls(files: TlsFiles, own: &str) -> Wish {
    wish(own, LinkSecurity::Tls(files))
}

/// Two nodes of a cluster with a good link between them, beside which others are refused.
struct Cluster {
    folder: Folder,
    authority: Authority,
    one: (TestNode, LinkNumber),
    other: (TestNode, LinkNumber),
}

impl Cluster {
    async fn start() -> Cluster {
        let folder = Folder::new();
        let authority = folder.authority();
        let one = tls(folder.issue(&authority, "one"), "one");
        let other = tls(folder.issue(&authority, "other"), "other");
        let (one, other) = linked(one, other).await;
        Cluster { folder, authority, one, other }
    }

    /// The listening node refused for that reason, and the good link goes on.
    async fn refused(mut self, reason: &str) {
        self.other.0.until_refused("accepted", reason).await;
        let ((one, link), (other, others)) = (&mut self.one, &mut self.other);
        one.exchange(*link, other, *others).await;
        assert_eq!(other.metric("iolite_links{side=\"accepted\"}"), 1);
    }

    fn other(&self) -> &TestNode {
        &self.other.0
    }
}

fn another_authority(folder: &Folder) -> Authority {
    Authority::create(&folder.0.join("another")).expect("it can be made")
}

#[tokio::test]
async fn nodes_of_one_cluster_exchange_messages_over_tls() {
    let mut cluster = Cluster::start().await;
    let ((one, link), (other, others)) = (&mut cluster.one, &mut cluster.other);
    let large = vec![7; 1 << 20];
    for _ in 0..10 {
        one.links.send(*link, &large);
        other.links.send(*others, &large);
    }
    for _ in 0..10 {
        assert!(one.message(*link).await == large);
        assert!(other.message(*others).await == large);
    }
}

#[tokio::test]
async fn a_stranger_without_a_certificate_is_refused() {
    let cluster = Cluster::start().await;
    let error = stranger(cluster.other(), None, "one").await.expect_err("it is refused");
    assert!(error.to_string().contains("CertificateRequired"), "{error}");
    cluster.refused("no-certificate").await;
}

#[tokio::test]
async fn a_certificate_of_another_clusters_authority_is_refused() {
    let cluster = Cluster::start().await;
    let files = cluster.folder.issue(&another_authority(&cluster.folder), "stranger");
    let error = stranger(cluster.other(), Some(&files), "stranger").await.expect_err("it is refused");
    assert!(error.to_string().contains("UnknownCA"), "{error}");
    cluster.refused("other-authority").await;
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let cluster = Cluster::start().await;
    let expired = SystemTime::now() - Duration::from_secs(60);
    let files = cluster.authority.issue_until(&name("late"), expired, &cluster.folder.0.join("late"));
    let error = stranger(cluster.other(), files.ok().as_ref(), "late").await.expect_err("it is refused");
    assert!(error.to_string().contains("CertificateExpired"), "{error}");
    cluster.refused("expired").await;
}

#[tokio::test]
async fn a_node_that_says_a_name_that_is_not_its_certificates_is_refused_and_told_so() {
    let cluster = Cluster::start().await;
    let files = cluster.folder.issue(&cluster.authority, "stranger");
    let answer = stranger(cluster.other(), Some(&files), "one").await.expect("it is told");
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("IOLITEX\n") && answer.contains("its name is not right: it says one"), "{answer}");
    cluster.refused("name").await;
}

#[tokio::test]
async fn a_node_that_says_this_nodes_own_name_is_refused() {
    let cluster = Cluster::start().await;
    let files = cluster.folder.issue(&cluster.authority, "other");
    let answer = stranger(cluster.other(), Some(&files), "other").await.expect("it is told");
    assert!(String::from_utf8_lossy(&answer).contains("both nodes are called other"));
    cluster.refused("name").await;
}

#[tokio::test]
async fn a_plain_node_at_a_port_of_tls_is_refused_and_knows_why() {
    let cluster = Cluster::start().await;
    let stranger = plain("stranger").start().await;
    stranger.dial("other", cluster.other());
    stranger.until_refused("dialled", "tls-on-plain").await;
    cluster.refused("plain-on-tls").await;
}

#[tokio::test]
async fn a_node_of_tls_at_a_plain_port_is_refused_and_knows_why() {
    let mut cluster = Cluster::start().await;
    let mut stranger = plain("stranger").start().await;
    cluster.one.0.dial("stranger", &stranger);
    cluster.one.0.until_refused("dialled", "plain-on-tls").await;
    stranger.until_refused("accepted", "tls-on-plain").await;
    let plain = plain("plain").start().await;
    plain.dial("stranger", &stranger);
    stranger.opened("plain").await;
    let ((one, link), (other, others)) = (&mut cluster.one, &mut cluster.other);
    one.exchange(*link, other, *others).await;
}

#[tokio::test]
async fn tls_before_1_3_is_refused() {
    let cluster = Cluster::start().await;
    // A client hello of TLS 1.2 with one suite and no extensions.
    let body = [&[3, 3][..], &[7; 32], &[0], &[0, 2, 0xc0, 0x2f], &[1, 0]].concat();
    let handshake = [&[1, 0, 0, body.len() as u8][..], &body].concat();
    let record = [&[0x16, 3, 1, 0, handshake.len() as u8][..], &handshake].concat();
    let mut socket = TcpStream::connect(cluster.other().address).await.expect("it listens");
    socket.write_all(&record).await.expect("it reads");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.expect("it is closed in order");
    assert_eq!(answer[..1], [0x15], "an alert");
    cluster.refused("tls").await;
}

#[tokio::test]
async fn the_dialler_refuses_a_listener_of_another_authority() {
    let folder = Folder::new();
    let one = tls(folder.issue(&folder.authority(), "one"), "one").start().await;
    let stranger = tls(folder.issue(&another_authority(&folder), "other"), "other").start().await;
    one.dial("other", &stranger);
    one.until_refused("dialled", "other-authority").await;
    stranger.until_refused("accepted", "by-peer").await;
}

#[tokio::test]
async fn the_dialler_refuses_a_listener_with_an_expired_certificate() {
    let folder = Folder::new();
    let authority = folder.authority();
    let one = tls(folder.issue(&authority, "one"), "one").start().await;
    let expired = SystemTime::now() - Duration::from_secs(60);
    let files = authority.issue_until(&name("late"), expired, &folder.0.join("late")).expect("it can be issued");
    let chain = files.read().expect("good files");
    let builder = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(&[&TLS13]).expect("it has it").with_no_client_auth();
    let config = builder.with_single_cert(chain.certificates, chain.key).expect("its key");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    one.links.dial(&name("late"), listener.local_addr().expect("bound").to_string());
    let (socket, _) = listener.accept().await.expect("it is dialled");
    let accepted = tokio_rustls::TlsAcceptor::from(Arc::new(config)).accept(socket).await;
    assert!(accepted.is_err_and(|error| error.to_string().contains("CertificateExpired")));
    one.until_refused("dialled", "expired").await;
}

#[tokio::test]
async fn the_dialler_refuses_a_listener_with_another_name() {
    let mut cluster = Cluster::start().await;
    cluster.one.0.links.dial(&name("third"), cluster.other().address.to_string());
    cluster.one.0.until_refused("dialled", "name").await;
    let (one, other) = (plain("one").start().await, plain("other").start().await);
    one.dial("third", &other);
    one.until_refused("dialled", "name").await;
    let ((one, link), (other, others)) = (&mut cluster.one, &mut cluster.other);
    one.exchange(*link, other, *others).await;
}

#[tokio::test]
async fn a_node_that_the_protocol_above_does_not_want_is_refused_and_told_why() {
    let mut other = plain("other");
    other.handler.refuses = Some("it is of epoch 6, and this is epoch 7");
    let (one, other) = (plain("one").start().await, other.start().await);
    one.dial("other", &other);
    one.until_refused("dialled", "by-peer").await;
    other.until_refused("accepted", "unwelcome").await;
}

#[tokio::test]
async fn a_new_link_uses_the_new_files_and_an_old_one_goes_on() {
    let mut cluster = Cluster::start().await;
    let third = tls(cluster.folder.issue(&cluster.authority, "third"), "third");
    // The cluster moves to another authority, one node after another.
    let new = another_authority(&cluster.folder);
    cluster.folder.issue(&new, "other");
    let mut third = third.start().await;
    third.dial("other", cluster.other());
    third.until_refused("dialled", "other-authority").await;
    cluster.folder.issue(&new, "third");
    third.opened("other").await;
    cluster.other.0.opened("third").await;
    let ((one, link), (other, others)) = (&mut cluster.one, &mut cluster.other);
    one.exchange(*link, other, *others).await;
}

#[tokio::test]
async fn a_cluster_moves_to_another_authority_one_node_after_another() {
    let folder = Folder::new();
    let (old, new) = (folder.authority(), another_authority(&folder));
    let (one, other) = (folder.issue(&old, "one"), folder.issue(&new, "other"));
    let read = |file: &std::path::Path| std::fs::read_to_string(file).expect("readable");
    let both = read(&one.authority) + &read(&other.authority);
    for files in [&one, &other] {
        std::fs::write(&files.authority, &both).expect("writable");
    }
    let ((mut one, link), (mut other, others)) = linked(tls(one, "one"), tls(other, "other")).await;
    one.exchange(link, &mut other, others).await;
    other.dial("one", &one);
    let (back, _) = other.opened("one").await;
    let (ones, _) = one.opened("other").await;
    other.exchange(back, &mut one, ones).await;
}

#[test]
fn an_authority_whose_certificate_is_lost_makes_it_again_and_what_it_issued_stays_valid() {
    let folder = Folder::new();
    let authority = folder.authority();
    let files = folder.issue(&authority, "one");
    let own = folder.0.join("authority");
    std::fs::remove_file(own.join("authority.crt")).expect("it is there");
    Authority::create(&own).expect("its key is there");
    let files = TlsFiles { authority: own.join("authority.crt"), ..files };
    identity::Identity::load(name("one"), files, identity::CertificateMetrics::new(&Metrics::default()))
        .map(|_| ())
        .expect("valid");
    let later = Authority::open(&own).expect("it is whole").issue(
        &name("other"),
        Authority::NODE_VALID,
        &folder.0.join("other"),
    );
    let files = TlsFiles { authority: folder.0.join("one/authority.crt"), ..later.expect("it can be issued") };
    identity::Identity::load(name("other"), files, identity::CertificateMetrics::new(&Metrics::default()))
        .map(|_| ())
        .expect("valid");
}

#[tokio::test]
async fn when_the_certificate_expires_is_a_metric_that_follows_the_files() {
    let mut cluster = Cluster::start().await;
    let now = UnixTime::now().as_secs();
    let expires = || cluster.other().metric("iolite_certificate_expires_timestamp_seconds");
    let year = Authority::NODE_VALID.as_secs();
    assert!((now + year - 60..now + year + 60).contains(&expires()), "{}", expires());
    let week = Duration::from_secs(7 * 24 * 3600);
    cluster.authority.issue(&name("other"), week, &cluster.folder.0.join("other")).expect("it can be issued");
    let third = tls(cluster.folder.issue(&cluster.authority, "third"), "third").start().await;
    third.dial("other", cluster.other());
    cluster.other.0.opened("third").await;
    let expires = cluster.other().metric("iolite_certificate_expires_timestamp_seconds");
    assert!((now + week.as_secs() - 60..now + week.as_secs() + 60).contains(&expires), "{expires}");
}

#[tokio::test]
async fn new_files_that_cannot_be_used_replace_nothing() {
    let mut cluster = Cluster::start().await;
    let files = TlsFiles::in_folder(&cluster.folder.0.join("other"));
    std::fs::write(&files.certificate, "half of a certifica").expect("writable");
    let third = tls(cluster.folder.issue(&cluster.authority, "third"), "third").start().await;
    third.dial("other", cluster.other());
    cluster.other.0.opened("third").await;
    assert_eq!(cluster.other().metric("iolite_certificate_failures_total"), 1);
}

#[tokio::test]
async fn plain_tcp_is_for_loopback_only() {
    let node = plain("one").start().await;
    let listener = TcpListener::bind("0.0.0.0:0").await.expect("a free port");
    let error = node.links.listen(listener).map(|_| ()).expect_err("anybody could read it");
    assert!(error.to_string().contains("configure certificates, or listen on 127.0.0.1"), "{error}");
    node.links.dial(&name("other"), "192.0.2.1:7778");
    node.until_refused("dialled", "beyond-loopback").await;
}

#[test]
fn files_that_no_other_node_would_accept_are_refused_at_the_start_with_what_to_do() {
    let folder = Folder::new();
    let authority = folder.authority();
    let good = folder.issue(&authority, "one");
    let of_other = folder.issue(&authority, "other");
    let foreign = folder.issue(&another_authority(&folder), "foreign");
    let expired = SystemTime::now() - Duration::from_secs(60);
    let expired = authority.issue_until(&name("one"), expired, &folder.0.join("expired")).expect("it can be issued");
    let problem = |files: TlsFiles| {
        let loaded =
            identity::Identity::load(name("one"), files, identity::CertificateMetrics::new(&Metrics::default()));
        loaded.map(|_| ()).map_err(|error| error.to_string()).expect_err("they are wrong")
    };
    let missing = problem(TlsFiles { key: folder.0.join("none"), ..good.clone() });
    assert!(missing.contains("/none cannot be read") && missing.contains("correct the path"), "{missing}");
    let no_key = problem(TlsFiles { key: good.certificate.clone(), ..good.clone() });
    assert!(no_key.contains("holds no private key as PEM"), "{no_key}");
    let key = problem(TlsFiles { key: of_other.key.clone(), ..good.clone() });
    assert!(key.contains("is not that of the certificate"), "{key}");
    let name = problem(of_other);
    assert!(name.contains("is not for this node, one"), "{name}");
    let authority = problem(TlsFiles { authority: foreign.authority, ..good });
    assert!(authority.contains("UnknownIssuer") && authority.contains("Issue it anew"), "{authority}");
    let late = problem(expired);
    assert!(late.contains("expired"), "{late}");
}
