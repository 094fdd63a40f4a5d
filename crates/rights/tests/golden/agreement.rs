//! Rights that TypeScript wrote: they read as rights, are written as they were, and have no problem with their schema.

use std::collections::{BTreeMap, BTreeSet};

use iolite_rights::{Change, ClaimType, Context, Part, Relation, Rights, Version, When};
use iolite_values::Schema;
use serde_json::Value as Json;

const EVERY_RULE: &str = include_str!("../../../../sdks/golden/rights/every-rule.json");
const GOLDEN: [(&str, &str); 6] = [
    ("every-rule", EVERY_RULE),
    ("chat", include_str!("../../../../sdks/golden/rights/chat.json")),
    ("guide", include_str!("../../../../sdks/golden/rights/guide.json")),
    ("rooms", include_str!("../../../../sdks/golden/rights/rooms.json")),
    ("shopping-list", include_str!("../../../../sdks/golden/rights/shopping-list.json")),
    ("word-board", include_str!("../../../../sdks/golden/rights/word-board.json")),
];

#[test]
fn rights_of_typescript_are_canonical_and_fit_their_schema() {
    let claims = [("roles", ClaimType::Texts), ("team", ClaimType::Text), ("level", ClaimType::Number)];
    let claims = claims.into_iter().chain([("staff", ClaimType::Flag)]).map(|(name, of)| (name.to_owned(), of));
    let claims: BTreeMap<_, _> = claims.collect();
    for (name, text) in GOLDEN {
        let json: Json = serde_json::from_str(text).expect("the file is JSON");
        let rights = Rights::from_json(&json["rights"].to_string()).expect("good rights");
        let schema = Schema::from_json(&json["schema"].to_string()).expect("a good schema");
        assert_eq!(text, format!("{{\"rights\":{},\"schema\":{}}}\n", rights.to_json(), schema.to_json()), "{name}");
        let classes: BTreeSet<_> = rights.objects.keys().cloned().collect();
        let context = Context { schema: &schema, claims: Some(&claims), classes: Some(&classes), has_indexes: true };
        assert_eq!(rights.problems(&context), [], "{name}");
    }
}

#[test]
fn the_sample_has_every_kind_of_rule() {
    let names = [
        Relation::ALL.map(Relation::name).to_vec(),
        Change::ALL.map(Change::name).to_vec(),
        Version::ALL.map(Version::name).to_vec(),
        When::ALL.map(When::name).to_vec(),
    ]
    .concat();
    let keys = ["and", "or", "not", "test", "in", "exists", "where", "ops", "claim", "mine", "values"];
    let types = ["bool", "int", "float", "string", "bytes", "id"];
    for name in [names, keys.to_vec(), types.to_vec()].concat() {
        assert!(
            EVERY_RULE.contains(&format!("{{\"{name}\":")) || EVERY_RULE.contains(&format!(",\"{name}\":")),
            "{name}"
        );
    }
    for word in Part::ALL.map(Part::name).into_iter().chain(["now"]) {
        assert!(EVERY_RULE.contains(&format!("\"{word}\"")), "{word}");
    }
}
