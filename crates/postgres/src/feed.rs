//! The feed's task: waits for who was under way, and tells what committed.
//!
//! Invariant: `resolved` is told only after a transaction at or above it was visible in the log, and everybody who was under way at that moment has
//! ended. Whoever looks at the log later commits above it. docs/protocols/postgres.md has the argument.

use std::sync::Arc;
use std::time::Duration;

use iolite_store::{Attempts, Event};
use iolite_values::{StoreIncarnation, Timestamp};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, Error, Statement};

use crate::connection::{BackOff, connect, in_time};
use crate::error::WorkError;
use crate::follower::Follower;
use crate::locks::LockKey;
use crate::log::{Extent, Log};
use crate::settings::Broken;
use crate::shared::Shared;
use crate::tables::{incarnation_of, new_incarnation};

/// Whoever commits with a notification waits for everybody else who does, so transactions do not: the feed's task tells of them.
const NOTIFY: &str = "SELECT pg_notify($1, $2)";

const INCARNATION: &str = "SELECT incarnation FROM store";

/// Who is under way: it has looked at the log, or is about to, and has not ended.
const UNDER_WAY: &str = "
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND classid = $1 AND objid = $2 AND objsubid = 1 AND granted";

const NEW_HISTORY: &str = "UPDATE store SET incarnation = $2 WHERE incarnation = $1";

/// The first wait for who is under way; the next is twice as long, up to the last.
const DRAIN_FIRST: Duration = Duration::from_micros(500);
const DRAIN_LAST: Duration = Duration::from_millis(10);

pub(crate) struct Feed {
    shared: Arc<Shared>,
    follower: Follower,
    /// The history that was announced.
    incarnation: Option<StoreIncarnation>,
    /// This store has committed something of which the others have not been told.
    news: Option<Timestamp>,
    wanted: mpsc::UnboundedReceiver<Timestamp>,
    opened: watch::Sender<bool>,
}

struct Session {
    client: Client,
    log: Log,
    notify: Statement,
    incarnation: Statement,
    under_way: Statement,
    channel: String,
    notified: mpsc::UnboundedReceiver<String>,
}

/// Why following ended.
enum End {
    /// The store is being stopped.
    Stopped,
    /// The feed cannot go on from where it was.
    Gap,
}

impl Feed {
    pub fn new(shared: Arc<Shared>, wanted: mpsc::UnboundedReceiver<Timestamp>, opened: watch::Sender<bool>) -> Feed {
        Feed { shared, follower: Follower::default(), incarnation: None, news: None, wanted, opened }
    }

    /// Follows until the store is stopped.
    pub async fn run(mut self) {
        let mut back_off = BackOff::new();
        loop {
            match self.session(&mut back_off).await {
                Ok(End::Stopped) => return,
                Ok(End::Gap) => {}
                Err(error) => {
                    self.shared.counts.reconnected();
                    tracing::warn!("the feed is interrupted, and goes on from where it is: {error}");
                    back_off.wait().await;
                }
            }
        }
    }

    async fn session(&mut self, back_off: &mut BackOff) -> Result<End, WorkError> {
        let mut session = in_time(Session::open(&self.shared)).await?;
        self.open(&session).await?;
        back_off.reset();
        self.follow(&mut session).await
    }

    /// Finds out which history is there and whether the feed can go on in it.
    async fn open(&mut self, session: &Session) -> Result<(), WorkError> {
        // Before the look: what was answered by now is there, and what is answered meanwhile may not be.
        while let Ok(at) = self.wanted.try_recv() {
            self.want(at);
        }
        let (mut incarnation, mut extent) = in_time(session.look()).await?;
        self.shared.counts.heard();
        if self.incarnation == Some(incarnation) && self.follower.known() > extent.highest {
            // What was told is not there any more: the database was set back. From here on it is another history.
            tracing::error!("the database has lost what it had acknowledged: its history begins anew");
            session.begin_new_history(incarnation).await?;
            (incarnation, extent) = in_time(session.look()).await?;
        }
        if self.incarnation != Some(incarnation) || self.follower.cursor() < extent.low_watermark {
            session.drain(&self.shared).await?;
            if self.incarnation != Some(incarnation) {
                // What was told of another history sends nobody anywhere in this one.
                *self.shared.attempts() = Attempts::default();
            }
            self.incarnation = Some(incarnation);
            self.follower.begin(extent.highest);
            let ready = Event::Ready { store: incarnation, resolved: extent.highest };
            self.shared.announce(extent.highest, ready);
            self.opened.send_replace(true);
        }
        self.follower.want(extent.highest);
        Ok(())
    }

