//! A session without a client core, for what no client core does. The tests of `iolite dev` use it too.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use iolite_values::{ClientId, Counter, Id, Interest, KeyRange, SchemaHash, TableId};
use iolite_wire::message::{FromClient, FromGateway, Hello, ProtocolVersion, Subscribe, SubscriptionId};
use iolite_wire::{SessionDecoder, SessionEncoder};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// Far more than any answer takes.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct RawSession {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    encoder: SessionEncoder<FromClient>,
    decoder: SessionDecoder<FromGateway>,
    pub bytes_received: usize,
}

impl RawSession {
    pub async fn connect(url: &str) -> RawSession {
        let (socket, _) = tokio_tungstenite::connect_async(url).await.expect("the server listens");
        RawSession { socket, encoder: SessionEncoder::new(), decoder: SessionDecoder::new(), bytes_received: 0 }
    }

    pub async fn hello(&mut self, token: &str, schema: SchemaHash) {
        self.say(&FromClient::Hello(hello(token, schema))).await;
    }

    pub async fn subscribe_to_all(&mut self, table: &str) {
        let interest = Interest::Range { table: TableId::of(table), range: KeyRange::all() };
        let interests = vec![(SubscriptionId(1), interest)];
        self.say(&FromClient::Subscribe(Subscribe { held: false, interests, first: Default::default() })).await;
    }

    pub async fn say(&mut self, message: &FromClient) {
        let frame = self.encoder.encode(message).expect("small");
        self.send(Message::Binary(frame.into())).await;
    }

    pub async fn send(&mut self, message: Message) {
        // The server may have closed already: what it said is read next.
        let _ = self.socket.send(message).await;
    }

    /// The next message; `None` at the end.
    pub async fn hear(&mut self) -> Option<FromGateway> {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("the server says something");
            match next? {
                Ok(Message::Binary(frame)) => {
                    self.bytes_received += frame.len();
                    return Some(self.decoder.decode(&frame).expect("a message"));
                }
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

/// The hello of a client of this version that holds nothing.
pub fn hello(token: &str, schema: SchemaHash) -> Hello {
    Hello {
        oldest_version: ProtocolVersion::OLDEST_SUPPORTED,
        newest_version: ProtocolVersion::CURRENT,
        token: token.to_owned(),
        client: ClientId(Id::from_u128(42)),
        schema,
        resume: None,
        acknowledged: Counter(0),
        centre_token: None,
        batch: Duration::ZERO,
    }
}
