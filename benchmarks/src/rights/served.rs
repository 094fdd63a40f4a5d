//! A server with rights in effect, and the users who come to it.
//!
//! Invariant: nobody but the operator connects before the rights are in effect.

use std::process::{Command, Stdio};

use anyhow::{Context, anyhow, bail};
use iolite::rights::{Rights, deployment};
use iolite::{Client, Options, Schema};

use crate::accounting::Pid;
use crate::arguments::{Arguments, Durability};
use crate::child::Address;
use crate::cluster::{ClusterDirectory, program_beside};
use crate::server::Server;

/// Ended with it.
pub struct Served {
    server: Server,
}

impl Served {
    /// Starts a server of its own and puts rights into effect.
    ///
    /// # Errors
    /// When the server does not start, or the rights do not fit the schema.
    pub fn start(arguments: &Arguments, schema: &Schema, rights: &Rights) -> anyhow::Result<Served> {
        let server = Server::of(arguments)?;
        put_into_effect(&server.near_address(), arguments.durability, schema, rights)?;
        Ok(Served { server })
    }

    /// Where the operator connects to.
    pub fn near(&self) -> Address {
        self.server.near_address()
    }

    /// Where users connect to.
    pub fn address(&self) -> Address {
        self.server.clients_address()
    }

    pub fn pid(&self) -> anyhow::Result<Pid> {
        self.server.pid().context("rights starts servers of its own")
    }
}

/// The same address, for a user of this name.
pub fn of_user(at: &Address, name: &str) -> Address {
    Address { url: at.url.clone(), token: format!(r#"{} as {{"sub":"{name}"}}"#, at.token) }
}

/// # Errors
/// When the server does not let the session in.
pub async fn connect(at: &Address, schema: Schema, options: Options) -> anyhow::Result<Client> {
    let client = Client::connect(&at.url, &*at.token, schema, options)?;
    client.online().await.map_err(|state| anyhow!("the server does not let a client in: {state:?}"))?;
    Ok(client)
}

/// By `iolite schema apply`, as an operator does.
///
/// # Errors
/// When the rights do not fit the schema, or the server cannot be asked.
pub fn put_into_effect(near: &Address, durability: Durability, schema: &Schema, rights: &Rights) -> anyhow::Result<()> {
    let folder = ClusterDirectory::new(durability)?;
    let file = folder.path().join("rights.json");
    std::fs::write(&file, deployment(schema, rights))?;
    let target = near.url.replacen("ws://", "http://", 1).replace("/sync", "");
    let mut command = Command::new(program_beside("iolite")?);
    command.args(["schema", "apply"]).arg(&file).args(["--target", &target]);
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("the rights do not come into effect: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
