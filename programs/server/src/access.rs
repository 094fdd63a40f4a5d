//! `iolite access`: the users of a deployment whose tokens somebody else signs.

use clap::{Args, Subcommand};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::target::Target;

#[derive(Subcommand)]
pub enum Command {
    /// End a user's sessions at all gateways, and refuse the tokens that were issued before now
    Revoke(Revoke),
}

#[derive(Args)]
pub struct Revoke {
    /// The user, as `sub` in their token
    #[arg(long, value_name = "SUB")]
    user: String,
    /// The issuer of the token; else the one that the gateway's file names. Anonymous users have `iolite anonymous`
    #[arg(long, value_name = "ISSUER")]
    issuer: Option<String>,
    #[command(flatten)]
    target: Target,
}

pub fn run(command: &Command) -> anyhow::Result<()> {
    let Command::Revoke(Revoke { user, issuer, target }) = command;
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let issuer = issuer.as_ref().map(|issuer| format!("&issuer={}", encoded(issuer))).unwrap_or_default();
    target.ask(&format!("access/revoke?user={}{issuer}", encoded(user)), |_, _| {})?;
    let told =
        format!("The tokens of {user} that were issued before now are refused, and their sessions have ended.\n");
    // Nobody may listen.
    let _ = iolite_host::print(&told);
    Ok(())
}
