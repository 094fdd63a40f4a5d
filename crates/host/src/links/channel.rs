//! The bytes below a link: TCP, or TLS on it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

use super::NodeName;
use super::identity::is_for;
use super::refused::Refused;

#[derive(Debug)]
pub(crate) enum Channel {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// How long a refused peer is listened to, so that it can read why.
const LINGER: Duration = Duration::from_millis(200);
/// And how many bytes.
const LINGER_BYTES: u64 = 64 << 10;

impl Channel {
    /// Whether the peer is who it says. Without TLS everybody is.
    pub fn check_name(&self, name: &NodeName) -> Result<(), Refused> {
        let Channel::Tls(stream) = self else { return Ok(()) };
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let own = certificates.first().ok_or(Refused::NoCertificate)?;
        is_for(own, name).map_err(|error| Refused::Name(format!("it says {name}, and {error}")))
    }
}

/// Says the last words, ends in order, and waits until the peer has had a chance to read them: a socket that is closed over bytes that nobody has
/// read resets the connection, and on some systems that takes the words with it.
pub(crate) async fn leave(mut channel: impl AsyncRead + AsyncWrite + Unpin, last_words: &[u8]) {
    let leaving = async {
        if channel.write_all(last_words).await.is_ok() && channel.shutdown().await.is_ok() {
            let _ = tokio::io::copy(&mut channel.take(LINGER_BYTES), &mut tokio::io::sink()).await;
        }
    };
    let _ = tokio::time::timeout(LINGER, leaving).await;
}

impl AsyncRead for Channel {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Channel::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Channel::Tls(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Channel {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Channel::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Channel::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Channel::Plain(stream) => Pin::new(stream).poll_flush(context),
            Channel::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Channel::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Channel::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
