//! Commands that ask a running server, by its address: over plain HTTP, with its token.
//!
//! Invariant: an answer counts only with its last line, which has the key `done`. Anything else is an error.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;

/// How long a connection may take to be there.
const CONNECTED_WITHIN: Duration = Duration::from_secs(10);

#[derive(Args)]
pub struct Target {
    /// The address of a running server: of `iolite dev`, or of any gateway of a cluster
    #[arg(long, value_name = "URL")]
    target: String,
    /// The token file of that gateway, if it tells its token to nobody
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl Target {
    /// Runs a command. Each line but the last goes to `each`, and the last is given back.
    ///
    /// # Errors
    /// The server cannot be reached, refuses, or has been cut off before its last line.
    pub fn ask(&self, command: &str, each: impl FnMut(&str, &Value)) -> anyhow::Result<Value> {
        self.ask_with(command, "", each)
    }

    /// The same of a command that comes with a text.
    ///
    /// # Errors
    /// As [`Target::ask`].
    pub fn ask_with(&self, command: &str, text: &str, each: impl FnMut(&str, &Value)) -> anyhow::Result<Value> {
        let address = resolve(&self.target)?;
        let token = self.token(address)?;
        ask(address, &token, command, text, each)
    }

    fn token(&self, address: SocketAddr) -> anyhow::Result<String> {
        if let Some(file) = &self.token_file {
            let token = std::fs::read_to_string(file).with_context(|| {
                format!("the token file {} cannot be read: it is `token` in the gateway's file", file.display())
            })?;
            return Ok(token.trim().to_owned());
        }
        let told = send(address, "GET /iolite.json", "", "").map_err(|error| match error.downcast::<Refused>() {
            Ok(Refused { .. }) => anyhow::anyhow!(
                "the server at {} tells its token to nobody: give its token file with --token-file. (It is `token` in the gateway's file)",
                self.target
            ),
            Err(error) => error,
        })?;
        let told: Value = serde_json::from_reader(told).context("the server tells no token that can be read")?;
        Ok(told["token"]
            .as_str()
            .context("the server tells no token: give its token file with --token-file")?
            .to_owned())
    }
}

/// Runs a command of the server at an address, with its token.
///
/// # Errors
/// As [`Target::ask`].
pub fn ask(
    server: SocketAddr,
    token: &str,
    command: &str,
    text: &str,
    mut each: impl FnMut(&str, &Value),
) -> anyhow::Result<Value> {
    let authorization = format!("Authorization: Bearer {token}\r\n");
    let answer = send(server, &format!("POST /operate/{command}"), &authorization, text);
    for line in answer.with_context(|| format!("{server} was asked"))?.lines() {
        let line: Value = serde_json::from_str(&line.context("the connection was lost")?)
            .context("this is no answer of a server of Iolite: is --target its address?")?;
        for (kind, value) in line.as_object().into_iter().flatten() {
            match kind.as_str() {
                "done" => return Ok(value.clone()),
                "error" => bail!("{}", value.as_str().unwrap_or("the server gives no reason")),
                kind => each(kind, value),
            }
        }
    }
    bail!("the server was cut off before its answer was whole: look whether it runs, and try again")
}

/// Whether the server at an address serves sessions.
pub fn is_ready(server: SocketAddr) -> bool {
    send(server, "GET /readyz", "", "").is_ok()
}

/// The server has answered with another status than 200.
#[derive(Debug)]
struct Refused {
    status: String,
    body: String,
}

impl std::error::Error for Refused {}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "it answers {}: {}", self.status, self.body)
    }
}

/// The host and port of `http://host:port/`.
fn resolve(url: &str) -> anyhow::Result<SocketAddr> {
    if url.starts_with("https://") {
        bail!(
            "{url}: this command speaks plain HTTP. Run it on the gateway's machine with http:// and the address in `listen`, or through a tunnel \
             (`ssh -L 7777:127.0.0.1:7777 HOST`)"
        );
    }
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let host = rest.split('/').next().unwrap_or(rest);
    let mut addresses = host
        .to_socket_addrs()
        .with_context(|| format!("--target {url:?} is no address: write it as http://127.0.0.1:7777, with the port"))?;
    addresses.next().with_context(|| format!("{host:?} has no address"))
}

/// Sends a request. The body of the answer comes as the server writes it, until it closes.
fn send(server: SocketAddr, request: &str, headers: &str, text: &str) -> anyhow::Result<BufReader<TcpStream>> {
    let mut socket = TcpStream::connect_timeout(&server, CONNECTED_WITHIN)
        .with_context(|| format!("nothing listens at {server}: is the server running, and is --target its address?"))?;
    // Of this version of HTTP an answer is not cut into pieces.
    let length = text.len();
    write!(socket, "{request} HTTP/1.0\r\nHost: {server}\r\nContent-Length: {length}\r\n{headers}\r\n")?;
    // A server that refuses may not read it all. Its answer says why.
    let _ = socket.write_all(text.as_bytes());
    let mut answer = BufReader::new(socket);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        let length =
            answer.read_line(&mut line).context("this is no answer of HTTP: is --target the address of a server?")?;
        if length == 0 || line == "\r\n" {
            break;
        }
        head.push(line.trim_end().to_owned());
    }
    let status = head.first().and_then(|line| line.split_once(' ')).map(|(_, status)| status.to_owned());
    let status = status.context("the server closed the connection without an answer")?;
    if status.starts_with("200") {
        return Ok(answer);
    }
    let mut body = String::new();
    answer.take(4096).read_to_string(&mut body)?;
    Err(Refused { status, body: body.trim().to_owned() }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_host_with_a_port() {
        for good in ["http://127.0.0.1:7777", "http://127.0.0.1:7777/", "127.0.0.1:7777"] {
            assert_eq!(resolve(good).ok(), "127.0.0.1:7777".parse().ok(), "{good}");
        }
        for (wrong, told) in
            [("https://app.example", "ssh -L"), ("http://127.0.0.1", "with the port"), ("here", "with the port")]
        {
            let error = format!("{:#}", resolve(wrong).expect_err(wrong));
            assert!(error.contains(told), "{error}");
        }
    }
}
