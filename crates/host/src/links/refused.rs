//! Why a connection does not become a link.
//!
//! Invariant: every refusal has a sentence that says what to do, and a word by which it is counted.

use std::io;

use rustls::{CertificateError, Error as TlsError};

use super::hello::{HelloError, SAID_BYTES_MAX};

/// Ends one connection before it is a link. Others do not notice.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("it cannot be reached: {0}. Start it, or correct its address")]
    Unreachable(io::Error),
    #[error("it ended the connection: {0}")]
    Ended(io::Error),
    #[error("it did not say who it is in time")]
    TooSlow,
    #[error("it does not speak TLS, and this node does: configure both alike")]
    PlainOnTls,
    #[error("it speaks TLS, and this node is configured to speak plain TCP: configure both alike")]
    TlsOnPlain,
    #[error("{0}: it is no node of this version of Iolite")]
    OtherProtocol(HelloError),
    #[error("{0}: update the older one of both")]
    Version(HelloError),
    #[error("it shows no certificate: issue one for it by the cluster's authority")]
    NoCertificate,
    #[error("its certificate is not valid now: {0}. Issue it anew, and look at both clocks")]
    Expired(String),
    #[error(
        "its certificate is of another authority: {0}. It is of another cluster, or its certificate must be issued anew"
    )]
    OtherAuthority(String),
    #[error("its certificate is not accepted: {0}. Issue it anew by the cluster's authority")]
    Certificate(String),
    #[error("its name is not right: {0}")]
    Name(String),
    #[error("TLS with it fails: {0}")]
    Tls(String),
    #[error("it is not welcome: {0}")]
    Unwelcome(String),
    #[error("it refuses this node: {0}")]
    ByPeer(String),
    #[error("there is no room: {0}")]
    Full(&'static str),
    #[error(
        "this node's own protocol says {0} bytes of itself, at most {SAID_BYTES_MAX}: that is a bug of this program"
    )]
    SaysTooMuch(usize),
    #[error("{0} is not a loopback address, and this node is configured to speak plain TCP: configure certificates")]
    BeyondLoopback(std::net::SocketAddr),
}

/// What a refusal is counted under.
pub(crate) const REASONS: [&str; 18] = [
    "unreachable",
    "ended",
    "slow",
    "plain-on-tls",
    "tls-on-plain",
    "other-protocol",
    "version",
    "no-certificate",
    "expired",
    "other-authority",
    "certificate",
    "name",
    "tls",
    "unwelcome",
    "by-peer",
    "full",
    "says-too-much",
    "beyond-loopback",
];

impl Refused {
    /// The place in [`REASONS`].
    pub fn reason(&self) -> usize {
        match self {
            Refused::Unreachable(_) => 0,
            Refused::Ended(_) => 1,
            Refused::TooSlow => 2,
            Refused::PlainOnTls => 3,
            Refused::TlsOnPlain => 4,
            Refused::OtherProtocol(_) => 5,
            Refused::Version(_) => 6,
            Refused::NoCertificate => 7,
            Refused::Expired(_) => 8,
            Refused::OtherAuthority(_) => 9,
            Refused::Certificate(_) => 10,
            Refused::Name(_) => 11,
            Refused::Tls(_) => 12,
            Refused::Unwelcome(_) => 13,
            Refused::ByPeer(_) => 14,
            Refused::Full(_) => 15,
            Refused::SaysTooMuch(_) => 16,
            Refused::BeyondLoopback(_) => 17,
        }
    }

    /// How much it says of the peer: who was there and is not accepted says more than an address that leads nowhere.
    pub fn weight(&self) -> u8 {
        match self {
            Refused::Unreachable(_) | Refused::BeyondLoopback(_) => 0,
            Refused::Ended(_) | Refused::TooSlow => 1,
            Refused::PlainOnTls
            | Refused::TlsOnPlain
            | Refused::OtherProtocol(_)
            | Refused::Version(_)
            | Refused::NoCertificate
            | Refused::Expired(_)
            | Refused::OtherAuthority(_)
            | Refused::Certificate(_)
            | Refused::Name(_)
            | Refused::Tls(_)
            | Refused::Unwelcome(_)
            | Refused::ByPeer(_)
            | Refused::Full(_)
            | Refused::SaysTooMuch(_) => 2,
        }
    }

    /// What went wrong with a socket that may speak TLS.
    pub fn of(error: io::Error) -> Refused {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>()) {
            Some(error) => Refused::of_tls(error),
            None => Refused::Ended(error),
        }
    }

    fn of_tls(error: &TlsError) -> Refused {
        match error {
            TlsError::InvalidMessage(_) => Refused::PlainOnTls,
            TlsError::NoCertificatesPresented => Refused::NoCertificate,
            TlsError::InvalidCertificate(problem) => Refused::of_certificate(problem),
            TlsError::AlertReceived(alert) => Refused::ByPeer(format!("its TLS answers {alert:?}")),
            // Not our own enum.
            other => Refused::Tls(other.to_string()),
        }
    }

    fn of_certificate(problem: &CertificateError) -> Refused {
        let text = problem.to_string();
        match problem {
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Refused::Expired(text),
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Refused::OtherAuthority(text),
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => Refused::Name(text),
            // Not our own enum.
            _ => Refused::Certificate(text),
        }
    }
}

impl From<HelloError> for Refused {
    fn from(error: HelloError) -> Refused {
        match error {
            HelloError::Tls => Refused::TlsOnPlain,
            HelloError::Version { .. } => Refused::Version(error),
            HelloError::OtherProtocol | HelloError::TooLong(_) | HelloError::Garbled(_) => {
                Refused::OtherProtocol(error)
            }
        }
    }
}
