//! `iolite certificate`: an authority for a cluster that has no other, and what it issues to nodes.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::Subcommand;
use iolite_host::{Authority, NodeName};
use iolite_node::NodeRole;
use iolite_node::config::centre_of;

#[derive(Subcommand)]
pub enum Command {
    /// Make the authority of a cluster. Its key is needed to issue certificates only: keep it away from nodes
    Authority {
        /// The folder of its two files
        folder: PathBuf,
    },
    /// Issue a certificate to a node, with a new key; also before the last one expires, which the node then notices by itself.
    /// Authorities that the node trusts already stay
    Issue {
        /// Like store-7, gateway-3, or centre-eu for the links of a data centre with others
        node: String,
        /// The folder of the authority
        #[arg(long, value_name = "DIR")]
        authority: PathBuf,
        /// Where the node's three files go
        #[arg(long, value_name = "DIR")]
        into: PathBuf,
        /// How long it is valid
        #[arg(long, default_value_t = Authority::NODE_VALID.as_secs() / DAY_SECONDS)]
        days: u64,
    },
}

const DAY_SECONDS: u64 = 24 * 3600;
/// No certificate lives longer than its authority.
const DAYS_MAX: u64 = 3650;

pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Authority { folder } => {
            Authority::create(folder)?;
            iolite_host::print(&format!("the authority is in {}\n", folder.display()))?;
        }
        Command::Issue { node, authority, into, days } => {
            let name = NodeName::new(node)?;
            ensure!(
                NodeRole::of(&name).is_some() || centre_of(&name).is_some(),
                "{node} names no node: write store-N or gateway-N, with its number, or centre-NAME for a data centre"
            );
            ensure!(
                (1..=DAYS_MAX).contains(days),
                "a certificate is valid for 1 to {DAYS_MAX} days, and not for {days}"
            );
            let valid = Duration::from_secs(days * DAY_SECONDS);
            let files = Authority::open(authority)?.issue(&name, valid, into)?;
            iolite_host::print(&format!("the certificate of {node} is in {}, for {days} days\n", into.display()))?;
            let trusted = files.authorities()?;
            if trusted > 1 {
                let file = files.authority.display();
                iolite_host::print(&format!("{node} trusts {trusted} authorities, which are in {file}\n"))?;
            }
        }
    }
    Ok(())
}
