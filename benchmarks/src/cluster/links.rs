//! Links with a delay, for a whole cluster: between clients and servers, and between servers.

use std::net::SocketAddr;
use std::time::Duration;

use iolite_host::DelayProxy;
use tokio::runtime::Runtime;

/// Proxies on a thread of their own; without a delay there are none.
#[derive(Debug)]
pub struct Links {
    one_way: Duration,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    proxies: Vec<DelayProxy>,
}

impl Links {
    pub fn with_delay(round_trip: Duration) -> anyhow::Result<Links> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Links { one_way: round_trip / 2, runtime: Some(runtime), proxies: Vec::new() })
    }

    /// Where to connect to, to reach an address over a link.
    pub async fn to(&mut self, address: SocketAddr) -> anyhow::Result<SocketAddr> {
        if self.one_way.is_zero() {
            return Ok(address);
        }
        let runtime = self.runtime.as_ref().expect("it is there until this is dropped");
        let proxy = runtime.spawn(DelayProxy::start(address, self.one_way)).await??;
        let link = proxy.address();
        self.proxies.push(proxy);
        Ok(link)
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        // Dropping a runtime waits, which is forbidden inside of another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
