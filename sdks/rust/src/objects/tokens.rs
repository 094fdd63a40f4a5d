//! The tokens of a host: one that is fixed, or those that the app's function gives.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use iolite_objects::TokenSource;

/// The answer of a function that is asked for a token: the token, or why there is none now.
pub(crate) type Given = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// Where the token of a host comes from.
#[derive(Clone)]
pub(crate) enum HostToken {
    Fixed(String),
    Asked(Arc<dyn Fn() -> Given + Send + Sync>),
}

impl fmt::Debug for HostToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HostToken::Fixed(_) => "Fixed(..)",
            HostToken::Asked(_) => "Asked(..)",
        })
    }
}

impl HostToken {
    pub fn asked<F, A, E>(ask: F) -> HostToken
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<String, E>> + Send + 'static,
        E: fmt::Display,
    {
        HostToken::Asked(Arc::new(move || {
            let asked = ask();
            Box::pin(async move { asked.await.map_err(|error| error.to_string()) })
        }))
    }

    pub fn source(&self) -> TokenSource {
        match self {
            HostToken::Fixed(token) => TokenSource::Fixed(token.clone()),
            HostToken::Asked(_) => TokenSource::Asked,
        }
    }

    /// The question to the app's function, if there is one.
    pub fn ask(&self) -> Option<Given> {
        match self {
            HostToken::Fixed(_) => None,
            HostToken::Asked(ask) => Some(ask()),
        }
    }
}
