//! `iolite access`: the users of a deployment: whose tokens are refused, and who may do what.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::target::Target;

#[derive(Subcommand)]
pub enum Command {
    /// End a user's sessions at all gateways, and refuse the tokens that were issued before now
    Revoke(Revoke),
    /// Say whether a user may do something with a row, and why: the rules as a tree, with values. Nothing is changed
    Explain(Explain),
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

#[derive(Args)]
pub struct Explain {
    /// The thing that the user would do
    #[arg(value_name = "RIGHT")]
    right: RightOfRow,
    /// The table of the row
    #[arg(value_name = "TABLE")]
    table: String,
    /// The row's key: its value, or its values as JSON, such as '["kitchen", "ann"]'
    #[arg(value_name = "KEY")]
    key: String,
    /// The user, as `sub` in their token
    #[arg(long, value_name = "SUB")]
    user: String,
    /// A file with the other claims of the token, as an object in JSON
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
    /// A file with the row that would be created, or with what would change: an object in JSON, such as {"likes": {"add": 1}}
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, ValueEnum)]
enum RightOfRow {
    Read,
    Create,
    Update,
    Delete,
}

pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Revoke(revoke) => run_revoke(revoke),
        Command::Explain(explain) => run_explain(explain),
    }
}

fn run_revoke(Revoke { user, issuer, target }: &Revoke) -> anyhow::Result<()> {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let issuer = issuer.as_ref().map(|issuer| format!("&issuer={}", encoded(issuer))).unwrap_or_default();
    target.ask(&format!("access/revoke?user={}{issuer}", encoded(user)), |_, _| {})?;
    let told =
        format!("The tokens of {user} that were issued before now are refused, and their sessions have ended.\n");
    // Nobody may listen.
    let _ = iolite_host::print(&told);
    Ok(())
}

fn run_explain(Explain { right, table, key, user, claims, with, target }: &Explain) -> anyhow::Result<()> {
    let read = |file: &Option<PathBuf>, option: &str| match file {
        None => Ok(None),
        Some(file) => std::fs::read_to_string(file)
            .map(Some)
            .with_context(|| format!("the file {} cannot be read: it is what {option} names", file.display())),
    };
    let right = match right {
        RightOfRow::Read => "read",
        RightOfRow::Create => "create",
        RightOfRow::Update => "update",
        RightOfRow::Delete => "delete",
    };
    let (claims, with) = (read(claims, "--claims")?, read(with, "--with")?);
    let question = json!({ "user": user, "claims": claims, "right": right, "table": table, "key": key, "with": with });
    let mut told = String::new();
    target.ask_with("access/explain", &question.to_string(), |kind, value| told += &line(kind, value))?;
    // Nobody may listen.
    let _ = iolite_host::print(&told);
    Ok(())
}

fn line(kind: &str, value: &Value) -> String {
    match kind {
        "line" => format!("{}\n", value.as_str().unwrap_or_default()),
        // A newer server says more.
        _ => String::new(),
    }
}
