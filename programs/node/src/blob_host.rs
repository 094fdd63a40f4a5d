//! The host's side of `/blobs`: connections, and what the gateway asks of the store of chunks.
//!
//! Invariant: every question of the gateway is answered once, also if the store cannot be reached.

use std::sync::Arc;

use iolite_blobs::{CheckedPut, Done, Ticket};
use iolite_gateway::{BlobInput, BlobLink, BlobOutput, Gateway, Input};
use iolite_host::{Codec, Endpoint, Mailbox, Metrics, SessionEvent, SessionHandler, SessionNumber, Stop, random_id};
use iolite_store::{Reply, RequestId};
use iolite_wire::blobs::{BlobReply, BlobRequest};
use iolite_wire::limits;
use tokio::sync::Semaphore;

use crate::blob_store::BlobStore;
use crate::blobs::asks::Asks;
use crate::blobs::commands::BlobCommands;
use crate::blobs::sweeper::Sweeper;

/// Questions that the store of chunks is asked at a time. The others wait.
pub(crate) const STORE_QUESTIONS_MAX: usize = 64;

/// Makes what happens to a socket of `/blobs` an input of the gateway, as the machine that it is part of takes it.
pub(crate) struct BlobSessions<I>(pub fn(Input) -> I);

// By hand, because an input need not be a copy for the function to be one.
impl<I> Clone for BlobSessions<I> {
    fn clone(&self) -> Self {
        BlobSessions(self.0)
    }
}

pub(crate) struct BlobCodec;

/// A message of a client. Chunks are looked at by the connection's task, beside those of others and beside the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FromBlobClient {
    Request(BlobRequest),
    Put(CheckedPut),
}

impl Codec for BlobCodec {
    type Incoming = FromBlobClient;
    type Outgoing = BlobReply;

    fn decode(&mut self, frame: &[u8]) -> Result<FromBlobClient, String> {
        match BlobRequest::decode(frame).map_err(|error| error.to_string())? {
            BlobRequest::Put(put) => {
                let put = CheckedPut::check(put).ok_or("the content of a chunk has another id")?;
                Ok(FromBlobClient::Put(put))
            }
            request @ (BlobRequest::Hello(_)
            | BlobRequest::Lease
            | BlobRequest::Have(_)
            | BlobRequest::Seal(_)
            | BlobRequest::Get(_)) => Ok(FromBlobClient::Request(request)),
        }
    }

    fn encode(&mut self, message: &BlobReply) -> Result<Vec<u8>, String> {
        message.encode().map_err(|error| error.to_string())
    }
}

impl<I: Send + 'static> SessionHandler for BlobSessions<I> {
    type Codec = BlobCodec;
    type Input = I;

    fn codec(&self) -> BlobCodec {
        BlobCodec
    }

    fn input(&self, session: SessionNumber, event: SessionEvent<FromBlobClient>) -> I {
        let event = match event {
            SessionEvent::Opened => BlobInput::Opened(random_id().to_be_bytes()),
            SessionEvent::Message(FromBlobClient::Request(request)) => BlobInput::Message(request),
            SessionEvent::Message(FromBlobClient::Put(put)) => BlobInput::Put(put),
            SessionEvent::Garbled(problem) => BlobInput::Garbled(problem),
            SessionEvent::Drained(messages) => BlobInput::Drained(messages),
            SessionEvent::Closed => BlobInput::Closed,
        };
        (self.0)(Input::Blobs(BlobLink(session), event))
    }

    /// More than the protocol allows, so that who is a little over is told so instead of being cut off.
    fn frame_bytes_max(&self) -> usize {
        2 * limits::BLOB_REQUEST.bytes.most
    }
}

/// Carries out what the gateway says to connections of `/blobs`.
pub(crate) struct BlobHost<I: Send + 'static> {
    pub(crate) endpoint: Endpoint<BlobSessions<I>>,
    input: fn(Input) -> I,
    mailbox: Mailbox<I>,
    chunks: Option<BlobStore>,
    at_once: Arc<Semaphore>,
    asks: Arc<Asks>,
    sweeper: Option<Arc<Sweeper>>,
}

