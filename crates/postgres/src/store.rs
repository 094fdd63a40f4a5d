//! The store as its host sees it: requests in, events out, and tasks in between.

use std::sync::Arc;

use iolite_store::{Event, Reply, Request, RequestId};
use iolite_values::{Decision, Level, Transaction};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::collect::Collector;
use crate::commit::Committer;
use crate::connection::{ANSWER_WITHIN_MAX, BackOff, connect, in_time};
use crate::error::{OpenError, Remedy, WorkError};
use crate::feed::Feed;
use crate::figures::Figures;
use crate::read::Reader;
use crate::requests::Kind;
use crate::settings::PostgresSettings;
use crate::shared::{Ends, Shared};
use crate::tables;
use crate::time_limits::{Limited, TimeLimit, TimeLimits};

/// A store over PostgreSQL, for one gateway. Others may have theirs on the same database.
///
/// It works in tasks of the runtime in which it was opened, until it is dropped. Every request that is not given up is answered exactly once, if need be after the
/// database has come back; dropping the store leaves open requests without an answer, and what became of them is found out by asking again.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use iolite_postgres::{PostgresSettings, PostgresStore};
/// use iolite_store::{Event, ReadLimit, Request, RequestId};
/// use iolite_values::{CoordinatorId, Interest, KeyRange, TableId};
///
/// let database = "host=/run/postgresql user=iolite dbname=app".parse()?;
/// let mut store = PostgresStore::open(PostgresSettings::new(database, CoordinatorId::default())).await?;
/// // Ready comes first, and says up to where the store can be read.
/// if let Event::Ready { resolved: at, .. } = store.next_event().await {
///     let interest = Interest::Range { table: TableId::of("rooms"), range: KeyRange::all() };
///     store.request(RequestId(1), Request::ReadAt { interest, at, limit: ReadLimit::NONE });
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PostgresStore {
    shared: Arc<Shared>,
    limited: mpsc::UnboundedSender<Limited>,
    events: mpsc::UnboundedReceiver<Event>,
    /// They end when it is dropped.
    tasks: JoinSet<()>,
}

impl PostgresStore {
    /// Sees to it that the tables are there, and begins to work.
    ///
    /// # Errors
    /// [`OpenError`]: nothing was changed, unless the database was lost in between. Connections that are lost later are made anew.
    pub async fn open(settings: PostgresSettings) -> Result<PostgresStore, OpenError> {
        let (shared, ends) = Shared::new(settings);
        let set_up = async {
            let client = connect(&shared, None).await?;
            tables::set_up(&client, &shared.settings).await
        };
        match timeout(ANSWER_WITHIN_MAX, set_up).await {
            Ok(done) => done?,
            Err(_) => return Err(OpenError::TimedOut),
        }
        Ok(PostgresStore::start(shared, ends))
    }

    /// Likewise, once there is a database that can be used: as long as what is wrong [may pass](OpenError::may_pass), it is tried again. `told` is
    /// called before each wait.
    ///
    /// # Errors
    /// [`OpenError`]: what somebody has to correct.
    pub async fn open_patiently(
        settings: PostgresSettings,
        mut told: impl FnMut(&OpenError),
    ) -> Result<PostgresStore, OpenError> {
        let mut back_off = BackOff::new();
        loop {
            match PostgresStore::open(settings.clone()).await {
                Err(error) if error.may_pass() => told(&error),
                opened => return opened,
            }
            back_off.wait().await;
        }
    }

    fn start(shared: Shared, ends: Ends) -> PostgresStore {
        let shared = Arc::new(shared);
        let (commit_connections, read_connections) =
            (shared.settings.commit_connections, shared.settings.read_connections);
        let (opened, is_open) = watch::channel(false);
        let (limited, limits) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(TimeLimits::new(shared.clone(), limits).run());
        tasks.spawn(Feed::new(shared.clone(), ends.wanted, opened).run());
        tasks.spawn(Collector::new(shared.clone(), ends.long).run());
        for (kind, count) in [(Kind::Commit, commit_connections), (Kind::Read, read_connections)] {
            for _ in 0..count.max(1) {
                let worker = Worker { kind, shared: shared.clone() };
                tasks.spawn(worker.run(is_open.clone()));
            }
        }
        PostgresStore { shared, limited, events: ends.events, tasks }
    }

    /// Begins a request. `id` is the caller's, and comes back with the reply.
    pub fn request(&self, id: RequestId, request: Request) {
        let limit = TimeLimit::of(&request);
        let ticket = self.shared.requests.add(id, request);
        if let Some(limit) = limit {
            self.limited.send(limit.on(ticket)).expect("the task lives as long as the store");
        }
    }

    /// The caller does not wait any more for the reply to this request, which reads. It comes only if it is on its way already.
    pub fn give_up(&self, id: RequestId) {
        self.shared.requests.give_up(id);
    }

