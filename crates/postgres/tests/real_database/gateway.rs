//! One gateway's store, shared by many clients, and what its feed told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use iolite_postgres::{PostgresSettings, PostgresStore};
use iolite_store::{Commit, Event, Reply, Request, RequestId};
use iolite_values::{StoreIncarnation, Timestamp};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// What one store's feed told, whole and in order, or how it was not.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Which history, and where the feed began; more than once when it lost its place.
    pub ready: Vec<(StoreIncarnation, Timestamp)>,
    pub cursor: Timestamp,
    pub commits: Vec<Commit>,
    pub segments: usize,
    pub violation: Option<String>,
}

pub struct Gateway {
    requests: mpsc::UnboundedSender<(Request, oneshot::Sender<Reply>)>,
    resolved: watch::Receiver<Timestamp>,
    told: Arc<Mutex<Told>>,
    task: JoinHandle<()>,
}

impl Gateway {
    pub async fn open(settings: PostgresSettings) -> Gateway {
        let store = PostgresStore::open(settings).await.expect("the database is there");
        let (requests, inbox) = mpsc::unbounded_channel();
        let (announce, resolved) = watch::channel(Timestamp::ZERO);
        let told = Arc::new(Mutex::new(Told::default()));
        let task = tokio::spawn(drive(store, inbox, announce, told.clone()));
        let gateway = Gateway { requests, resolved, told, task };
        gateway.has_begun().await;
        gateway
    }

    pub async fn ask(&self, request: Request) -> Reply {
        let (answer, reply) = oneshot::channel();
        self.requests.send((request, answer)).expect("the gateway runs");
        reply.await.expect("every request is answered")
    }

    pub fn resolved(&self) -> Timestamp {
        *self.resolved.borrow()
    }

    /// Waits until the feed is there.
    pub async fn reach(&self, at: Timestamp) -> Timestamp {
        let mut resolved = self.resolved.clone();
        *resolved.wait_for(|resolved| *resolved >= at).await.expect("the gateway runs")
    }

    pub fn told(&self) -> Told {
        self.told.lock().expect("nobody panics with it").clone()
    }

    async fn has_begun(&self) {
        let mut resolved = self.resolved.clone();
        resolved.changed().await.expect("the gateway runs");
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn drive(
    mut store: PostgresStore,
    mut inbox: mpsc::UnboundedReceiver<(Request, oneshot::Sender<Reply>)>,
    resolved: watch::Sender<Timestamp>,
    told: Arc<Mutex<Told>>,
) {
    let mut open: BTreeMap<RequestId, oneshot::Sender<Reply>> = BTreeMap::new();
    let mut last = 0;
    loop {
        tokio::select! {
            asked = inbox.recv() => {
                let Some((request, answer)) = asked else { return };
                last += 1;
                open.insert(RequestId(last), answer);
                store.request(RequestId(last), request);
            }
            event = store.next_event() => {
                if let Event::Reply(id, reply) = event {
                    let answer = open.remove(&id).expect("a reply to an open request");
                    // A client may have gone meanwhile.
                    let _ = answer.send(reply);
                    continue;
                }
                let cursor = {
                    let mut told = told.lock().expect("nobody panics with it");
                    told.note(event);
                    told.cursor
                };
                resolved.send_replace(cursor);
            }
        }
    }
}

impl Told {
    fn note(&mut self, event: Event) {
        match event {
            Event::Ready { store, resolved } => {
                self.ready.push((store, resolved));
                self.cursor = resolved;
            }
            Event::Reply(..) => unreachable!("replies are no part of the feed"),
            Event::Feed(segment) => {
                if segment.from != self.cursor || segment.to <= segment.from {
                    self.violate(format!("a segment from {:?} after {:?}", segment.from, self.cursor));
                }
                let mut before = segment.from;
                for commit in &segment.commits {
                    if commit.at <= before || commit.at > segment.to {
                        self.violate(format!("{commit:?} is out of place"));
                    }
                    before = commit.at;
                }
                self.cursor = segment.to;
                self.segments += 1;
                self.commits.extend(segment.commits);
            }
        }
    }

    fn violate(&mut self, violation: String) {
        self.violation.get_or_insert(violation);
    }
}
