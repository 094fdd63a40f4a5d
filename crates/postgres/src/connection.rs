//! Connections to the database, and how long to wait before the next one.

use std::future::poll_fn;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::TlsStream;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Socket};

use crate::encryption::{Encryption, Tls};
use crate::error::WorkError;
use crate::figures::Open;
use crate::settings::PostgresSettings;
use crate::shared::Shared;

/// A transaction whose store says nothing for so long is ended by the database, so that it does not hold up everyone's feed.
pub const IDLE_TRANSACTION_MAX: Duration = Duration::from_secs(10);

/// A connection on which nothing comes back for so long is given up.
pub const ANSWER_WITHIN_MAX: Duration = Duration::from_secs(30);

/// The waits between tries to connect: from the first to the last, each twice the one before.
pub const RECONNECT_AFTER: Duration = Duration::from_millis(20);
pub const RECONNECT_AFTER_MAX: Duration = Duration::from_secs(2);

/// Connects; what is notified goes to `notified`.
pub(crate) async fn connect(
    shared: &Shared,
    notified: Option<mpsc::UnboundedSender<String>>,
) -> Result<Client, tokio_postgres::Error> {
    let (settings, open) = (&shared.settings, shared.counts.open());
    // Drivers end with the client, or when the connection breaks; the client then says so to whoever uses it.
    let client = match &settings.encryption {
        Encryption::None => {
            let (client, connection) = settings.database.connect(NoTls).await?;
            tokio::spawn(drive(connection, notified, open));
            client
        }
        Encryption::Tls(config) => {
            let mut database = settings.database.clone();
            database.ssl_mode(SslMode::Require);
            let (client, connection) = database.connect(Tls(config.clone())).await?;
            tokio::spawn(drive(connection, notified, open));
            client
        }
    };
    client.batch_execute(&session_settings(settings)).await?;
    Ok(client)
}

async fn drive<T: TlsStream + Unpin>(
    mut connection: Connection<Socket, T>,
    notified: Option<mpsc::UnboundedSender<String>>,
    _open: Open,
) {
    loop {
        match poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notification(notification))) => {
                if let Some(notified) = &notified {
                    // Nobody listens any more: the client is about to go, too.
                    let _ = notified.send(notification.payload().to_owned());
                }
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return,
        }
    }
}

/// Every statement goes by an index, so the planner, which knows nothing of tables that have just been filled, is not asked for others. What is
/// acknowledged is durable, whatever the role's default is.
fn session_settings(settings: &PostgresSettings) -> String {
    format!(
        "SET application_name = 'iolite_{coordinator}'; \
         SET search_path = {schema}, pg_catalog; \
         SET idle_in_transaction_session_timeout = {idle}; \
         SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; \
         SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        coordinator = settings.coordinator.number(),
        schema = settings.schema.as_str(),
        idle = IDLE_TRANSACTION_MAX.as_millis(),
    )
}

/// What does not come to an end in time, with whatever it waited for.
pub(crate) async fn in_time<T>(work: impl Future<Output = Result<T, WorkError>>) -> Result<T, WorkError> {
    timeout(ANSWER_WITHIN_MAX, work).await.unwrap_or(Err(WorkError::TimedOut))
}

/// How long to wait before the next try.
#[derive(Debug)]
pub(crate) struct BackOff {
    next: Duration,
}

impl BackOff {
    pub fn new() -> BackOff {
        BackOff { next: RECONNECT_AFTER }
    }

    /// It went well.
    pub fn reset(&mut self) {
        self.next = RECONNECT_AFTER;
    }

    pub async fn wait(&mut self) {
        tokio::time::sleep(self.step()).await;
    }

    fn step(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(RECONNECT_AFTER_MAX);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_and_begin_anew() {
        let mut back_off = BackOff::new();
        let waits: Vec<u128> = (0..9).map(|_| back_off.step().as_millis()).collect();
        assert_eq!(waits, [20, 40, 80, 160, 320, 640, 1280, 2000, 2000]);
        back_off.reset();
        assert_eq!(back_off.step(), RECONNECT_AFTER);
    }
}
