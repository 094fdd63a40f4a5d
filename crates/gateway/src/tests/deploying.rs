//! Deployments: schema and rights come into effect together, once, or not at all.

use iolite_access::{Access, TokenSettings, Tokens};
use iolite_catalog::{Admission, Changes, Deployment, RuleChange};
use iolite_rights::Right;
use iolite_store::{Event, Refusal, Reply, Request};
use iolite_values::{Decision, Schema};
use iolite_wire::centres::CentreName;
use iolite_wire::message::{FromClient, FromGateway, Hello};

use super::world::*;
use crate::{AccessNews, Broken, Deploy, Deployed, DeploymentId, Input, Settings};

const ID: DeploymentId = DeploymentId(7);
const RIGHTS: &str = r#"{"logs":{},"objects":{},"tables":{"t":{
    "create":{"claim":{"is":{"equal":{"string":"boss"}},"name":"role"}},
    "check":{"test":{"is":{"atLeast":{"int":0}},"of":{"row":"n"}}}},"tasks":"open"}}"#;

/// The schema of all tests with one more column, and these rights.
fn deployment(rights: &str) -> Deployment {
    let schema = SCHEMA.replacen(r#""n":"#, r#""more":{"type":"int","optional":true},"n":"#, 1);
    Deployment::from_json(&format!(r#"{{"schema":{schema},"rights":{rights}}}"#)).expect("a deployment")
}

fn input(id: DeploymentId, rights: &str, is_plan: bool) -> Input {
    Input::Deploy(id, Box::new(Deploy { deployment: deployment(rights), is_plan }))
}

fn deploy(world: &mut World, rights: &str) {
    world.input(input(ID, rights, false));
}

/// The problem with the one deployment that was answered.
fn problem(world: &mut World) -> String {
    match &std::mem::take(&mut world.access)[..] {
        [AccessNews::Deployed(ID, Err(problem))] => problem.clone(),
        news => panic!("{news:?}"),
    }
}

fn changes() -> Changes {
    let new = |of: &str, right, is: &str| RuleChange { of: of.into(), right, was: None, is: Some(is.into()) };
    Changes {
        tables: vec![],
        columns: vec!["t.more".into()],
        rules: vec![
            new(r#"table "t""#, Some(Right::Create), "user.role = \"boss\""),
            new(r#"table "t""#, Some(Right::Check), "row.n ≥ 0"),
            new(r#"table "tasks""#, None, "everybody may do everything"),
        ],
        costs: vec![r#"table "t", rule "check": it looks at "n", so changes of it at the same time conflict"#.into()],
    }
}

#[test]
fn a_deployment_is_answered_once_it_is_in_effect_here() {
    let mut world = World::new();
    deploy(&mut world, RIGHTS);
    world.answer_all();
    assert_eq!(world.access, [], "it is committed, and the feed has not brought it");
    world.publish();
    let deployed = Deployed { version: 2, changes: Some(changes()) };
    assert_eq!(world.access, [AccessNews::Deployed(ID, Ok(deployed))]);
    assert_eq!(world.gateway.catalog.rights().map(|own| &**own), Some(&deployment(RIGHTS).rights));
    world.access.clear();
    world.answer_all();
    deploy(&mut world, RIGHTS);
    assert_eq!(world.access, [AccessNews::Deployed(ID, Ok(Deployed { version: 2, changes: None }))]);
    assert!(world.asked.is_empty(), "it is in effect, so nothing is committed");
}

#[test]
fn a_plan_says_what_would_change_and_commits_nothing() {
    let mut world = World::new();
    world.answer_all();
    world.input(input(ID, RIGHTS, true));
    let deployed = Deployed { version: 2, changes: Some(changes()) };
    assert_eq!(world.access, [AccessNews::Deployed(ID, Ok(deployed))]);
    assert!(world.asked.is_empty() && world.gateway.catalog.rights().is_none());
}

#[test]
fn bad_rights_are_refused_with_every_problem_and_those_in_effect_stay() {
    let settings = TokenSettings {
        issuer: "https://sign-in.example".into(),
        audience: "rooms".into(),
        claims: Default::default(),
        life_max: std::time::Duration::from_secs(3600),
        anonymous: false,
    };
    let access = Access::Tokens(Tokens::new(settings, Vec::new()).expect("good settings"));
    let mut world = World::with(Settings { access, ..settings_of(Broken::Nothing) });
    deploy(&mut world, RIGHTS);
    assert!(problem(&mut world).contains("the store is not there yet"));
    world.store_comes();
    world.answer_all();
    world.access.clear();
    deploy(&mut world, &RIGHTS.replace(r#","tasks":"open""#, ""));
    let problem = problem(&mut world);
    let wanted = [r#"table "t", rule "create": there is no claim "role""#, r#"table "tasks": it has no rights"#];
    let lines: Vec<&str> = problem.lines().collect();
    assert!(lines.len() == 2 && wanted.iter().zip(&lines).all(|(own, line)| line.starts_with(own)), "{problem}");
    assert!(world.asked.is_empty(), "nothing is committed");
}

/// Another gateway commits a column of which this one has not heard.
fn another_is_first(world: &mut World, column: &str) {
    let schema = SCHEMA.replacen(r#""n":"#, &format!(r#""{column}":{{"type":"int","optional":true}},"n":"#), 1);
    let admission = world.gateway.catalog.admit(&Schema::from_json(&schema).expect("a schema"));
    let Ok(Admission::Grow(growth)) = admission else { panic!("it is new") };
    let Decision::Commit(writes) = growth.decision() else { panic!("a commit") };
    world.store.write(writes);
}

#[test]
fn a_deployment_that_another_gateway_was_faster_with_is_tried_once_more() {
    let mut world = World::new();
    another_is_first(&mut world, "a");
    deploy(&mut world, RIGHTS);
    world.answer_all();
    assert_eq!((world.access.len(), world.asked.len()), (0, 0), "a conflict with what the feed has not brought");
    world.publish();
    world.answer_all();
    world.publish();
    let deployed = Deployed { version: 3, changes: Some(changes()) };
    assert_eq!(world.access, [AccessNews::Deployed(ID, Ok(deployed))]);
    assert!(world.gateway.catalog.schema().to_json().contains(r#""a":"#), "the other one's column is there");

    let mut world = World::new();
    another_is_first(&mut world, "a");
    deploy(&mut world, RIGHTS);
    world.answer_all();
    world.publish();
    another_is_first(&mut world, "b");
    world.answer_all();
    assert!(problem(&mut world).contains("nothing was put into effect"));
    world.publish();
    assert!(world.gateway.catalog.rights().is_none());
}

#[test]
fn one_deployment_at_a_time_and_none_beside_a_growth() {
    let mut world = World::new();
    let grown = SCHEMA.replacen(r#""n":"#, r#""b":{"type":"int","optional":true},"n":"#, 1);
    let schema = Schema::from_json(&grown).expect("a schema").hash();
    world.open(1);
    world.say(1, FromClient::Hello(Hello { schema, ..hello(1) }));
    world.say(1, FromClient::Schema(grown));
    world.take();
    deploy(&mut world, RIGHTS);
    let commits = |world: &World| world.asked.iter().filter(|(_, own)| matches!(own, Request::Commit { .. })).count();
    assert_eq!(commits(&world), 1, "the client's is under way");
    world.input(input(DeploymentId(8), RIGHTS, false));
    let [AccessNews::Deployed(DeploymentId(8), Err(busy))] = &world.access[..] else { panic!("{:?}", world.access) };
    assert!(busy.contains("another deployment is under way"), "{busy}");
    world.access.clear();
    world.answer_all();
    world.publish();
    assert_eq!(commits(&world), 1, "now the deployment is");
    assert!(matches!(&world.take()[..], [Said::To(1, FromGateway::Welcome(_))]));
    world.answer_all();
    world.publish();
    assert!(matches!(&world.access[..], [AccessNews::Deployed(ID, Ok(Deployed { version: 3, .. }))]));
}

#[test]
fn a_gateway_of_several_data_centres_deploys_tables_that_merge_only() {
    let mut world = World::starting(Broken::Nothing);
    world.gateway.join_group(CentreName::new("eu").expect("a name"));
    world.store_comes();
    world.answer_all();
    deploy(&mut world, RIGHTS);
    assert!(problem(&mut world).contains(r#"table "t" does not merge"#));
}

#[test]
fn who_asked_is_told_when_the_store_refuses_or_starts_again() {
    let mut world = World::new();
    world.answer_all();
    deploy(&mut world, RIGHTS);
    let (id, _) = world.asked.pop_front().expect("asked");
    let refusal = Refusal::TransactionTooLarge { bytes_max: 10 };
    world.input(Input::Store(Event::Reply(id, Reply::Refused(refusal.clone()))));
    assert_eq!(problem(&mut world), refusal.to_string());
    deploy(&mut world, RIGHTS);
    world.store_comes();
    assert!(problem(&mut world).contains("may be in effect or not"));
}
