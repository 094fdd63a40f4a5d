//! A gateway without a store: it takes one client, and says what the test makes it say.

use futures_util::{SinkExt, StreamExt};
use iolite_values::{ClientId, StoreIncarnation, Timestamp};
use iolite_wire::message::{Advance, FromClient, FromGateway, ProtocolVersion, Submit, Subscribe, Welcome};
use iolite_wire::{SessionDecoder, SessionEncoder};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::notes::PATIENCE;

pub struct ScriptedGateway {
    socket: WebSocketStream<TcpStream>,
    encoder: SessionEncoder<FromGateway>,
    decoder: SessionDecoder<FromClient>,
}

impl ScriptedGateway {
    /// Listens, and gives the address and the gateway for the first client that comes.
    pub async fn listen() -> (String, impl Future<Output = ScriptedGateway>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let url = format!("ws://{}/sync", listener.local_addr().expect("it listens"));
        (url, ScriptedGateway::take_first(listener))
    }

    async fn take_first(listener: TcpListener) -> ScriptedGateway {
        let (socket, _) = listener.accept().await.expect("a client");
        let socket = tokio_tungstenite::accept_async(socket).await.expect("it speaks WebSocket");
        let mut gateway = ScriptedGateway { socket, encoder: SessionEncoder::new(), decoder: SessionDecoder::new() };
        assert!(matches!(gateway.hear().await, FromClient::Hello(_)));
        let welcome = Welcome {
            version: ProtocolVersion::CURRENT,
            store: StoreIncarnation::default(),
            resumed: false,
            clock_micros: None,
            centre: None,
            moved: false,
            client: ClientId::default(),
            subject: None,
            token_left: None,
        };
        gateway.say(FromGateway::Welcome(welcome)).await;
        gateway
    }

    pub async fn advance(&mut self, to: Timestamp, advance: Advance) {
        self.say(FromGateway::Advance(Advance { to, ..advance })).await;
    }

    /// The next subscription; what else comes before it is left out.
    pub async fn subscription(&mut self) -> Subscribe {
        loop {
            if let FromClient::Subscribe(subscribe) = self.hear().await {
                return subscribe;
            }
        }
    }

    /// The next submission; likewise.
    pub async fn submission(&mut self) -> Submit {
        loop {
            if let FromClient::Submit(submit) = self.hear().await {
                return submit;
            }
        }
    }

    async fn say(&mut self, message: FromGateway) {
        let frame = self.encoder.encode(&message).expect("small");
        self.socket.send(Message::Binary(frame.into())).await.expect("the client is there");
    }

    async fn hear(&mut self) -> FromClient {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("the client says something");
            if let Message::Binary(frame) = next.expect("it is there").expect("a frame") {
                return self.decoder.decode(&frame).expect("a message");
            }
        }
    }
}
