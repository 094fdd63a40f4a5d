//! The schema that the store has now, as its catalog says.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use iolite_catalog::{Catalog, SchemaPolicy};
use iolite_node::{Standing, StoreClient};
use iolite_store::{ReadLimit, Reply, Request};
use iolite_values::{Schema, Timestamp};
use tokio::time::{Instant, timeout, timeout_at};

use crate::OperatorError;

/// How long this waits for the feed to reach the clock, which may be ahead of those of the cluster.
const CLOCK_REACHED_WITHIN: Duration = Duration::from_secs(2);

/// With everything that was acknowledged before this is called, if this machine's clock is as those of the cluster.
///
/// # Errors
/// [`OperatorError::NoMajority`], when nobody answers in time.
pub(crate) async fn read_schema(client: &StoreClient, within: Duration) -> Result<Schema, OperatorError> {
    let until = Instant::now() + within;
    let too_late = |_| OperatorError::NoMajority(within);
    let begun = timeout_at(until, client.standing()).await.map_err(too_late)??;
    let at = recent(client, begun).await?.resolved;
    let request = Request::ReadAt { interest: Catalog::interest(), at, limit: ReadLimit::NONE };
    let page = match timeout_at(until, client.request(request)).await.map_err(too_late)?? {
        Reply::ReadAt(Ok(page)) => page,
        Reply::Refused(refusal) => return Err(OperatorError::Refused(refusal.to_string())),
        other => return Err(OperatorError::Refused(format!("{other:?}"))),
    };
    let mut catalog = Catalog::new(SchemaPolicy::Fixed);
    catalog.load(page.rows)?;
    Ok(catalog.schema().clone())
}

/// Above where the feed stood when this client began, and, unless that takes long, at the clock.
async fn recent(client: &StoreClient, begun: Standing) -> Result<Standing, OperatorError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp::new(u64::try_from(now.as_micros()).unwrap_or(u64::MAX), client.id());
    let next = begun.resolved.next_for(client.id());
    match timeout(CLOCK_REACHED_WITHIN, client.resolved_through(now.max(next))).await {
        Ok(reached) => Ok(reached?),
        Err(_) => Ok(client.standing().await?),
    }
}
