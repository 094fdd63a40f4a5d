//! What is asked for, and which index answers.

mod long_values;

use std::borrow::Cow;
use std::ops::Bound;

use iolite_values::{
    Condition, Direction, Field, IndexKey, IndexRange, KeyRange, OperationError, QueryError, RowKey, Schema, TableId,
    Test, Value,
};

use super::*;
use crate::transaction::RunError;

const NOTES: &str = r#"{"tables":{"notes":{"columns":{"id":{"type":"string"},"part":{"type":"int"},
    "owner":{"type":"string","optional":true},"createdAt":{"type":"int"},"done":{"type":"bool","default":false},
    "title":{"type":"string"},"votes":{"type":"counter"},"tags":{"type":"set","of":"string"}},"key":["id","part"],
    "indexes":{"byOwner":["owner","createdAt"],"byTitle":["title"],"byDone":["done"]}}}}"#;

fn schema() -> Schema {
    Schema::from_json(NOTES).expect("a good schema")
}

fn planned(json: &str) -> Result<Plan, RunError> {
    let schema = schema();
    let question = Question::from_json("notes", schema.table("notes").expect("it is there"), json)?;
    question.plan(&schema, TableId::of("notes"))
}

fn plan(json: &str) -> Plan {
    planned(json).expect("a good question")
}

fn index(name: &str) -> Vec<Field> {
    schema().table("notes").and_then(|table| table.index_fields(name)).expect("declared")
}

fn between(equal: &[Value], from: Bound<&Value>, to: Bound<&Value>) -> KeyRange {
    IndexRange::new(equal, from, to).range
}

#[test]
fn equal_columns_in_front_then_a_range_then_the_order() {
    let found = plan(
        r#"{"where":{"owner":"ann","createdAt":{"gte":5,"lt":9},"done":false},"orderBy":[["createdAt","desc"]],"limit":20}"#,
    );
    assert_eq!(found.query.index, index("byOwner"));
    let (five, nine) = (Value::Int(5), Value::Int(9));
    assert_eq!(found.query.range, between(&[Value::from("ann")], Bound::Included(&five), Bound::Excluded(&nine)));
    assert_eq!((found.direction, found.limit), (Direction::Descending, Some(20)));
    let left: Vec<&Test> = found.query.conditions.iter().map(|condition| &condition.test).collect();
    assert_eq!(left, [&Test::Equal(Value::Bool(false))], "the range says the rest");
}

