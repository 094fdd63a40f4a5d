//! The store as one that waits, for the conformance suite: it has no next event when nothing is asked and the feed is where answers send it.

use std::time::Duration;

use iolite_postgres::{PostgresSettings, PostgresStore};
use iolite_store::{CommitReply, Event, Reply, Request, RequestId, Store};
use iolite_values::Timestamp;
use tokio::runtime::Runtime;

pub struct Blocking {
    // Before the runtime: its tasks are ended first.
    store: PostgresStore,
    runtime: Runtime,
    progress: Progress,
    open_requests: usize,
    wanted: Timestamp,
    resolved: Timestamp,
}

#[derive(PartialEq, Eq)]
enum Progress {
    Starting,
    Ready,
}

impl Blocking {
    pub fn open(settings: PostgresSettings) -> Blocking {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let store = runtime.block_on(PostgresStore::open(settings)).expect("the database is there");
        Blocking {
            store,
            runtime,
            progress: Progress::Starting,
            open_requests: 0,
            wanted: Timestamp::ZERO,
            resolved: Timestamp::ZERO,
        }
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Ready { resolved, .. } => (self.progress, self.resolved) = (Progress::Ready, *resolved),
            Event::Feed(segment) => self.resolved = segment.to,
            Event::Reply(_, reply) => {
                self.open_requests -= 1;
                match reply {
                    Reply::Commit(CommitReply::Completed(completion)) => self.wanted = self.wanted.max(completion.at),
                    Reply::Commit(CommitReply::Conflict { at_least }) => self.wanted = self.wanted.max(*at_least),
                    _ => {}
                }
            }
        }
    }
}

impl Store for Blocking {
    fn request(&mut self, id: RequestId, request: Request) {
        self.open_requests += 1;
        self.store.request(id, request);
    }

    fn next_event(&mut self) -> Option<Event> {
        let quiet = self.progress == Progress::Ready && self.open_requests == 0 && self.resolved >= self.wanted;
        if quiet {
            let event = self.store.try_next_event();
            event.iter().for_each(|event| self.note(event));
            return event;
        }
        let next = async { tokio::time::timeout(Duration::from_secs(30), self.store.next_event()).await };
        let event = self.runtime.block_on(next).expect("a store that owes an event gives it");
        self.note(&event);
        Some(event)
    }
}
