//! The token that says who a client's user is: a fixed one, or an app's function that is asked for it.
//!
//! Invariant: one question is open at a time. The core says when the function is asked.

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use iolite_client::TokenSource;
use tokio::sync::Notify;

use crate::shared::Shared;

/// How a client gets its token. A text is a token that stays.
///
/// # Examples
/// ```no_run
/// # use iolite::{Client, Options, Schema, Token};
/// # async fn fresh_token_of_my_backend() -> Result<String, std::io::Error> { unimplemented!() }
/// # async fn run(schema: Schema) -> Result<(), iolite::OpenError> {
/// let token = Token::asked(|| async { fresh_token_of_my_backend().await });
/// let client = Client::connect("wss://example.org/sync", token, schema, Options::new())?;
/// # Ok(())
/// # }
/// ```
pub struct Token {
    source: Source,
}

enum Source {
    Fixed(String),
    Asked(Provider),
}

type Answer = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// The app's function.
pub(crate) struct Provider(Box<dyn FnMut() -> Answer + Send>);

impl Token {
    /// A function that gives a token whenever one is needed: before the first connection, when four fifths of the last token's time have passed, and after
    /// the server has refused one. It is not asked again before it has answered. After an error it is asked again, after a pause of 1 s to 60 s; calls are
    /// held meanwhile. It runs in a task of the client's runtime, which ends with the client.
    pub fn asked<F, A, E>(mut ask: F) -> Token
    where
        F: FnMut() -> A + Send + 'static,
        A: Future<Output = Result<String, E>> + Send + 'static,
        E: Display,
    {
        let provider = move || -> Answer {
            let answer = ask();
            Box::pin(async move { answer.await.map_err(|error| error.to_string()) })
        };
        Token { source: Source::Asked(Provider(Box::new(provider))) }
    }

    pub(crate) fn parts(self) -> (TokenSource, Option<Provider>) {
        match self.source {
            Source::Fixed(token) => (TokenSource::Fixed(token), None),
            Source::Asked(provider) => (TokenSource::Asked, Some(provider)),
        }
    }
}

impl From<&str> for Token {
    fn from(token: &str) -> Token {
        Token::from(token.to_owned())
    }
}

impl From<&String> for Token {
    fn from(token: &String) -> Token {
        Token::from(token.clone())
    }
}

impl From<String> for Token {
    fn from(token: String) -> Token {
        Token { source: Source::Fixed(token) }
    }
}

/// Without the token.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token").finish_non_exhaustive()
    }
}

/// Asks the app each time that the core wants a token, until the client is dropped.
pub(crate) async fn run(client: Weak<Shared>, mut provider: Provider, wake: Arc<Notify>) {
    loop {
        wake.notified().await;
        if client.strong_count() == 0 {
            return;
        }
        let answer = tokio::select! {
            answer = (provider.0)() => answer,
            // There is no second question before the answer: the client is gone.
            () = wake.notified() => return,
        };
        let Some(shared) = client.upgrade() else { return };
        let now = shared.clock.now().instant;
        shared.with(|inner| match answer {
            Ok(token) => inner.core.set_token(now, token),
            Err(message) => inner.core.token_failed(now, &message),
        });
    }
}
