//! One pass of a sweep: carries out what the machine of a sweep asks for.
//!
//! Invariants: an object is deleted only when the store keeps no history any more in which a row may name it, and from the store of rows alone that the
//! pass began with. A lease counts as unchanged only if the store has validated that, together with the schema: restored rows come with no lease.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use iolite_blobs::{
    LEASES_TABLE, ObjectName, SEALS_TABLE, Sweep, SweepEffect, SweepInput, SweepReport, SweepSettings, blobs_of_row,
    lease_of_row, lease_read,
};
use iolite_catalog::Catalog;
use iolite_host::random_id;
use iolite_store::{ChangesError, Reply, Request, Validity};
use iolite_values::{
    Attempt, ClientId, Counter, Id, Interest, KeyRange, LeaseName, Read, StoreIncarnation, TableId, Timestamp,
    TransactionId,
};
use tokio::task::{JoinHandle, JoinSet};

use crate::Standing;
use crate::blob_store::{BlobStore, Unavailable};
use crate::blobs::asks::Asks;
use crate::blobs::rows::{Pages, SweepError, schema_at, tables_with_blobs};
use crate::blobs::usage::{Amount, Listing};

/// How often the store is asked whether it still keeps the history that a row may name garbage in.
const HISTORY_ASKED_EACH: Duration = Duration::from_secs(1);
/// Well within the time for which replicas keep history without being told.
const HELD_EACH: Duration = Duration::from_secs(20);

/// The order for a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// The sweep deletes nothing.
    pub is_dry: bool,
    pub grace: Duration,
}

/// A pass over the store of chunks.
pub(crate) struct Pass<'a> {
    asks: &'a Arc<Asks>,
    chunks: &'a BlobStore,
    store: StoreIncarnation,
    at: Timestamp,
    tables: Vec<TableId>,
    rows: Pages<'a>,
    /// As whom the store is asked.
    client: ClientId,
    asked: Counter,
    deletes: JoinSet<(ObjectName, Result<(), Unavailable>)>,
    holding: Holding,
    listing: Listing,
}

