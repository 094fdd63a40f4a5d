//! openraft's messages on Iolite's links.
//!
//! Entries are sent as soon as they are there: what is on its way is not waited for. Answers come in the order of the requests, since
//! links keep it. A request has no answer once the link has ended on which it was sent.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{FutureExt, Stream, StreamExt};
use iolite_baseline_client::{ShardNumber, node_name};
use iolite_host::{Inbox, LinkEvent, LinkNumber, Links, NodeName};
use openraft::errors::{RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::RPCOption;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, StreamAppendResult, VoteRequest, VoteResponse,
};
use openraft::{EmptyNode, OptionalSend, RaftNetworkFactory, RaftNetworkV2};
use tokio::sync::oneshot;

use super::peer::{AppendMessage, AskVoteMessage, PeerEvent, PeerHandler, PeerMessage, Said};
use super::{LogId, Raft, Types, Vote};

/// The other nodes of a shard. Clones are of the same.
#[derive(Clone)]
pub struct Peers {
    shard: ShardNumber,
    links: Links<PeerHandler>,
    asked: Arc<Mutex<Asked>>,
}

#[derive(Default)]
struct Asked {
    last: u64,
    open: BTreeMap<LinkNumber, NodeName>,
    waiting: BTreeMap<u64, (NodeName, oneshot::Sender<Said>)>,
}

/// The way to one of them.
pub struct Network {
    peers: Peers,
    target: NodeName,
}

/// Appends on their way to one of them.
struct Appends<S> {
    network: Network,
    requests: S,
    waiting: VecDeque<Append>,
    state: Requests,
}

struct Append {
    before: Option<LogId>,
    last: Option<LogId>,
    answer: oneshot::Receiver<Said>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Requests {
    MoreToCome,
    AllSent,
    Failed,
}

/// Requests on their way to a node at a time.
const APPENDS_MAX: usize = 256;

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("there is no link, or it has ended")]
struct NoLink;

impl Peers {
    pub fn new(shard: ShardNumber, links: Links<PeerHandler>) -> Peers {
        Peers { shard, links, asked: Arc::default() }
    }

    fn ask(&self, target: &NodeName, said: Said) -> Result<oneshot::Receiver<Said>, NoLink> {
        let (sender, answer) = oneshot::channel();
        let mut asked = self.asked();
        if !asked.open.values().any(|open| open == target) {
            return Err(NoLink);
        }
        asked.last += 1;
        let id = asked.last;
        asked.waiting.insert(id, (target.clone(), sender));
        // While it is locked, so that requests go in the order of their numbers.
        self.links.send_to(target, &PeerMessage { id, said: Some(said) });
        Ok(answer)
    }

    fn on_answer(&self, id: u64, said: Said) {
        if let Some((_, sender)) = self.asked().waiting.remove(&id) {
            // Whoever asked may have given up.
            let _ = sender.send(said);
        }
    }

    fn on_opened(&self, link: LinkNumber, name: NodeName) {
        self.asked().open.insert(link, name);
    }

