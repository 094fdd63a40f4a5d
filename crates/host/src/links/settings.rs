//! How a node's links are to be.

use std::time::Duration;

use super::NodeName;
use crate::TlsFiles;

/// What links are made with.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// What this node is called.
    pub name: NodeName,
    pub security: LinkSecurity,
    /// Half of a round trip: what is received is handed over so much later. For measurements; zero costs nothing.
    pub delay: Duration,
    pub limits: LinkLimits,
}

/// What links are protected by.
#[derive(Clone, Debug)]
pub enum LinkSecurity {
    /// Both sides show a certificate of the cluster's authority.
    Tls(TlsFiles),
    /// Nothing: whoever reaches the port is believed to be who they say. On loopback addresses only.
    PlainOnLoopback,
}

/// What links may take of memory and time. The defaults are in docs/limits.md.
#[derive(Clone, Debug)]
pub struct LinkLimits {
    /// Bytes that wait to be sent on one link. What comes beyond is dropped.
    pub outbox_bytes_max: usize,
    /// Links that others have dialled, at one time.
    pub links_max: usize,
    /// Connections of others that are not links yet. The oldest gives way.
    pub handshakes_max: usize,
    /// From a connection's beginning until it is a link.
    pub hello_within: Duration,
    /// How often a sign of life is sent, where nothing else is about to be.
    pub keep_alive_after: Duration,
    /// A peer of which nothing was heard for so long is given up; up to one more `keep_alive_after` passes until that is noticed.
    pub silence_max: Duration,
    /// The first pause before a peer is dialled again, of which half to all is waited.
    pub retry_first: Duration,
    /// The longest one.
    pub retry_last: Duration,
}

/// Bytes that wait to be sent on one link.
const OUTBOX_BYTES_MAX: usize = 32 << 20;
/// Links that others have dialled, at one time.
const LINKS_MAX: usize = 1024;
/// Connections that are not links yet, at one time.
const HANDSHAKES_MAX: usize = 256;
/// From a connection's beginning until it is a link.
const HELLO_WITHIN_MAX: Duration = Duration::from_secs(5);
/// Without a sign of life.
const SILENCE_MAX: Duration = Duration::from_secs(4);
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(1);
const RETRY_FIRST: Duration = Duration::from_millis(50);
const RETRY_LAST: Duration = Duration::from_secs(2);

impl LinkSettings {
    /// With the usual limits, and no delay.
    pub fn new(name: NodeName, security: LinkSecurity) -> LinkSettings {
        LinkSettings { name, security, delay: Duration::ZERO, limits: LinkLimits::default() }
    }
}

impl Default for LinkLimits {
    fn default() -> LinkLimits {
        LinkLimits {
            outbox_bytes_max: OUTBOX_BYTES_MAX,
            links_max: LINKS_MAX,
            handshakes_max: HANDSHAKES_MAX,
            hello_within: HELLO_WITHIN_MAX,
            keep_alive_after: KEEP_ALIVE_AFTER,
            silence_max: SILENCE_MAX,
            retry_first: RETRY_FIRST,
            retry_last: RETRY_LAST,
        }
    }
}
