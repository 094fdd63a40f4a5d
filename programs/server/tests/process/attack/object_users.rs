//! Strangers with tokens of their own who know the id that somebody else's device has drawn, and its name: they do not end its session, do not take its
//! objects, and do not answer in its place.

use std::process::Command;
use std::time::Duration;

use iolite_catalog::Deployment;
use iolite_rights::{ClassRules, Rights, TableRules, at, everybody, object_id, user, value};
use iolite_values::{DeviceRight, NodeId, NodeName, ObjectEpoch, Schema};
use iolite_wire::objects::{
    Answer, CallFailure, DeviceHello, FromDevice, NotRun, OBJECTS_PROTOCOL_VERSION, Placed, ToDevice, TrackAnswer,
};

use crate::support::dev::{Dev, Folder};
use crate::support::folder::PROGRAM;
use crate::support::objects::{RawObjects, begin, call, declared, device, object, serving};
use crate::support::tokens::Issuer;
use crate::support::users::{User, delete, insert};

const HOUR: Duration = Duration::from_secs(3600);

/// A server, and a device of ann with an object.
struct Home {
    _folder: Folder,
    server: Dev,
    ann: RawObjects,
    node: NodeId,
}

impl Home {
    async fn new(name: &str) -> Home {
        let folder = Folder::new(name);
        let server = Dev::start(&folder.0);
        let (mut ann, welcome) = RawObjects::enter(&url(&server), device(&token(&server, "ann"), 1)).await;
        ann.say(&FromDevice::Begin { number: 1, begin: begin("Note", "a", DeviceRight::Hold) }).await;
        let told = ann.hear().await;
        assert!(matches!(told, Some(ToDevice::Told { answer: TrackAnswer::Begun(_), .. })), "{told:?}");
        Home { _folder: folder, server, ann, node: welcome.device }
    }

    fn hello(&self, user: &str, device_id: u128) -> DeviceHello {
        // A stranger knows the life, too: it is in the name of every node.
        DeviceHello { life: self.node.life, ..device(&token(&self.server, user), device_id) }
    }
}

fn url(server: &Dev) -> String {
    server.sync_url().replace("/sync", "/objects")
}