    fn on_closed(&self, link: LinkNumber) {
        let mut asked = self.asked();
        if let Some(name) = asked.open.remove(&link) {
            asked.waiting.retain(|_, (target, _)| *target != name);
        }
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands what peers ask to openraft, and their answers to whoever asked, until nothing can come any more.
pub async fn serve_peers(peers: Peers, raft: Raft, mut inbox: Inbox<PeerEvent>) {
    while inbox.wait().await {
        for PeerEvent { link, event } in inbox.take() {
            match event {
                LinkEvent::Opened(peer) => peers.on_opened(link, peer.name),
                LinkEvent::Closed => peers.on_closed(link),
                LinkEvent::Message(PeerMessage { said: None, .. }) => {}
                LinkEvent::Message(PeerMessage { id, said: Some(said) }) => match said {
                    Said::Appended(_) | Said::Voted(_) => peers.on_answer(id, said),
                    Said::Append(_) | Said::Vote(_) | Said::PreVote(_) => {
                        let (peers, raft) = (peers.clone(), raft.clone());
                        // Tasks begin in this order, and what comes first is written first.
                        tokio::spawn(async move { peers.answer(&raft, link, id, said).await });
                    }
                },
            }
        }
    }
}

impl Peers {
    async fn answer(&self, raft: &Raft, link: LinkNumber, id: u64, said: Said) {
        let answer = match said {
            Said::Append(message) => raft.append_entries(message.into()).await.map(|it| Said::Appended(it.into())),
            Said::Vote(message) => raft.vote(message.into()).await.map(|it| Said::Voted(it.into())),
            Said::PreVote(message) => raft.pre_vote(message.into()).await.map(|it| Said::Voted(it.into())),
            Said::Appended(_) | Said::Voted(_) => return,
        };
        match answer {
            Ok(said) => self.links.send(link, &PeerMessage { id, said: Some(said) }),
            Err(error) => self.links.close(link, &error.to_string()),
        }
    }
}

impl RaftNetworkFactory<Types> for Peers {
    type Network = Network;

    async fn new_client(&mut self, target: u64, _: &EmptyNode) -> Network {
        let target = node_name(self.shard, usize::try_from(target).unwrap_or(usize::MAX));
        Network { peers: self.clone(), target }
    }
}

impl Network {
    async fn ask(&self, said: Said, within: Duration) -> Result<Said, RPCError<Types>> {
        let answer = self.peers.ask(&self.target, said).map_err(unreachable)?;
        match tokio::time::timeout(within, answer).await {
            Ok(Ok(said)) => Ok(said),
            Ok(Err(_)) | Err(_) => Err(unreachable(NoLink)),
        }
    }
}

impl RaftNetworkV2<Types> for Network {
    type SnapshotData = ();

    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<Types>, RPCError<Types>> {
        match self.ask(Said::Append(AppendMessage::from(&request)), option.hard_ttl()).await? {
            Said::Appended(appended) => Ok(appended.into()),
            Said::Append(_) | Said::Vote(_) | Said::PreVote(_) | Said::Voted(_) => Err(unreachable(NoLink)),
        }
    }

    fn stream_append<'s, S>(
        &'s mut self,
        requests: S,
        _: RPCOption,
    ) -> Pin<Box<dyn Future<Output = Result<BoxStream<'s, AppendResult>, RPCError<Types>>> + Send + 's>>
    where
        S: Stream<Item = AppendEntriesRequest<Types>> + OptionalSend + Unpin + 'static,
    {
        let network = Network { peers: self.peers.clone(), target: self.target.clone() };
        let appends = Appends { network, requests, waiting: VecDeque::new(), state: Requests::MoreToCome };
        let appends: BoxStream<'s, AppendResult> = Box::pin(appends);
        Box::pin(std::future::ready(Ok(appends)))
    }

    async fn vote(
        &mut self,
        request: VoteRequest<Types>,
        option: RPCOption,
    ) -> Result<VoteResponse<Types>, RPCError<Types>> {
        self.ask_vote(Said::Vote(AskVoteMessage::from(request)), &option).await
    }

    async fn pre_vote(
        &mut self,
        request: VoteRequest<Types>,
        option: RPCOption,
    ) -> Result<VoteResponse<Types>, RPCError<Types>> {
        self.ask_vote(Said::PreVote(AskVoteMessage::from(request)), &option).await
    }

    async fn full_snapshot(
        &mut self,
        _: Vote,
        _: openraft::alias::SnapshotOf<Types, ()>,
        _: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _: RPCOption,
    ) -> Result<SnapshotResponse<Types>, StreamingError<Types>> {
        // None is ever made: the log is kept for good.
        Err(StreamingError::Unreachable(Unreachable::new(&NoLink)))
    }
}

impl Network {
    async fn ask_vote(&self, said: Said, option: &RPCOption) -> Result<VoteResponse<Types>, RPCError<Types>> {
        match self.ask(said, option.hard_ttl()).await? {
            Said::Voted(voted) => Ok(voted.into()),
            Said::Append(_) | Said::Appended(_) | Said::Vote(_) | Said::PreVote(_) => Err(unreachable(NoLink)),
        }
    }
}

type AppendResult = Result<StreamAppendResult<Types>, RPCError<Types>>;

impl<S: Stream<Item = AppendEntriesRequest<Types>> + Unpin> Stream for Appends<S> {
    type Item = AppendResult;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AppendResult>> {
        if let Err(error) = self.send_more(context) {
            return Poll::Ready(Some(Err(self.fail(error))));
        }
        let Some(first) = self.waiting.front_mut() else {
            return match self.state {
                Requests::MoreToCome => Poll::Pending,
                Requests::AllSent | Requests::Failed => Poll::Ready(None),
            };
        };
        let answer = std::task::ready!(first.answer.poll_unpin(context));
        match (answer, self.waiting.pop_front()) {
            (Ok(Said::Appended(appended)), Some(Append { before, last, .. })) => {
                let response: AppendEntriesResponse<Types> = appended.into();
                Poll::Ready(Some(Ok(response.into_stream_result(before, last))))
            }
            _ => Poll::Ready(Some(Err(self.fail(NoLink)))),
        }
    }
}

impl<S: Stream<Item = AppendEntriesRequest<Types>> + Unpin> Appends<S> {
    fn send_more(&mut self, context: &mut Context<'_>) -> Result<(), NoLink> {
        while self.state == Requests::MoreToCome && self.waiting.len() < APPENDS_MAX {
            match self.requests.poll_next_unpin(context) {
                Poll::Pending => break,
                Poll::Ready(None) => self.state = Requests::AllSent,
                Poll::Ready(Some(request)) => {
                    let Network { peers, target } = &self.network;
                    let answer = peers.ask(target, Said::Append(AppendMessage::from(&request)))?;
                    let before = request.prev_log_id;
                    let last = request.entries.last().map(|entry| entry.log_id).or(before);
                    self.waiting.push_back(Append { before, last, answer });
                }
            }
        }
        Ok(())
    }

    fn fail(&mut self, error: NoLink) -> RPCError<Types> {
        self.state = Requests::Failed;
        self.waiting.clear();
        unreachable(error)
    }
}

fn unreachable(error: NoLink) -> RPCError<Types> {
    RPCError::Unreachable(Unreachable::new(&error))
}
