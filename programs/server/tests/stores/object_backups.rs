//! A backup of a store with a thousand objects, restored: what becomes of each, and of a device that has some of before.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use iolite::objects::{CallError, CreateError, Host, NotRun, Ran, Ref, sapphire};
use serde_json::Value;
use tokio::sync::Notify;

use crate::support::local::{Folder, Local, PATIENCE, succeeds};
use crate::support::objects::Way;

const COUNTERS: usize = 400;
const NOTES: usize = 400;
const SIGNS: usize = 200;
/// Objects that are asked for at a time.
const AT_A_TIME: usize = 50;

/// Nodes of the service have it.
#[sapphire(name = "Counter")]
#[derive(Default)]
struct Counter {
    count: u64,
}

#[sapphire::methods]
impl Counter {
    fn add(&mut self) -> u64 {
        self.count += 1;
        self.count
    }
}

/// A device has it.
#[sapphire(name = "Note", devices = "hold")]
#[derive(Default)]
struct Note {
    words: u64,
}

/// A method has begun.
static BEGUN: Notify = Notify::const_new();

#[sapphire::methods]
impl Note {
    fn add(&mut self) -> u64 {
        self.words += 1;
        self.words
    }

    async fn wait(&mut self) {
        BEGUN.notify_one();
        std::future::pending::<()>().await;
    }
}

/// A class of which no object begins anew.
#[sapphire(name = "Sign", managers = [KeepInPlace])]
#[derive(Default)]
struct Sign {}

#[sapphire::methods]
impl Sign {
    fn read(&mut self) {}
}

async fn host(cluster: &Local) -> Host {
    let host = Host::connect(&cluster.sync_url(0), &cluster.token()).class::<Counter>().class::<Sign>();
    host.serves().start().await.expect("it is let in")
}

async fn device(url: &str, token: &str) -> Host {
    let host = Host::connect(url, token).class::<Note>().call_time(Duration::from_secs(120));
    host.start().await.expect("it is let in")
}

/// Does something with the objects of these numbers.
async fn each<T>(numbers: Range<usize>, work: impl AsyncFn(String) -> T) -> Vec<T> {
    let mut done = Vec::new();
    for from in numbers.clone().step_by(AT_A_TIME) {
        done.extend(join_all((from..numbers.end.min(from + AT_A_TIME)).map(|number| work(number.to_string()))).await);
    }
    done
}

async fn notes(device: &Host) -> Vec<Ref<Note>> {
    each(0..NOTES, async |id| device.create(&*id, Note::default()).await.expect("it is new")).await
}

/// Begins a note whose row names a node that is there. The node has another store's objects no more: a call finds that out, and does not run.
async fn begin_anew(device: &Host, id: &str) {
    loop {
        match device.create(id, Note::default()).await {
            Ok(_) => return,
            Err(CreateError::Exists { .. }) => {}
            Err(error) => panic!("{id}: {error}"),
        }
        if let Some(note) = device.find::<Note>(id).await.expect("tracking answers") {
            assert_eq!(note.add().await.map_err(|error| error.ran()), Err(Ran::No), "{id}");
        }
    }
}

async fn counters(host: &Host) -> Vec<Ref<Counter>> {
    each(0..COUNTERS, async |id| host.create(&*id, Counter::default()).await.expect("it is new")).await
}

/// The objects of a class, as an operator sees them: each has one place. Their epochs, and where they are.
fn listed(cluster: &Local, class: &str) -> (Vec<u64>, Vec<String>) {
    let target = format!("http://{}", cluster.gateway_address(0));
    let told = succeeds(&["objects", "list", "--class", class, "--json", "--target", &target]);
    let objects: Vec<Value> = serde_json::from_str(&told).expect("an array");
    let place = |object: &Value| match object["places"].as_array().expect("it has places").as_slice() {
        [place] => place.as_str().expect("a node").to_owned(),
        other => panic!("{object} has the places {other:?}"),
    };
    let epochs = objects.iter().map(|object| object["epoch"].as_u64().expect("a number"));
    (epochs.collect(), objects.iter().map(place).collect())
}

