//! Rules that properties draw, over a small schema where they often hold. For tests only.

use iolite_values::{Schema, Value};
use proptest::prelude::*;

use crate::{
    Allowed, Asked, Change, Claim, Claims, ClassRights, ClassRules, Comparison, LogRights, LogRules, Operand, Part,
    Reference, Relation, Rights, Rule, Set, TableRules, Version, When, at, row,
};

/// Notes of rooms, members of rooms, and a live table.
pub fn schema() -> Schema {
    let json = r#"{"tables":{
        "notes":{"key":["id"],"columns":{"id":{"type":"int"},"room":{"type":"string"},"author":{"type":"register","of":"string","optional":true},
            "rank":{"type":"int","optional":true},"likes":{"type":"counter"},"tags":{"type":"set","of":"string"}}},
        "members":{"key":["user","room"],"columns":{"room":{"type":"string"},"user":{"type":"string"},"role":{"type":"string"}}},
        "seen":{"key":["id"],"live":true,"columns":{"id":{"type":"int"},"by":{"type":"register","of":"string","optional":true}}}}}"#;
    Schema::from_json(json).expect("a good schema")
}

pub fn claims() -> BoxedStrategy<Claims> {
    let texts = proptest::collection::btree_set("[abr]", 0..3);
    let texts = proptest::option::of(texts.prop_map(Claim::Texts));
    ("[ab]", texts, proptest::option::of((0i64..4).prop_map(Claim::Number)))
        .prop_map(|(subject, roles, level)| {
            let named = [("roles", roles), ("level", level)];
            Claims::new(&subject, named.into_iter().filter_map(|(name, claim)| Some((name.to_owned(), claim?))))
        })
        .boxed()
}

pub fn text() -> BoxedStrategy<Value> {
    "[abr]".prop_map(Value::from).boxed()
}

fn of_text(version: Version) -> BoxedStrategy<Operand> {
    prop_oneof![
        Just(Operand::Column { of: version, column: "room".into() }),
        Just(Operand::Column { of: version, column: "author".into() }),
        Just(Operand::Claim("sub".into())),
        text().prop_map(Operand::Literal),
    ]
    .boxed()
}

fn of_number(version: Version) -> BoxedStrategy<Operand> {
    prop_oneof![
        Just(Operand::Column { of: version, column: "rank".into() }),
        Just(Operand::Column { of: version, column: "likes".into() }),
        Just(Operand::Column { of: version, column: "id".into() }),
        Just(Operand::Claim("level".into())),
        (0i64..4).prop_map(|number| Operand::Literal(Value::Int(number))),
    ]
    .boxed()
}

fn relation() -> BoxedStrategy<Relation> {
    proptest::sample::select(Relation::ALL[..6].to_vec()).boxed()
}

/// A test that a query can have: constants only on its right.
fn of_query() -> BoxedStrategy<Rule> {
    let text_constant = prop_oneof![Just(Operand::Claim("sub".into())), text().prop_map(Operand::Literal)];
    let number_constant =
        prop_oneof![Just(Operand::Claim("level".into())), (0i64..4).prop_map(|own| Operand::Literal(Value::Int(own)))];
    let mine = Set::Mine {
        table: "members".into(),
        column: "room".into(),
        conditions: vec![Asked {
            column: "user".into(),
            is: Comparison { relation: Relation::Equal, with: Operand::Claim("sub".into()) },
        }],
    };
    let test = |(of, relation, with)| Rule::Test { of, is: Comparison { relation, with } };
    prop_oneof![
        3 => (of_text(Version::Row), relation(), text_constant).prop_map(test),
        3 => (of_number(Version::Row), relation(), number_constant).prop_map(test),
        1 => Just(row("author").is(Operand::Literal(Value::Null))),
        2 => Just(row("room").within(mine)),
        1 => proptest::collection::vec("[abr]", 0..3).prop_map(|own| row("author").one_of(own)),
        1 => Just(row("room").within(Set::Claim("roles".into()))),
        1 => "[abr]".prop_map(|own| crate::list_has("roles", &own)),
    ]
    .boxed()
}

/// Rules whose tests are negated only where that is a query, too.
fn joined(leaf: BoxedStrategy<Rule>) -> BoxedStrategy<Rule> {
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Rule::And),
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Rule::Or),
            inner.prop_map(|own| Rule::Not(Box::new(own))),
        ]
    })
    .boxed()
}

/// A read rule of notes.
pub fn read_rule() -> BoxedStrategy<Rule> {
    let beyond = prop_oneof![
        Just(row("tags").contains(Operand::Claim("sub".into()))),
        Just(row("author").begins_with(Operand::Literal(Value::from("a")))),
    ];
    let positive = (joined(of_query().boxed()), beyond, any::<bool>());
    positive.prop_map(|(rule, beyond, or)| if or { rule.or(beyond) } else { rule }).boxed()
}

