//! Requests to the store, with an end to patience: an operator is told when nobody answers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use iolite_node::{Standing, StoreClient, StoreClientEnd};
use iolite_store::{CommitReply, Reply, Request};
use iolite_values::{Timestamp, Transaction};

/// The longest time without an answer. A group that changes leaders, or a replica that restarts, takes less.
pub(crate) const ANSWERED_WITHIN: Duration = Duration::from_secs(60);

/// Why the store did not answer.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error("the store client has ended: {0}")]
    End(#[from] StoreClientEnd),
    #[error(
        "the store did not answer within {ANSWERED_WITHIN:?}: a majority of every shard has to be up and to accept this program's certificate"
    )]
    NoAnswer,
    #[error("the store answered {asked} with {answer}")]
    Unexpected { asked: &'static str, answer: String },
}

pub(crate) async fn ask(store: &StoreClient, request: Request) -> Result<Reply, RequestError> {
    let reply = tokio::time::timeout(ANSWERED_WITHIN, store.request(request)).await;
    Ok(reply.map_err(|_| RequestError::NoAnswer)??)
}

/// Each transaction has its one outcome, so that whoever is not sure may ask again.
pub(crate) async fn commit(store: &StoreClient, transaction: Transaction) -> Result<CommitReply, RequestError> {
    let request = Request::Commit { transaction, floor: Timestamp::ZERO, within: None };
    match ask(store, request).await? {
        Reply::Commit(reply) => Ok(reply),
        other => Err(unexpected("a commit", &other)),
    }
}

/// Where the feed stands, once everything at or below `at` is resolved.
async fn resolved_through(store: &StoreClient, at: Timestamp) -> Result<Standing, RequestError> {
    let standing = tokio::time::timeout(ANSWERED_WITHIN, store.resolved_through(at)).await;
    Ok(standing.map_err(|_| RequestError::NoAnswer)??)
}

/// A resolved timestamp with everything that was acknowledged to anyone before this was called.
///
/// It is at or above the clock, and above where the feed stood when this client began. So every shard was closed since: and whoever closes learns of
/// every timestamp that was closed before, by whatever clock.
pub(crate) async fn everything_until_now(store: &StoreClient) -> Result<Standing, RequestError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_micros = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
    let begun = resolved_through(store, Timestamp::ZERO).await?;
    let now = Timestamp::new(now_micros, store.id());
    resolved_through(store, now.max(begun.resolved.next_for(store.id()))).await
}

pub(crate) fn unexpected(asked: &'static str, answer: &Reply) -> RequestError {
    // It may be a page of rows.
    let answer = format!("{answer:?}").chars().take(500).collect();
    RequestError::Unexpected { asked, answer }
}
