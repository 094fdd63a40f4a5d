//! Objects over real sockets: a server in the process, and hosts that dial it.

use std::sync::LazyLock;

use futures_util::{SinkExt, StreamExt};
use iolite::Id;
use std::time::Duration;

use iolite::objects::deployment::ExplicitMigration;
use iolite::objects::managers::{Kind, Manager, Slot};
use iolite::objects::{CallError, Context, CreateError, Host, HostError, NotRun, Ran, Ref, sapphire};
use iolite_values::{NodeId, NodeLife, NodeName};
use iolite_wire::objects::{DeviceHello, FromDevice, OBJECTS_PROTOCOL_VERSION, ToDevice};
use serde::{Deserialize, Serialize};
use tokio::sync::{Barrier, Notify};
use tokio_tungstenite::tungstenite::Message;

#[sapphire(name = "Counter")]
#[derive(Default)]
struct Counter {
    total: u64,
    log: Vec<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum CounterError {
    TooMuch { most: u64 },
    Other(String),
}

impl From<CallError<CounterError>> for CounterError {
    fn from(error: CallError<CounterError>) -> CounterError {
        match error {
            CallError::App(own) => own,
            other => CounterError::Other(other.to_string()),
        }
    }
}

impl std::fmt::Display for CounterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Two reads that run at once.
static TOGETHER: LazyLock<Barrier> = LazyLock::new(|| Barrier::new(2));
/// A method has begun that never ends.
static WAITING: Notify = Notify::const_new();

#[sapphire::methods]
impl Counter {
    #[read]
    fn total(&self) -> u64 {
        self.total
    }

    #[read]
    fn caller(&self, cx: &Context) -> (String, String) {
        (cx.caller().to_owned(), cx.id())
    }

    /// Ends when another read runs.
    #[read]
    async fn meet(&self) {
        TOGETHER.wait().await;
    }

    fn add(&mut self, by: u64) -> Result<u64, CounterError> {
        if by > 100 {
            return Err(CounterError::TooMuch { most: 100 });
        }
        self.total += by;
        Ok(self.total)
    }

    fn add_and_panic(&mut self, by: u64) {
        self.total += by;
        panic!("after {by}");
    }

    async fn await_and_panic(&mut self) {
        tokio::task::yield_now().await;
        panic!("later");
    }

    async fn add_to(&mut self, first: u64, cx: &Context, other: Ref<Counter>) -> Result<u64, CounterError> {
        self.log.push(cx.id());
        self.total += first;
        Ok(other.add(first).await?)
    }

    async fn pass(&mut self, through: Vec<Ref<Self>>) -> Result<u64, CallError> {
        match through.split_first() {
            None => Ok(self.total),
            Some((next, rest)) => Ok(next.pass(rest.to_vec()).await?),
        }
    }

    async fn wait(&mut self) {
        WAITING.notify_one();
        std::future::pending().await
    }

    fn too_large(&mut self) -> Vec<u64> {
        vec![u64::MAX; 200_000]
    }
}

/// Moves, and is called until that has worked.
#[sapphire(name = "Draft", managers = [ExplicitMigration, AtLeastOnceRPC { within: millis(300) }])]
#[derive(Default)]
struct Draft {
    text: String,
}

#[sapphire::methods]
impl Draft {
    fn write(&mut self, text: String) -> String {
        self.text += &text;
        self.text.clone()
    }
}

/// A manager that no host of these tests is given.
#[derive(Debug)]
struct Mood;

impl Manager for Mood {
    const KIND: Kind = Kind { name: "Mood", slot: Slot::Serial, facts: &[], settings: &[("swings", 3)] };
}

#[sapphire(name = "Moody", managers = [KeepInPlace, self::Mood { swings: 7 }])]
struct Moody {}

#[sapphire::methods]
impl Moody {}

/// Has several copies, each of which counts by itself.
#[sapphire(name = "Desk", managers = [LoadBalancedFrontEnd { copies: 3 }])]
#[derive(Default)]
struct Desk {
    served: u64,
}

#[sapphire::methods]
impl Desk {
    fn serve(&mut self) -> u64 {
        self.served += 1;
        self.served
    }
}

/// Lives on devices.
#[sapphire(name = "Camera", devices = "hold")]
#[derive(Default)]
struct Camera {
    shots: f64,
}

#[sapphire::methods]
impl Camera {
    fn shoot(&mut self) -> f64 {
        self.shots += 1.0;
        self.shots
    }
}

/// Devices have copies of it, and never the object.
#[sapphire(name = "Notice", managers = [ConsistentCaching, KeepInCloud], devices = "hold")]
#[derive(Default)]
struct Notice {
    text: String,
}

#[sapphire::methods]
impl Notice {
    fn put(&mut self, text: String) {
        self.text = text;
    }