/// The development token, as it speaks for a user.
fn token(server: &Dev, user: &str) -> String {
    format!(r#"{} as {{"sub":"{user}"}}"#, server.token())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_who_knows_the_id_of_a_device_gets_nothing_of_it() {
    let mut home = Home::new("object-strangers").await;
    let NodeName::Device(name) = home.node.name else { panic!("it is a device") };
    assert_ne!(name.as_u128(), 1, "ann's device is not called what it drew");
    let (mut carl, _) = RawObjects::enter(&url(&home.server), home.hello("carl", 7)).await;
    for (number, known) in (1..).zip([1, name.as_u128()]) {
        let (mut bob, welcome) = RawObjects::enter(&url(&home.server), home.hello("bob", known)).await;
        assert_ne!(welcome.device.name, home.node.name, "he is another node");

        home.ann.say(&FromDevice::Ping { number }).await;
        assert_eq!(home.ann.hear().await, Some(ToDevice::Pong { number }), "her session goes on");

        let note = object("Note", "a");
        let (epoch, places) = (ObjectEpoch(1), vec![home.node]);
        bob.say(&FromDevice::Keep { number: 1, object: note.clone(), epoch }).await;
        let row = TrackAnswer::Found(Placed { declared: declared(DeviceRight::Hold), epoch, places });
        assert_eq!(bob.hear().await, Some(ToDevice::Told { number: 1, answer: row }), "the object stays hers");

        carl.say(&call(number, home.node, &note, "read")).await;
        let Some(ToDevice::Run { number: run, rpc }) = home.ann.hear().await else { panic!("she is called") };
        assert_eq!(rpc.caller, "carl");
        bob.say(&FromDevice::Answer { number: run, answer: Answer::Returned(vec![0x01]) }).await;
        assert!(bob.goodbye().await.contains("that was not asked"), "he does not answer for her");
        let answer = Answer::Returned(vec![0x02]);
        home.ann.say(&FromDevice::Answer { number: run, answer: answer.clone() }).await;
        assert_eq!(carl.hear().await, Some(ToDevice::Answer { number, answer }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_no_part_of_the_service_and_speaks_for_nobody_else() {
    let mut home = Home::new("object-users").await;
    let mut bob = RawObjects::connect(&url(&home.server)).await;
    bob.say(&FromDevice::Hello(serving(&token(&home.server, "bob"), 2, "Note"))).await;
    assert!(bob.goodbye().await.contains("with the operator's token"), "he serves");

    home.ann.say(&FromDevice::Token(token(&home.server, "ann"))).await;
    assert_eq!(home.ann.hear().await, Some(ToDevice::Renewed(None)), "her session goes on with another token");
    home.ann.say(&FromDevice::Token(token(&home.server, "bob"))).await;
    assert!(home.ann.goodbye().await.contains("another user"), "it is hers");

    for name in ["server", "developer"] {
        let mut liar = RawObjects::connect(&url(&home.server)).await;
        liar.say(&FromDevice::Hello(home.hello(name, 3))).await;
        assert!(liar.goodbye().await.contains("another `sub`"), "{name}");
    }
    let old = DeviceHello { newest_version: iolite_wire::message::ProtocolVersion(1), ..home.hello("ann", 1) };
    let mut earlier = RawObjects::connect(&url(&home.server)).await;
    earlier.say(&FromDevice::Hello(old)).await;
    assert!(earlier.goodbye().await.contains(&format!("version {}", OBJECTS_PROTOCOL_VERSION.0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_whose_tokens_are_revoked_is_sent_away_and_others_go_on() {
    let folder = Folder::new("object-revoked");
    let issuer = Issuer::new(&folder.0.join("issuer"));
    let options = issuer.options();
    let server = Dev::start_with(&folder.0.join("data"), &[&options[0], &options[1]]);
    let tokens = ["ann", "bob"].map(|user| issuer.token(user, HOUR));
    let (mut ann, welcome) = RawObjects::enter(&url(&server), device(&tokens[0], 1)).await;
    let (mut bob, _) = RawObjects::enter(&url(&server), device(&tokens[1], 2)).await;
    assert!(welcome.token_left.is_some_and(|left| left <= HOUR && left > HOUR / 2), "{welcome:?}");

    let token_file = folder.0.join("operator");
    std::fs::write(&token_file, server.token()).expect("it can be written");
    let target = format!("http://127.0.0.1:{}", server.port());
    let mut revoke = Command::new(PROGRAM);
    revoke.args(["access", "revoke", "--user", "ann", "--target", &target, "--token-file"]).arg(&token_file);
    let revoked = revoke.output().expect("the program can be run");
    assert!(revoked.status.success(), "{}", String::from_utf8_lossy(&revoked.stderr));

    assert!(ann.goodbye().await.contains("revoked"));
    let mut again = RawObjects::connect(&url(&server)).await;
    again.say(&FromDevice::Hello(device(&tokens[0], 1))).await;
    assert!(again.goodbye().await.contains("revoked"), "her older token is refused");
    bob.say(&FromDevice::Ping { number: 1 }).await;
    assert_eq!(bob.hear().await, Some(ToDevice::Pong { number: 1 }));
    RawObjects::enter(&url(&server), serving(&server.token(), 3, "Note")).await;
}

/// Ann holds notes, and says who is a member of one and may call it.
fn rules_of_notes() -> Deployment {
    let schema = r#"{"tables":{"members":{"columns":{"note":{"type":"string"},"user":{"type":"string"}},"key":["note","user"]}}}"#;
    let is_ann = || user("sub").is(value("ann"));
    let notes = ClassRules {
        call: Some(is_ann().or(at("members", [object_id(), user("sub")]).exists())),
        read: None,
        hold: Some(is_ann()),
    };
    let members = TableRules::default().read(everybody()).create(is_ann()).delete(is_ann());
    let rights = Rights::default().table("members", members).class("Note", notes);
    Deployment { schema: Schema::from_json(schema).expect("a good schema"), rights }
}

/// How a call by a user's device ends that is no part of the service.
async fn called(caller: &mut RawObjects, ann: &mut RawObjects, number: u64, node: NodeId) -> Answer {
    caller.say(&call(number, node, &object("Note", "a"), "read")).await;
    loop {
        tokio::select! {
            heard = ann.hear() => match heard {
                Some(ToDevice::Run { number, .. }) => {
                    ann.say(&FromDevice::Answer { number, answer: Answer::Returned(vec![0x02]) }).await;
                }
                other => panic!("{other:?}"),
            },
            heard = caller.hear() => match heard {
                Some(ToDevice::Answer { number: of, answer }) if of == number => return answer,
                other => panic!("{other:?}"),
            },
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_of_a_class_say_who_calls_and_who_holds_and_a_removed_member_calls_no_more() {
    let folder = Folder::new("object-rules");
    let issuer = Issuer::new(&folder.0.join("issuer"));
    let (options, rights) = (issuer.options(), folder.0.join("rights.json"));
    std::fs::write(&rights, rules_of_notes().to_json()).expect("there is room");
    let rights = rights.to_str().expect("plain");
    let server = Dev::start_with(&folder.0.join("data"), &[&options[0], &options[1], "--rights", rights]);
    let token = |user: &str| issuer.token(user, HOUR);
    // Her rows say who is a member. The server has its rights once she is let in.
    let mut rows = User::come(&server.sync_url(), &token("ann"), rules_of_notes().schema.hash()).await;
    let (mut ann, home) = RawObjects::enter(&url(&server), device(&token("ann"), 1)).await;
    let (mut bob, _) = RawObjects::enter(&url(&server), device(&token("bob"), 2)).await;
    bob.say(&FromDevice::Begin { number: 1, begin: begin("Note", "b", DeviceRight::Hold) }).await;
    let refused = Some(ToDevice::Told { number: 1, answer: TrackAnswer::Refused(NotRun::NotPermitted) });
    assert_eq!(bob.hear().await, refused, "he holds no note");
    ann.say(&FromDevice::Begin { number: 1, begin: begin("Note", "a", DeviceRight::Hold) }).await;
    assert!(matches!(ann.hear().await, Some(ToDevice::Told { answer: TrackAnswer::Begun(_), .. })));

    let not_permitted = Answer::Failed(CallFailure::NotRun(NotRun::NotPermitted));
    let answered = Answer::Returned(vec![0x02]);
    assert_eq!(called(&mut bob, &mut ann, 2, home.device).await, not_permitted, "he is a stranger who knows its id");
    rows.may("let Bob in", insert("members", &["a".into(), "bob".into()], &[])).await;
    assert_eq!(called(&mut bob, &mut ann, 3, home.device).await, answered);
    rows.may("send Bob away", delete("members", &["a".into(), "bob".into()])).await;
    // The server of objects hears of it a moment after the rows.
    let mut number = 4;
    while number < 100 && called(&mut bob, &mut ann, number, home.device).await == answered {
        number += 1;
    }
    assert!(number < 100, "he was removed");
}
