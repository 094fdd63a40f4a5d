//! Calls in the steady state: what they ask of the store and of the door of rights.

use std::time::{Duration, Instant};

use iolite::objects::{Host, Ref, sapphire};
use tokio::task::JoinSet;

use crate::support::dev::{Dev, Folder, PATIENCE};

#[sapphire(name = "Counter", devices = "hold")]
#[derive(Default)]
struct Counter {
    count: u64,
}

#[sapphire::methods]
impl Counter {
    fn add(&mut self, by: u64) -> u64 {
        self.count += by;
        self.count
    }
}

/// Counts, after so many calls: requests of tracking to the store, questions to tracking, and questions to the door.
async fn asked_after(server: &Dev, calls: u64) -> [u64; 3] {
    let begun = Instant::now();
    loop {
        let metrics = server.get("/metrics", "");
        let metric = |name: &str| {
            let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            value.and_then(|value| value.trim().parse::<u64>().ok()).unwrap_or_else(|| panic!("no {name} in {metrics}"))
        };
        if metric("iolite_object_calls_total") == calls {
            return ["tracking_requests", "tracking_asked", "rights_asked"]
                .map(|name| metric(&format!("iolite_object_{name}_total")));
        }
        assert!(begun.elapsed() < PATIENCE, "there were {calls} calls: {metrics}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn add(counter: Ref<Counter>, calls: u64) {
    for _ in 0..calls {
        counter.add(1).await.expect("it is there");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_calls_between_two_devices_ask_the_store_and_the_door_nothing() {
    let folder = Folder::new("object-calls");
    let server = Dev::start(&folder.0);
    let connect = || Host::connect(&server.sync_url(), &server.token());
    let owner = connect().class::<Counter>().start().await.expect("it is let in");
    owner.create("a", Counter::default()).await.expect("it is new");
    let caller = connect().start().await.expect("it is let in");
    let counter = caller.find::<Counter>("a").await.expect("tracking answers").expect("it is there");
    assert_eq!(counter.add(1).await, Ok(1), "the first call asks for all that is needed");

    let before = asked_after(&server, 1).await;
    let mut callers = JoinSet::new();
    (0..50).for_each(|_| drop(callers.spawn(add(counter.clone(), 200))));
    callers.join_all().await;
    assert_eq!(asked_after(&server, 10_001).await, before);
    assert_eq!(counter.add(1).await, Ok(10_002));
}
