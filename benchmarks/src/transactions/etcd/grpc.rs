//! gRPC, as much of it as one client needs that asks one thing at a time: a message up, a message down, over HTTP/2.
//!
//! Source: "gRPC over HTTP2" in gRPC's documentation.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, bail};
use bytes::{BufMut, Bytes, BytesMut};
use h2::RecvStream;
use h2::client::SendRequest;
use http::{HeaderMap, Request};
use prost::Message;

use crate::accounting::{Counted, Traffic};

#[derive(Debug)]
pub struct Channel {
    requests: SendRequest<Bytes>,
    authority: String,
    traffic: Arc<Traffic>,
}

/// Whether it is compressed, and how long it is.
const PREFIX: usize = 5;
/// What a server may send before we take it.
const WINDOW: u32 = 4 << 20;

impl Channel {
    pub async fn open(address: SocketAddr, traffic: Arc<Traffic>) -> anyhow::Result<Channel> {
        let socket = Counted::connect(address, traffic.clone()).await?;
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW).enable_push(false);
        let (requests, connection) = builder.handshake(socket).await?;
        // It ends with its channel; how is told to the calls.
        tokio::spawn(async { drop(connection.await) });
        Ok(Channel { requests, authority: address.to_string(), traffic })
    }

    /// `method` is service/name.
    ///
    /// # Errors
    /// When the answer is an error or none comes: what was asked may have happened.
    pub async fn call<Answer: Message + Default>(
        &mut self,
        method: &str,
        request: &impl Message,
    ) -> anyhow::Result<Answer> {
        let head = Request::post(format!("http://{}/{method}", self.authority))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())?;
        let mut requests = self.requests.clone().ready().await?;
        let (response, mut stream) = requests.send_request(head, false)?;
        stream.send_data(framed(request)?, true)?;
        let (head, mut body) = response.await?.into_parts();
        let message = whole(&mut body).await?;
        match body.trailers().await? {
            Some(trailers) => check(&trailers)?,
            None => check(&head.headers)?,
        }
        self.traffic.exchanged();
        unframed(&message)
    }
}

fn framed(message: &impl Message) -> anyhow::Result<Bytes> {
    let mut bytes = BytesMut::with_capacity(PREFIX + message.encoded_len());
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(message.encoded_len())?);
    message.encode(&mut bytes)?;
    Ok(bytes.freeze())
}

fn unframed<Answer: Message + Default>(bytes: &[u8]) -> anyhow::Result<Answer> {
    let (prefix, message) = bytes.split_first_chunk::<PREFIX>().context("a gRPC answer without a message")?;
    let [compressed, length @ ..] = *prefix;
    if compressed != 0 || u32::from_be_bytes(length) as usize != message.len() {
        bail!("a gRPC answer of {} bytes is not one message", bytes.len());
    }
    Ok(Answer::decode(message)?)
}

async fn whole(body: &mut RecvStream) -> anyhow::Result<Vec<u8>> {
    let mut message = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        body.flow_control().release_capacity(chunk.len())?;
        message.extend_from_slice(&chunk);
    }
    Ok(message)
}

fn check(trailers: &HeaderMap) -> anyhow::Result<()> {
    let text = |name| trailers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("none");
    match text("grpc-status") {
        "0" => Ok(()),
        status => bail!("gRPC status {status}: {}", text("grpc-message")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transactions::etcd::messages::PutRequest;

    #[test]
    fn messages_are_framed_and_other_bytes_are_none() {
        let message = PutRequest { key: b"key".to_vec(), value: b"value".to_vec() };
        let bytes = framed(&message).expect("it is short");
        assert_eq!(bytes[..PREFIX], [0, 0, 0, 0, 12]);
        assert_eq!(unframed::<PutRequest>(&bytes).expect("it is one"), message);
        for broken in [&bytes[..4], &bytes[..10], &[1, 0, 0, 0, 0][..]] {
            assert!(unframed::<PutRequest>(broken).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn a_status_other_than_zero_is_an_error_with_its_message() {
        let trailers = |status: &'static str| {
            let value = http::HeaderValue::from_static(status);
            HeaderMap::from_iter([(http::HeaderName::from_static("grpc-status"), value)])
        };
        assert!(check(&trailers("0")).is_ok());
        assert!(check(&trailers("14")).is_err());
        assert!(check(&HeaderMap::new()).is_err());
    }
}
