//! `iolite dev`: a server for development.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use iolite_engine::Durability;
use iolite_host::{Shutdown, allow_all_open_files, stop_on_signals};
use iolite_node::config::TokensConfig;
use iolite_node::{Server, ServerSettings};

use crate::durability::Class;
use crate::logs;
use crate::object_runner::ObjectRunner;
use crate::rights_runner::RightsRunner;
use crate::serve::as_task;

#[derive(Args)]
pub struct Arguments {
    /// The port of everything, on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = ServerSettings::PORT)]
    port: u16,
    /// Where the data is; made if it is missing
    #[arg(long, default_value = ".iolite", value_name = "DIR")]
    data: PathBuf,
    /// The folder of your app's page
    #[arg(long, value_name = "DIR")]
    app: Option<PathBuf>,
    /// A file of JavaScript that exports classes of objects: Node runs them, beside the server
    #[arg(long, value_name = "FILE")]
    objects: Option<PathBuf>,
    /// A file that exports your schema's rights: .json, or JavaScript or TypeScript, which Node runs. They come into effect at the start, and whenever the
    /// file is written
    #[arg(long, value_name = "FILE")]
    rights: Option<PathBuf>,
    /// A file of TOML about the tokens of your users, with the keys of [gateway.tokens] in docs/operations.md. The token of the data is the operator's then
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Milliseconds for which the past can be read: for tests, which do not wait a minute
    #[arg(long, hide = true, value_name = "MILLISECONDS")]
    history_ms: Option<u64>,
    /// What acknowledged means: `memory` does not survive a power cut, and is for benchmarks
    #[arg(long, default_value = "fsync", value_name = "CLASS")]
    durability: Class,
}

pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    allow_all_open_files();
    logs::to_stderr();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    as_task(&runtime, serve(arguments))
}

async fn serve(arguments: Arguments) -> anyhow::Result<()> {
    let durability = arguments.durability.into();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let defaults = ServerSettings::new(arguments.data);
    let history = arguments.history_ms.map_or(defaults.history, Duration::from_millis);
    let tokens = arguments.tokens.as_deref().map(TokensConfig::read).transpose()?;
    let issuer = tokens.as_ref().map(|tokens| tokens.settings.issuer.clone());
    // Nobody writes past the rules in the moment before they are in effect.
    let needs_rights = arguments.rights.is_some();
    let settings =
        ServerSettings { durability, address, app: arguments.app, history, tokens, needs_rights, ..defaults };
    let server = Server::open(settings).await?;
    let rights = arguments.rights.map(|file| RightsRunner::new(&file, server.address(), server.token().to_owned()));
    let (rights, shutdown) = (rights.transpose()?, Shutdown::new());
    stop_on_signals(shutdown.clone()).context("cannot listen for signals")?;
    tell(&server, durability, issuer.as_deref());
    let objects = arguments.objects.map(|file| ObjectRunner::new(&file, server.sync_url(), server.token().to_owned()));
    let objects = objects.transpose()?.map(|runner| tokio::spawn(runner.run(shutdown.listen())));
    let rights = rights.map(|runner| tokio::spawn(runner.run(shutdown.listen())));
    server.run(shutdown).await?;
    for task in objects.into_iter().chain(rights) {
        let _ = task.await;
    }
    Ok(())
}

fn tell(server: &Server, durability: Durability, issuer: Option<&str>) {
    let (url, sync_url, token) = (server.url(), server.sync_url(), server.token());
    let mut text = match issuer {
        None => format!("Iolite is at {url}\nClients connect to {sync_url} with the token {token}\n"),
        Some(issuer) => format!(
            "Iolite is at {url}\nClients connect to {sync_url} with tokens of {issuer:?}\nThe operator's token is {token}\n"
        ),
    };
    if durability == Durability::Memory {
        text += "Durability is `memory`: a power cut loses what was acknowledged\n";
    }
    // Whoever started it may not listen: it serves all the same.
    let _ = iolite_host::print(&text);
}
