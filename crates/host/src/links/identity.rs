//! What a node speaks TLS with, as its files have it now.
//!
//! Invariants:
//! - both sides of a link show a certificate of the cluster's authority, and TLS is 1.3 or nothing;
//! - nothing of one link serves another: a session is never resumed, so every link checks certificates anew;
//! - files that cannot be used replace nothing: the last good ones stay, and the log says why.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::{Resumption, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, DnsName, ServerName, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::NodeName;
use crate::certificates::{Chain, Stamp};
use crate::{Metric, TlsFiles, TlsFilesError};

/// A node's certificate, read anew when its files change.
pub(crate) struct Identity {
    name: NodeName,
    files: TlsFiles,
    loaded: Mutex<Loaded>,
    /// Changed files that could not be used.
    failures: Metric,
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
}

impl Identity {
    /// # Errors
    /// What is wrong with the files.
    pub fn load(name: NodeName, files: TlsFiles, failures: Metric) -> Result<Identity, TlsFilesError> {
        let stamp = files.stamp();
        let credentials = Credentials::read(&name, &files)?;
        Ok(Identity { name, files, loaded: Mutex::new(Loaded { stamp, credentials }), failures })
    }

    /// What a new link uses. Looking at three files takes microseconds, so nobody needs to say that they have changed.
    pub fn credentials(&self) -> Credentials {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = self.files.stamp();
        if stamp != loaded.stamp {
            loaded.stamp = stamp;
            match Credentials::read(&self.name, &self.files) {
                Ok(credentials) => {
                    loaded.credentials = credentials;
                    tracing::info!(certificate = %self.files.certificate.display(), "new links use a new certificate");
                }
                Err(error) => {
                    self.failures.add(1);
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
        check_own(name, files, &certificates, &*verifier)?;
        let other_key = |error: rustls::Error| TlsFilesError::KeyOfAnother {
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
        Ok(Credentials {
            acceptor: TlsAcceptor::from(Arc::new(server)),
            connector: TlsConnector::from(Arc::new(client)),
        })
    }
}

/// A node would otherwise learn from the refusals of all others that its own certificate is wrong.
fn check_own(
    name: &NodeName,
    files: &TlsFiles,
    certificates: &[CertificateDer<'static>],
    verifier: &dyn ClientCertVerifier,
) -> Result<(), TlsFilesError> {
    let Some((own, between)) = certificates.split_first() else { return Ok(()) };
    let verified = verifier.verify_client_cert(own, between, UnixTime::now());
    verified.map_err(|error| TlsFilesError::NotAccepted {
        certificate: files.certificate.clone(),
        authority: files.authority.clone(),
        problem: error.to_string(),
    })?;
    is_for(own, name).map_err(|error| TlsFilesError::OtherName {
        certificate: files.certificate.clone(),
        name: name.to_string(),
        problem: error.to_string(),
    })
}

/// Whether a certificate, which was verified, is made out to a node.
pub(crate) fn is_for(certificate: &CertificateDer<'_>, name: &NodeName) -> Result<(), rustls::Error> {
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