/// Has the history kept that is read, as long as it lives.
struct Holding(JoinHandle<()>);

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<'a> Pass<'a> {
    /// Sweeps the leases above `after`. `found` is told of the garbage before anything is deleted.
    pub async fn run(
        asks: &'a Arc<Asks>,
        chunks: &'a BlobStore,
        order: Order,
        after: Option<LeaseName>,
        found: impl FnMut(&SweepReport),
    ) -> Result<SweepReport, SweepError> {
        let Standing { store, resolved: at } = asks.standing().await;
        let held = asks.clone();
        let holding = Holding(tokio::spawn(async move {
            loop {
                tokio::time::sleep(HELD_EACH).await;
                held.hold(at);
            }
        }));
        let tables = tables_with_blobs(&schema_at(asks, at).await?);
        let rows = Pages::new(asks, Some(at), tables.iter().copied().chain([TableId::of(SEALS_TABLE)]));
        let (client, asked) = (ClientId(Id::from_u128(random_id())), Counter(0));
        let (deletes, listing) = (JoinSet::new(), Listing::default());
        let pass = Pass { asks, chunks, store, at, tables, rows, client, asked, deletes, holding, listing };
        let live = pass.leases().await?;
        let Order { is_dry, grace } = order;
        let sweep = Sweep::new(SweepSettings { store, live, after, grace, is_dry });
        Ok(pass.drive(sweep, found).await)
    }

    async fn leases(&self) -> Result<BTreeSet<LeaseName>, SweepError> {
        let mut pages = Pages::new(self.asks, Some(self.at), [TableId::of(LEASES_TABLE)]);
        let mut leases = BTreeSet::new();
        while let Some(page) = pages.next().await? {
            leases.extend(page.iter().filter_map(|row| lease_of_row(&row.key, &row.row)));
        }
        Ok(leases)
    }

    async fn drive(mut self, mut sweep: Sweep, mut found: impl FnMut(&SweepReport)) -> SweepReport {
        loop {
            let done = match sweep.poll() {
                Some(SweepEffect::Done(report)) => {
                    if report.deleted == report.garbage {
                        let gone = Amount { chunks: report.garbage, bytes: report.garbage_bytes };
                        self.chunks.usage().deleted(self.listing, gone);
                    }
                    return report;
                }
                Some(SweepEffect::List) => self.list(&mut sweep).await,
                Some(SweepEffect::Read) => self.read(&mut sweep).await,
                Some(SweepEffect::Load(object)) => self.load(&mut sweep, object).await,
                Some(SweepEffect::Validate(leases)) => self.validate(&mut sweep, &leases).await,
                Some(SweepEffect::Wait(grace)) => {
                    found(sweep.report());
                    self.wait(&mut sweep, grace).await
                }
                Some(SweepEffect::Delete(object)) => {
                    let chunks = self.chunks.clone();
                    self.deletes.spawn(async move { (object, chunks.delete(object).await) });
                    Ok(())
                }
                None => self.deleted(&mut sweep).await,
            };
            if let Err(problem) = done {
                sweep.handle(SweepInput::Failed(problem.to_string()));
            }
        }
    }

    async fn list(&mut self, sweep: &mut Sweep) -> Result<(), SweepError> {
        let before = self.chunks.usage().before_listing();
        let mut all = Amount::default();
        let each = |object, bytes| {
            // The sweep counts as the store does, so that what it deletes is taken off again.
            let counted = Amount::of_object(bytes);
            all = all.plus(counted);
            sweep.handle(SweepInput::Listed(vec![(object, counted.bytes)]));
        };
        self.chunks.list(self.store, each).await?;
        self.listing = self.chunks.usage().listed(before, all);
        sweep.handle(SweepInput::ListEnd);
        Ok(())
    }

    async fn read(&mut self, sweep: &mut Sweep) -> Result<(), SweepError> {
        let rows = self.rows.next().await?.unwrap_or_default();
        let blobs = rows.iter().flat_map(|row| blobs_of_row(&row.row)).map(|(_, blob)| blob.clone()).collect();
        sweep.handle(SweepInput::Named { blobs, more: !self.rows.is_over() });
        Ok(())
    }

    async fn load(&self, sweep: &mut Sweep, object: ObjectName) -> Result<(), SweepError> {
        sweep.handle(SweepInput::Loaded(self.chunks.load(object).await?));
        Ok(())
    }

    async fn validate(&mut self, sweep: &mut Sweep, leases: &[LeaseName]) -> Result<(), SweepError> {
        let of_leases = leases.iter().map(|lease| lease_read(*lease));
        let unchanged = self.is_unchanged(of_leases.chain([catalog()]).collect()).await?;
        if !unchanged && !self.is_unchanged([catalog()].into()).await? {
            return Err(SweepError::SchemaChanged);
        }
        sweep.handle(SweepInput::Validated { unchanged });
        Ok(())
    }

    /// Whether the store says that all of this is now as it was at the timestamp of the pass.
    async fn is_unchanged(&mut self, reads: Arc<[Read]>) -> Result<bool, SweepError> {
        self.asked = self.asked.next();
        let (client, counter, snapshot) = (self.client, self.asked, self.at);
        let transaction = TransactionId { client, counter };
        let question = Request::Validate { transaction, attempt: Attempt(1), snapshot, reads, floor: Timestamp::ZERO };
        match self.asks.ask(question).await {
            Reply::Validated(Validity::Valid) => Ok(true),
            Reply::Validated(Validity::Changed { .. }) => Ok(false),
            // The store could not tell, and has committed the reads at some timestamp instead: a lease may be above that.
            Reply::Commit(_) => {
                self.asks.ask(Request::Acknowledge { client, through: counter }).await;
                Ok(false)
            }
            Reply::Refused(refusal) => Err(SweepError::Refused(refusal)),
            other => panic!("the store answered a validation with {other:?}"),
        }
    }

    async fn wait(&self, sweep: &mut Sweep, grace: Duration) -> Result<(), SweepError> {
        self.holding.0.abort();
        tokio::time::sleep(grace).await;
        self.wait_for_history().await?;
        if !self.asks.is_of(self.store) {
            return Err(SweepError::OtherStore);
        }
        sweep.handle(SweepInput::Waited);
        Ok(())
    }

    /// Waits until no timestamp that can still be read has other rows with blobs than that of the pass.
    async fn wait_for_history(&self) -> Result<(), SweepError> {
        let all = |table: &TableId| Interest::Range { table: *table, range: KeyRange::all() };
        let interests: Vec<Interest> = self.tables.iter().map(all).collect();
        let (mut after, through) = (Timestamp::ZERO, self.at);
        while after < through && !interests.is_empty() {
            let question = Request::Changes { interests: interests.clone(), after, through, bytes_max: 0 };
            match self.asks.ask(question).await {
                Reply::Changes(Ok(commits)) if commits.is_empty() => return Ok(()),
                Reply::Changes(Err(ChangesError::TooOld(old))) if old.low_watermark > after => {
                    after = old.low_watermark;
                }
                Reply::Changes(_) => tokio::time::sleep(HISTORY_ASKED_EACH).await,
                Reply::Refused(refusal) => return Err(SweepError::Refused(refusal)),
                other => panic!("the store answered a question for changes with {other:?}"),
            }
        }
        Ok(())
    }

    async fn deleted(&mut self, sweep: &mut Sweep) -> Result<(), SweepError> {
        let ended = self.deletes.join_next().await.expect("a sweep without effects waits for deletes");
        let (object, deleted) = ended.expect("a delete neither panics nor is cancelled");
        deleted?;
        sweep.handle(SweepInput::Deleted(object));
        Ok(())
    }
}

