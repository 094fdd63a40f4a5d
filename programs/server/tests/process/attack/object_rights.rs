//! Devices that speak to the managers of objects in words that they were not given: leases of others, copies that they do not hold, rights that their class does
//! not give. Each is refused, and who has the lease goes on.

use iolite::objects::{Host, Object, Ref, sapphire};
use iolite_values::{DeviceRight, NodeId, ObjectName};
use iolite_wire::objects::{Answer, CallFailure, Component, FromDevice, NotRun, ToDevice};

use crate::support::dev::{Dev, Folder};
use crate::support::objects::{RawObjects, call, device, object};

#[sapphire(name = "Leased", managers = [LeaseCaching { lease: secs(60) }], devices = "hold")]
#[derive(Default)]
struct Leased {
    count: u64,
}

#[sapphire::methods]
impl Leased {
    #[read]
    fn get(&self) -> u64 {
        self.count
    }
}

#[sapphire(name = "ReadOnly", managers = [LeaseCaching], devices = "read")]
#[derive(Default)]
struct ReadOnly {
    count: u64,
}

#[sapphire::methods]
impl ReadOnly {
    #[read]
    fn get(&self) -> u64 {
        self.count
    }
}

#[sapphire(name = "CallOnly", managers = [LeaseCaching], devices = "call")]
#[derive(Default)]
struct CallOnly {
    count: u64,
}

#[sapphire::methods]
impl CallOnly {
    #[read]
    fn get(&self) -> u64 {
        self.count
    }
}

#[sapphire(name = "Pushed", managers = [ExplicitCaching], devices = "hold")]
#[derive(Default)]
struct Pushed {
    count: u64,
}

#[sapphire::methods]
impl Pushed {
    #[read]
    fn get(&self) -> u64 {
        self.count
    }
}

#[sapphire(name = "Locked", managers = [LockingTransactions { lock: secs(60) }], devices = "hold")]
#[derive(Default)]
struct Locked {
    count: u64,
}

#[sapphire::methods]
impl Locked {
    #[read]
    fn get(&self) -> u64 {
        self.count
    }
}

#[sapphire(name = "Spread", managers = [LoadBalancedFrontEnd { copies: 2 }], devices = "call")]
#[derive(Default)]
struct Spread {
    count: u64,
}

#[sapphire::methods]
impl Spread {
    #[read]
    fn get(&self) -> u64 {
        self.count
    }
}

/// `{"count": 99}` in CBOR, as the bytes of a message of a manager: their number is first.
const STATE: [u8; 10] = *b"\x09\xa1\x65count\x18\x63";
/// Words to managers, as they stand in `crates/objects/src/managers`: of LeaseCaching, ExplicitCaching and LockingTransactions.
const WANT: &[u8] = &[0];
const PULL: &[u8] = &[0];
const BEGIN: &[u8] = &[0];

/// A write under the first lease of an object.
fn write() -> Vec<u8> {
    [&[1, 1, 1][..], &STATE].concat()
}

/// A push of a copy that rests on the state with the fingerprint 5.
fn push() -> Vec<u8> {
    [&[1, 1, 5][..], &STATE].concat()
}

/// The end of the first transaction of an object.
fn commit() -> Vec<u8> {
    [&[1, 1, 1, 0, 0, 1][..], &STATE].concat()
}

const ABORT: &[u8] = &[2, 1, 1, 0];

fn refused(why: NotRun) -> Answer {
    Answer::Failed(CallFailure::NotRun(why))
}

/// A node of the service with objects, and two devices.
struct Scene {
    _folder: Folder,
    _server: Dev,
    host: Host,
    node: NodeId,
    holder: Liar,
    attacker: Liar,
}

/// A device that says what it likes.
struct Liar {
    session: RawObjects,
    said: u64,
}

impl Liar {
    /// The answer to a word for a part of an object at a node.
    async fn says(
        &mut self,
        to: NodeId,
        object: &ObjectName,
        part: Component,
        right: DeviceRight,
        word: &[u8],
    ) -> Answer {
        self.said += 1;
        let FromDevice::Call { number, to, mut rpc } = call(self.said, to, object, "") else { panic!("it is a call") };
        (rpc.component, rpc.claim, rpc.arguments) = (part, right, word.to_vec());
        self.session.say(&FromDevice::Call { number, to, rpc }).await;
        match self.session.hear().await {
            Some(ToDevice::Answer { answer, .. }) => answer,
            other => panic!("{other:?} in the place of an answer"),
        }
    }
}

impl Scene {
    async fn new(name: &str) -> Scene {
        let folder = Folder::new(name);
        let server = Dev::start(&folder.0);
        let host = Host::connect(&server.sync_url(), &server.token()).class::<Leased>().class::<ReadOnly>();
        let host = host.class::<CallOnly>().class::<Pushed>().class::<Locked>().class::<Spread>();
        let host = host.serves().start().await.expect("it is let in");
        let url = server.sync_url().replace("/sync", "/objects");
        let (holder, _) = RawObjects::enter(&url, device(&server.token(), 1)).await;
        let (attacker, _) = RawObjects::enter(&url, device(&server.token(), 2)).await;
        let [holder, attacker] = [holder, attacker].map(|session| Liar { session, said: 0 });
        let node = host.node_id().expect("it is registered");
        Scene { _folder: folder, _server: server, host, node, holder, attacker }
    }

