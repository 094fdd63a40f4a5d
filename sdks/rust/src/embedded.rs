//! A server inside the process: for tests and desktop apps.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use iolite_host::{Shutdown, random_id};
use iolite_node::{ObjectClasses, RunError, Server, ServerError, ServerSettings};
use iolite_values::Schema;
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::error::OpenError;
use crate::options::Options;

/// A running server. Dropping it stops the server, without waiting for it.
#[derive(Debug)]
pub struct Embedded {
    url: String,
    token: String,
    shutdown: Shutdown,
    task: Option<JoinHandle<Result<(), RunError>>>,
    /// Removed with the server.
    temporary: Option<PathBuf>,
}

/// Why an embedded server does not start, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// It does not start.
    #[error(transparent)]
    Start(#[from] ServerError),
    /// It ended by itself.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It panicked.
    #[error("the embedded server panicked")]
    Panicked,
}

/// Starts a server on a free port of loopback, with a temporary data directory that is removed at its end: for tests.
///
/// # Errors
/// [`EmbeddedError::Start`].
pub async fn embedded() -> Result<Embedded, EmbeddedError> {
    temporary(None).await
}

/// As [`embedded`], with classes of objects that the process brings.
pub(crate) async fn embedded_with(classes: ObjectClasses) -> Result<Embedded, EmbeddedError> {
    temporary(Some(classes)).await
}

async fn temporary(classes: Option<ObjectClasses>) -> Result<Embedded, EmbeddedError> {
    let directory = std::env::temp_dir().join(format!("iolite-{:032x}", random_id()));
    let mut server = open(&directory, classes).await?;
    server.temporary = Some(directory);
    Ok(server)
}

/// Starts a server on a free port of loopback, with its data in a directory: for desktop apps.
///
/// # Errors
/// [`EmbeddedError::Start`], when another process has the directory, or it is damaged.
pub async fn embedded_in(directory: &Path) -> Result<Embedded, EmbeddedError> {
    open(directory, None).await
}

async fn open(directory: &Path, classes: Option<ObjectClasses>) -> Result<Embedded, EmbeddedError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::open(ServerSettings { address, ..ServerSettings::new(directory) }).await?;
    let server = match classes {
        Some(classes) => server.with_objects(classes),
        None => server,
    };
    let (url, token) = (server.sync_url(), server.token().to_owned());
    let shutdown = Shutdown::new();
    let task = tokio::spawn(server.run(shutdown.clone()));
    Ok(Embedded { url, token, shutdown, task: Some(task), temporary: None })
}

impl Embedded {
    /// A client of this server.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn client(&self, schema: Schema, options: Options) -> Result<Client, OpenError> {
        Client::connect(&self.url, &self.token, schema, options)
    }

    /// The address for clients, also of other processes.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The token for clients.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Stops the server. What was acknowledged is durable, and the directory free, when this returns.
    ///
    /// # Errors
    /// [`EmbeddedError::Run`], when it had failed before.
    pub async fn stop(mut self) -> Result<(), EmbeddedError> {
        self.shutdown.begin();
        let Some(task) = self.task.take() else { return Ok(()) };
        task.await.map_err(|_| EmbeddedError::Panicked)??;
        Ok(())
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.shutdown.begin();
        if let Some(directory) = &self.temporary {
            // What cannot be removed is left to the operating system's own tidying.
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}
