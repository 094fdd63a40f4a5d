//! Questions of operators about rights: `iolite access explain` asks them of a running gateway.
//!
//! Invariant: every question has an answer, or an error after a while.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_gateway::{Explain, ExplainId, Explained, Input};
use iolite_rights::Right;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;

use crate::operate::Answering;

/// Time for a store whose replicas change.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);

pub(crate) type Answer = Result<Explained, String>;

/// Questions to a gateway about rights, and who waits for the answers. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ExplainCommands(Arc<Questions>);

struct Questions {
    gateway: Arc<dyn Fn(Input) + Send + Sync>,
    last: AtomicU64,
    waiting: Mutex<BTreeMap<ExplainId, oneshot::Sender<Answer>>>,
}

/// A question as the command line sends it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    user: String,
    #[serde(default)]
    claims: Option<String>,
    right: String,
    table: String,
    key: String,
    #[serde(default)]
    with: Option<String>,
}

impl ExplainCommands {
    pub fn new(gateway: impl Fn(Input) + Send + Sync + 'static) -> ExplainCommands {
        let (last, waiting) = (AtomicU64::new(0), Mutex::default());
        ExplainCommands(Arc::new(Questions { gateway: Arc::new(gateway), last, waiting }))
    }

    /// Answers a question: the tree line by line, and whether it is allowed.
    pub fn run(&self, text: String, answering: Answering) {
        let (commands, lines) = (self.clone(), answering.lines.clone());
        answering.spawn(async move {
            match commands.explain(&text).await {
                Ok(Explained { is_allowed, text }) => {
                    for line in text.lines() {
                        lines.say(json!({ "line": line })).await;
                    }
                    lines.say(json!({ "done": { "allowed": is_allowed } })).await;
                }
                Err(problem) => lines.say(json!({ "error": problem })).await,
            }
        });
    }

    async fn explain(&self, text: &str) -> Answer {
        let explain = read(text)?;
        let id = ExplainId(self.0.last.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, answer) = oneshot::channel();
        self.waiting().insert(id, sender);
        (self.0.gateway)(Input::Explain(id, Box::new(explain)));
        let answer = tokio::time::timeout(ANSWERED_WITHIN, answer).await;
        self.waiting().remove(&id);
        answer.ok().and_then(Result::ok).unwrap_or_else(|| {
            let seconds = ANSWERED_WITHIN.as_secs();
            Err(format!(
                "there is no answer after {seconds} s: look whether the store's replicas run, and ask once more"
            ))
        })
    }

    /// Takes the gateway's answer to a question.
    pub fn take(&self, id: ExplainId, answer: Answer) {
        if let Some(waiting) = self.waiting().remove(&id) {
            // Who has given up does not mind.
            let _ = waiting.send(answer);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<ExplainId, oneshot::Sender<Answer>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(text: &str) -> Result<Explain, String> {
    let question: Question = serde_json::from_str(text)
        .map_err(|error| format!("this is no question that can be read: {error}. `iolite access explain` asks one"))?;
    let Question { user, claims, right, table, key, with } = question;
    let asked = [Right::Read, Right::Create, Right::Update, Right::Delete].into_iter().find(|own| own.name() == right);
    let right =
        asked.ok_or_else(|| format!("{right:?} is none of the rights of a row: read, create, update, delete"))?;
    Ok(Explain { user, claims, right, table, key, with })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_or_the_error_says_what_is_wrong() {
        let asked = r#"{"user":"ann","right":"update","table":"notes","key":"5","with":"{}"}"#;
        let (right, with) = (Right::Update, Some("{}".to_owned()));
        let explain = Explain { user: "ann".into(), claims: None, right, table: "notes".into(), key: "5".into(), with };
        assert_eq!(read(asked), Ok(explain));
        let problem = read(&asked.replace("update", "check")).expect_err("no right of a row");
        assert!(problem.contains("read, create, update, delete"), "{problem}");
        assert!(read("{}").expect_err("no question").contains("missing field"));
    }
}
