//! Why a cluster cannot be made, started or stopped.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use iolite_host::{AuthorityError, SecretError};
use iolite_node::ReplicaDirectoryError;
use iolite_node::config::ConfigError;

/// Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error("there is no cluster in {}: make one with `iolite cluster up`, or correct --data", folder.display())]
    None { folder: PathBuf },
    #[error("{} is not empty, and holds no cluster: choose another folder with --data", folder.display())]
    NotEmpty { folder: PathBuf },
    #[error(
        "the cluster in {} was made with {was}, and this asks for {wanted}: leave the options out to start it as it is, or choose another \
         folder with --data", folder.display()
    )]
    OtherShape { folder: PathBuf, was: String, wanted: String },
    #[error("{0}")]
    Shape(String),
    #[error("{} cannot be used: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the file {} is damaged: {problem}", file.display())]
    Damaged { file: PathBuf, problem: String },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Certificates(#[from] AuthorityError),
    #[error(transparent)]
    Token(#[from] SecretError),
    #[error(transparent)]
    Replica(#[from] ReplicaDirectoryError),
    #[error("no free port can be had: {0}")]
    Port(io::Error),
    #[error("{node} ended as soon as it was started. Its last words, from {}:\n{last_words}", log.display())]
    Ended { node: String, log: PathBuf, last_words: String },
    #[error("{nodes} did not get ready within {within:?}: look into the file `log` of each in {}", folder.display())]
    NotReady { nodes: String, folder: PathBuf, within: Duration },
    #[error("process {pid} of {node} cannot be stopped: {source}")]
    Stop { node: String, pid: u32, source: io::Error },
}
