//! Who comes to a replica's port without being a node of the cluster, or without being the one that they say.

use std::sync::Arc;
use std::time::Instant;

use iolite_cluster::{ClusterShape, Ports};
use iolite_host::{Authority, NodeName, TlsFiles};
use iolite_wire::node::{NodesHello, ReplicaId};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::hostile_node::issue;
use super::witness::{Witness, resident_bytes, runs_quietly, until_metric};
use crate::support::local::{Folder, Local, PATIENCE};
use crate::support::mutation::Random;

const ROUNDS: usize = 300;
/// Past this something is kept for strangers.
const MEMORY_GROWS_MAX: usize = 64 << 20;

fn address(cluster: &Local, replica: u64) -> String {
    cluster.cluster.layout().expect("it is there").addresses[&ReplicaId(replica)].clone()
}

/// Sends what it can, and waits until the replica has closed the connection.
async fn say<S: AsyncRead + AsyncWrite + Unpin>(mut socket: S, bytes: &[u8]) -> String {
    // It may be closed before all is sent.
    let _ = socket.write_all(bytes).await;
    let _ = socket.shutdown().await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut answer)).await.expect("it is closed");
    String::from_utf8_lossy(&answer).into_owned()
}

/// A hello of links, with the protocol's own behind it.
fn hello(name: &str, version: u16, said: &[u8]) -> Vec<u8> {
    let mut body = vec![name.len() as u8];
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(&(1_u32 << 20).to_le_bytes());
    body.extend_from_slice(said);
    let mut bytes = b"IOLITEL\n".to_vec();
    bytes.extend_from_slice(&[version.to_le_bytes(), version.to_le_bytes()].concat());
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

fn said() -> Vec<u8> {
    NodesHello::OWN.encode().expect("it is small")
}

async fn noise_is_refused(cluster: &Local, of_this_protocol: &[u8]) {
    let begun = Instant::now();
    let mut witness = Witness::arrive(cluster).await;
    let before = resident_bytes(cluster, "store-0");
    let mut random = Random::new(4711);
    for round in 0..ROUNDS {
        let mut bytes: Vec<u8> = (0..round * 11).map(|_| random.below(256) as u8).collect();
        // Half of it looks like the protocol at first.
        let likeness = of_this_protocol.len().min(bytes.len()) * (round % 2);
        bytes[..likeness].copy_from_slice(&of_this_protocol[..likeness]);
        say(TcpStream::connect(address(cluster, 0)).await.expect("it listens"), &bytes).await;
        if round % 100 == 0 {
            witness.works().await;
        }
    }
    witness.finds_all(cluster).await;
    let after = resident_bytes(cluster, "store-0");
    assert!(after < before + MEMORY_GROWS_MAX, "{before} bytes before, {after} after");
    // As many lines a second as the log takes, and what a replica says of itself.
    runs_quietly(cluster, 20 + 10 * (begun.elapsed().as_secs() as usize + 2));
}

#[tokio::test]
async fn noise_at_a_port_of_tls_is_refused() {
    let folder = Folder::new("attack-noise-tls");
    let cluster = Local::start(&folder.0, 1, 3, 1);
    noise_is_refused(&cluster, &[0x16, 3, 1, 0, 60]).await;
    assert!(cluster.metrics("store-0").contains("iolite_links_refused_total{side=\"accepted\""));
}

#[tokio::test]
async fn noise_at_a_plain_port_is_refused() {
    let folder = Folder::new("attack-noise-plain");
    let shape = ClusterShape {
        shards: 1,
        replicas: 3,
        gateways: 1,
        plain: true,
        ports: Ports::Free,
        ..ClusterShape::default()
    };
    let cluster = Local::of(&folder.0, &shape);
    noise_is_refused(&cluster, b"IOLITEL\n").await;
    let other =
        say(TcpStream::connect(address(&cluster, 0)).await.expect("it listens"), &hello("gateway-9", 7, &said())).await;
    assert!(other.contains("versions 7 to 7 of links"), "{other}");
    for (name, told) in [("mallory", "mallory"), ("store-0", "both nodes are called store-0")] {
        let refused =
            say(TcpStream::connect(address(&cluster, 0)).await.expect("it listens"), &hello(name, 1, &said())).await;
        assert!(refused.contains("IOLITEX") && refused.contains(told), "{refused}");
    }
    let later = NodesHello { oldest: iolite_wire::node::NodesVersion(8), newest: iolite_wire::node::NodesVersion(9) };
    let later = later.encode().expect("it is small");
    let refused =
        say(TcpStream::connect(address(&cluster, 0)).await.expect("it listens"), &hello("gateway-9", 1, &later)).await;
    assert!(refused.contains("IOLITEX") && refused.contains('9'), "{refused}");
}

/// A connection by TLS that shows these files' certificate.
async fn connect(
    cluster: &Local,
    files: &TlsFiles,
    trusts: &TlsFiles,
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let read = |file| CertificateDer::from_pem_file(file).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(read(&trusts.authority)).expect("a certificate");
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().expect("ring has them").with_root_certificates(roots);
    let key = PrivateKeyDer::from_pem_file(&files.key).expect("a key");
    let config = builder.with_client_auth_cert(vec![read(&files.certificate)], key).expect("they belong together");
    let socket = TcpStream::connect(address(cluster, 0)).await?;
    let name = ServerName::try_from("store-0").expect("a name");
    TlsConnector::from(Arc::new(config)).connect(name, socket).await
}

#[tokio::test]
async fn a_certificate_of_another_authority_or_for_another_name_opens_no_link() {
    let folder = Folder::new("attack-certificates");
    let cluster = Local::start(&folder.0, 1, 3, 1);
    let mut witness = Witness::arrive(&cluster).await;
    let own = issue(&cluster, "gateway-7");
    let elsewhere = cluster.cluster.folder().join("elsewhere");
    let stranger = Authority::create(&elsewhere).expect("a new folder");
    let name = NodeName::new("gateway-7").expect("a name");
    let strange = stranger.issue(&name, Authority::NODE_VALID, &elsewhere.join("gateway-7")).expect("its own folder");
    // TLS 1.3 lets a client believe that it is in until it is told otherwise.
    if let Ok(stream) = connect(&cluster, &strange, &own).await {
        assert_eq!(say(stream, &hello("gateway-7", 1, &said())).await, "");
    }
    let refused = |reason: &str| format!("iolite_links_refused_total{{side=\"accepted\",reason=\"{reason}\"}}");
    until_metric(&cluster, "store-0", &refused("other-authority"), 1).await;
    for claimed in ["gateway-0", "store-1", "store-0"] {
        let stream = connect(&cluster, &own, &own).await.expect("its certificate is good");
        let told = say(stream, &hello(claimed, 1, &said())).await;
        assert!(told.contains("IOLITEX") && told.contains(claimed), "{told}");
    }
    until_metric(&cluster, "store-0", &refused("name"), 3).await;
    witness.finds_all(&cluster).await;
    runs_quietly(&cluster, 40);
}
