//! What every gateway has for its clients before it knows its store: a port, a token, and perhaps an app.

use std::net::SocketAddr;
use std::path::PathBuf;

use iolite_access::{Access, Tokens};
use iolite_host::{SecretError, read_or_create_secret};
use tokio::net::TcpListener;

use crate::clients::access;
use crate::config::{GatewayConfig, KeyFileError, TokensConfig};

/// Why clients cannot be let in. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ClientPortError {
    #[error("cannot listen on {address}: {source}. Stop what listens there, or correct `listen`")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("the app directory {} has no index.html: build the app first, or correct `app`", app.display())]
    NoApp { app: PathBuf },
    #[error(transparent)]
    Token(#[from] SecretError),
    #[error(transparent)]
    Key(#[from] KeyFileError),
}

pub(crate) struct ClientPort {
    pub listener: TcpListener,
    /// Where it listens.
    pub address: SocketAddr,
    /// The operator's.
    pub token: String,
    /// The tokens of users, if clients are let in by these.
    pub tokens: Option<Tokens>,
    /// Whether users are let in only when the store has rights.
    pub rights_required: bool,
}

impl ClientPort {
    pub async fn open(config: &GatewayConfig) -> Result<ClientPort, ClientPortError> {
        if let Some(app) = config.app.as_ref().filter(|app| !app.join("index.html").is_file()) {
            return Err(ClientPortError::NoApp { app: app.clone() });
        }
        let listening = |source| ClientPortError::Listen { address: config.listen, source };
        let listener = TcpListener::bind(config.listen).await.map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        let token = read_or_create_secret(&config.token)?;
        let tokens = config.tokens.as_ref().map(TokensConfig::open).transpose()?;
        let rights_required = config.tokens.as_ref().is_some_and(|tokens| tokens.rights_required);
        Ok(ClientPort { listener, address, token, tokens, rights_required })
    }

    /// How the tokens of clients are judged.
    pub fn access(&self) -> Access {
        access(&self.token, self.tokens.as_ref())
    }
}
