//! What a running server says about itself: `/metrics` and `/iolite.json`, over plain HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Context, bail};

const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The host and port of `http://host:port/...`.
pub fn resolve(url: &str) -> anyhow::Result<SocketAddr> {
    let rest = url.strip_prefix("http://").with_context(|| format!("{url:?} does not begin with http://"))?;
    let host = rest.split('/').next().unwrap_or(rest);
    let mut addresses = host.to_socket_addrs().with_context(|| format!("{host:?} is no host with a port"))?;
    addresses.next().with_context(|| format!("{host:?} has no address"))
}

/// The body of an answer to GET.
pub fn get(server: SocketAddr, path: &str) -> anyhow::Result<String> {
    let mut socket = TcpStream::connect_timeout(&server, ANSWER_WITHIN)?;
    socket.set_read_timeout(Some(ANSWER_WITHIN))?;
    write!(socket, "GET {path} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("the server's answer has no end of its head")?;
    if !head.starts_with("HTTP/1.1 200") {
        bail!("{path}: {}", head.lines().next().unwrap_or_default());
    }
    Ok(body.to_owned())
}

/// A number of the Prometheus text.
pub fn number(metrics: &str, name: &str) -> Option<f64> {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok())
}

/// The sum of a metric over all its labels.
pub fn sum(metrics: &str, name: &str) -> f64 {
    let labelled = metrics.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{'));
    labelled.filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// The class of the running journal.
pub fn durability(metrics: &str) -> Option<&str> {
    let line = metrics.lines().find_map(|line| line.strip_prefix("iolite_durability{class=\""));
    line.and_then(|rest| rest.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# HELP a b\niolite_durability{class=\"fsync\"} 1\nx_seconds{quantile=\"0.5\"} 0.25\nx_seconds_count 4\n";

    #[test]
    fn numbers_and_classes_are_found_by_their_whole_name() {
        assert_eq!(number(TEXT, "x_seconds{quantile=\"0.5\"}"), Some(0.25));
        assert_eq!(number(TEXT, "x_seconds_count"), Some(4.0));
        assert_eq!(number(TEXT, "x_seconds"), None);
        assert_eq!(sum("m{peer=\"a b\"} 2\nm{peer=\"c\"} 3\nmore{peer=\"c\"} 5\n", "m"), 5.0);
        assert_eq!(durability(TEXT), Some("fsync"));
    }
}
