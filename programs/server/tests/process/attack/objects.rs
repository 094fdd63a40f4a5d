//! Nodes of objects that lie on `/objects`: about what is theirs, whom they answer, for whom they call, and how much. Each is told so, and others go on.

use std::sync::atomic::{AtomicU64, Ordering};

use iolite::objects::deployment::ExplicitMigration;
use iolite::objects::{CallError, Context, Host, Ran, Ref, sapphire};
use iolite_values::{DeviceRight, NodeId, ObjectEpoch, ObjectName};
use iolite_wire::limits::STATE_PART;
use iolite_wire::objects::{Answer, CallFailure, Component, FromDevice, NotRun, Part, Placed, ToDevice, TrackAnswer};

use crate::support::dev::{Dev, Folder};
use crate::support::local::Local;
use crate::support::objects::{RawObjects, begin, call, declared, device, object};

const EPOCH: ObjectEpoch = ObjectEpoch(1);

#[sapphire(name = "Counter")]
#[derive(Default)]
struct Counter {
    count: u64,
}

#[sapphire::methods]
impl Counter {
    fn add(&mut self, by: u64, _cx: &Context) -> u64 {
        self.count += by;
        self.count
    }
}

/// A node of the service with an object, and somebody who calls it while the server is attacked.
struct Witness {
    _host: Host,
    _caller: Host,
    counter: Ref<Counter>,
    calls: u64,
}

impl Witness {
    async fn arrive(server: &Dev) -> Witness {
        let connect = || Host::connect(&server.sync_url(), &server.token());
        let host = connect().class::<Counter>().serves().start().await.expect("it is let in");
        let caller = connect().start().await.expect("it is let in");
        let counter = caller.create("witness", Counter::default()).await.expect("it is new");
        Witness { _host: host, _caller: caller, counter, calls: 0 }
    }

    /// The witness calls once more: no call of it was lost or repeated.
    async fn notices_nothing(&mut self) {
        self.calls += 1;
        assert_eq!(self.counter.add(1).await, Ok(self.calls));
    }
}

/// A device with an object that only it owns, and an attacker.
struct Scene {
    _folder: Folder,
    server: Dev,
    witness: Witness,
    owner: RawObjects,
    owner_node: NodeId,
    attacker: RawObjects,
    attacker_node: NodeId,
    note: ObjectName,
}

impl Scene {
    async fn new(name: &str) -> Scene {
        let folder = Folder::new(name);
        let server = Dev::start(&folder.0);
        let witness = Witness::arrive(&server).await;
        let url = server.sync_url().replace("/sync", "/objects");
        let (mut owner, welcome) = RawObjects::enter(&url, device(&server.token(), 1)).await;
        owner.say(&FromDevice::Begin { number: 1, begin: begin("Note", "a", DeviceRight::Hold) }).await;
        let told = owner.hear().await;
        assert!(matches!(told, Some(ToDevice::Told { answer: TrackAnswer::Begun(_), .. })), "{told:?}");
        let (attacker, attackers) = RawObjects::enter(&url, device(&server.token(), 2)).await;
        let (owner_node, attacker_node, note) = (welcome.device, attackers.device, object("Note", "a"));
        Scene { _folder: folder, server, witness, owner, owner_node, attacker, attacker_node, note }
    }

    fn url(&self) -> String {
        self.server.sync_url().replace("/sync", "/objects")
    }

    /// Another attacker, as the server has sent the last one away.
    async fn next_attacker(&mut self, number: u128) {
        (self.attacker, _) = RawObjects::enter(&self.url(), device(&self.server.token(), number)).await;
    }

    fn row(&self) -> TrackAnswer {
        TrackAnswer::Found(Placed {
            declared: declared(DeviceRight::Hold),
            epoch: EPOCH,
            places: vec![self.owner_node],
        })
    }

    /// The number of the run that the owner is asked for, and for whom.
    async fn run(&mut self) -> (u64, String) {
        match self.owner.hear().await {
            Some(ToDevice::Run { number, rpc }) => (number, rpc.caller),
            other => panic!("{other:?} in the place of a run"),
        }
    }
}

async fn told(session: &mut RawObjects) -> TrackAnswer {
    match session.hear().await {
        Some(ToDevice::Told { answer, .. }) => answer,
        other => panic!("{other:?} in the place of an answer of tracking"),
    }
}