    async fn create<T: Object + Default>(&self) -> Ref<T> {
        self.host.create("a", T::default()).await.expect("it is new")
    }

    /// The answer to a word of the holder to the part beside the object.
    async fn holds(&mut self, object: &ObjectName, word: &[u8]) -> Answer {
        self.holder.says(self.node, object, Component::Instance(0), DeviceRight::Hold, word).await
    }

    async fn attacks(&mut self, object: &ObjectName, right: DeviceRight, word: &[u8]) -> Answer {
        self.attacker.says(self.node, object, Component::Instance(0), right, word).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_has_no_lease_copy_or_transaction_of_another_and_cannot_end_it() {
    use DeviceRight::{Call, Hold};
    let mut scene = Scene::new("managers-leases").await;
    let (leased, pushed, locked) =
        (scene.create::<Leased>().await, scene.create::<Pushed>().await, scene.create::<Locked>().await);

    let object_of = |class| object(class, "a");
    let home = object_of("Leased");
    assert!(matches!(scene.holds(&home, WANT).await, Answer::Returned(_)), "it has the lease");
    assert_eq!(scene.attacks(&home, Hold, WANT).await, refused(NotRun::LeaseUnavailable));
    for right in [Call, Hold] {
        assert_eq!(scene.attacks(&home, right, &write()).await, refused(NotRun::Conflict), "it is not its lease");
    }
    assert!(matches!(
        scene.attacks(&home, Hold, b"\xff\xff").await,
        Answer::Failed(CallFailure::NotRun(NotRun::BadArguments(_)))
    ));
    assert_eq!(
        leased.get().await.map_err(|error| error.ran()),
        Err(iolite::objects::Ran::No),
        "the holder has it still"
    );
    assert_eq!(scene.holds(&home, &write()).await, Answer::Returned(Vec::new()));

    let home = object_of("Pushed");
    assert_eq!(scene.attacks(&home, Call, PULL).await, refused(NotRun::NotPermitted));
    assert_eq!(scene.attacks(&home, Call, &push()).await, refused(NotRun::NotPermitted));
    assert_eq!(scene.attacks(&home, Hold, &push()).await, refused(NotRun::Conflict), "it rests on nothing");
    assert_eq!(pushed.get().await, Ok(0));

    let home = object_of("Locked");
    assert!(matches!(scene.holds(&home, BEGIN).await, Answer::Returned(_)), "it has the lock");
    assert_eq!(scene.attacks(&home, Hold, BEGIN).await, refused(NotRun::LeaseUnavailable));
    assert_eq!(scene.attacks(&home, Hold, &commit()).await, Answer::Returned(vec![1]), "a conflict");
    scene.attacks(&home, Call, ABORT).await;
    assert_eq!(locked.get().await, Ok(0), "nothing is committed");
    assert_eq!(scene.holds(&home, &commit()).await, Answer::Returned(vec![0]), "its lock has stood all the while");
    assert_eq!(locked.get().await, Ok(99));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_claims_no_more_than_its_class_gives_and_speaks_to_no_copy_of_others() {
    use DeviceRight::{Call, Hold, Read};
    let mut scene = Scene::new("managers-rights").await;
    let (_read, _call, _spread) =
        (scene.create::<ReadOnly>().await, scene.create::<CallOnly>().await, scene.create::<Spread>().await);
    for (class, right) in
        [("CallOnly", Call), ("CallOnly", Read), ("CallOnly", Hold), ("ReadOnly", Read), ("ReadOnly", Hold)]
    {
        let told = scene.attacks(&object(class, "a"), right, WANT).await;
        assert_eq!(told, refused(NotRun::NotPermitted), "{class} {right:?}");
    }

    let spread = object("Spread", "a");
    for right in [Call, Read] {
        assert_eq!(
            scene.attacks(&spread, right, &[2]).await,
            refused(NotRun::NotPermitted),
            "its state is no device's"
        );
    }
    let take = [&[1][..], &STATE].concat();
    for word in [&[0][..], &take[..], &[2][..]] {
        let told = scene.attacker.says(scene.node, &spread, Component::Proxy(0), Call, word).await;
        assert_eq!(told, Answer::NotHere, "{word:?}");
    }
    let told = scene.attacker.says(scene.node, &spread, Component::Coordinator(0), Hold, &take).await;
    assert!([Answer::NotHere, refused(NotRun::NoSuchMethod)].contains(&told), "{told:?}");
    let told = scene.attacker.says(scene.node, &spread, Component::Instance(7), Call, &take).await;
    assert_eq!(told, refused(NotRun::NoSuchMethod), "it has no such manager");
}
