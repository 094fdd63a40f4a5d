//! Hosts that dial a server over a link with a delay.

use std::time::Duration;

use iolite::objects::{Host, HostBuilder};

use super::own::port_of;
use crate::cluster::Links;

/// Links to one server. Each host has one of its own.
pub struct Far {
    port: u16,
    token: String,
    links: Links,
}

impl Far {
    /// `delay` is a round trip over each link: a half of it each way.
    pub fn new(server: &Host, delay: Duration) -> anyhow::Result<Far> {
        Ok(Far { port: port_of(server)?, token: server.token().to_owned(), links: Links::with_delay(delay)? })
    }

    /// A host at the far end of a link.
    pub async fn connect(&mut self) -> anyhow::Result<HostBuilder> {
        let link = self.links.to(([127, 0, 0, 1], self.port).into()).await?;
        Ok(Host::connect(&format!("ws://{link}/sync"), &self.token))
    }
}
