//! Properties: the judge agrees with a second evaluator and with the query engine, and its answers rest on their reads.

mod naive;
mod world;

use std::collections::BTreeMap;

use iolite_values::{Condition, Field, Interest, KeyRange, Query, Read, TableId, Test, Value, disturbs};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::{Claims, Effective, Judge, Judgement, Rights, TableRules, Why, drawn};
use world::{Move, Store, store};

fn judge<'a>(rights: &'a Rights, schema: &'a iolite_values::Schema, claims: &'a Claims, store: &'a Store) -> Judge<'a> {
    Judge { rights, schema, claims, now_ms: 2, rows: store }
}

/// An answer without its reads.
fn verdict(judgement: &Judgement) -> Result<(), Option<Why>> {
    match judgement {
        Judgement::Allowed(_) => Ok(()),
        Judgement::Denied(denial) => Err(Some(denial.why).filter(|why| matches!(why, Why::Taken | Why::Missing))),
        Judgement::Needs(needs) => panic!("everything is known, but for {needs:?}"),
    }
}

fn reads(judgement: &Judgement) -> Vec<Read> {
    match judgement {
        Judgement::Allowed(reads) => reads.iter().cloned().collect(),
        Judgement::Denied(denial) => denial.reads.iter().cloned().collect(),
        Judgement::Needs(_) => Vec::new(),
    }
}

/// The answer where nothing is known at first.
fn asked_again(mut ask: impl FnMut(&Store) -> Judgement, whole: &Store) -> Judgement {
    let mut known = Store { knows: Some(BTreeMap::new()), sets: Some(Vec::new()), ..whole.clone() };
    for _ in 0..8 {
        match ask(&known) {
            Judgement::Needs(needs) => {
                assert!(!needs.is_empty());
                known.learn(needs);
            }
            answer => return answer,
        }
    }
    panic!("eight rounds are too many")
}

/// Half of the usual number, or as many as `PROPTEST_CASES` says.
fn cases() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: if usual.cases == 256 { 128 } else { usual.cases }, ..usual }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn both_evaluators_agree_on_writes(
        rights in drawn::rights(), claims in drawn::claims(), (before, moves) in world::scene(),
    ) {
        let schema = drawn::schema();
        let naive = naive::transaction(&rights, &claims, &before, &moves);
        let answer = judge(&rights, &schema, &claims, &before).transaction(&world::writes(&moves));
        prop_assert_eq!(verdict(&answer), naive);
        let later = asked_again(|known| judge(&rights, &schema, &claims, known).transaction(&world::writes(&moves)), &before);
        prop_assert_eq!(verdict(&later), verdict(&answer));
    }

    #[test]
    fn an_answer_stays_while_its_reads_do(
        rights in drawn::rights(), claims in drawn::claims(), (before, moves) in world::scene(),
    ) {
        let schema = drawn::schema();
        let writes = world::writes(&moves);
        let answer = judge(&rights, &schema, &claims, &before).transaction(&writes);
        for other in world::every_other(&before) {
            let other = world::writes(&other);
            if reads(&answer).iter().any(|read| disturbs(&other, read)) {
                continue;
            }
            let after = before.with(&other);
            let later = judge(&rights, &schema, &claims, &after).transaction(&writes);
            prop_assert_eq!(verdict(&later).is_ok(), verdict(&answer).is_ok(), "{:?} after {:?}", answer, other);
        }
    }

    #[test]
    fn a_query_with_the_rule_selects_what_the_rule_allows(
        rule in drawn::read_rule(), claims in drawn::claims(), store in store(), query in query(),
    ) {
        let schema = drawn::schema();
        let rights = Rights::default().table("notes", TableRules::default().read(rule));
        let judge = judge(&rights, &schema, &claims, &store);
        let effective = judge.effective(&query);
        if matches!(effective, Effective::Declined(_)) {
            return Ok(());
        }
        let with_rule = effective.apply(&query);
        if let Some(own) = &with_rule {
            prop_assert_eq!(schema.check_interest(&Interest::Query(own.clone().into())), Ok(()));
        }
        for (name, row) in store.rows.iter().filter(|(name, _)| name.table == query.table) {
            let allowed = verdict(&judge.read(name)).is_ok();
            prop_assert_eq!(allowed, naive::reads(&rights, &claims, &store, name), "{:?}", name);
            let selected = with_rule.as_ref().is_some_and(|own| own.selects(&name.key, row));
            prop_assert_eq!(selected, query.selects(&name.key, row) && allowed, "{:?} of {:?}", name, effective);
        }
    }
}

/// A query of notes that fixes little or much.
fn query() -> impl Strategy<Value = Query> {
    let schema = drawn::schema();
    let field = move |name: &str| schema.table("notes").and_then(|table| table.field(name)).expect("a column");
    let (room, author, rank) = (field("room"), field("author"), field("rank"));
    let equal = |field: Field, value: Value| vec![Condition { field, test: Test::Equal(value) }];
    let table = TableId::of("notes");
    let conditions = prop_oneof![
        Just(Vec::new()),
        drawn::text().prop_map(move |text| equal(room.clone(), text)),
        drawn::text().prop_map(move |text| equal(author.clone(), text)),
        (0i64..4).prop_map(move |rank_| vec![Condition { field: rank.clone(), test: Test::AtMost(Value::Int(rank_)) }]),
    ];
    let keys = prop_oneof![
        3 => Just(KeyRange::all()),
        1 => (1i64..4).prop_map(|id| KeyRange::prefix(&[Value::Int(id)]).expect("short")),
    ];
    (conditions, keys).prop_map(move |(conditions, keys)| Query { conditions, ..Query::of_keys(table, false, &keys) })
}

#[test]
fn the_drawn_moves_come_to_every_kind_of_answer() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let all = (drawn::rights(), drawn::claims(), world::scene());
    for _ in 0..256 {
        let (rights, claims, (before, moves)) = all.new_tree(&mut runner).expect("drawn").current();
        let schema = drawn::schema();
        let answer = judge(&rights, &schema, &claims, &before).transaction(&world::writes(&moves));
        *kinds.entry(format!("{:?}", verdict(&answer))).or_default() += 1;
    }
    assert!(kinds.len() == 4 && kinds.values().all(|count| *count > 3), "{kinds:?}");
}

/// Whether any of the moves is one of a row's life.
fn first_life(moves: &[Move]) -> Option<bool> {
    moves.iter().find_map(|own| match own {
        Move::Create => Some(true),
        Move::Delete => Some(false),
        Move::Put(..) | Move::Add(..) | Move::Tag(..) => None,
    })
}