fn member(when: When, version: Version) -> BoxedStrategy<Reference> {
    let room = of_text(version);
    let user = prop_oneof![Just(Operand::Claim("sub".into())), of_text(version)];
    let deep = prop_oneof![
        3 => room,
        1 => Just(at("notes", [Operand::Literal(Value::Int(1))]).column("room")),
    ];
    (deep, user)
        .prop_map(move |(room, user)| Reference { when, table: "members".into(), key: vec![user, room] })
        .boxed()
}

fn followed(version: Version) -> BoxedStrategy<Reference> {
    let when = proptest::sample::select(When::ALL.to_vec());
    when.prop_flat_map(move |when| member(when, version)).boxed()
}

fn asked() -> BoxedStrategy<Asked> {
    (text(), relation())
        .prop_map(|(with, relation)| Asked {
            column: "role".into(),
            is: Comparison { relation, with: Operand::Literal(with) },
        })
        .boxed()
}

fn allowed() -> BoxedStrategy<Rule> {
    let likes = prop_oneof![Just(vec![Allowed::add(0, 1)]), Just(vec![Allowed::all(Change::Any)]), Just(Vec::new()),];
    let tags = Just(vec![Allowed::with(Change::Insert, Operand::Claim("sub".into())), Allowed::all(Change::Remove)]);
    let author = prop_oneof![Just(vec![Allowed::with(Change::Put, Operand::Claim("sub".into()))]), Just(Vec::new())];
    let rank = prop_oneof![Just(vec![Allowed::all(Change::Put)]), Just(Vec::new())];
    (likes, tags, author, rank)
        .prop_map(|(likes, tags, author, rank)| {
            crate::ops([("likes", likes), ("tags", tags), ("author", author), ("rank", rank)])
        })
        .boxed()
}

fn version() -> BoxedStrategy<Version> {
    proptest::sample::select(Version::ALL.to_vec()).boxed()
}

/// A rule of what is done to a note. Its versions are not always there.
pub fn write_rule() -> BoxedStrategy<Rule> {
    let test = |(of, relation, with)| Rule::Test { of, is: Comparison { relation, with } };
    let leaf = prop_oneof![
        2 => of_query(),
        3 => version().prop_flat_map(move |own| (of_text(own), relation(), of_text(own)).prop_map(test)),
        3 => version().prop_flat_map(move |own| (of_number(own), relation(), of_number(Version::New)).prop_map(test)),
        2 => (version(), text()).prop_map(|(of, with)| Operand::Column { of, column: "tags".into() }.contains(Operand::Literal(with))),
        2 => version().prop_flat_map(followed).prop_map(Reference::exists),
        2 => (version().prop_flat_map(followed), proptest::collection::vec(asked(), 1..3))
            .prop_map(|(row, conditions)| Rule::Exists { row, conditions }),
        2 => (version().prop_flat_map(followed), relation(), text())
            .prop_map(|(row, relation, with)| Rule::Test { of: row.column("role"), is: Comparison { relation, with: Operand::Literal(with) } }),
        2 => allowed(),
        1 => relation().prop_map(|relation| Rule::Test { of: Operand::Now, is: Comparison { relation, with: Operand::Literal(Value::Int(2)) } }),
    ];
    joined(leaf.boxed())
}

fn rules() -> BoxedStrategy<TableRules> {
    let one = || proptest::option::weighted(0.95, prop_oneof![3 => write_rule(), 1 => Just(crate::everybody())]);
    (one(), one(), one(), one(), read_rule())
        .prop_map(|(create, update, delete, check, read)| TableRules {
            read: Some(read),
            create,
            update,
            delete,
            check,
        })
        .boxed()
}

/// Rights with every kind of rule.
pub fn rights() -> BoxedStrategy<Rights> {
    let part = proptest::sample::select(Part::ALL.to_vec());
    let of_part =
        (part, any::<i64>()).prop_map(|(part, number)| Operand::Part(part).is(Operand::Literal(Value::Int(number))));
    (rules(), rules(), of_part, any::<bool>())
        .prop_map(|(notes, members, part, open)| {
            let mut rights = Rights::default().table("notes", notes).open("seen");
            rights = if open { rights.open("members") } else { rights.table("members", members) };
            let rules = ClassRules { call: Some(part.clone()), ..ClassRules::default() };
            rights = rights.log("sheet", LogRules { join: None, run: Some(part) }).class("TodoList", rules);
            if open {
                rights.logs.insert("sheet".to_owned(), LogRights::Open);
                rights.objects.insert("TodoList".to_owned(), ClassRights::Open);
            }
            rights
        })
        .boxed()
}
