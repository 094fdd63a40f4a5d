//! Commands of operators about schema and rights: `iolite schema plan` and `iolite schema apply` ask them of a running gateway.
//!
//! Invariant: every order has an answer, or an error after a while.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_catalog::{Changes, Deployment, RuleChange};
use iolite_gateway::{Deploy, Deployed, DeploymentId, Input};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::operate::{Answering, Lines};

/// Time for a store whose replicas change.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);

pub(crate) type Answer = Result<Deployed, String>;

/// Orders to a gateway about schema and rights, and who waits for the answers. Cheap to clone.
#[derive(Clone)]
pub(crate) struct SchemaCommands(Arc<Orders>);

struct Orders {
    gateway: Arc<dyn Fn(Input) + Send + Sync>,
    last: AtomicU64,
    waiting: Mutex<BTreeMap<DeploymentId, oneshot::Sender<Answer>>>,
}

impl SchemaCommands {
    pub fn new(gateway: impl Fn(Input) + Send + Sync + 'static) -> SchemaCommands {
        let (last, waiting) = (AtomicU64::new(0), Mutex::default());
        SchemaCommands(Arc::new(Orders { gateway: Arc::new(gateway), last, waiting }))
    }

    /// Whether there is such a command. `text` is the deployment.
    pub fn run(&self, name: &str, text: String, answering: Answering) -> bool {
        let is_plan = match name {
            "plan" => true,
            "apply" => false,
            _ => return false,
        };
        let (commands, lines) = (self.clone(), answering.lines.clone());
        answering.spawn(async move {
            match commands.deploy(&text, is_plan).await {
                Ok(deployed) => tell(&deployed, &lines).await,
                Err(problem) => lines.say(json!({ "error": problem })).await,
            }
        });
        true
    }

    async fn deploy(&self, text: &str, is_plan: bool) -> Answer {
        let deployment = Deployment::from_json(text).map_err(|error| error.to_string())?;
        let id = DeploymentId(self.0.last.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, answer) = oneshot::channel();
        self.waiting().insert(id, sender);
        (self.0.gateway)(Input::Deploy(id, Box::new(Deploy { deployment, is_plan })));
        let answer = tokio::time::timeout(ANSWERED_WITHIN, answer).await;
        self.waiting().remove(&id);
        answer.ok().and_then(Result::ok).unwrap_or_else(|| {
            let seconds = ANSWERED_WITHIN.as_secs();
            Err(format!("there is no answer after {seconds} s, so the deployment may be in effect or not: look whether the store's replicas run, then at the plan, which says so"))
        })
    }

    /// Takes the gateway's answer to an order.
    pub fn take(&self, id: DeploymentId, answer: Answer) {
        if let Some(waiting) = self.waiting().remove(&id) {
            // Who has given up does not mind.
            let _ = waiting.send(answer);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<DeploymentId, oneshot::Sender<Answer>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line for each change, and the version.
async fn tell(Deployed { version, changes }: &Deployed, lines: &Lines) {
    let Changes { tables, columns, rules, costs } = changes.clone().unwrap_or_default();
    let named = |kind: &'static str| move |name: String| json!({ kind: name });
    let added = tables.into_iter().map(named("table")).chain(columns.into_iter().map(named("column")));
    for line in added.chain(rules.iter().map(rule)).chain(costs.into_iter().map(named("cost"))) {
        lines.say(line).await;
    }
    lines.say(json!({ "done": { "version": version, "changed": changes.is_some() } })).await;
}

fn rule(RuleChange { of, right, was, is }: &RuleChange) -> Value {
    json!({ "rule": { "of": of, "rule": right.map(|right| right.name()), "was": was, "is": is } })
}