    async fn follow(&mut self, session: &mut Session) -> Result<End, WorkError> {
        let poll_every = self.shared.settings.poll_every;
        let mut poll_at = Instant::now() + poll_every;
        loop {
            while let Ok(at) = self.wanted.try_recv() {
                self.want(at);
            }
            if Instant::now() >= poll_at {
                let (incarnation, extent) = in_time(session.look()).await?;
                self.shared.counts.heard();
                if self.incarnation != Some(incarnation) {
                    return Ok(End::Gap);
                }
                self.follower.want(extent.highest);
                poll_at = Instant::now() + poll_every;
            }
            if let Some(target) = self.follower.target() {
                if let Some(end) = self.close(session, target).await? {
                    return Ok(end);
                }
                continue;
            }
            tokio::select! {
                at = self.wanted.recv() => match at {
                    Some(at) => self.want(at),
                    None => return Ok(End::Stopped),
                },
                payload = session.notified.recv() => {
                    // Anybody can notify, so this is only a reason to look. Without a connection, looking says why.
                    let news = payload.is_none_or(|payload| told_timestamp(&payload) > self.follower.cursor());
                    poll_at = if news { Instant::now() } else { poll_at };
                }
                () = tokio::time::sleep_until(poll_at) => {}
            }
        }
    }

    /// This store has answered with `at`, which was visible then.
    fn want(&mut self, at: Timestamp) {
        if at > self.follower.known() {
            self.news = Some(at);
        }
        self.follower.want(at);
    }

    /// Tells everything up to `target`, at which something is visible.
    async fn close(&mut self, session: &Session, target: Timestamp) -> Result<Option<End>, WorkError> {
        let (log, client, cursor) = (&session.log, &session.client, self.follower.cursor());
        // At once what is right when nobody is under way; the database does one after the other.
        let news = self.news.take();
        let first = async {
            let (under_way, piece, notified) = tokio::join!(
                biased;
                session.under_way(&self.shared),
                log.read_within(client, cursor, target),
                session.notify(news),
            );
            notified?;
            Ok((under_way?, piece?))
        };
        let (under_way, mut piece) = in_time(first).await?;
        if !under_way.is_empty() && self.shared.settings.broken != Broken::SkipDrain {
            session.wait_for(&self.shared, under_way).await?;
            piece = in_time(log.read_within(client, cursor, target)).await?;
        }
        let (stretch, extent) = piece;
        if cursor < extent.low_watermark || target > extent.highest {
            return Ok(Some(End::Gap));
        }
        if let Some(segment) = self.follower.advance(target, stretch)? {
            self.shared.announce(segment.to, Event::Feed(segment));
        }
        Ok(None)
    }
}

impl Session {
    async fn open(shared: &Shared) -> Result<Session, WorkError> {
        let (notify, notified) = mpsc::unbounded_channel();
        let client = connect(shared, Some(notify)).await?;
        let channel = format!("iolite_{:016x}", LockKey::of_store(shared.space).as_i64());
        client.batch_execute(&format!("LISTEN {channel}")).await?;
        Ok(Session {
            log: Log::prepare(&client).await?,
            notify: client.prepare(NOTIFY).await?,
            incarnation: client.prepare(INCARNATION).await?,
            under_way: client.prepare(UNDER_WAY).await?,
            client,
            channel,
            notified,
        })
    }

    async fn look(&self) -> Result<(StoreIncarnation, Extent), WorkError> {
        let row = self.client.query_one(&self.incarnation, &[]).await?;
        Ok((incarnation_of(row.get(0))?, self.log.extent(&self.client).await?))
    }

    /// Tells the other stores that something is to be fetched, if so.
    async fn notify(&self, news: Option<Timestamp>) -> Result<(), Error> {
        let Some(at) = news else { return Ok(()) };
        self.client.execute(&self.notify, &[&self.channel, &at.as_u64().to_string()]).await.map(drop)
    }

    async fn begin_new_history(&self, old: StoreIncarnation) -> Result<(), WorkError> {
        let (old, new) = (old.0.to_bytes(), new_incarnation().0.to_bytes());
        self.client.execute(NEW_HISTORY, &[&&old[..], &&new[..]]).await?;
        Ok(())
    }

    async fn under_way(&self, shared: &Shared) -> Result<Vec<String>, WorkError> {
        let (class, object) = LockKey::of_store(shared.space).halves();
        let rows = self.client.query(&self.under_way, &[&class, &object]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    async fn drain(&self, shared: &Shared) -> Result<(), WorkError> {
        match shared.settings.broken {
            Broken::SkipDrain => Ok(()),
            Broken::Nothing
            | Broken::SkipReadValidation
            | Broken::LastCommitterWins
            | Broken::NoCompletionRecords
            | Broken::IgnoreHighest
            | Broken::SkipLocks => {
                let under_way = in_time(self.under_way(shared)).await?;
                self.wait_for(shared, under_way).await
            }
        }
    }

    /// Waits until all of these have ended. (A virtual transaction's name does not come again.)
    async fn wait_for(&self, shared: &Shared, mut under_way: Vec<String>) -> Result<(), WorkError> {
        let mut wait = DRAIN_FIRST;
        while !under_way.is_empty() {
            sleep(wait).await;
            wait = (wait * 2).min(DRAIN_LAST);
            let still = in_time(self.under_way(shared)).await?;
            under_way.retain(|name| still.contains(name));
        }
        Ok(())
    }
}

/// Where another store has committed. Anything else was notified by somebody else, and polling sees to the rest.
fn told_timestamp(payload: &str) -> Timestamp {
    payload.parse().map(Timestamp::from_u64).unwrap_or_default()
}
