//! Questions of the door of objects: answered as of the feed, followed, and withdrawn.

use iolite_access::{Subject, User};
use iolite_rights::{
    Claims, ClassRules, Right, Rights, TableRules, at, everybody, method, mine, object_id, user, value,
};
use iolite_values::{ObjectName, Schema};

use super::rights::{create, delete, deploy_beside, ruled};
use super::world::*;
use crate::{AccessNews, AskRight, Broken, Input, RightId};

fn schema() -> Schema {
    let members = r#"{"tables":{"members":{"columns":{"list":{"type":"string"},"user":{"type":"string"}},
        "key":["list","user"],"indexes":{"byUser":["user"]}}}}"#;
    Schema::from_json(members).expect("a good schema")
}

/// Members of a list call `add`, and have copies of it. Nobody holds it.
fn rules() -> Rights {
    let is_member = || at("members", [object_id(), user("sub")]).exists();
    let lists = ClassRules {
        call: Some(is_member().and(method().is(value("add")))),
        read: Some(object_id().within(mine("members", "list", [("user", user("sub"))]))),
        hold: None,
    };
    Rights::default().table("members", TableRules::default().read(everybody())).class("List", lists)
}

fn world() -> World {
    let mut world = ruled(settings_of(Broken::Nothing), schema(), &rules());
    world.commit(vec![create("members", &["l".into(), "ann".into()])]);
    world.access.clear();
    world
}

fn ask(world: &mut World, id: u64, name: &str, class: &str, right: Right) {
    let user = User {
        subject: Subject { issuer: "here".into(), name: name.into() },
        claims: Claims::new(name, []),
        issued: None,
        ends: None,
    };
    let object = ObjectName::new(class, "l").expect("short");
    let method = (right == Right::Call).then(|| "add".to_owned());
    world.input(Input::AskRight(RightId(id), Box::new(AskRight { user: user.into(), object, right, method })));
}

fn answers(world: &mut World) -> Vec<AccessNews> {
    world.answer_all();
    std::mem::take(&mut world.access)
}

fn may(id: u64, may: bool) -> AccessNews {
    AccessNews::May(RightId(id), may)
}

#[test]
fn a_user_may_what_the_rules_of_the_class_allow_until_a_row_of_theirs_changes() {
    for right in [Right::Call, Right::Copy] {
        let mut world = world();
        ask(&mut world, 1, "ann", "List", right);
        ask(&mut world, 2, "eve", "List", right);
        assert_eq!(answers(&mut world), [may(1, true), may(2, false)]);
        world.commit(vec![create("members", &["other".into(), "eve".into()])]);
        assert_eq!(answers(&mut world), []);
        world.commit(vec![delete("members", &["l".into(), "ann".into()])]);
        assert_eq!(answers(&mut world), [AccessNews::RightWithdrawn(RightId(1))]);
        ask(&mut world, 3, "ann", "List", right);
        assert_eq!(answers(&mut world), [may(3, false)]);
        world.commit(vec![create("members", &["l".into(), "ann".into()])]);
        ask(&mut world, 4, "ann", "List", right);
        assert_eq!(answers(&mut world), [may(4, true)]);
    }
}

#[test]
fn what_has_no_rule_is_denied() {
    let mut world = world();
    ask(&mut world, 1, "ann", "List", Right::Hold);
    ask(&mut world, 2, "ann", "Other", Right::Call);
    assert_eq!(answers(&mut world), [may(1, false), may(2, false)]);
}

#[test]
fn a_question_that_is_forgotten_is_followed_no_more() {
    let mut world = world();
    ask(&mut world, 1, "ann", "List", Right::Call);
    assert_eq!(answers(&mut world), [may(1, true)]);
    world.input(Input::ForgetRight(RightId(1)));
    world.commit(vec![delete("members", &["l".into(), "ann".into()])]);
    assert_eq!(answers(&mut world), []);
}

#[test]
fn new_rights_withdraw_every_answer() {
    let mut world = world();
    ask(&mut world, 1, "ann", "List", Right::Call);
    assert_eq!(answers(&mut world), [may(1, true)]);
    let closed = Rights { objects: [].into(), ..rules() };
    deploy_beside(&mut world, schema(), &closed);
    assert_eq!(answers(&mut world), [AccessNews::RightWithdrawn(RightId(1))]);
    ask(&mut world, 2, "ann", "List", Right::Call);
    assert_eq!(answers(&mut world), [may(2, false)]);
}

/// A store that starts again denies nobody anything.
#[test]
fn what_is_asked_while_the_store_is_away_is_answered_when_it_is_there() {
    let mut world = World::starting(Broken::Nothing);
    ask(&mut world, 1, "ann", "List", Right::Call);
    assert_eq!(answers(&mut world), []);
    world.store_comes();
    assert!(answers(&mut world).contains(&may(1, true)));
    let mut world = self::world();
    ask(&mut world, 1, "ann", "List", Right::Call);
    assert_eq!(answers(&mut world), [may(1, true)]);
    world.store_comes();
    ask(&mut world, 2, "ann", "List", Right::Call);
    let heard = answers(&mut world);
    assert!(heard.contains(&AccessNews::RightWithdrawn(RightId(1))) && heard.contains(&may(2, true)), "{heard:?}");
}

/// Users may do everything while nobody has said what they may.
#[test]
fn without_rights_users_may_everything_until_there_are_some() {
    let mut world = World::starting(Broken::Nothing);
    world.store_comes();
    world.answer_all();
    ask(&mut world, 1, "eve", "List", Right::Hold);
    assert!(answers(&mut world).contains(&may(1, true)));
    deploy_beside(&mut world, schema(), &rules());
    assert!(answers(&mut world).contains(&AccessNews::RightWithdrawn(RightId(1))));
}
