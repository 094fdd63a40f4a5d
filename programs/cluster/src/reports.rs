//! What the replicas say of themselves.
//!
//! Invariant: who only looks opens no term, and so ends no command and no gateway.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_host::LinkSecurity;
use iolite_node::config::{ClusterFile, ShardPlace};
use iolite_node::{ClusterSource, StoreClient};
use iolite_replication::node::{ReplicaId, Report};
use iolite_values::CoordinatorId;
use tokio::time::{Instant, timeout_at};

use crate::OperatorError;
use crate::operator::client_settings;

/// Replicas are asked again after so long.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// A replica that has not answered by then is taken to be down.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// By replica.
pub type Reports = BTreeMap<ReplicaId, Report>;

/// The number of who looks at a cluster of this machine: a link of the same name would replace that of a change that runs.
pub fn observer_id() -> CoordinatorId {
    CoordinatorId::new(CoordinatorId::MAX - 2).expect("it is below the last one")
}

/// Who looks, and changes nothing.
#[derive(Debug)]
pub struct Observer {
    client: StoreClient,
    file: PathBuf,
}

impl Observer {
    /// Dials the replicas of a cluster's file, as the gateway of this number.
    ///
    /// # Errors
    /// [`OperatorError`], about files.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn open(file: &Path, id: CoordinatorId, security: LinkSecurity) -> Result<Observer, OperatorError> {
        let client = StoreClient::observe(client_settings(file, id, security)?)?;
        Ok(Observer { client, file: file.to_owned() })
    }

    /// The cluster's description, as it is.
    ///
    /// # Errors
    /// [`OperatorError`], about the file or etcd.
    pub async fn file(&self) -> Result<ClusterFile, OperatorError> {
        Ok(ClusterSource::new(&self.file).read().await?.file)
    }

    /// What each replica of the description says; one that does not answer is missing.
    ///
    /// # Errors
    /// [`OperatorError`], that nothing can come any more.
    pub async fn reports(&self, file: &ClusterFile) -> Result<Reports, OperatorError> {
        reports_of(&self.client, &replicas_of(file)).await
    }
}

pub(crate) fn replicas_of(file: &ClusterFile) -> Vec<ReplicaId> {
    file.shards.iter().flat_map(ShardPlace::all).map(|at| ReplicaId(at.number)).collect()
}

/// Those that come in time. Earlier ones do not count. Fails where nothing can come any more.
pub(crate) async fn reports_of(client: &StoreClient, replicas: &[ReplicaId]) -> Result<Reports, OperatorError> {
    let until = Instant::now() + ANSWERS_WITHIN;
    let mut watched = client.forget_reports();
    let is_whole = |reports: &Reports| replicas.iter().all(|id| reports.contains_key(id));
    loop {
        for replica in replicas {
            client.inquire(*replica);
        }
        let again = until.min(Instant::now() + ASK_AGAIN_AFTER);
        let whole = timeout_at(again, watched.wait_for(is_whole)).await.is_ok_and(|whole| whole.is_ok());
        if let Some(end) = client.ended() {
            return Err(end.into());
        }
        if whole || Instant::now() >= until {
            let mut reports = watched.borrow().clone();
            reports.retain(|id, _| replicas.contains(id));
            return Ok(reports);
        }
    }
}