async fn answer(session: &mut RawObjects) -> Answer {
    match session.hear().await {
        Some(ToDevice::Answer { answer, .. }) => answer,
        other => panic!("{other:?} in the place of an answer"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_claims_the_object_of_another_gets_the_row_and_changes_nothing() {
    let mut scene = Scene::new("objects-claims").await;
    let (note, to, state) = (scene.note.clone(), scene.attacker_node, vec![0xa0]);
    let begin = begin("Note", "a", DeviceRight::Hold);
    let find = |number| FromDevice::Find { number, object: note.clone() };
    for claim in [
        FromDevice::Move { number: 1, begin: begin.clone(), epoch: EPOCH, to, state },
        FromDevice::Keep { number: 2, object: note.clone(), epoch: EPOCH },
        FromDevice::Begin { number: 3, begin },
    ] {
        scene.attacker.say(&claim).await;
        assert_eq!(told(&mut scene.attacker).await, scene.row(), "{claim:?}");
    }
    scene.attacker.say(&FromDevice::Missing { object: note.clone(), epoch: EPOCH }).await;
    for number in [4, 5, 6] {
        scene.attacker.say(&find(number)).await;
        assert_eq!(told(&mut scene.attacker).await, scene.row(), "it is not removed");
    }
    scene.witness.notices_nothing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_speaks_for_its_own_user_and_answers_its_own_calls_once() {
    let mut scene = Scene::new("objects-answers").await;
    let FromDevice::Call { number, to, mut rpc } = call(1, scene.owner_node, &scene.note, "read") else {
        panic!("it is a call")
    };
    rpc.caller = "root".to_owned();
    scene.attacker.say(&FromDevice::Call { number, to, rpc }).await;
    let (run, caller) = scene.run().await;
    assert_eq!(caller, "developer", "a stamp is replaced");

    let url = scene.url();
    let (mut liar, _) = RawObjects::enter(&url, device(&scene.server.token(), 3)).await;
    liar.say(&FromDevice::Answer { number: run, answer: Answer::Returned(vec![0x01]) }).await;
    assert!(liar.goodbye().await.contains("that was not asked"), "it answers for the owner");

    let right = FromDevice::Answer { number: run, answer: Answer::Returned(vec![0x02]) };
    scene.owner.say(&right).await;
    assert_eq!(answer(&mut scene.attacker).await, Answer::Returned(vec![0x02]));
    scene.owner.say(&right).await;
    assert!(scene.owner.goodbye().await.contains("or is answered"), "it answers twice");
    scene.witness.notices_nothing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_is_too_long_and_bytes_that_are_no_message_end_their_session() {
    let mut scene = Scene::new("objects-bytes").await;
    for offset in (0..17 << 20).step_by(STATE_PART.most) {
        let part = Part { offset, bytes: vec![7; STATE_PART.most] };
        scene.attacker.say(&FromDevice::Part { number: 1, part }).await;
    }
    assert!(scene.attacker.goodbye().await.contains("a state is too long"));
    scene.witness.notices_nothing().await;

    scene.next_attacker(3).await;
    scene.attacker.send(vec![7; (2 << 20) + 1]).await;
    assert!(!scene.attacker.goodbye().await.is_empty(), "a frame that is no message");
    scene.next_attacker(4).await;
    scene.attacker.send(vec![7; 17 << 20]).await;
    assert_eq!(scene.attacker.hear().await, None, "far over");
    let mut stranger = RawObjects::connect(&scene.url()).await;
    stranger.say(&FromDevice::Find { number: 1, object: scene.note.clone() }).await;
    assert!(stranger.goodbye().await.contains("begins with a hello"));
    scene.witness.notices_nothing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cbor_that_is_none_is_refused_where_it_is_read() {
    let mut scene = Scene::new("objects-cbor").await;
    let garbled = vec![0xff, 0x00, 0x9f];
    let create = begin("Counter", "b", DeviceRight::Call);
    scene.attacker.say(&FromDevice::Create { number: 1, begin: create, state: garbled.clone() }).await;
    let refused = told(&mut scene.attacker).await;
    assert!(matches!(&refused, TrackAnswer::Refused(NotRun::BadArguments(why)) if !why.is_empty()), "{refused:?}");

    let counter = object("Counter", "witness");
    scene.attacker.say(&FromDevice::Find { number: 2, object: counter.clone() }).await;
    let TrackAnswer::Found(placed) = told(&mut scene.attacker).await else { panic!("it is there") };
    let FromDevice::Call { number, to, mut rpc } = call(3, placed.places[0], &counter, "add") else {
        panic!("it is a call")
    };
    rpc.arguments = garbled;
    scene.attacker.say(&FromDevice::Call { number, to, rpc }).await;
    let refused = answer(&mut scene.attacker).await;
    let is_refused = matches!(&refused, Answer::Failed(CallFailure::NotRun(NotRun::BadArguments(_))));
    assert!(is_refused, "{refused:?}");
    scene.witness.notices_nothing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_open_calls_are_answered_as_busy_but_for_the_first() {
    const OPEN: usize = 256;
    let mut scene = Scene::new("objects-flood").await;
    let busy = Answer::Failed(CallFailure::NotRun(NotRun::Busy));
    for hundred in 0..100u64 {
        for number in 1..=100 {
            scene.attacker.say(&call(hundred * 100 + number, scene.owner_node, &scene.note, "wait")).await;
        }
        // Of the first three hundred, so many have no answer yet.
        let answered = match hundred {
            0 | 1 => 0,
            2 => 300 - OPEN,
            _ => 100,
        };
        for _ in 0..answered {
            assert_eq!(answer(&mut scene.attacker).await, busy);
        }
    }
    scene.witness.notices_nothing().await;
    for _ in 0..OPEN {
        let (number, _) = scene.run().await;
        scene.owner.say(&FromDevice::Answer { number, answer: Answer::Returned(vec![0xf6]) }).await;
        assert_eq!(answer(&mut scene.attacker).await, Answer::Returned(vec![0xf6]));
    }
}

/// Methods and constructions of secrets that have run.
static SECRETS: AtomicU64 = AtomicU64::new(0);

#[sapphire(name = "Secret", managers = [ExplicitMigration], devices = "hold")]
#[derive(Default)]
struct Secret {
    words: Vec<String>,
}

#[sapphire::methods]
impl Secret {
    fn tell(&mut self, word: String) {
        SECRETS.fetch_add(1, Ordering::Relaxed);
        self.words.push(word);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_door_that_says_no_lets_no_call_no_object_and_no_claim_through() {
    let folder = Folder::new("objects-door");
    let cluster = Local::with_objects(&folder.0, 1, 1, "[faults]\ndeny_class = \"Secret\"\n");
    let connect = || Host::connect(&cluster.sync_url(0), &cluster.token());
    let host = connect().class::<Secret>().class::<Counter>().serves().start().await.expect("it is let in");
    let secret = host.create("s", Secret::default()).await.expect("the service's own code may");
    let user = connect().class::<Secret>().start().await.expect("it is let in");
    let counter = user.create("c", Counter::default()).await.expect("another class is let through");

    let seen = user.find::<Secret>("s").await.expect("tracking answers").expect("where it is, is no secret");
    let refused = seen.tell("word".into()).await.expect_err("no call");
    assert!(refused.ran() == Ran::No && refused.to_string().contains("may not"), "{refused}");
    user.create("mine", Secret::default()).await.map(drop).expect_err("it begins at the device");

    let (mut raw, welcome) = RawObjects::enter(&cluster.objects_url(0), device(&cluster.token(), 1)).await;
    let mut begin = begin("Secret", "theirs", DeviceRight::Hold);
    begin.declared.managers = "ExplicitMigration".to_owned();
    let (state, denied) =
        (vec![0xa1, 0x65, b'w', b'o', b'r', b'd', b's', 0x80], TrackAnswer::Refused(NotRun::NotPermitted));
    raw.say(&FromDevice::Begin { number: 1, begin: begin.clone() }).await;
    assert_eq!(told(&mut raw).await, denied);
    raw.say(&FromDevice::Create { number: 2, begin: begin.clone(), state: state.clone() }).await;
    assert_eq!(told(&mut raw).await, denied, "a node of the service would have it");
    let (home, at) = (object("Secret", "s"), host.node_id().expect("it is registered"));
    let parts = [Component::Instance(0), Component::Proxy(0), Component::Coordinator(0)];
    let claims = [DeviceRight::Call, DeviceRight::Read, DeviceRight::Hold];
    let words = parts.into_iter().flat_map(|part| claims.map(|claim| (part, claim)));
    for (number, (part, claim)) in (3..).zip(words) {
        let FromDevice::Call { number, to, mut rpc } = call(number, at, &home, "") else { panic!("it is a call") };
        (rpc.component, rpc.claim, rpc.arguments) = (part, claim, welcome.device.to_string().into_bytes());
        raw.say(&FromDevice::Call { number, to, rpc }).await;
        let refused = Answer::Failed(CallFailure::NotRun(NotRun::NotPermitted));
        assert_eq!(answer(&mut raw).await, refused, "a message is no way round: {part:?} {claim:?}");
    }
    let moved = ExplicitMigration::move_to(&secret, welcome.device).await;
    assert!(matches!(moved, Err(CallError::NotRun(iolite::objects::NotRun::NotPermitted))), "{moved:?}");
    for id in ["theirs", "mine"] {
        assert!(host.find::<Secret>(id).await.expect("tracking answers").is_none(), "{id}");
    }
    assert_eq!(SECRETS.load(Ordering::Relaxed), 0, "none of its methods has run");
    assert_eq!(counter.add(1).await, Ok(1));
    secret.tell("word".into()).await.expect("the service's own code may");
    assert_eq!(SECRETS.load(Ordering::Relaxed), 1);
}
