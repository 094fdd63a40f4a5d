//! Connections to the addresses of one name, before anything is said on them.
//!
//! Invariant: an address that does not answer keeps nobody from the next one for longer than [`NEXT_ADDRESS_AFTER`].
//!
//! Source: RFC 8305 5, without its order of addresses: the resolver's is kept.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::refused::Refused;

/// How long one address is waited for alone.
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// What is still to be tried, and what is being tried. Dropped, it gives all of that up.
pub(crate) struct Connections {
    addresses: VecDeque<SocketAddr>,
    open: JoinSet<Result<TcpStream, Refused>>,
    /// Without TLS, nothing goes beyond this machine.
    is_plain: bool,
}

impl Connections {
    pub fn new(addresses: Vec<SocketAddr>, is_plain: bool) -> Connections {
        Connections { addresses: addresses.into(), open: JoinSet::new(), is_plain }
    }

    /// The next one that is there, or has failed; none when all addresses were tried. To ask again says that what came before was of no
    /// use, so another address is begun with at once.
    pub async fn next(&mut self) -> Option<Result<TcpStream, Refused>> {
        loop {
            self.begin();
            tokio::select! {
                biased;
                connected = self.open.join_next() => {
                    return connected.map(|connected| connected.expect("it does not panic, and nobody aborts it"));
                }
                () = sleep(NEXT_ADDRESS_AFTER), if !self.addresses.is_empty() => {}
            }
        }
    }

    /// How many others may still come.
    pub fn left(&self) -> u32 {
        (self.addresses.len() + self.open.len()) as u32
    }

    fn begin(&mut self) {
        if let Some(address) = self.addresses.pop_front() {
            self.open.spawn(connect_to(address, self.is_plain));
        }
    }
}

async fn connect_to(address: SocketAddr, is_plain: bool) -> Result<TcpStream, Refused> {
    if is_plain && !address.ip().is_loopback() {
        return Err(Refused::BeyondLoopback(address));
    }
    let stream = TcpStream::connect(address).await.map_err(Refused::Unreachable)?;
    let _ = stream.set_nodelay(true);
    Ok(stream)
}
