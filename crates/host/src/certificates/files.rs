//! The files that a node speaks TLS with, and reading them.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};

/// Where a node's certificate is, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of the cluster's authority; several while one replaces another.
    pub authority: PathBuf,
    /// The node's own certificate, with those between it and the authority's behind it, if there are any.
    pub certificate: PathBuf,
    /// The private key of the node's certificate.
    pub key: PathBuf,
}

/// Why these files are not what a node can speak TLS with.
#[derive(Debug, thiserror::Error)]
pub enum TlsFilesError {
    #[error(
        "the file {} cannot be read: {source}. Issue a certificate for this node, or correct the path in its configuration",
        file.display()
    )]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("the file {} holds no {wanted} as PEM: {problem}. Issue a certificate for this node anew", file.display())]
    NotPem { file: PathBuf, wanted: &'static str, problem: String },
    #[error(
        "the key {} is not that of the certificate {}: {problem}. Issue the certificate anew, which makes both", key.display(),
        certificate.display()
    )]
    KeyOfAnother { key: PathBuf, certificate: PathBuf, problem: String },
    #[error(
        "the certificate {} is not one that other nodes with the authority {} would accept: {problem}. Issue it anew by that authority",
        certificate.display(), authority.display()
    )]
    NotAccepted { certificate: PathBuf, authority: PathBuf, problem: String },
    #[error(
        "the certificate {} is not for this node, {name}: {problem}. Issue one for it, or correct the node's name", certificate.display()
    )]
    OtherName { certificate: PathBuf, name: String, problem: String },
}

/// What the files hold.
pub(crate) struct Chain {
    pub authorities: Vec<CertificateDer<'static>>,
    pub certificates: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

/// Tells whether files have been replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp([Option<(SystemTime, u64, u64)>; 3]);

impl TlsFiles {
    /// Those that an authority's `issue` puts into a folder.
    pub fn in_folder(folder: &Path) -> TlsFiles {
        let file = |name| folder.join(name);
        TlsFiles { authority: file("authority.crt"), certificate: file("node.crt"), key: file("node.key") }
    }

    /// How many authorities the node trusts: more than one only while one takes the place of another.
    ///
    /// # Errors
    /// [`TlsFilesError::Unreadable`] and [`TlsFilesError::NotPem`].
    pub fn authorities(&self) -> Result<usize, TlsFilesError> {
        Ok(certificates(&self.authority)?.len())
    }

    pub(crate) fn read(&self) -> Result<Chain, TlsFilesError> {
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(failed(&self.key, "private key"))?;
        let (authorities, certificates) = (certificates(&self.authority)?, certificates(&self.certificate)?);
        Ok(Chain { authorities, certificates, key })
    }

    pub(crate) fn stamp(&self) -> Stamp {
        Stamp([&self.authority, &self.certificate, &self.key].map(|file| {
            let metadata = std::fs::metadata(file).ok()?;
            #[cfg(unix)]
            let number = std::os::unix::fs::MetadataExt::ino(&metadata);
            #[cfg(not(unix))]
            let number = 0;
            Some((metadata.modified().ok()?, metadata.len(), number))
        }))
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFilesError> {
    certificates_in(file).map_err(failed(file, "certificate"))
}

/// At least one.
pub(crate) fn certificates_in(file: &Path) -> Result<Vec<CertificateDer<'static>>, pem::Error> {
    let found = CertificateDer::pem_file_iter(file)?.collect::<Result<Vec<_>, _>>()?;
    if found.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(found) }
}

fn failed(file: &Path, wanted: &'static str) -> impl Fn(pem::Error) -> TlsFilesError {
    let file = file.to_owned();
    move |error| match error {
        pem::Error::Io(source) => TlsFilesError::Unreadable { file: file.clone(), source },
        other => TlsFilesError::NotPem { file: file.clone(), wanted, problem: told(&other) },
    }
}

/// An error's own message would quote the file, and that may be a key.
pub(crate) fn told(error: &pem::Error) -> String {
    match error {
        pem::Error::Io(source) => source.to_string(),
        pem::Error::NoItemsFound => "there is none in it".into(),
        _ => "it is damaged".into(),
    }
}
