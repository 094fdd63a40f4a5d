//! TLS between a store and its database.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName, pem};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

/// How connections to the database are protected.
#[derive(Clone, Debug, Default)]
pub enum Encryption {
    /// Not at all: for Unix sockets, and networks that are trusted.
    #[default]
    None,
    /// By TLS, always. The server's certificate has to be one that the configuration trusts, for the host's name in the settings.
    Tls(Arc<ClientConfig>),
}

/// Why a file does not say which certificates to trust.
#[derive(Debug, thiserror::Error)]
#[error("the file of certificates {} cannot be used: {problem}. It is to hold, as PEM, the certificate of whoever vouches for the database", file.display())]
pub struct AuthorityError {
    file: PathBuf,
    problem: String,
}

impl Encryption {
    /// TLS with servers for whose names these certificates vouch, which a file holds as PEM.
    ///
    /// # Errors
    /// [`AuthorityError`], with the file.
    pub fn trusting(file: &Path) -> Result<Encryption, AuthorityError> {
        let failed = |problem: String| AuthorityError { file: file.to_owned(), problem };
        let told = |error: pem::Error| match error {
            pem::Error::Io(source) => failed(source.to_string()),
            // Its message would quote the file, and that may be a key.
            _ => failed("it is damaged".into()),
        };
        let found = CertificateDer::pem_file_iter(file).map_err(told)?.collect::<Result<Vec<_>, _>>().map_err(told)?;
        let mut roots = RootCertStore::empty();
        for certificate in found {
            roots.add(certificate).map_err(|error| failed(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(failed("there is no certificate in it".into()));
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("the provider has what is safe");
        Ok(Encryption::Tls(Arc::new(builder.with_root_certificates(roots).with_no_client_auth())))
    }
}

/// Why a server is not the one that is trusted, told apart from a connection that broke.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotTrusted(io::Error);

#[derive(Clone)]
pub(crate) struct Tls(pub Arc<ClientConfig>);

/// TLS with one server.
pub(crate) struct Handshake {
    config: Arc<ClientConfig>,
    server: ServerName<'static>,
}

pub(crate) struct Secured<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Secured<S>;
    type TlsConnect = Handshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, InvalidDnsNameError> {
        Ok(Handshake { config: self.0.clone(), server: ServerName::try_from(host.to_owned())? })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Secured<S>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Secured<S>, Self::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let connected = TlsConnector::from(self.config).connect(self.server, stream).await;
            connected.map(Secured).map_err(|error| match error.kind() {
                // What TLS itself does not accept.
                io::ErrorKind::InvalidData => NotTrusted(error).into(),
                _ => error.into(),
            })
        })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Secured<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Secured<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Secured<S> {
    /// The server's certificate is checked instead.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}
