//! Every message on `/objects`.

use std::time::Duration;

use iolite_values::{CoordinatorId, DeviceRight, Id, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName};
use iolite_wire::message::{Goodbye, GoodbyeReason};
use iolite_wire::objects::{
    Answer, Begin, CallFailure, CallMode, Component, Declared, DeviceHello, DeviceWelcome, FromDevice, Hold, NotRun,
    OBJECTS_PROTOCOL_VERSION, OfferedClass, Part, PeerHello, PeerMessage, Placed, Rpc, RpcId, ServedClass, ToDevice,
    TrackAnswer,
};

use super::session::store;
use crate::decoders::Content;

fn object(class: &str, id: &str) -> ObjectName {
    ObjectName::new(class, id).expect("a name")
}

fn server() -> NodeId {
    NodeId { name: NodeName::Server(CoordinatorId::new(7).expect("small")), life: NodeLife(3) }
}

fn device() -> NodeId {
    NodeId { name: NodeName::Device(Id::from_u128(11)), life: NodeLife(2) }
}

fn declared(devices: DeviceRight) -> Declared {
    Declared { version: 1, managers: "LeaseCaching(5000)".into(), devices }
}

fn begin() -> Begin {
    Begin { object: object("TodoList", "home"), declared: declared(DeviceRight::Call) }
}

fn rpc() -> Rpc {
    Rpc {
        id: RpcId { kernel: Id::from_u128(5), counter: 9, path: vec![0, 2] },
        object: object("User", "ann"),
        epoch: ObjectEpoch(4),
        version: 2,
        method: "follow".into(),
        mode: CallMode::Read,
        chain: vec![object("TodoList", "home")],
        time_left: Duration::from_millis(1500),
        caller: "developer".into(),
        arguments: vec![0x81, 0x01],
        from: Some(device()),
        component: Component::Instance(1),
        claim: DeviceRight::Hold,
        by_device: true,
    }
}

fn placed() -> Placed {
    Placed { declared: declared(DeviceRight::Read), epoch: ObjectEpoch(4), places: vec![server(), device()] }
}

fn hello() -> FromDevice {
    let class = OfferedClass { name: "TodoList".into(), declared: declared(DeviceRight::Hold) };
    FromDevice::Hello(DeviceHello {
        oldest_version: OBJECTS_PROTOCOL_VERSION,
        newest_version: OBJECTS_PROTOCOL_VERSION,
        token: "secret".into(),
        device: Id::from_u128(11),
        life: NodeLife(2),
        serves: true,
        classes: vec![class],
        connection: 3,
    })
}

fn not_run() -> Vec<NotRun> {
    vec![
        NotRun::Unreachable,
        NotRun::NotPermitted,
        NotRun::NoSuchMethod,
        NotRun::WrongVersion(3),
        NotRun::NoHostForClass,
        NotRun::LeaseUnavailable,
        NotRun::Conflict,
        NotRun::WouldDeadlock(vec![object("A", "1"), object("B", "2")]),
        NotRun::TooLarge("1048576 bytes".into()),
        NotRun::Busy,
        NotRun::BadArguments("the first is no text".into()),
    ]
}

fn failures() -> Vec<CallFailure> {
    let others =
        [CallFailure::Fenced, CallFailure::Gone, CallFailure::InDoubt, CallFailure::Broke("it panicked".into())];
    not_run().into_iter().map(CallFailure::NotRun).chain(others).collect()
}

fn answers() -> Vec<Answer> {
    let first = [
        Answer::Returned(vec![0xf6]),
        Answer::Threw(vec![0xa0]),
        Answer::Moved { to: device(), epoch: ObjectEpoch(5) },
        Answer::NotHere,
    ];
    first.into_iter().chain(failures().into_iter().map(Answer::Failed)).collect()
}

fn from_answers(answers: Vec<Answer>) -> Content {
    Content::FromDevice(answers.into_iter().map(|answer| FromDevice::Answer { number: 6, answer }).collect())
}

fn from_device() -> Vec<FromDevice> {
    vec![
        hello(),
        FromDevice::Call { number: 1, to: server(), rpc: rpc() },
        FromDevice::Answer { number: 6, answer: Answer::NotHere },
        FromDevice::Find { number: 2, object: object("User", "ann") },
        FromDevice::Begin { number: 3, begin: begin() },
        FromDevice::Create { number: 4, begin: begin(), state: vec![0xa0] },
        FromDevice::Held { number: 5, held: Ok(()) },
        FromDevice::Held { number: 7, held: Err(NotRun::Busy) },
        FromDevice::Move { number: 8, begin: begin(), epoch: ObjectEpoch(2), to: server(), state: vec![0xa0] },
        FromDevice::Keep { number: 9, object: object("User", "ann"), epoch: ObjectEpoch(2) },
        FromDevice::Missing { object: object("User", "ann"), epoch: ObjectEpoch(2) },
        FromDevice::Ping { number: 10 },
        FromDevice::Part { number: 11, part: part() },
        FromDevice::Token("a.b.c".into()),
    ]
}

fn part() -> Part {
    Part { offset: 3, bytes: vec![1, 2] }
}

