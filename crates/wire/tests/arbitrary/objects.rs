//! Any message on `/objects`.

use std::time::Duration;

use iolite_values::{
    CoordinatorId, DeviceRight, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName, StoreIncarnation,
};
use iolite_wire::message::ProtocolVersion;
use iolite_wire::objects::{
    Answer, Begin, CallFailure, CallMode, Component, Declared, DeviceHello, DeviceWelcome, FromDevice, Hold, NotRun,
    OfferedClass, Part, PeerHello, PeerMessage, Placed, Rpc, RpcId, ServedClass, ToDevice, TrackAnswer,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::session::{goodbye, whole_millis};
use super::values::id;

fn object() -> impl Strategy<Value = ObjectName> {
    (".{1,8}", ".{1,8}").prop_map(|(class, id)| ObjectName::new(&class, &id).expect("short"))
}

fn node() -> impl Strategy<Value = NodeId> {
    let server =
        (0..=CoordinatorId::MAX).prop_map(|number| NodeName::Server(CoordinatorId::new(number).expect("small")));
    let name = prop_oneof![server, id().prop_map(NodeName::Device)];
    (name, any::<u64>()).prop_map(|(name, life)| NodeId { name, life: NodeLife(life) })
}

fn epoch() -> impl Strategy<Value = ObjectEpoch> {
    any::<u64>().prop_map(ObjectEpoch)
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..9)
}

fn declared() -> impl Strategy<Value = Declared> {
    let devices = prop::sample::select(vec![DeviceRight::Call, DeviceRight::Read, DeviceRight::Hold]);
    (any::<u32>(), ".{0,8}", devices).prop_map(|(version, managers, devices)| Declared { version, managers, devices })
}

fn begin() -> impl Strategy<Value = Begin> {
    (object(), declared()).prop_map(|(object, declared)| Begin { object, declared })
}

fn placed() -> impl Strategy<Value = Placed> {
    (declared(), epoch(), vec(node(), 0..4)).prop_map(|(declared, epoch, places)| Placed { declared, epoch, places })
}

fn rpc() -> impl Strategy<Value = Rpc> {
    let id = (id(), any::<u64>(), vec(any::<u32>(), 0..4));
    let id = id.prop_map(|(kernel, counter, path)| RpcId { kernel, counter, path });
    let called = (object(), epoch(), any::<u32>(), ".{0,8}", any::<bool>());
    let component = prop_oneof![
        Just(Component::Method),
        any::<u8>().prop_map(Component::Instance),
        any::<u8>().prop_map(Component::Proxy),
        any::<u8>().prop_map(Component::Coordinator),
    ];
    let caller = (vec(object(), 0..4), any::<u32>(), ".{0,8}", bytes());
    let claim = prop::sample::select(vec![DeviceRight::Call, DeviceRight::Read, DeviceRight::Hold]);
    let ends = (prop::option::of(node()), component, claim, any::<bool>());
    (id, called, caller, ends).prop_map(|(id, called, caller, (from, component, claim, by_device))| {
        let (object, epoch, version, method, reads) = called;
        let (chain, time_left, caller, arguments) = caller;
        let mode = if reads { CallMode::Read } else { CallMode::Write };
        let time_left = Duration::from_millis(time_left.into());
        Rpc {
            id,
            object,
            epoch,
            version,
            method,
            mode,
            chain,
            time_left,
            caller,
            arguments,
            from,
            component,
            claim,
            by_device,
        }
    })
}

