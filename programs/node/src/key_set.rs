//! Keys that an issuer publishes at an address (JWKS): fetched at start, every ten minutes, and when a token names a key that nobody here knows.
//!
//! Invariants: what cannot be fetched or read changes nothing, so the last good keys go on. Strangers who invent names of keys cause one fetch a minute
//! at most.

use std::time::Duration;

use iolite_access::{KEY_SET_BYTES_MAX, Key, KeySetError, read_key_set};
use iolite_host::{Clock, Metric, Metrics, Stop};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use tokio::time::{Instant, sleep_until};

use crate::config::KeyAddress;
use crate::key_wish::KeyWish;

/// From one fetch to the next.
const FETCHED_EVERY: Duration = Duration::from_secs(600);
/// From a fetch that failed to the next, and from one to the next that a token causes.
const FETCHED_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// How long a fetch may take.
const FETCHED_WITHIN: Duration = Duration::from_secs(5);

/// Why keys cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("the address does not answer: {0}")]
    Absent(String),
    #[error("the address answers with status {0}")]
    Status(StatusCode),
    #[error(transparent)]
    Set(#[from] KeySetError),
}

/// Fetches the keys of an address for as long as the server runs.
pub(crate) struct KeySet {
    address: KeyAddress,
    http: Client,
    clock: Clock,
    wish: KeyWish,
    figures: Figures,
    /// The failure that was told last.
    told: String,
}

/// The metrics of the keys.
struct Figures {
    keys: Metric,
    fetched_at: Metric,
    has_failed: Metric,
}

impl KeySet {
    pub fn new(address: KeyAddress, wish: KeyWish, clock: Clock, metrics: &Metrics) -> KeySet {
        // The provider of TLS that all of this program uses. Somebody may have said so before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Another address behind a redirect is nobody's word.
        let http = Client::builder().no_proxy().redirect(Policy::none()).timeout(FETCHED_WITHIN).build();
        let figures = Figures {
            keys: metrics.gauge("iolite_token_keys", "Keys of the issuer's address that tokens are verified by."),
            // A time, and not how long ago that is, which would stand still when nobody looks.
            fetched_at: metrics.gauge(
                "iolite_token_keys_fetched_at_milliseconds",
                "Since 1970: when the keys of the issuer's address were last fetched whole and good.",
            ),
            has_failed: metrics.gauge("iolite_token_keys_failed", "1 if the last fetch of the keys failed, else 0."),
        };
        let http = http.expect("there is a provider of TLS");
        KeySet { address, http, clock, wish, figures, told: String::new() }
    }

    /// Tells each good set, until the server stops.
    pub async fn follow(mut self, tell: impl Fn(Vec<Key>) + Send, mut stop: Stop) {
        loop {
            let begun = Instant::now();
            let fetched = tokio::select! {
                () = stop.wait() => return,
                fetched = self.fetch() => fetched,
            };
            let is_good = fetched.is_ok();
            if let Some(keys) = self.take(fetched) {
                tell(keys);
            }
            tokio::select! {
                () = stop.wait() => return,
                () = wait(begun, is_good, &self.wish) => {}
            }
        }
    }

    /// Writes down how a fetch went.
    fn take(&mut self, fetched: Result<Vec<Key>, FetchError>) -> Option<Vec<Key>> {
        self.figures.has_failed.set(u64::from(fetched.is_err()));
        match fetched {
            Ok(keys) => {
                self.told.clear();
                self.figures.keys.set(keys.len() as u64);
                self.figures.fetched_at.set(self.clock.now().wall.as_micros() / 1_000);
                Some(keys)
            }
            Err(error) => {
                let text = error.to_string();
                // Every new reason once: it may go on for hours.
                if text != self.told {
                    iolite_host::warn(&format!(
                        "the keys at {} cannot be fetched, so the last good ones go on: {text}",
                        self.address.as_str()
                    ));
                    self.told = text;
                }
                None
            }
        }
    }

