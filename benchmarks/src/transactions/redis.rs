//! Redis: a primary and two replicas. Optimistic transactions (WATCH, MULTI, EXEC), and WAIT for one replica.
//!
//! What it promises: EXEC runs only if no watched key changed since it was read, on the one thread of the primary. WAIT is not consensus:
//! other clients see a write before a replica has it, and a failover may lose acknowledged ones; none is made here. That a replica answers
//! WAIT only after its own sync follows from the order of Redis 7's event loop, not from a documented promise.

mod session;

use std::net::SocketAddr;

use crate::accounting::Node;
use crate::redis::{Delays, RedisServers};
use crate::transactions::system::{About, Setup, System};

pub use session::RedisSession;

pub struct Redis {
    servers: RedisServers,
}

impl System for Redis {
    type Session = RedisSession;

    async fn start(setup: Setup) -> anyhow::Result<Redis> {
        let delays = Delays { of_clients: setup.delay, between_servers: setup.delay };
        Ok(Redis { servers: RedisServers::start(setup.durability, delays).await? })
    }

    fn about(&self) -> About {
        About {
            name: "redis",
            copies: 2,
            version: self.servers.version().to_owned(),
            isolation: "strict at the primary; not replicated by consensus",
            setting: self.servers.setting(),
        }
    }

    fn nodes(&self) -> Vec<Node> {
        self.servers.nodes()
    }

    fn between(&self) -> Vec<SocketAddr> {
        vec![self.servers.between()]
    }

    async fn settle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    async fn connect(&self) -> anyhow::Result<RedisSession> {
        Ok(RedisSession::new(self.servers.connect().await?))
    }

    async fn restart(&mut self) -> anyhow::Result<()> {
        self.servers.restart().await
    }
}