impl<I: Send + 'static> BlobHost<I> {
    pub(crate) fn new(
        input: fn(Input) -> I,
        mailbox: Mailbox<I>,
        chunks: Option<BlobStore>,
        asks: Arc<Asks>,
        metrics: &Metrics,
        stop: Stop,
    ) -> BlobHost<I> {
        let endpoint = Endpoint::for_blobs(BlobSessions(input), mailbox.clone(), metrics, stop.clone());
        let sweeper = chunks.clone().map(|chunks| {
            let gateway = mailbox.clone();
            Sweeper::new(asks.clone(), chunks, metrics, move |told| gateway.send(input(told)))
        });
        if let Some(sweeper) = sweeper.clone() {
            tokio::spawn(sweeper.run(stop));
        }
        let at_once = Arc::new(Semaphore::new(STORE_QUESTIONS_MAX));
        BlobHost { endpoint, input, mailbox, chunks, at_once, asks, sweeper }
    }

    /// The commands of operators about blobs.
    pub(crate) fn commands(&self) -> BlobCommands {
        BlobCommands::new(self.sweeper.clone())
    }

    /// The store of rows has answered a sweep or a check.
    pub(crate) fn answer(&self, id: RequestId, reply: Reply) {
        self.asks.answer(id, reply);
    }

    /// Takes note of where the gateway stands.
    pub(crate) fn settled(&self, gateway: &Gateway) {
        self.asks.stands(gateway.serving());
        if let Some(sweeper) = &self.sweeper {
            sweeper.leases(gateway.blob_leases());
        }
    }

    pub(crate) fn perform(&self, link: BlobLink, output: BlobOutput) {
        match output {
            BlobOutput::Send(reply) => self.endpoint.send(link.0, reply),
            BlobOutput::Close => self.endpoint.close(link.0),
            BlobOutput::Store(ticket, object, content) => self.ask(link, ticket, move |store: BlobStore| async move {
                store.store(object, content).await.map_or(Done::Unavailable, |()| Done::Stored)
            }),
            BlobOutput::Load(ticket, object) => self.ask(link, ticket, move |store: BlobStore| async move {
                store.load(object).await.map_or(Done::Unavailable, Done::Loaded)
            }),
            BlobOutput::Look(ticket, object) => self.ask(link, ticket, move |store: BlobStore| async move {
                store.is_there(object).await.map_or(Done::Unavailable, Done::Looked)
            }),
        }
    }

    fn ask<F>(&self, link: BlobLink, ticket: Ticket, question: impl FnOnce(BlobStore) -> F + Send + 'static)
    where
        F: Future<Output = Done> + Send,
    {
        let (input, mailbox, at_once) = (self.input, self.mailbox.clone(), self.at_once.clone());
        let tell = move |done| mailbox.send(input(Input::Blobs(link, BlobInput::Done(ticket, done))));
        let Some(store) = self.chunks.clone() else { return tell(Done::Unavailable) };
        tokio::spawn(async move {
            let permit = at_once.acquire().await;
            let done = question(store).await;
            drop(permit);
            tell(done);
        });
    }
}

#[cfg(test)]
mod tests {
    use iolite_blobs::{ObjectName, pack};
    use iolite_host::{Shutdown, mailbox};
    use iolite_values::{ChunkId, Id, LeaseName, StoreIncarnation};
    use iolite_wire::blobs::BlobPut;

    use super::*;
    use crate::config::BlobsConfig;
    use crate::objects::ObjectsAddress;

    #[tokio::test]
    async fn questions_to_the_store_wait_for_their_turn() {
        let folder = std::env::temp_dir().join(format!("iolite-questions-{:032x}", random_id()));
        let config = BlobsConfig::at(ObjectsAddress::Folder(folder.clone()));
        let store = BlobStore::open(&config).expect("it is made");
        let (mailbox, mut inbox) = mailbox(1 << 20);
        let (metrics, shutdown) = (Metrics::default(), Shutdown::new());
        let (asks, stop) = (Asks::new(|_| {}), shutdown.listen());
        let host = BlobHost::new(std::convert::identity::<Input>, mailbox, Some(store), asks, &metrics, stop);
        let all = host.at_once.clone().acquire_many_owned(STORE_QUESTIONS_MAX as u32).await.expect("it is open");
        let object = ObjectName {
            store: StoreIncarnation(Id::from_u128(5)),
            lease: LeaseName(Id::from_u128(7)),
            chunk: ChunkId::of(b"a"),
        };
        host.perform(BlobLink(1), BlobOutput::Look(Ticket(3), object));
        tokio::task::yield_now().await;
        let mut answers =
            async || inbox.wait().await.then(|| inbox.take().find(|own| matches!(own, Input::Blobs(..)))).flatten();
        assert_eq!(answers().await, None, "as many as may be are open");
        drop(all);
        assert_eq!(answers().await, Some(Input::Blobs(BlobLink(1), BlobInput::Done(Ticket(3), Done::Looked(false)))));
        std::fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn the_task_of_a_connection_looks_whether_a_chunk_is_what_its_name_says() {
        let put = |chunk: &[u8], content: &[u8]| BlobPut {
            lease: LeaseName(Id::from_u128(7)),
            chunk: ChunkId::of(chunk),
            content: pack(content),
        };
        let decode = |put| BlobCodec.decode(&BlobRequest::Put(put).encode().expect("short"));
        let checked = CheckedPut::check(put(b"a", b"a")).expect("it is");
        assert_eq!(decode(put(b"a", b"a")), Ok(FromBlobClient::Put(checked)));
        assert_eq!(decode(put(b"a", b"b")), Err("the content of a chunk has another id".into()));
    }
}