    async fn fetch(&self) -> Result<Vec<Key>, FetchError> {
        let absent = |error: reqwest::Error| FetchError::Absent(reason(&error));
        let mut answer = self.http.get(self.address.as_str()).send().await.map_err(absent)?;
        if answer.status() != StatusCode::OK {
            return Err(FetchError::Status(answer.status()));
        }
        let mut bytes = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(absent)? {
            if bytes.len() + piece.len() > KEY_SET_BYTES_MAX {
                return Err(KeySetError::TooLong.into());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(read_key_set(&bytes)?)
    }
}

/// Waits for the next fetch after one that began then.
async fn wait(begun: Instant, is_good: bool, wish: &KeyWish) {
    let again = begun + FETCHED_AGAIN_AFTER;
    let next = if is_good { begun + FETCHED_EVERY } else { again };
    let wished = async {
        wish.wished().await;
        sleep_until(again).await;
    };
    tokio::select! {
        () = sleep_until(next) => {}
        () = wished => {}
    }
}

/// The innermost reason, which says more than the outer ones.
fn reason(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    if error.is_timeout() { format!("no answer within {} s", FETCHED_WITHIN.as_secs()) } else { inner.to_string() }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::config::{TokensConfig, TokensTable};

    const GOOD: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

    /// Answers each request as the cell says then. None: it says nothing.
    async fn issuer(answer: Arc<Mutex<Option<String>>>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        tokio::spawn(async move {
            let mut silent = Vec::new();
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let _ = socket.read(&mut request).await;
                let said = answer.lock().expect("no test has panicked").clone();
                match said {
                    Some(said) => drop(socket.write_all(said.as_bytes()).await),
                    None => silent.push(socket),
                }
            }
        });
        format!("http://{address}/keys")
    }

    fn ok(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    fn key_set(address: &str, metrics: &Metrics) -> KeySet {
        let text = format!("issuer = \"a\"\naudience = \"b\"\nrights = \"open\"\njwks = {address:?}\n");
        let table: TokensTable = toml::from_str(&text).expect("TOML");
        let config = TokensConfig::of(table, std::path::Path::new("")).expect("as documented");
        KeySet::new(config.key_address.expect("an address"), KeyWish::default(), Clock::start(), metrics)
    }

    #[tokio::test]
    async fn an_address_that_is_gone_or_gives_no_set_changes_nothing_and_metrics_say_so() {
        let (answer, metrics) = (Arc::new(Mutex::new(Some(ok(GOOD)))), Metrics::default());
        let mut keys = key_set(&issuer(answer.clone()).await, &metrics);
        let fetched = keys.fetch().await;
        assert_eq!(keys.take(fetched).map(|keys| keys.len()), Some(1));
        let good = metrics.render();
        assert!(good.contains("iolite_token_keys 1\n") && good.contains("iolite_token_keys_failed 0\n"), "{good}");
        let huge = ok(&" ".repeat(10 << 20));
        let found = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_owned();
        for (said, told) in [
            (ok(r#"{"keys":[]}"#), "none that verifies"),
            (ok(""), "no JSON object"),
            (huge, "more than 65536 bytes"),
            (found, "status 302"),
            ("HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n".into(), "status 500"),
        ] {
            *answer.lock().expect("no test has panicked") = Some(said);
            let fetched = keys.fetch().await;
            assert!(fetched.as_ref().is_err_and(|error| error.to_string().contains(told)), "{told}: {fetched:?}");
            assert!(keys.take(fetched).is_none());
            let bad = metrics.render();
            // When they were last good, and how many they are, stays.
            assert_eq!(bad.replace("_failed 1\n", "_failed 0\n"), good);
            assert!(bad.contains("iolite_token_keys_failed 1\n"), "{bad}");
        }
        let gone = TcpListener::bind("127.0.0.1:0").await.expect("a free port").local_addr().expect("bound");
        let fetched = key_set(&format!("http://{gone}/keys"), &metrics).fetch().await;
        assert!(matches!(fetched, Err(FetchError::Absent(_))), "{fetched:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_fetched_every_ten_minutes_and_at_a_wish_once_a_minute() {
        let (begun, wish) = (Instant::now(), KeyWish::default());
        let minutes = || (Instant::now() - begun).as_secs() / 60;
        wait(begun, true, &wish).await;
        assert_eq!(minutes(), 10);
        wait(Instant::now(), false, &wish).await;
        assert_eq!(minutes(), 11, "a failure is repaired sooner");
        // Wishes of strangers come all the time.
        for expected in [12, 13] {
            let last = Instant::now();
            wish.wish();
            wish.wish();
            wait(last, true, &wish).await;
            assert_eq!(minutes(), expected);
        }
        tokio::time::advance(Duration::from_secs(300)).await;
        wish.wish();
        wait(begun + Duration::from_secs(13 * 60), true, &wish).await;
        assert_eq!(minutes(), 18, "the last fetch is long ago");
    }
}
