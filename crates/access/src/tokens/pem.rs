//! PEM: bytes as text, between two lines that say what they are (RFC 7468).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Where a block begins.
pub(super) const BEGIN: &str = "-----BEGIN ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Public,
    /// The older form of RSA's.
    RsaPublic,
    Private,
    Certificate,
}

/// The first block of a text. None: there is no block, or no label that is known.
pub(super) fn read(text: &str) -> Option<(Label, Vec<u8>)> {
    let (label, rest) = text.split_once(BEGIN)?.1.split_once("-----")?;
    let (lines, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let label = match label {
        "PUBLIC KEY" => Label::Public,
        "RSA PUBLIC KEY" => Label::RsaPublic,
        "CERTIFICATE" => Label::Certificate,
        other if other.ends_with("PRIVATE KEY") => return Some((Label::Private, Vec::new())),
        _ => return None,
    };
    let digits: String = lines.split_whitespace().collect();
    Some((label, STANDARD.decode(digits).ok()?))
}
