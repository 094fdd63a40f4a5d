//! From a connection to a link: TLS, then both sides say who they are, and each may refuse the other.
//!
//! Invariants:
//! - a peer is told nothing before its certificate was verified;
//! - a link is open only when both sides know each other's names, and each name is that of the certificate;
//! - whatever the peer does, this ends in time and takes a few kilobytes.
//!
//! Source: Iolite's own; docs/protocols/links.md.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::channel::{Channel, leave};
use super::hello::{Hello, HelloError, Kind, PREAMBLE_BYTES, Preamble, decode_refusal, encode_refusal};
use super::identity::{Identity, server_name};
use super::refused::Refused;
use super::{LinkHandler, LinkPeer, LinkSide, NodeName};

/// What this node brings into a link.
pub(crate) struct Terms<H> {
    pub name: NodeName,
    pub handler: H,
    /// Plain TCP without.
    pub identity: Option<Identity>,
}

/// A link that both sides agreed to.
pub(crate) struct Agreed {
    pub channel: Channel,
    pub peer: LinkPeer,
    /// Bytes of the largest frame that the peer takes.
    pub frame_bytes_max: usize,
}

impl<H: LinkHandler> Terms<H> {
    /// Waits for the hello of somebody who has connected. `room` is asked once the peer is known.
    ///
    /// # Errors
    /// Why it is no link; the peer has been told so, if it could be.
    pub async fn accept(
        &self,
        stream: TcpStream,
        room: impl FnOnce() -> Result<(), Refused>,
    ) -> Result<Agreed, Refused> {
        let mut channel = self.accept_channel(stream).await?;
        let judged = match self.judge_dialler(&mut channel).await {
            Ok(hello) => room().map(|()| hello),
            Err(refused) => Err(refused),
        };
        let hello = match judged {
            Ok(hello) => hello,
            Err(refused) => {
                if is_told(&refused) {
                    leave(channel, &encode_refusal(&refused.to_string())).await;
                }
                return Err(refused);
            }
        };
        channel.write_all(&self.own_hello()?).await.map_err(Refused::of)?;
        channel.flush().await.map_err(Refused::of)?;
        Ok(agreed(channel, hello, LinkSide::Accepted))
    }

    /// Says hello to a node that is expected to have that name.
    ///
    /// # Errors
    /// Why it is no link, on this side's judgement or the other's.
    pub async fn dial(&self, stream: TcpStream, expected: &NodeName) -> Result<Agreed, Refused> {
        let mut channel = match &self.identity {
            None => Channel::Plain(stream),
            Some(identity) => {
                let connector = identity.credentials().connector;
                let stream = connector.connect(server_name(expected), stream).await.map_err(Refused::of)?;
                Channel::Tls(Box::new(stream.into()))
            }
        };
        channel.write_all(&self.own_hello()?).await.map_err(Refused::of)?;
        channel.flush().await.map_err(Refused::of)?;
        let hello = read_hello(&mut channel).await?;
        if hello.name != *expected {
            return Err(Refused::Name(format!("it says {}, and was dialled as {expected}", hello.name)));
        }
        self.judge(&channel, &hello, LinkSide::Dialled)?;
        Ok(agreed(channel, hello, LinkSide::Dialled))
    }

    async fn accept_channel(&self, stream: TcpStream) -> Result<Channel, Refused> {
        let Some(identity) = &self.identity else { return Ok(Channel::Plain(stream)) };
        let acceptor = identity.credentials().acceptor;
        match acceptor.accept(stream).into_fallible().await {
            Ok(stream) => Ok(Channel::Tls(Box::new(stream.into()))),
            Err((error, stream)) => {
                // TLS has sent its alert.
                leave(stream, &[]).await;
                Err(Refused::of(error))
            }
        }
    }

    async fn judge_dialler(&self, channel: &mut Channel) -> Result<Hello, Refused> {
        let hello = read_hello(channel).await?;
        self.judge(channel, &hello, LinkSide::Accepted)?;
        Ok(hello)
    }

    fn judge(&self, channel: &Channel, hello: &Hello, side: LinkSide) -> Result<(), Refused> {
        channel.check_name(&hello.name)?;
        if hello.name == self.name {
            return Err(Refused::Name(format!("both nodes are called {}", self.name)));
        }
        self.handler.admit(&peer(hello, side)).map_err(Refused::Unwelcome)
    }

    fn own_hello(&self) -> Result<Vec<u8>, Refused> {
        let frame_bytes_max = u32::try_from(self.handler.frame_bytes_max()).unwrap_or(u32::MAX);
        let hello = Hello { name: self.name.clone(), frame_bytes_max, said: self.handler.said() };
        hello.encode().map_err(Refused::SaysTooMuch)
    }
}

async fn read_hello(channel: &mut Channel) -> Result<Hello, Refused> {
    let mut first = [0; PREAMBLE_BYTES];
    channel.read_exact(&mut first[..2]).await.map_err(Refused::of)?;
    Preamble::judge([first[0], first[1]])?;
    channel.read_exact(&mut first[2..]).await.map_err(Refused::of)?;
    let preamble = Preamble::decode(&first)?;
    let mut body = vec![0; preamble.body_bytes];
    channel.read_exact(&mut body).await.map_err(Refused::of)?;
    match preamble.kind {
        Kind::Refusal => Err(Refused::ByPeer(decode_refusal(&body))),
        Kind::Hello => {
            preamble.negotiate()?;
            Ok(Hello::decode(&body)?)
        }
    }
}

/// Who does not speak this protocol would not understand the answer.
fn is_told(refused: &Refused) -> bool {
    match refused {
        Refused::Version(_) | Refused::Name(_) | Refused::Unwelcome(_) | Refused::Full(_) => true,
        // Not to be understood, which tells a node of TLS what it has met.
        Refused::TlsOnPlain => true,
        Refused::OtherProtocol(error) => matches!(error, HelloError::TooLong(_) | HelloError::Garbled(_)),
        Refused::Unreachable(_)
        | Refused::Ended(_)
        | Refused::TooSlow
        | Refused::PlainOnTls
        | Refused::NoCertificate
        | Refused::Expired(_)
        | Refused::OtherAuthority(_)
        | Refused::Certificate(_)
        | Refused::Tls(_)
        | Refused::ByPeer(_)
        | Refused::SaysTooMuch(_)
        | Refused::BeyondLoopback(_) => false,
    }
}

fn peer(hello: &Hello, side: LinkSide) -> LinkPeer {
    LinkPeer { name: hello.name.clone(), said: hello.said.clone(), side }
}

fn agreed(channel: Channel, hello: Hello, side: LinkSide) -> Agreed {
    Agreed { channel, peer: peer(&hello, side), frame_bytes_max: hello.frame_bytes_max as usize }
}