    #[read]
    fn text(&self) -> String {
        self.text.clone()
    }
}

/// The class, as programs of another age know it.
mod other {
    use super::*;

    #[sapphire(name = "Counter")]
    pub struct Counter;

    #[sapphire::methods]
    impl Counter {
        pub fn add(&mut self, _text: String) {}
        pub fn missing(&mut self) {}
        #[read]
        pub fn total(&self) -> String {
            String::new()
        }
    }

    #[sapphire(name = "Counter", version = 2)]
    pub struct Newer;

    #[sapphire::methods]
    impl Newer {
        pub fn add(&mut self, _by: u64) {}
    }
}

async fn server() -> Host {
    Host::embedded().class::<Counter>().class::<Camera>().start().await.expect("it starts")
}

async fn device(server: &Host) -> Host {
    Host::connect(server.url(), server.token()).start().await.expect("it is let in")
}

#[tokio::test]
async fn a_device_calls_an_object_of_the_server() {
    let server = server().await;
    let device = device(&server).await;
    assert!(device.find::<Counter>("hits").await.expect("an answer").is_none());
    let hits = device.create("hits", Counter { total: 5, ..Counter::default() }).await.expect("it is new");
    assert_eq!(hits.add(2).await.expect("it ran"), 7);
    // The server's own calls, and another name of the same object.
    let same: Ref<Counter> = server.get("hits", || unreachable!("it is there")).await.expect("it is there");
    assert_eq!((same.total().await, same == hits), (Ok(7), true));
    let again = device.create("hits", Counter::default()).await.expect_err("it is there");
    assert!(matches!(&again, CreateError::Exists { object } if object.id() == "hits"), "{again}");
    let fresh = device.create(None, Counter::default()).await.expect("it is new");
    assert_eq!(Ref::id(&fresh).len(), 32);
    let of_device = hits.caller().await.expect("it ran");
    assert_eq!(of_device, ("developer".to_owned(), "hits".to_owned()));
    assert_ne!(same.caller().await.expect("it ran").0, of_device.0, "the server calls in its own name");
    let (one, other) = tokio::join!(hits.meet(), same.meet());
    assert_eq!((one, other), (Ok(()), Ok(())), "reads run beside each other");
    device.stop().await.expect("it stops");
    server.stop().await.expect("it stops");
}

#[tokio::test]
async fn an_object_moves_where_a_caller_says_and_its_callers_follow_it() {
    let server = server().await;
    let service = || Host::connect(server.url(), server.token()).serves().class::<Draft>().start();
    let (first, second) = (service().await.expect("it is let in"), service().await.expect("it is let in"));
    let caller = device(&server).await;
    first.create("letter", Draft::default()).await.expect("it is new");
    let letter: Ref<Draft> = caller.find("letter").await.expect("an answer").expect("it is there");
    assert_eq!(letter.write("a".into()).await.expect("it ran"), "a");
    let to = second.node_id().expect("it is let in");
    ExplicitMigration::move_to(&letter, to).await.expect("it moves");
    assert_eq!(letter.write("b".into()).await.expect("it ran at the other one"), "ab");
    let plain: Ref<Counter> = caller.create("hits", Counter::default()).await.expect("it is new");
    let refused = ExplicitMigration::move_to(&plain, to).await.expect_err("it has no manager");
    assert!(refused.to_string().contains("ExplicitMigration"), "{refused}");
    second.stop().await.expect("it stops");
    assert_eq!(letter.write("c".into()).await.expect_err("its process has ended").ran(), Ran::No);
    caller.stop().await.expect("it stops");
    server.stop().await.expect("it stops");
}

#[tokio::test]
async fn copies_take_calls_in_turn_and_go_on_when_one_of_their_hosts_ends() {
    let server = Host::embedded().start().await.expect("it starts");
    let service = || Host::connect(server.url(), server.token()).serves().class::<Desk>().start();
    let mut hosts = Vec::new();
    for _host in 0..3 {
        hosts.push(service().await.expect("it is let in"));
    }
    let caller = device(&server).await;
    let desk = caller.create("front", Desk::default()).await.expect("it is new");
    // The copies come a moment later than the object itself, and callers look for them every few seconds.
    let spread = async {
        let mut most = 0;
        loop {
            let served = desk.serve().await.expect("it ran");
            if served <= most {
                return;
            }
            most = served;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), spread).await.expect("a copy has run a call");
    hosts.pop().expect("three").stop().await.expect("it stops");
    for _call in 0..9 {
        desk.serve().await.expect("another copy runs it");
    }
    caller.stop().await.expect("it stops");
    server.stop().await.expect("it stops");
}

#[tokio::test]
async fn a_host_says_at_its_start_which_managers_it_was_not_given() {
    let refused = Host::connect("ws://127.0.0.1:1/sync", "token").class::<Moody>().start().await.expect_err("no such");
    assert!(matches!(&refused, HostError::Managers { name: "Moody", .. }), "{refused}");
    assert!(refused.to_string().contains("no manager is called \"Mood\" here"), "{refused}");
    let twice = Host::embedded().manager(Mood).manager(Mood).start().await.expect_err("twice");
    assert!(matches!(&twice, HostError::Manager { .. }) && twice.to_string().contains("two managers"), "{twice}");
}

#[tokio::test]
async fn a_device_calls_an_object_of_another_device() {
    let server = Host::embedded().start().await.expect("it starts");
    let holder = Host::connect(server.url(), server.token()).class::<Camera>();
    let holder = holder.start().await.expect("it is let in");
    let caller = device(&server).await;
    let own = holder.create("front", Camera::default()).await.expect("it may live here");
    let far: Ref<Camera> = caller.find("front").await.expect("an answer").expect("it is there");
    assert_eq!((own.shoot().await, far.shoot().await, own.shoot().await), (Ok(1.0), Ok(2.0), Ok(3.0)));
    // No node of the service runs counters, and devices may not hold them.
    let refused = caller.create("hits", Counter::default()).await.expect_err("nobody runs it");
    assert_eq!(refused, CreateError::Call(CallError::NotRun(NotRun::NoHostForClass)));
    let worker = Host::connect(server.url(), server.token()).serves().class::<Counter>().start().await;
    let (worker, placed) = (worker.expect("it is let in"), caller.create("hits", Counter::default()).await);
    assert_eq!(placed.expect("the worker runs it").add(1).await, Ok(1));
    worker.stop().await.expect("it stops");
    holder.stop().await.expect("it stops");
    let gone = far.shoot().await.expect_err("its host has ended");
    assert_eq!((gone.ran(), own.shoot().await), (Ran::No, Err(CallError::NotRun(NotRun::Unreachable))), "{gone}");
}

#[tokio::test]
async fn an_object_that_is_kept_in_the_cloud_begins_there_also_for_a_device_that_may_hold_copies() {
    let server = Host::embedded().class::<Notice>().start().await.expect("it starts");
    let device = Host::connect(server.url(), server.token()).class::<Notice>();
    let device = device.start().await.expect("it is let in");
    let board = device.create("board", Notice::default()).await.expect("it begins at the server");
    board.put("open".into()).await.expect("it ran");
    assert_eq!(board.text().await, Ok("open".into()));
    device.stop().await.expect("it stops");
    let board: Ref<Notice> = server.find("board").await.expect("an answer").expect("it is there");
    assert_eq!(board.text().await, Ok("open".into()));
    server.stop().await.expect("it stops");
}

#[tokio::test]
async fn a_failed_call_says_why_and_whether_it_ran() {
    let server = server().await;
    let device = device(&server).await;
    let hits = device.create("hits", Counter::default()).await.expect("it is new");
    let own = hits.add(101).await.expect_err("it is too much");
    assert_eq!((own.ran(), own), (Ran::Yes, CallError::App(CounterError::TooMuch { most: 100 })));
    for broken in [hits.add_and_panic(3).await, hits.await_and_panic().await] {
        let broken = broken.expect_err("it panics");
        assert!(matches!(&broken, CallError::Broke { how } if how.contains("panicked")) && broken.ran() == Ran::Yes);
    }
    assert_eq!(hits.total().await, Ok(3), "the object is as the panic left it");
    let large = hits.too_large().await.expect_err("it is past the limit");
    assert!(large.to_string().contains("too large"), "{large}");
    let old: Ref<other::Counter> = device.find("hits").await.expect("an answer").expect("it is there");
    let bad = old.add("milk".to_owned()).await.expect_err("it takes a number");
    assert!(matches!(bad, CallError::NotRun(NotRun::BadArguments { .. })), "{bad}");
    assert_eq!(old.missing().await, Err(CallError::NotRun(NotRun::NoSuchMethod)));
    let unread = old.total().await.expect_err("it is a number");
    assert!(unread.to_string().contains("cannot be read") && unread.ran() == Ran::Yes, "{unread}");
    let newer: Ref<other::Newer> = device.find("hits").await.expect("an answer").expect("it is there");
    assert_eq!(newer.add(1).await, Err(CallError::NotRun(NotRun::WrongVersion { own: 1 })));
    let large = old.add("x".repeat(2 << 20)).await.expect_err("it is past the limit");
    assert!(matches!(large, CallError::NotRun(NotRun::TooLarge { .. })), "{large}");
}

#[tokio::test]
async fn calls_of_a_method_are_part_of_it() {
    let server = server().await;
    let device = device(&server).await;
    let (a, b) = (device.create("a", Counter::default()).await, device.create("b", Counter::default()).await);
    let (a, b) = (a.expect("it is new"), b.expect("it is new"));
    assert_eq!(a.add_to(4, b.clone()).await, Ok(4));
    assert_eq!((a.total().await, b.total().await), (Ok(4), Ok(4)));
    // A to B to A.
    let round = a.pass(vec![b.clone(), a.clone()]).await;
    let Err(CallError::App(CallError::NotRun(NotRun::WouldDeadlock { chain }))) = round else { panic!("{round:?}") };
    let chain: Vec<String> = chain.iter().map(ToString::to_string).collect();
    assert_eq!(chain, ["Counter/a", "Counter/b", "Counter/a"]);
    // A name alone: no host is behind it until a method has it.
    let mut nobody = b"\xd8\x1b\x83\x6aiolite.Ref\x67Counter\x66nobody".as_slice();
    let nobody: Ref<Counter> = ciborium::from_reader(&mut nobody).expect("a reference");
    assert_eq!(nobody.total().await, Err(CallError::NotRun(NotRun::Unreachable)));
    assert_eq!(a.pass(vec![nobody]).await, Err(CallError::App(CallError::Gone)));
}

#[tokio::test]
async fn a_host_ends_with_all_that_is_open() {
    let server = server().await;
    let device = device(&server).await;
    let hits = device.create("hits", Counter::default()).await.expect("it is new");
    let (waiting, clone) = (tokio::spawn(hits.wait()), device.clone());
    WAITING.notified().await;
    drop(device);
    assert!(!waiting.is_finished(), "a clone is left");
    drop(clone);
    let ended = waiting.await.expect("it is told").expect_err("its host has ended");
    assert!(matches!(ended, CallError::InDoubt { .. }) && ended.ran() == Ran::Unknown, "{ended}");
    let wrong = Host::connect(server.url(), "wrong").start().await.expect_err("no such token");
    assert!(matches!(wrong, HostError::Refused { .. }), "{wrong}");
    let nowhere = Host::connect("http://127.0.0.1", "").start().await.expect_err("no such address");
    assert!(matches!(nowhere, HostError::Url { .. }), "{nowhere}");
}

/// The life that a server gives a process that starts under this name.
async fn next_life(server: &Host, device: Id) -> NodeId {
    let url = server.url().replace("/sync", "/objects");
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.expect("it listens");
    let hello = DeviceHello {
        oldest_version: OBJECTS_PROTOCOL_VERSION,
        newest_version: OBJECTS_PROTOCOL_VERSION,
        token: server.token().to_owned(),
        device,
        life: NodeLife::default(),
        serves: false,
        connection: 1,
        classes: Vec::new(),
    };
    let frame = FromDevice::Hello(hello).encode().expect("it fits");
    socket.send(Message::Binary(frame.into())).await.expect("it is taken");
    let answer = socket.next().await.expect("an answer").expect("a frame");
    match ToDevice::decode(&answer.into_data()).expect("a message") {
        ToDevice::Welcome(welcome) => welcome.device,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_process_that_starts_again_under_its_name_is_the_same_node_in_a_new_life() {
    let server = server().await;
    let named = Id::from_u128(7);
    for _ in 0..2 {
        let host = Host::connect(server.url(), server.token()).node(named).start().await.expect("it is let in");
        host.stop().await.expect("it stops");
    }
    let third = NodeId { name: NodeName::Device(named), life: NodeLife(3) };
    assert_eq!(next_life(&server, named).await, third);
    let refused = Host::embedded().node(named).start().await.expect_err("a server has its own name");
    assert!(matches!(refused, HostError::ServerName), "{refused}");
}