fn not_run() -> impl Strategy<Value = NotRun> {
    prop_oneof![
        prop::sample::select(vec![
            NotRun::Unreachable,
            NotRun::NotPermitted,
            NotRun::NoSuchMethod,
            NotRun::NoHostForClass,
            NotRun::LeaseUnavailable,
            NotRun::Conflict,
            NotRun::Busy,
        ]),
        any::<u32>().prop_map(NotRun::WrongVersion),
        vec(object(), 0..4).prop_map(NotRun::WouldDeadlock),
        ".{0,8}".prop_map(NotRun::TooLarge),
        ".{0,8}".prop_map(NotRun::BadArguments),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    let failure = prop_oneof![
        3 => not_run().prop_map(CallFailure::NotRun),
        1 => prop::sample::select(vec![CallFailure::Fenced, CallFailure::Gone, CallFailure::InDoubt]),
        1 => ".{0,8}".prop_map(CallFailure::Broke),
    ];
    prop_oneof![
        bytes().prop_map(Answer::Returned),
        bytes().prop_map(Answer::Threw),
        (node(), epoch()).prop_map(|(to, epoch)| Answer::Moved { to, epoch }),
        Just(Answer::NotHere),
        failure.prop_map(Answer::Failed),
    ]
}

fn hello() -> impl Strategy<Value = DeviceHello> {
    let class = (".{1,8}", declared()).prop_map(|(name, declared)| OfferedClass { name, declared });
    let versions = (any::<u32>(), any::<u32>());
    (versions, ".{0,8}", id(), any::<u64>(), any::<bool>(), vec(class, 0..3), any::<u64>()).prop_map(
        |((oldest, newest), token, device, life, serves, classes, connection)| DeviceHello {
            oldest_version: ProtocolVersion(oldest),
            newest_version: ProtocolVersion(newest),
            token,
            device,
            life: NodeLife(life),
            serves,
            classes,
            connection,
        },
    )
}

pub fn from_device() -> BoxedStrategy<FromDevice> {
    let held = prop_oneof![Just(Ok(())), not_run().prop_map(Err)];
    let call = (any::<u64>(), node(), rpc()).prop_map(|(number, to, rpc)| FromDevice::Call { number, to, rpc });
    let create = (any::<u64>(), begin(), bytes());
    let going = (any::<u64>(), begin(), epoch(), node(), bytes());
    prop_oneof![
        hello().prop_map(FromDevice::Hello),
        call,
        (any::<u64>(), answer()).prop_map(|(number, answer)| FromDevice::Answer { number, answer }),
        (any::<u64>(), object()).prop_map(|(number, object)| FromDevice::Find { number, object }),
        (any::<u64>(), begin()).prop_map(|(number, begin)| FromDevice::Begin { number, begin }),
        create.prop_map(|(number, begin, state)| FromDevice::Create { number, begin, state }),
        (any::<u64>(), held).prop_map(|(number, held)| FromDevice::Held { number, held }),
        going.prop_map(|(number, begin, epoch, to, state)| FromDevice::Move { number, begin, epoch, to, state }),
        (any::<u64>(), object(), epoch()).prop_map(|(number, object, epoch)| FromDevice::Keep {
            number,
            object,
            epoch
        }),
        (object(), epoch()).prop_map(|(object, epoch)| FromDevice::Missing { object, epoch }),
        any::<u64>().prop_map(|number| FromDevice::Ping { number }),
        (any::<u64>(), part()).prop_map(|(number, part)| FromDevice::Part { number, part }),
        ".{0,8}".prop_map(FromDevice::Token),
    ]
    .boxed()
}

fn part() -> impl Strategy<Value = Part> {
    (any::<u64>(), bytes()).prop_map(|(offset, bytes)| Part { offset, bytes })
}

pub fn peer() -> BoxedStrategy<PeerMessage> {
    let class = (".{1,8}", declared()).prop_map(|(name, declared)| OfferedClass { name, declared });
    let served = (class, vec(node(), 0..3)).prop_map(|(class, nodes)| ServedClass { class, nodes });
    let hello =
        (id(), vec(served, 0..3)).prop_map(|(store, classes)| PeerHello { store: StoreIncarnation(store), classes });
    let hold = (any::<u64>(), begin(), epoch(), bytes()).prop_map(|(number, begin, epoch, state)| Hold {
        number,
        begin,
        epoch,
        state,
    });
    let held = prop_oneof![node().prop_map(Ok), not_run().prop_map(Err)];
    prop_oneof![
        hello.prop_map(PeerMessage::Hello),
        (any::<u64>(), node(), rpc()).prop_map(|(number, to, rpc)| PeerMessage::Call { number, to, rpc }),
        (any::<u64>(), answer()).prop_map(|(number, answer)| PeerMessage::Answer { number, answer }),
        (prop::option::of(node()), hold).prop_map(|(to, hold)| PeerMessage::Hold { to, hold }),
        (any::<u64>(), held).prop_map(|(number, held)| PeerMessage::Held { number, held }),
        (node(), object(), epoch()).prop_map(|(to, object, epoch)| PeerMessage::Serve { to, object, epoch }),
        (node(), object(), epoch()).prop_map(|(to, object, epoch)| PeerMessage::Drop { to, object, epoch }),
        (any::<u64>(), part()).prop_map(|(number, part)| PeerMessage::Part { number, part }),
    ]
    .boxed()
}

pub fn to_device() -> BoxedStrategy<ToDevice> {
    let welcome = (any::<u32>(), id(), node(), node(), any::<u64>(), prop::option::of(whole_millis()));
    let welcome = welcome.prop_map(|(version, store, device, server, lapses, token_left)| DeviceWelcome {
        version: ProtocolVersion(version),
        store: StoreIncarnation(store),
        device,
        server,
        lapses,
        token_left,
    });
    let told = prop_oneof![
        placed().prop_map(TrackAnswer::Found),
        placed().prop_map(TrackAnswer::Begun),
        Just(TrackAnswer::Unknown),
        Just(TrackAnswer::Lost),
        not_run().prop_map(TrackAnswer::Refused),
    ];
    let hold = (any::<u64>(), begin(), epoch(), bytes());
    prop_oneof![
        welcome.prop_map(ToDevice::Welcome),
        (any::<u64>(), rpc()).prop_map(|(number, rpc)| ToDevice::Run { number, rpc }),
        (any::<u64>(), answer()).prop_map(|(number, answer)| ToDevice::Answer { number, answer }),
        (any::<u64>(), told).prop_map(|(number, answer)| ToDevice::Told { number, answer }),
        hold.prop_map(|(number, begin, epoch, state)| ToDevice::Hold { number, begin, epoch, state }),
        (object(), epoch()).prop_map(|(object, epoch)| ToDevice::Serve { object, epoch }),
        (object(), epoch()).prop_map(|(object, epoch)| ToDevice::Drop { object, epoch }),
        goodbye().prop_map(ToDevice::Goodbye),
        any::<u64>().prop_map(|number| ToDevice::Pong { number }),
        (any::<u64>(), part()).prop_map(|(number, part)| ToDevice::Part { number, part }),
        prop::option::of(whole_millis()).prop_map(ToDevice::Renewed),
    ]
    .boxed()
}