fn catalog() -> Read {
    Read::Range { table: Catalog::table(), range: KeyRange::all() }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use iolite_store::{CommitReply, ReadReply};
    use iolite_values::ChunkId;

    use super::*;
    use crate::blobs::asks::SweeperAsk;
    use crate::config::BlobsConfig;
    use crate::objects::ObjectsAddress;

    const AT: Timestamp = Timestamp::from_u64(7);
    const STORE: StoreIncarnation = StoreIncarnation(Id::from_u128(5));

    /// A store of rows that has none, and answers validations so.
    fn empty_store(valid: impl Fn(&[Read]) -> Reply + Send + Sync + 'static) -> Arc<Asks> {
        let own: Arc<OnceLock<Arc<Asks>>> = Arc::default();
        let asks = own.clone();
        let answer = move |ask| {
            let SweeperAsk::Request(id, request) = ask else { return };
            let reply = match request {
                Request::ReadAt { at, .. } => Reply::ReadAt(Ok(ReadReply { at, rows: Vec::new(), is_cut: false })),
                Request::Validate { reads, .. } => valid(&reads),
                Request::Acknowledge { .. } => Reply::Acknowledged,
                other => panic!("a sweep of no tables asks {other:?}"),
            };
            asks.get().expect("it is made").answer(id, reply);
        };
        let asks = own.get_or_init(|| Asks::new(answer)).clone();
        asks.stands(Some((STORE, AT)));
        asks
    }

    /// Sweeps a store that has one object, which nothing names. Says whether that is left.
    async fn sweep(valid: impl Fn(&[Read]) -> Reply + Send + Sync + 'static) -> (SweepReport, bool) {
        let folder = std::env::temp_dir().join(format!("iolite-pass-{:032x}", random_id()));
        let chunks = BlobStore::open(&BlobsConfig::at(ObjectsAddress::Folder(folder.clone()))).expect("it is made");
        let lease = LeaseName(Id::from_u128(9));
        let object = ObjectName { store: STORE, lease, chunk: ChunkId::of(b"a") };
        chunks.store(object, b"a".into()).await.expect("stored");
        let (asks, order) = (empty_store(valid), Order { is_dry: false, grace: Duration::ZERO });
        let report = Pass::run(&asks, &chunks, order, None, |_| {}).await.expect("it begins");
        let is_left = chunks.is_there(object).await.expect("it can be asked");
        std::fs::remove_dir_all(folder).expect("removed");
        (report, is_left)
    }

    fn changed() -> Reply {
        Reply::Validated(Validity::Changed { at_least: AT })
    }

    #[tokio::test]
    async fn garbage_is_deleted_once_the_store_says_that_its_lease_is_unchanged() {
        let (report, is_left) = sweep(|_| Reply::Validated(Validity::Valid)).await;
        assert_eq!((report.garbage, report.deleted, is_left), (1, 1, false));
        let (report, is_left) =
            sweep(|reads| if reads.len() > 1 { changed() } else { Reply::Validated(Validity::Valid) }).await;
        assert_eq!((report.garbage, report.failure, is_left), (0, None, true), "it is left to the next sweep");
    }

    /// A lease may be above the timestamp at which the store has committed the reads.
    #[tokio::test]
    async fn a_store_that_cannot_tell_has_not_said_that_a_lease_is_unchanged() {
        let committed = |reads: &[Read]| match reads.len() {
            1 => Reply::Validated(Validity::Valid),
            _ => Reply::Commit(CommitReply::Forgotten),
        };
        let (report, is_left) = sweep(committed).await;
        assert_eq!((report.garbage, is_left), (0, true));
    }

    /// Rows of a backup come without leases, behind a mark in the catalog.
    #[tokio::test]
    async fn a_sweep_ends_if_the_catalog_has_changed() {
        let (report, is_left) = sweep(|_| changed()).await;
        assert!(report.failure.is_some_and(|problem| problem.contains("being restored")));
        assert!(is_left);
    }
}