    /// How it stands.
    pub fn figures(&self) -> Figures {
        self.shared.counts.figures(self.shared.requests.len())
    }

    /// The next event. Cancelling the wait loses none.
    ///
    /// # Panics
    /// When one of the store's tasks has: what it found must not be, and the others could not go on without it.
    pub async fn next_event(&mut self) -> Event {
        tokio::select! {
            event = self.events.recv() => event.expect("tasks that send events live as long as the store"),
            Some(ended) = self.tasks.join_next() => panic!("a task of the store has ended: {ended:?}"),
        }
    }

    /// The next event, if there is one.
    pub fn try_next_event(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }
}

/// One connection and who works on it.
struct Worker {
    kind: Kind,
    shared: Arc<Shared>,
}

enum Session {
    Commit(Committer),
    Read(Reader),
}

impl Worker {
    /// Works until the store is dropped.
    async fn run(self, mut is_open: watch::Receiver<bool>) {
        // Requests wait until it is known which history is there.
        if is_open.wait_for(|open| *open).await.is_err() {
            return;
        }
        let mut session = None;
        let mut back_off = BackOff::new();
        loop {
            let (ticket, request) = self.shared.requests.next(self.kind).await;
            // Between two tries nobody may wait for it any more.
            while self.shared.requests.is_open(ticket) {
                match self.serve(&mut session, &request).await {
                    Ok(reply) => {
                        back_off.reset();
                        self.shared.answer(ticket, reply);
                    }
                    Err(error) => self.recover(&mut session, &mut back_off, &error).await,
                }
            }
        }
    }

    async fn serve(&self, session: &mut Option<Session>, request: &Request) -> Result<Reply, WorkError> {
        let work = async {
            let session = match session {
                Some(session) => session,
                none => none.insert(self.connect().await?),
            };
            session.serve(&self.shared, request).await
        };
        in_time(work).await
    }

    async fn connect(&self) -> Result<Session, WorkError> {
        let client = connect(&self.shared, None).await?;
        Ok(match self.kind {
            Kind::Commit => Session::Commit(Committer::new(client).await?),
            Kind::Read => Session::Read(Reader::new(client).await?),
        })
    }

    /// Leaves a session on which the request can be tried again, or none.
    async fn recover(&self, session: &mut Option<Session>, back_off: &mut BackOff, error: &WorkError) {
        match error.remedy() {
            Remedy::Again => {
                self.shared.counts.repeated();
                tracing::debug!("a request came in the way of others and is tried again: {error}");
                let cleared = match session {
                    Some(open) => open.clear().await.is_ok(),
                    None => true,
                };
                if !cleared {
                    *session = None;
                }
            }
            Remedy::Reconnect => {
                self.shared.counts.reconnected();
                tracing::warn!("a request is tried again on a new connection: {error}");
                *session = None;
            }
        }
        back_off.wait().await;
    }
}

impl Session {
    async fn serve(&self, shared: &Shared, request: &Request) -> Result<Reply, WorkError> {
        match (self, request) {
            (Session::Commit(committer), Request::Commit { transaction, floor, within: _ }) => {
                committer.commit(shared, transaction, *floor).await
            }
            (Session::Commit(committer), Request::Validate { transaction, attempt, snapshot, reads, floor: _ }) => {
                let (id, attempt, snapshot) = (*transaction, *attempt, *snapshot);
                let (reads, decision) = (reads.to_vec(), Decision::Commit(Vec::new()));
                committer
                    .validate(shared, &Transaction { id, attempt, snapshot, reads, decision, level: Level::Strict })
                    .await
            }
            (Session::Commit(committer), Request::Acknowledge { client, through }) => {
                committer.acknowledge(shared, *client, *through).await
            }
            (Session::Read(reader), Request::ReadAt { interest, at, limit }) => {
                reader.read_at(shared, interest, *at, *limit).await
            }
            (Session::Read(reader), Request::Changes { interests, after, through, bytes_max }) => {
                reader.changes(shared, interests, (*after, *through), *bytes_max).await
            }
            (Session::Read(reader), Request::Completions { client, after, at, most }) => {
                reader.completions(shared, (*client, *after), *at, *most).await
            }
            (Session::Read(reader), Request::LastOutcome { client, at }) => {
                reader.last_outcome(shared, *client, *at).await
            }
            (
                Session::Commit(_),
                Request::ReadAt { .. }
                | Request::Changes { .. }
                | Request::Completions { .. }
                | Request::LastOutcome { .. },
            )
            | (Session::Read(_), Request::Commit { .. } | Request::Validate { .. } | Request::Acknowledge { .. }) => {
                unreachable!("requests go to the connections of their kind")
            }
        }
    }

    async fn clear(&self) -> Result<(), tokio_postgres::Error> {
        match self {
            Session::Commit(committer) => committer.clear().await,
            Session::Read(reader) => reader.clear().await,
        }
    }
}
