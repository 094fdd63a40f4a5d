//! The authority of a cluster, and what it issues.
//!
//! Whoever has the authority's key can make a node of the cluster. So it stays where certificates are issued, and goes to no node.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::TlsFiles;
use super::files::{certificates_in, told};
use crate::durable_files::make_folder_durably;
use crate::links::NodeName;
use crate::secret_file::write_secret;

/// Signs the certificates of a cluster's nodes.
///
/// ```
/// use iolite_host::{Authority, LinkSecurity, LinkSettings, NodeName, TlsFiles};
///
/// # let folder = std::env::temp_dir().join(format!("iolite-example-{}", std::process::id()));
/// // Once for a cluster, where certificates are issued:
/// let authority = Authority::create(&folder.join("authority"))?;
/// // For each node, into a folder that is brought to it. Again before it expires: the node takes the new files by itself.
/// let name = NodeName::new("store-0-2")?;
/// authority.issue(&name, Authority::NODE_VALID, &folder.join("store-0-2"))?;
/// // At the node:
/// let files = TlsFiles::in_folder(&folder.join("store-0-2"));
/// let settings = LinkSettings::new(name, LinkSecurity::Tls(files));
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// What every node trusts.
    certificate_pem: String,
    /// The same.
    certificate: CertificateDer<'static>,
}

/// Why there is no authority, or no certificate of it.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error(
        "there is an authority in {} already: use it, or choose another folder. A new one would cut off every node that has a \
         certificate of this one", folder.display()
    )]
    Exists { folder: PathBuf },
    #[error(
        "the authority's file {} cannot be read: {source}. Make an authority first, or correct the path", file.display()
    )]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("the authority's file {} holds no certificate as PEM: {problem}. Restore it from a copy", file.display())]
    Damaged { file: PathBuf, problem: String },
    #[error("the authority's file {} holds no private key that can sign: {problem}. Restore it from a copy", file.display())]
    Key { file: PathBuf, problem: String },
    #[error(
        "the file {} is to be kept, for it says which authorities the node trusts, and holds no certificates as PEM: {problem}. Restore \
         it from a copy, or remove it if this authority is the only one", file.display()
    )]
    NotAuthorities { file: PathBuf, problem: String },
    #[error("the file {} cannot be written: {source}. Make its folder writable for this user", file.display())]
    Unwritable { file: PathBuf, source: io::Error },
    #[error("the certificate cannot be made: {0}")]
    Signing(String),
}

impl Authority {
    /// How long an authority's certificate is valid: replacing it means visiting every node.
    pub const VALID: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
    /// How long a node's is, where nobody says otherwise.
    pub const NODE_VALID: Duration = Duration::from_secs(365 * 24 * 3600);
    /// Certificates are valid from so long ago: the clocks of nodes differ.
    const VALID_BEFORE: Duration = Duration::from_secs(3600);

    const CERTIFICATE: &'static str = "authority.crt";
    const KEY: &'static str = "authority.key";

    /// Makes an authority, and its two files in a folder, which is made if it is missing. A key without a certificate is what an attempt before
    /// has left, or somebody has removed the other: the certificate is made again, and what was issued stays valid.
    ///
    /// # Errors
    /// [`AuthorityError::Exists`], when the folder has one; and what can go wrong with files.
    pub fn create(folder: &Path) -> Result<Authority, AuthorityError> {
        let (certificate_file, key_file) = (folder.join(Authority::CERTIFICATE), folder.join(Authority::KEY));
        if certificate_file.exists() {
            return Err(AuthorityError::Exists { folder: folder.to_owned() });
        }
        make_folder(folder)?;
        let key = if key_file.exists() {
            read_key(&key_file)?
        } else {
            let key = KeyPair::generate().map_err(signing)?;
            write(&key_file, &key.serialize_pem())?;
            key
        };
        let mut params = authority_params(&key);
        validity(&mut params, SystemTime::now() + Authority::VALID);
        let certificate = params.self_signed(&key).map_err(signing)?;
        let (certificate_pem, certificate) = (certificate.pem(), certificate.der().clone());
        // The certificate last: where it is, the authority is whole.
        write(&certificate_file, &certificate_pem)?;
        Ok(Authority { issuer: Issuer::new(authority_params(&key), key), certificate_pem, certificate })
    }

