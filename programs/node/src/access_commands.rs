//! Commands of operators about users: `iolite access` asks them of a running gateway. And the gateway's news of who is let in and of deployments, for
//! the rest of its host.
//!
//! Invariant: every order has an answer, or an error after a while.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iolite_access::{Subject, Tokens};
use iolite_gateway::{AccessNews, Input, RevocationId, RevokedTokens};
use iolite_host::{Clock, Metrics, Stop};
use serde_json::json;
use tokio::sync::oneshot;

use crate::anonymous::AnonymousTokens;
use crate::config::KeyAddress;
use crate::explain_commands::ExplainCommands;
use crate::key_wish::{KeyWish, follow_keys};
use crate::operate::{Answering, Lines, option};
use crate::schema_commands::SchemaCommands;

/// Time for a store whose replicas change.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);

type Answer = Result<(), String>;

/// Orders to a gateway about users, and who waits for the answers. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AccessCommands(Arc<Orders>);

struct Orders {
    gateway: Arc<dyn Fn(Input) + Send + Sync>,
    schema: SchemaCommands,
    explain: ExplainCommands,
    clock: Clock,
    /// The issuer of the deployment's tokens. None: there is one token for all.
    issuer: Option<String>,
    anonymous: Option<AnonymousTokens>,
    /// Has the keys of the issuer fetched.
    keys: KeyWish,
    last: AtomicU64,
    waiting: Mutex<BTreeMap<RevocationId, oneshot::Sender<Answer>>>,
}

impl AccessCommands {
    /// Without tokens of users there is one token for all. The keys at the address are fetched until the server stops.
    pub fn new(
        gateway: impl Fn(Input) + Send + Sync + 'static,
        tokens: Option<&Tokens>,
        address: Option<&KeyAddress>,
        clock: Clock,
        metrics: &Metrics,
        stop: Stop,
    ) -> AccessCommands {
        let gateway = Arc::new(gateway);
        let (told, deployed, asked) = (gateway.clone(), gateway.clone(), gateway.clone());
        let schema = SchemaCommands::new(move |input| deployed(input));
        let explain = ExplainCommands::new(move |input| asked(input));
        let keys = follow_keys(address, clock, metrics, move |keys| told(Input::Keys(keys)), stop);
        let (last, waiting) = (AtomicU64::new(0), Mutex::default());
        let issuer = tokens.map(|tokens| tokens.settings().issuer.clone());
        let anonymous = AnonymousTokens::of(tokens, clock);
        AccessCommands(Arc::new(Orders { gateway, schema, explain, clock, issuer, anonymous, keys, last, waiting }))
    }

    /// Issues tokens to anonymous users, if they are let in.
    pub fn anonymous(&self) -> Option<AnonymousTokens> {
        self.0.anonymous.clone()
    }

    /// Deploys schemas and rights by the same gateway.
    pub fn schema(&self) -> SchemaCommands {
        self.0.schema.clone()
    }

    /// Whether there is such a command. `text` is the question of one that explains.
    pub fn run(&self, name: &str, options: &str, text: String, answering: Answering) -> bool {
        match name {
            "revoke" => {}
            "explain" => {
                self.0.explain.run(text, answering);
                return true;
            }
            _ => return false,
        }
        let lines = answering.lines.clone();
        match self.subject(options) {
            Ok(subject) => answering.spawn(revoke(self.clone(), subject, lines)),
            Err(problem) => lines.begin(json!({ "error": problem })),
        }
        true
    }

    /// The user of `user=NAME`, perhaps with `issuer=NAME`.
    fn subject(&self, options: &str) -> Result<Subject, String> {
        let Some(own) = &self.0.issuer else {
            return Err("this gateway has one token for all, so there are no users: name who signs them in under [gateway.tokens] in its file".into());
        };
        let issuer = option(options, "issuer").unwrap_or_else(|| own.clone());
        match option(options, "user") {
            Some(name) if !name.is_empty() => Ok(Subject { issuer, name }),
            Some(_) | None => Err("say whose tokens: `user` is the `sub` of their token".into()),
        }
    }

    async fn revoke(&self, subject: &Subject) -> Answer {
        let id = RevocationId(self.0.last.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, answer) = oneshot::channel();
        self.waiting().insert(id, sender);
        let not_before = self.0.clock.now().wall;
        (self.0.gateway)(Input::Revoke(id, RevokedTokens { subject: subject.digest(), not_before }));
        let answer = tokio::time::timeout(ANSWERED_WITHIN, answer).await;
        self.waiting().remove(&id);
        answer.ok().and_then(Result::ok).unwrap_or_else(|| {
            let seconds = ANSWERED_WITHIN.as_secs();
            Err(format!("there is no answer after {seconds} s, so the tokens may be revoked or not: look whether the store's replicas run, and ask once more"))
        })
    }

    /// Takes the gateway's news, and returns what is for others that let users in.
    pub fn take(&self, news: AccessNews) -> Option<AccessNews> {
        match news {
            AccessNews::AnonymousKey(ref key) => {
                if let Some(anonymous) = &self.0.anonymous {
                    anonymous.set(key.clone());
                }
                Some(news)
            }
            AccessNews::Revoked(tokens) => {
                if let Some(anonymous) = &self.0.anonymous {
                    anonymous.revoke(tokens);
                }
                Some(news)
            }
            AccessNews::Known | AccessNews::Keys(_) | AccessNews::May(..) | AccessNews::RightWithdrawn(_) => Some(news),
            AccessNews::Answered(id, result) => {
                if let Some(waiting) = self.waiting().remove(&id) {
                    // Who has given up does not mind.
                    let _ = waiting.send(result);
                }
                None
            }
            AccessNews::Deployed(id, result) => {
                self.0.schema.take(id, result);
                None
            }
            AccessNews::Explained(id, result) => {
                self.0.explain.take(id, result);
                None
            }
            AccessNews::UnknownKey => {
                self.0.keys.wish();
                None
            }
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, BTreeMap<RevocationId, oneshot::Sender<Answer>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn revoke(commands: AccessCommands, subject: Subject, lines: Lines) {
    let line = match commands.revoke(&subject).await {
        Ok(()) => json!({ "done": { "user": subject.name, "issuer": subject.issuer } }),
        Err(problem) => json!({ "error": problem }),
    };
    lines.say(line).await;
}
