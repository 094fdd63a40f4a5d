//! Objects behind the gateways of a cluster: found and called from all of them, and there while the process lives that has them.

use std::fmt::Display;
use std::time::{Duration, Instant};

use iolite::objects::deployment::ExplicitMigration;
use iolite::objects::{Host, Ref, sapphire};
use iolite_values::ObjectEpoch;
use iolite_wire::objects::{Answer, FromDevice, ToDevice};

use crate::support::local::{Folder, Local, PATIENCE, succeeds};
use crate::support::objects::{RawObjects, Way, serving};

#[sapphire(name = "Counter", managers = [ExplicitMigration])]
#[derive(Default)]
struct Counter {
    count: i64,
}

#[sapphire::methods]
impl Counter {
    fn add(&mut self, by: i64) -> i64 {
        self.count += by;
        self.count
    }
}

async fn connect(cluster: &Local, gateway: usize) -> Host {
    Host::connect(&cluster.sync_url(gateway), &cluster.token()).start().await.expect("it is let in")
}

/// The first result of something that is tried until it works. A call that ran without a word would show in the count.
async fn soon<T, E: Display>(mut attempt: impl AsyncFnMut() -> Result<T, E>) -> T {
    let begun = Instant::now();
    loop {
        match attempt().await {
            Ok(result) => return result,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn added(counter: &Ref<Counter>) -> i64 {
    soon(async || counter.add(1).await).await
}

/// Questions of two gateways to tracking, of which renewals of leases are none, and to the door of rights.
fn asked(cluster: &Local) -> Vec<u64> {
    let metrics = ["iolite_object_tracking_asked_total", "iolite_object_rights_asked_total"];
    let of = |gateway| metrics.map(|metric| cluster.metric(gateway, metric));
    ["gateway-0", "gateway-1"].into_iter().flat_map(of).collect()
}

/// The same once they have not counted for a while: they do so just behind an answer.
async fn settled(cluster: &Local, quiet: Duration) -> Vec<u64> {
    let mut before = asked(cluster);
    loop {
        tokio::time::sleep(quiet).await;
        let now = asked(cluster);
        if now == before {
            return now;
        }
        before = now;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_called_through_every_gateway_and_outlive_that_of_their_host() {
    let folder = Folder::new("objects");
    let mut cluster = Local::with_objects(&folder.0, 3, 3, "");
    for gateway in ["gateway-0", "gateway-1", "gateway-2"] {
        let commits = cluster.metric(gateway, "iolite_object_tracking_commits_total");
        assert_eq!(commits, 0, "nothing is written before a node comes");
    }
    let way = Way::to(cluster.gateway_address(0)).await;
    let host = Host::connect(&way.sync_url(), &cluster.token()).class::<Counter>().serves();
    let host = host.start().await.expect("it is let in");
    let caller = connect(&cluster, 1).await;
    let counter = soon(async || caller.get("a", Counter::default).await).await;
    assert_eq!(added(&counter).await, 1);

    // Gateways share the buckets of objects out among them, and list each once.
    let before = settled(&cluster, Duration::from_secs(3)).await;
    for count in 2..=200 {
        assert_eq!(counter.add(1).await, Ok(count));
    }
    assert_eq!(
        settled(&cluster, Duration::from_millis(20)).await,
        before,
        "a call asks neither tracking nor for rights"
    );
    counts(&cluster, "gateway-1", "iolite_object_calls_total", 200).await;

    // No node has come to the third gateway, which is linked all the same.
    counts(&cluster, "gateway-2", "iolite_links{side=\"accepted\"}", 2).await;
    way.turn_to(cluster.gateway_address(2));
    cluster.kill(&["gateway-0"]);
    assert_eq!(added(&counter).await, 201, "the same object, and all that it was told");
    let late = connect(&cluster, 2).await;
    let found = late.find::<Counter>("a").await.expect("tracking answers").expect("it is there");
    assert_eq!(found.add(1).await, Ok(202));

    // The object goes to a node behind another gateway, and so do calls by those who knew it here.
    let (mut node, welcome) = RawObjects::enter(&cluster.objects_url(1), serving(&cluster.token(), 9, "Counter")).await;
    let own = host.find::<Counter>("a").await.expect("tracking answers").expect("it is there");
    let (moved, ()) = tokio::join!(ExplicitMigration::move_to(&own, welcome.device), takes(&mut node));
    moved.expect("the other node has taken it");
    let target = format!("http://{}", cluster.gateway_address(2));
    let shown = succeeds(&["objects", "show", "Counter/a", "--target", &target]);
    assert!(shown.contains(&format!("lives at: {} (it is there, connected to gateway-1)", welcome.device)), "{shown}");
    counts(&cluster, "gateway-2", "iolite_object_moves_total", 1).await;
    let (count, ()) = tokio::join!(found.add(1), answers(&mut node, 203));
    assert_eq!(count, Ok(203));
}

/// A gateway has counted at least so many.
async fn counts(cluster: &Local, gateway: &str, metric: &str, least: u64) {
    let begun = Instant::now();
    while cluster.metric(gateway, metric) < least {
        assert!(begun.elapsed() < PATIENCE, "{metric} of {gateway}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The node takes an object, whose state it knows.
async fn takes(node: &mut RawObjects) {
    let Some(ToDevice::Hold { number, state, .. }) = node.hear().await else { panic!("an object comes") };
    assert_eq!(state, b"\xa1\x65count\x18\xca", "its count is 202");
    node.say(&FromDevice::Held { number, held: Ok(()) }).await;
    let served = node.hear().await;
    assert!(matches!(served, Some(ToDevice::Serve { epoch: ObjectEpoch(2), .. })), "{served:?}");
}

async fn answers(node: &mut RawObjects, count: u8) {
    let Some(ToDevice::Run { number, .. }) = node.hear().await else { panic!("a call comes") };
    node.say(&FromDevice::Answer { number, answer: Answer::Returned(vec![0x18, count]) }).await;
}