    /// Reads the authority of a folder.
    ///
    /// # Errors
    /// [`AuthorityError::Unreadable`], [`AuthorityError::Damaged`] and [`AuthorityError::Key`], with the file.
    pub fn open(folder: &Path) -> Result<Authority, AuthorityError> {
        let file = folder.join(Authority::CERTIFICATE);
        let certificate_pem = read(&file)?;
        let certificate = CertificateDer::from_pem_slice(certificate_pem.as_bytes())
            .map_err(|error| AuthorityError::Damaged { file, problem: told(&error) })?;
        let key = read_key(&folder.join(Authority::KEY))?;
        Ok(Authority { issuer: Issuer::new(authority_params(&key), key), certificate_pem, certificate })
    }

    /// Makes a certificate for a node with a new key, and puts all that the node needs into a folder, which is made if it is missing. A
    /// certificate and a key from before are replaced, file by file: a node that runs takes the new ones for its next link. Authorities that
    /// are there stay, and this one is added if it is not among them: the node goes on trusting nodes that have a certificate of another.
    ///
    /// # Errors
    /// [`AuthorityError::NotAuthorities`], when what is there is none, and nothing is written; [`AuthorityError::Unwritable`] and
    /// [`AuthorityError::Signing`].
    pub fn issue(&self, name: &NodeName, valid: Duration, folder: &Path) -> Result<TlsFiles, AuthorityError> {
        self.issue_until(name, SystemTime::now() + valid, folder)
    }

    pub(crate) fn issue_until(
        &self,
        name: &NodeName,
        not_after: SystemTime,
        folder: &Path,
    ) -> Result<TlsFiles, AuthorityError> {
        make_folder(folder)?;
        let files = TlsFiles::in_folder(folder);
        let trusted = self.beside(&files.authority)?;
        let key = KeyPair::generate().map_err(signing)?;
        let mut params = CertificateParams::new([name.to_string()]).map_err(signing)?;
        params.distinguished_name = common_name(name.to_string());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        // Every node dials and is dialled.
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        validity(&mut params, not_after);
        let certificate = params.signed_by(&key, &self.issuer).map_err(signing)?;
        write(&files.authority, &trusted)?;
        write(&files.key, &key.serialize_pem())?;
        write(&files.certificate, &certificate.pem())?;
        Ok(files)
    }

    /// What is in a node's file of authorities, if there is one, with this one in it.
    fn beside(&self, file: &Path) -> Result<String, AuthorityError> {
        if !file.exists() {
            return Ok(self.certificate_pem.clone());
        }
        let mut trusted = read(file)?;
        let known = certificates_in(file)
            .map_err(|error| AuthorityError::NotAuthorities { file: file.to_owned(), problem: told(&error) })?;
        if !known.contains(&self.certificate) {
            trusted.truncate(trusted.trim_end().len());
            trusted += "\n";
            trusted += &self.certificate_pem;
        }
        Ok(trusted)
    }
}

/// The same for the same key, so that an authority needs no more than its files.
fn authority_params(key: &KeyPair) -> CertificateParams {
    let mut params = CertificateParams::default();
    // Part of the key tells the authorities of two clusters apart, also where names are compared before signatures.
    let number: String = key.public_key_raw().iter().rev().take(8).map(|byte| format!("{byte:02x}")).collect();
    params.distinguished_name = common_name(format!("Iolite cluster authority {number}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn common_name(name: String) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn validity(params: &mut CertificateParams, not_after: SystemTime) {
    params.not_before = (SystemTime::now() - Authority::VALID_BEFORE).into();
    params.not_after = not_after.into();
}

fn make_folder(folder: &Path) -> Result<(), AuthorityError> {
    make_folder_durably(folder).map_err(|source| AuthorityError::Unwritable { file: folder.to_owned(), source })
}

fn write(file: &Path, contents: &str) -> Result<(), AuthorityError> {
    write_secret(file, contents).map_err(|source| AuthorityError::Unwritable { file: file.to_owned(), source })
}

fn read(file: &Path) -> Result<String, AuthorityError> {
    std::fs::read_to_string(file).map_err(|source| AuthorityError::Unreadable { file: file.to_owned(), source })
}

fn read_key(file: &Path) -> Result<KeyPair, AuthorityError> {
    let problem = |error: rcgen::Error| AuthorityError::Key { file: file.to_owned(), problem: error.to_string() };
    KeyPair::from_pem(&read(file)?).map_err(problem)
}

fn signing(error: rcgen::Error) -> AuthorityError {
    AuthorityError::Signing(error.to_string())
}

#[cfg(test)]
mod tests;