#[test]
fn the_primary_key_is_an_index() {
    let found = plan(r#"{"where":{"id":"a","part":{"gt":3}}}"#);
    let behind = |part| KeyRange::prefix(&[Value::from("a"), Value::Int(part)]).expect("short").upper.expect("one");
    let all = KeyRange::prefix(&[Value::from("a")]).expect("short");
    assert_eq!(found.query.range, KeyRange { lower: behind(3), upper: all.upper });
    assert_eq!((found.query.index, found.query.conditions), (vec![], vec![]));
    let ordered = plan(r#"{"orderBy":[["id","desc"],["part","desc"]],"limit":1}"#);
    assert_eq!((ordered.query.index, ordered.direction), (vec![], Direction::Descending));
}

/// A store has to ask no other shards than those of these rows.
#[test]
fn what_is_asked_of_the_primary_key_is_a_range_of_it_whichever_index_answers() {
    let found =
        plan(r#"{"where":{"owner":"ann","id":"a","part":{"gte":3},"done":true},"orderBy":[["createdAt","asc"]]}"#);
    let prefix = |values: &[Value]| KeyRange::prefix(values).expect("short");
    let (of_a, of_three) = (prefix(&[Value::from("a")]), prefix(&[Value::from("a"), Value::Int(3)]));
    assert_eq!(found.query.index, Vec::new(), "one that says more of the primary key than any index of itself");
    assert_eq!(found.query.row_keys(), KeyRange { lower: of_three.lower.clone(), upper: of_a.upper.clone() });
    let found = plan(r#"{"where":{"owner":"ann","id":"a"},"orderBy":[["createdAt","asc"]],"limit":3}"#);
    assert_eq!(found.query.index, index("byOwner"));
    assert_eq!((found.query.row_keys(), found.query.conditions), (of_a, Vec::new()));
    let found = plan(r#"{"where":{"owner":"ann","createdAt":5,"part":1}}"#);
    assert_eq!((found.query.row_keys(), found.query.conditions.len()), (KeyRange::all(), 1), "no beginning of the key");
    // What is too long for a key stays a condition.
    let long = format!(r#"{{"where":{{"owner":"ann","createdAt":5,"id":"{}"}}}}"#, "x".repeat(2_000));
    assert_eq!((plan(&long).query.row_keys(), plan(&long).query.conditions.len()), (KeyRange::all(), 1));
}

#[test]
fn a_beginning_is_a_range() {
    let found = plan(r#"{"where":{"title":{"startsWith":"ab"}},"orderBy":[["title","asc"]],"limit":5}"#);
    let (from, to) = (Value::from("ab"), Value::from("ac"));
    assert_eq!(found.query.range, between(&[], Bound::Included(&from), Bound::Excluded(&to)));
    let last = plan(&format!(r#"{{"where":{{"title":{{"startsWith":"a{}"}}}}}}"#, char::MAX));
    let (from, to) = (Value::from(format!("a{}", char::MAX)), Value::from("b"));
    assert_eq!(last.query.range, between(&[], Bound::Included(&from), Bound::Excluded(&to)));
}

#[test]
fn one_of_some_values_takes_an_index_and_stays_a_condition() {
    let found = plan(r#"{"where":{"owner":{"in":["cat","ann","ben"]},"createdAt":{"gt":1}},"limit":3}"#);
    let (ann, cat) = (Value::from("ann"), Value::from("cat"));
    assert_eq!(found.query.index, index("byOwner"));
    assert_eq!(found.query.range, between(&[], Bound::Included(&ann), Bound::Included(&cat)));
    assert_eq!(found.query.conditions.len(), 2);
    let behind =
        plan(r#"{"where":{"owner":"ann","createdAt":{"in":[5,3]}},"orderBy":[["createdAt","desc"]],"limit":1}"#);
    let (three, five) = (Value::Int(3), Value::Int(5));
    assert_eq!(behind.query.range, between(&[ann], Bound::Included(&three), Bound::Included(&five)));
    assert_eq!((behind.query.stretches().len(), behind.direction), (2, Direction::Descending));
    let keys = plan(r#"{"where":{"id":{"in":["a","c"]}}}"#);
    let of = |id: &str| KeyRange::prefix(&[Value::from(id)]).expect("short");
    assert_eq!((keys.query.index.clone(), keys.query.stretches()), (vec![], vec![of("a"), of("c")]));
    // Some values may be most of those that there are, unless an index was declared for more than them.
    assert_eq!(plan(r#"{"where":{"title":{"gt":"a"},"done":{"in":[true,false]}}}"#).query.index, index("byTitle"));
    let more = plan(r#"{"where":{"title":{"gt":"a"},"owner":{"in":["a","b"]},"createdAt":{"gt":3}}}"#);
    assert_eq!((more.query.index.clone(), more.query.stretches().len()), (index("byOwner"), 2));
    assert_eq!(plan(r#"{"where":{"owner":{"in":["a","b"]},"title":"x"}}"#).query.index, index("byTitle"));
    // One value is that one.
    let one =
        plan(r#"{"where":{"owner":{"in":["ann"]},"title":{"gt":"a"}},"orderBy":[["createdAt","asc"]],"limit":3}"#);
    assert_eq!((one.query.index.clone(), one.query.conditions.len()), (index("byOwner"), 1));
    assert_eq!(one.query.range, between(&[Value::from("ann")], Bound::Unbounded, Bound::Unbounded));
    // Of whole keys each is a row.
    let rows = plan(r#"{"where":{"id":"a","part":{"in":[1,3]},"owner":"ann","createdAt":3}}"#);
    assert_eq!((rows.query.index.clone(), rows.query.stretches().len()), (vec![], 2));
    let most = plan(r#"{"where":{"id":{"in":["a","b"]},"part":1,"owner":"ann","createdAt":3}}"#);
    assert_eq!(most.query.index, index("byOwner"), "not whole");
    let row = plan(r#"{"where":{"id":"a","part":1,"owner":"ann","createdAt":3}}"#);
    assert_eq!((row.query.index.clone(), row.query.row_keys().is_empty()), (vec![], false));
    // An order is no less asked for.
    let ordered = plan(r#"{"where":{"done":{"in":[true]}},"orderBy":[["owner","asc"]],"limit":3}"#);
    assert_eq!(ordered.query.index, index("byOwner"));
    assert_eq!(plan(r#"{"where":{"owner":{"in":[]}}}"#).query.conditions.len(), 1);
}

#[test]
fn alternatives_are_asked_beside_what_the_index_says() {
    let found = plan(r#"{"where":{"owner":"ann"},"anyOf":[[{"done":true},{"votes":{"gte":3,"lt":9},"done":false}]]}"#);
    assert_eq!(found.query.index, index("byOwner"));
    assert!(found.query.conditions.is_empty(), "the owner is in the range");
    let asks = |column: &str, test| {
        let field = schema().table("notes").and_then(|table| table.field(column)).expect("a column");
        Condition { field, test }
    };
    let (done, open) = (Test::Equal(Value::Bool(true)), Test::Equal(Value::Bool(false)));
    let votes = [Test::AtLeast(Value::Int(3)), Test::Less(Value::Int(9))].map(|test| asks("votes", test));
    let [least, most] = votes;
    let mut expected = vec![vec![asks("done", done)], vec![asks("done", open), least, most]];
    expected[1].sort();
    let mut alternatives = found.query.any_of[0].0.clone();
    alternatives[1].sort();
    assert_eq!((found.query.any_of.len(), alternatives), (1, expected));
}

#[test]
fn alternatives_choose_no_index_but_one_alone_does() {
    let found = plan(r#"{"anyOf":[[{"owner":"ann"},{"owner":"ben"}]]}"#);
    assert_eq!((found.query.index, found.query.range), (vec![], KeyRange::all()));
    assert_eq!(found.query.any_of.len(), 1);
    assert_eq!(plan(r#"{"anyOf":[[{"owner":"ann"}]]}"#), plan(r#"{"where":{"owner":"ann"}}"#));
    let listed = r#"{"anyOf":[[[["owner",{"eq":"ann"}]],{"owner":"ben"}]]}"#;
    assert_eq!(plan(listed), plan(r#"{"anyOf":[[{"owner":"ann"},{"owner":"ben"}]]}"#));
}

/// As of one of no values.
#[test]
fn of_no_alternatives_none_holds() {
    let found = plan(r#"{"where":{"owner":"ann"},"anyOf":[[]],"limit":3}"#);
    assert_eq!((found.limit, found.query.any_of), (Some(0), vec![]));
}

#[test]
fn mistakes_in_alternatives_are_errors_too() {
    for (asked, column) in [(r#""ownr":"ann""#, "ownr"), (r#""createdAt":"x""#, "createdAt"), (r#""tags":"x""#, "tags")]
    {
        let error = planned(&format!(r#"{{"anyOf":[[{{"owner":"ann"}},{{{asked}}}]]}}"#)).expect_err(asked).to_string();
        assert!(error.contains(column), "{asked}: {error}");
    }
    // Every row would be an answer.
    for json in [r#"{"anyOf":[[{"owner":"ann"},{}]]}"#, r#"{"anyOf":[[{}]]}"#] {
        let error = planned(json).expect_err(json);
        assert!(matches!(error, RunError::Invalid(OperationError::Query(QueryError::NoAlternative { .. }))), "{json}");
    }
    for json in [r#"{"anyOf":{}}"#, r#"{"anyOf":[{}]}"#, r#"{"anyOf":[[1]]}"#] {
        assert!(matches!(planned(json), Err(RunError::Question(QuestionError::NoQuestion { .. }))), "{json}");
    }
}

#[test]
fn what_is_less_than_something_is_not_null() {
    let found = plan(r#"{"where":{"owner":{"lt":"b"}}}"#);
    let (null, b) = (Value::Null, Value::from("b"));
    assert_eq!(found.query.range, between(&[], Bound::Excluded(&null), Bound::Excluded(&b)));
    assert!(found.query.conditions.is_empty());
}

#[test]
fn a_long_string_stays_a_condition() {
    let long = "x".repeat(300);
    let found = plan(&format!(r#"{{"where":{{"owner":"{long}"}}}}"#));
    assert_eq!((found.query.index, found.query.conditions.len()), (index("byOwner"), 1));
    let key = plan(&format!(r#"{{"where":{{"id":"{long}"}}}}"#));
    assert!(key.query.conditions.is_empty(), "a key has all of it");
    let longer = plan(&format!(r#"{{"where":{{"id":"{}"}}}}"#, "x".repeat(2_000)));
    assert_eq!((longer.query.range, longer.query.conditions.len()), (KeyRange::all(), 1), "there is no such key");
}

#[test]
fn without_a_fitting_index_the_table_is_looked_through() {
    let found = plan(r#"{"where":{"votes":{"gte":3},"tags":{"contains":"x"},"createdAt":{"in":[1,2]}}}"#);
    assert_eq!((&found.query.index, &found.query.range), (&vec![], &KeyRange::all()));
    assert_eq!(found.query.conditions.len(), 3);
}

#[test]
fn an_order_without_a_limit_is_sorted_in_the_answer() {
    let found = plan(r#"{"where":{"done":true},"orderBy":[["owner","asc"],["createdAt","desc"]]}"#);
    assert_eq!((found.query.index, found.sort.len()), (index("byDone"), 2));
    let indexed = plan(r#"{"orderBy":[["owner","desc"]]}"#);
    assert_eq!(
        (indexed.query.index, indexed.direction, indexed.sort.len()),
        (index("byOwner"), Direction::Descending, 0)
    );
}

#[test]
fn a_limited_order_without_an_index_names_the_one_to_declare() {
    let error = planned(r#"{"where":{"done":true,"votes":{"gt":1}},"orderBy":[["createdAt","asc"]],"limit":3}"#);
    let columns = vec!["done".to_owned(), "createdAt".to_owned()];
    assert_eq!(error, Err(QuestionError::NoIndex { table: "notes".into(), columns }.into()));
    let error = planned(r#"{"orderBy":[["owner","asc"],["createdAt","desc"]],"limit":3}"#);
    assert_eq!(error, Err(QuestionError::TwoDirections { table: "notes".into() }.into()));
}

#[test]
fn columns_that_are_equal_in_all_answers_are_no_part_of_the_order() {
    let found =
        plan(r#"{"where":{"owner":"ann"},"orderBy":[["owner","desc"],["createdAt","asc"],["id","asc"]],"limit":3}"#);
    assert_eq!((found.query.index, found.direction), (index("byOwner"), Direction::Ascending));
}

#[test]
fn conditions_of_one_column_may_be_listed() {
    let listed =
        plan(r#"{"where":[["createdAt",{"gt":3}],["createdAt",{"not":5}],["createdAt",{"not":6}],["done",true]]}"#);
    assert_eq!(listed.query.index, index("byDone"));
    assert_eq!(listed.query.conditions.len(), 3);
}

/// Where a row stands in an index.
fn place(values: &[Value], id: &str, part: i64) -> Vec<u8> {
    let key = RowKey::new(&[Value::from(id), Value::Int(part)]).expect("short");
    IndexKey::new(values.iter().map(Cow::Borrowed), &key).as_bytes().to_vec()
}

#[test]
fn after_a_row_is_behind_its_place_in_the_index() {
    let last = r#""after":{"owner":"ben","createdAt":5,"id":"x","part":2}"#;
    let of_ann = between(&[Value::from("ann")], Bound::Unbounded, Bound::Unbounded);
    // What is asked to be equal is that of the query, not of the row.
    let place_of_ann = place(&[Value::from("ann"), Value::Int(5)], "x", 2);
    for (direction, order) in [(Direction::Ascending, "asc"), (Direction::Descending, "desc")] {
        let found =
            plan(&format!(r#"{{"where":{{"owner":"ann"}},"orderBy":[["createdAt","{order}"]],"limit":2,{last}}}"#));
        assert_eq!(found.query.index, index("byOwner"));
        assert_eq!(found.query.range, of_ann.behind(&place_of_ann, direction));
        // The primary key is an index too, and so is one that orders by more than is asked.
        let by_key = plan(&format!(r#"{{"orderBy":[["id","{order}"]],{last}}}"#));
        assert_eq!(by_key.query.range, KeyRange::all().behind(&place(&[], "x", 2), direction));
        let by_owner = plan(&format!(r#"{{"orderBy":[["owner","{order}"]],{last}}}"#));
        let place_of_ben = place(&[Value::from("ben"), Value::Int(5)], "x", 2);
        assert_eq!(by_owner.query.range, KeyRange::all().behind(&place_of_ben, direction));
    }
}

#[test]
fn of_a_row_and_a_condition_the_tighter_bound_holds() {
    let asked = |order: &str, at: i64| {
        plan(&format!(
            r#"{{"where":{{"owner":"ann","createdAt":{{"gte":3,"lt":9}}}},"orderBy":[["createdAt","{order}"]],
            "after":{{"createdAt":{at},"id":"x","part":2}}}}"#
        ))
        .query
        .range
    };
    let (three, nine) = (Value::Int(3), Value::Int(9));
    let bounds = between(&[Value::from("ann")], Bound::Included(&three), Bound::Excluded(&nine));
    let place = |at| place(&[Value::from("ann"), Value::Int(at)], "x", 2);
    assert_eq!(asked("asc", 5), bounds.behind(&place(5), Direction::Ascending));
    assert_eq!(asked("asc", 2), bounds, "all of it comes after");
    assert_eq!(asked("desc", 5), bounds.behind(&place(5), Direction::Descending));
    assert_eq!(asked("desc", 9), bounds, "all of it comes after");
    assert!(asked("asc", 9).is_empty() && asked("desc", 2).is_empty());
}

#[test]
fn a_row_that_does_not_say_where_it_stands_is_an_error() {
    let asked = |order: &str, after: &str| {
        planned(&format!(r#"{{"where":{{"owner":"ann"}},"orderBy":[{order}],"after":{after}}}"#)).expect_err(after)
    };
    let by_time = r#"["createdAt","asc"]"#;
    let missing = |columns: &[&str]| {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        RunError::from(QuestionError::NoPlace { table: "notes".into(), columns })
    };
    assert_eq!(asked(by_time, r#"{"part":1}"#), missing(&["createdAt", "id"]));
    assert_eq!(asked(by_time, r#"{"createdAt":1,"id":"x"}"#), missing(&["part"]));
    for (after, column) in [
        (r#"{"createdAt":"x","id":"x","part":1}"#, "createdAt"),
        (r#"{"createdAt":null,"id":"x","part":1}"#, "createdAt"),
        (r#"{"createdAt":1,"id":null,"part":1}"#, "id"),
        (r#"{"createdAd":1}"#, "createdAd"),
    ] {
        let error = asked(by_time, after).to_string();
        assert!(error.contains(column), "{after}: {error}");
    }
    // It is a place in an index, so there has to be one.
    let error = asked(r#"["votes","asc"]"#, r#"{"votes":1,"id":"x","part":1}"#);
    let columns = vec!["owner".to_owned(), "votes".to_owned()];
    assert_eq!(error, QuestionError::NoIndex { table: "notes".into(), columns }.into());
}

#[test]
fn mistakes_are_errors_that_name_the_column() {
    for (json, column) in [
        (r#"{"where":{"ownr":"ann"}}"#, "ownr"),
        (r#"{"orderBy":[["ownr","asc"]]}"#, "ownr"),
        (r#"{"orderBy":[["tags","asc"]]}"#, "tags"),
        (r#"{"where":{"createdAt":"x"}}"#, "createdAt"),
        (r#"{"where":{"createdAt":{"near":3}}}"#, "createdAt"),
        (r#"{"where":{"createdAt":{}}}"#, "createdAt"),
        (r#"{"where":{"createdAt":{"startsWith":"3"}}}"#, "createdAt"),
        (r#"{"where":{"title":null}}"#, "title"),
        (r#"{"where":{"tags":"x"}}"#, "tags"),
    ] {
        let error = planned(json).expect_err(json).to_string();
        assert!(error.contains(column), "{json}: {error}");
    }
    assert!(matches!(
        planned(r#"{"where":{"title":null}}"#),
        Err(RunError::Invalid(OperationError::Query(QueryError::Type { .. })))
    ));
    for json in [
        "",
        "[]",
        r#"{"limit":-1}"#,
        r#"{"limit":1.5}"#,
        r#"{"orderBy":[["owner"]]}"#,
        r#"{"after":[]}"#,
        r#"{"having":{}}"#,
        r#"{"where":1}"#,
    ] {
        assert!(matches!(planned(json), Err(RunError::Question(QuestionError::NoQuestion { .. }))), "{json}");
    }
}