async fn signs(host: &Host) -> Vec<Ref<Sign>> {
    each(0..SIGNS, async |id| host.create(&*id, Sign::default()).await.expect("it is new")).await
}

/// Another cluster in the place of this one, with all that it had. It lets devices in that knew the first one.
fn copied(old: Local, folder: &Path) -> Local {
    let [first, second, backup] = ["first", "second", "backup"].map(|name| folder.join(name));
    let path = |path: &Path| path.to_str().expect("plain letters").to_owned();
    succeeds(&["backup", "--data", &path(&first), "--to", &path(&backup)]);
    drop(old);
    let cluster = Local::create_with_objects(&second, 1, 1, "");
    std::fs::copy(first.join("token"), second.join("token")).expect("it can be written");
    let new = Local::made(cluster);
    succeeds(&["restore", "--data", &path(&second), "--from", &path(&backup)]);
    new
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_objects_of_a_backup_begin_anew_once_or_are_unreachable_and_devices_are_fenced() {
    let folder = Folder::new("object-backup");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let old = Local::with_objects(&folder.0.join("first"), 1, 1, "");
    let way = Way::to(old.gateway_address(0)).await;
    let (keeper, before) = (device(&way.sync_url(), &old.token()).await, host(&old).await);
    let (kept, ..) = tokio::join!(notes(&keeper), counters(&before), signs(&before));
    assert_eq!(kept[0].add().await, Ok(1));
    let waits = kept[1].clone();
    let waiting = tokio::spawn(async move { waits.wait().await });
    BEGUN.notified().await;
    drop(before);
    let new = copied(old, &folder.0);
    for (class, count) in [("Counter", COUNTERS), ("Note", NOTES), ("Sign", SIGNS)] {
        assert_eq!(listed(&new, class).0, vec![1; count], "{class}");
    }

    let (after, other) = (host(&new).await, device(&new.sync_url(0), &new.token()).await);
    let read = async |id: String| {
        let sign = after.find::<Sign>(&id).await.expect("tracking answers").expect("it is kept");
        sign.read().await
    };
    assert_eq!(each(0..SIGNS, read).await, vec![Err(CallError::NotRun(NotRun::Unreachable)); SIGNS]);
    after.create("0", Sign::default()).await.map(drop).expect_err("nobody begins it anew");
    let half = each(0..NOTES / 2, async |id| other.create(&*id, Note::default()).await.expect("it is new"));
    let (anew, _) = tokio::join!(half, counters(&after));
    assert_eq!(anew[0].add().await, Ok(1), "it has nothing of the last one");

    // The device comes back, and gets the life that the rows of the others name.
    way.turn_to(new.gateway_address(0));
    let fenced = tokio::time::timeout(PATIENCE, waiting).await.expect("in time").expect("it did not panic");
    assert_eq!(fenced, Err(CallError::Fenced), "the method ran at a node that owns nothing any more");
    assert_eq!(kept[0].add().await, Ok(2), "who had it calls the new one");
    let rest = each(NOTES / 2..NOTES, async |id| begin_anew(&other, &id).await);
    tokio::time::timeout(PATIENCE, rest).await.expect("in time");

    let node = |host: &Host| host.node_id().expect("it is registered").to_string();
    let (epochs, owners) = listed(&new, "Note");
    assert!(epochs.iter().all(|epoch| [2, 3].contains(epoch)), "{epochs:?}");
    assert_eq!(owners, vec![node(&other); NOTES]);
    assert_eq!(listed(&new, "Counter"), (vec![2; COUNTERS], vec![node(&after); COUNTERS]));
    assert_eq!(listed(&new, "Sign").0, vec![1; SIGNS]);
}