fn from_peers() -> Vec<PeerMessage> {
    let (object, epoch, to) = (object("TodoList", "home"), ObjectEpoch(2), device());
    let hold = Hold { number: 3, begin: begin(), epoch, state: vec![0xa0] };
    let class = OfferedClass { name: "TodoList".into(), declared: begin().declared };
    let classes = vec![ServedClass { class, nodes: vec![to] }];
    vec![
        PeerMessage::Hello(PeerHello { store: store(), classes }),
        PeerMessage::Call { number: 1, to, rpc: rpc() },
        PeerMessage::Answer { number: 2, answer: Answer::NotHere },
        PeerMessage::Hold { to: Some(to), hold: hold.clone() },
        PeerMessage::Hold { to: None, hold },
        PeerMessage::Held { number: 3, held: Ok(to) },
        PeerMessage::Held { number: 4, held: Err(NotRun::Busy) },
        PeerMessage::Serve { to, object: object.clone(), epoch },
        PeerMessage::Drop { to, object, epoch },
        PeerMessage::Part { number: 5, part: part() },
    ]
}

fn to_device() -> Vec<ToDevice> {
    let (object, epoch) = (object("TodoList", "home"), ObjectEpoch(1));
    let told = |number, answer| ToDevice::Told { number, answer };
    let goodbye = Goodbye { reason: GoodbyeReason::Slow, message: "too slow".into(), retry_after: None };
    vec![
        ToDevice::Welcome(DeviceWelcome {
            version: OBJECTS_PROTOCOL_VERSION,
            store: store(),
            device: device(),
            server: server(),
            lapses: 1,
            token_left: Some(Duration::from_secs(900)),
        }),
        ToDevice::Run { number: 1, rpc: rpc() },
        ToDevice::Answer { number: 2, answer: Answer::Returned(vec![0xf6]) },
        ToDevice::Hold { number: 3, begin: begin(), epoch, state: vec![0xa0] },
        ToDevice::Serve { object: object.clone(), epoch },
        ToDevice::Drop { object, epoch },
        told(4, TrackAnswer::Found(placed())),
        told(5, TrackAnswer::Begun(placed())),
        told(6, TrackAnswer::Unknown),
        told(10, TrackAnswer::Lost),
        told(7, TrackAnswer::Refused(NotRun::NoHostForClass)),
        ToDevice::Goodbye(goodbye),
        ToDevice::Pong { number: 8 },
        ToDevice::Part { number: 9, part: part() },
        ToDevice::Renewed(Some(Duration::from_secs(900))),
        ToDevice::Renewed(None),
    ]
}

pub fn all() -> Vec<(&'static str, &'static str, Content)> {
    let from = |name, comment, at: usize| (name, comment, Content::FromDevice(vec![from_device().swap_remove(at)]));
    let to = |name, comment, at: usize| (name, comment, Content::ToDevice(vec![to_device().swap_remove(at)]));
    let peer = |name, comment, at: usize| (name, comment, Content::Peer(vec![from_peers().swap_remove(at)]));
    let moved = Answer::Moved { to: server(), epoch: ObjectEpoch(5) };
    let round = Answer::Failed(CallFailure::NotRun(NotRun::WouldDeadlock(vec![object("A", "1"), object("B", "2")])));
    vec![
        ("from_device_frame", "every message of a node", Content::FromDevice(from_device())),
        ("to_device_frame", "every message of a server", Content::ToDevice(to_device())),
        from("device_hello", "a hello", 0),
        from("object_class", "a class that devices may hold", 0),
        from("object_declared", "a class that devices may call", 4),
        from("device_call", "a call", 1),
        from("object_rpc", "a call from inside of a method", 1),
        from("object_rpc_id", "the id of a nested call", 1),
        from("object_name", "the name of an object", 3),
        from("object_node", "a server", 1),
        from("device_find", "a question", 3),
        from("device_begin", "an object begins here", 4),
        from("object_begin", "an object with its class", 4),
        from("device_create", "an object begins anywhere", 5),
        from("device_held", "an object is not held", 7),
        ("device_answer", "every answer", from_answers(answers())),
        ("object_answer", "a result", from_answers(vec![Answer::Returned(vec![0xf6])])),
        ("object_moved", "an object has moved", from_answers(vec![moved])),
        ("object_failure", "every failure", from_answers(failures().into_iter().map(Answer::Failed).collect())),
        (
            "object_not_run",
            "every reason not to run",
            from_answers(not_run().into_iter().map(CallFailure::NotRun).map(Answer::Failed).collect()),
        ),
        ("object_callers", "a cycle", from_answers(vec![round])),
        to("device_welcome", "a welcome", 0),
        to("device_run", "a call", 1),
        to("device_renewed", "another token", 14),
        to("device_hold", "an object to hold", 3),
        to("device_serve", "an epoch is committed", 4),
        to("device_told", "an object was there", 6),
        to("object_placed", "a row", 7),
        from("device_move", "an object goes elsewhere", 8),
        from("device_keep", "an object stays", 9),
        from("device_ping", "a question whether the connection stands", 11),
        from("device_part", "a part of a state", 12),
        ("peer_frame", "every message between servers", Content::Peer(from_peers())),
        peer("peer_hello", "a server with a class", 0),
        peer("peer_hold", "an object for one node", 3),
        peer("peer_held", "an object is held", 5),
        peer("peer_serve", "an epoch is committed", 7),
        peer("peer_served", "a class, and a node that runs it", 0),
    ]
}
