//! What a node speaks TLS with, as its files have it now.
//!
//! Invariants:
//! - both sides of a link show a certificate of the cluster's authority, and TLS is 1.3 or nothing;
//! - nothing of one link serves another: a session is never resumed, so every link checks certificates anew;
//! - files that cannot be used replace nothing: the last good ones stay, and the log says why.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::client::{Resumption, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, DnsName, ServerName, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConfig, Error as TlsError, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::NodeName;
use crate::certificates::{Chain, Stamp};
use crate::{Metric, Metrics, TlsFiles, TlsFilesError};

/// A node's certificate, read anew when its files change.
pub(crate) struct Identity {
    name: NodeName,
    files: TlsFiles,
    loaded: Mutex<Loaded>,
    metrics: CertificateMetrics,
}

/// What operators watch.
#[derive(Clone, Debug)]
pub(crate) struct CertificateMetrics {
    /// Changed files that could not be used.
    pub failures: Metric,
    /// When the node's certificate ends to be valid, in seconds since 1970.
    pub expires: Metric,
}

struct Loaded {
    /// Of the files when they were last looked at.
    stamp: Stamp,
    credentials: Credentials,
}

/// For one link. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Credentials {
    pub acceptor: TlsAcceptor,
    pub connector: TlsConnector,
    expires: UnixTime,
}

/// From then on the log asks for another certificate.
const EXPIRES_SOON: Duration = Duration::from_secs(30 * 24 * 3600);

impl CertificateMetrics {
    pub fn new(metrics: &Metrics) -> CertificateMetrics {
        CertificateMetrics {
            failures: metrics
                .counter("iolite_certificate_failures_total", "Changed files of certificates that could not be used."),
            expires: metrics.gauge(
                "iolite_certificate_expires_timestamp_seconds",
                "When the node's certificate ends to be valid, in seconds since 1970.",
            ),
        }
    }

    fn note(&self, credentials: &Credentials, files: &TlsFiles) {
        self.expires.set(credentials.expires.as_secs());
        if credentials.expires.as_secs() < UnixTime::now().as_secs() + EXPIRES_SOON.as_secs() {
            let days = credentials.expires.as_secs().saturating_sub(UnixTime::now().as_secs()) / (24 * 3600);
            tracing::warn!(certificate = %files.certificate.display(), "the certificate expires in {days} days: issue it anew");
        }
    }
}

impl Identity {
    /// # Errors
    /// What is wrong with the files.
    pub fn load(name: NodeName, files: TlsFiles, metrics: CertificateMetrics) -> Result<Identity, TlsFilesError> {
        let stamp = files.stamp();
        let credentials = Credentials::read(&name, &files)?;
        metrics.note(&credentials, &files);
        Ok(Identity { name, files, loaded: Mutex::new(Loaded { stamp, credentials }), metrics })
    }

    /// What a new link uses. Looking at three files takes microseconds, so nobody needs to say that they have changed.
    pub fn credentials(&self) -> Credentials {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = self.files.stamp();
        if stamp != loaded.stamp {
            loaded.stamp = stamp;
            match Credentials::read(&self.name, &self.files) {
                Ok(credentials) => {
                    self.metrics.note(&credentials, &self.files);
                    loaded.credentials = credentials;
                    tracing::info!(certificate = %self.files.certificate.display(), "new links use a new certificate");
                }
                Err(error) => {
                    self.metrics.failures.add(1);
                    tracing::warn!(%error, "new links go on with the certificate from before");
                }
            }
        }
        loaded.credentials.clone()
    }
}

impl Credentials {
    fn read(name: &NodeName, files: &TlsFiles) -> Result<Credentials, TlsFilesError> {
        let Chain { authorities, certificates, key } = files.read()?;
        let not_accepted = |problem: String| TlsFilesError::NotAccepted {
            certificate: files.certificate.clone(),
            authority: files.authority.clone(),
            problem,
        };
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority).map_err(|error| not_accepted(error.to_string()))?;
        }
        let roots = Arc::new(roots);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone());
        let verifier = verifier.build().map_err(|error| not_accepted(error.to_string()))?;
        let expires = check_own(name, files, &certificates, &*verifier)?;
        let other_key = |error: TlsError| TlsFilesError::KeyOfAnother {
            key: files.key.clone(),
            certificate: files.certificate.clone(),
            problem: error.to_string(),
        };
        let server = server_config(&provider)
            .with_client_cert_verifier(verifier)
            .with_single_cert(certificates.clone(), key.clone_key());
        let mut server = server.map_err(other_key)?;
        server.send_tls13_tickets = 0;
        let client = client_config(&provider).with_root_certificates(roots).with_client_auth_cert(certificates, key);
        let mut client = client.map_err(other_key)?;
        client.resumption = Resumption::disabled();
        let (acceptor, connector) = (TlsAcceptor::from(Arc::new(server)), TlsConnector::from(Arc::new(client)));
        Ok(Credentials { acceptor, connector, expires })
    }
}

/// A node would otherwise learn from the refusals of all others that its own certificate is wrong. Tells when it ends to be valid.
fn check_own(
    name: &NodeName,
    files: &TlsFiles,
    certificates: &[CertificateDer<'static>],
    verifier: &dyn ClientCertVerifier,
) -> Result<UnixTime, TlsFilesError> {
    let not_accepted = |problem: String| TlsFilesError::NotAccepted {
        certificate: files.certificate.clone(),
        authority: files.authority.clone(),
        problem,
    };
    let (own, between) = certificates.split_first().ok_or_else(|| not_accepted("there is none".into()))?;
    let verified = verifier.verify_client_cert(own, between, UnixTime::now());
    verified.map_err(|error| not_accepted(error.to_string()))?;
    is_for(own, name).map_err(|error| TlsFilesError::OtherName {
        certificate: files.certificate.clone(),
        name: name.to_string(),
        problem: error.to_string(),
    })?;
    Ok(expiry(own, between, verifier))
}

/// What a verifier says in the far future: nobody else here reads certificates.
fn expiry(own: &CertificateDer<'_>, between: &[CertificateDer<'_>], verifier: &dyn ClientCertVerifier) -> UnixTime {
    let never = UnixTime::since_unix_epoch(Duration::from_secs(u64::from(u32::MAX) * 60));
    match verifier.verify_client_cert(own, between, never) {
        Err(TlsError::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => not_after,
        Ok(_) | Err(_) => never,
    }
}

/// Whether a certificate, which was verified, is made out to a node.
pub(crate) fn is_for(certificate: &CertificateDer<'_>, name: &NodeName) -> Result<(), TlsError> {
    verify_server_name(&ParsedCertificate::try_from(certificate)?, &server_name(name))
}

/// A node's name as TLS has it.
pub(crate) fn server_name(name: &NodeName) -> ServerName<'static> {
    let name = DnsName::try_from(name.to_string()).expect("the name of a node is a DNS name");
    ServerName::DnsName(name)
}

fn server_config(provider: &Arc<CryptoProvider>) -> rustls::ConfigBuilder<ServerConfig, rustls::WantsVerifier> {
    let builder = ServerConfig::builder_with_provider(provider.clone());
    builder.with_protocol_versions(&[&TLS13]).expect("the provider has suites of TLS 1.3")
}

fn client_config(provider: &Arc<CryptoProvider>) -> rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier> {
    let builder = ClientConfig::builder_with_provider(provider.clone());
    builder.with_protocol_versions(&[&TLS13]).expect("the provider has suites of TLS 1.3")
}
