//! Questions by column names: whatever index answers them, the answer is the same.

use std::cmp::Ordering;

use iolite_client::{Question, RunError};
use proptest::prelude::*;

use super::*;

const OWNERS: [&str; 4] = ["ann", "anna", "ben", ""];

fn test() -> impl Strategy<Value = (String, Test)> {
    let of_stars = (0i64..5).prop_flat_map(|stars| {
        let value = Value::Int(stars);
        prop_oneof![
            Just(Test::Equal(value.clone())),
            Just(Test::NotEqual(value.clone())),
            Just(Test::Less(value.clone())),
            Just(Test::AtMost(value.clone())),
            Just(Test::Greater(value.clone())),
            Just(Test::AtLeast(value.clone())),
            Just(Test::OneOf([value, Value::Int(2)].into())),
        ]
    });
    let of_owner = (0usize..4).prop_flat_map(|owner| {
        let value = Value::from(OWNERS[owner]);
        prop_oneof![
            3 => Just(Test::Equal(value.clone())),
            1 => Just(Test::Greater(value.clone())),
            1 => Just(Test::AtMost(value)),
            1 => Just(Test::BeginsWith(OWNERS[owner].into())),
        ]
    });
    let column = prop_oneof![Just("stars".to_owned()), Just("id".to_owned())];
    prop_oneof![(column, of_stars), (Just("owner".to_owned()), of_owner)]
}

fn question() -> impl Strategy<Value = Question> {
    let direction = prop_oneof![Just(Direction::Ascending), Just(Direction::Descending)];
    let column = prop_oneof![Just("stars"), Just("owner"), Just("id")].prop_map(str::to_owned);
    let order = prop::collection::vec((column, direction), 0..3);
    let alternatives = prop::collection::vec(prop::collection::vec(test(), 1..3), 0..4);
    let any_of = prop::collection::vec(alternatives, 0..2);
    (prop::collection::vec(test(), 0..4), any_of, order, prop::option::of(1usize..5)).prop_map(
        |(conditions, any_of, order, limit)| {
            let mut question = Question { conditions, order, limit, ..Question::default() };
            any_of.into_iter().for_each(|alternatives| question.ask_any_of(alternatives));
            question
        },
    )
}

fn field(column: &str) -> Field {
    match column {
        "owner" => owner_field(),
        "stars" => stars_field(),
        _ => Field::Key(0),
    }
}

fn compared(order: &[(String, Direction)], one: &(RowKey, Row), other: &(RowKey, Row)) -> Ordering {
    let by = |(column, direction): &(String, Direction)| {
        let field = field(column);
        let order = field.value(&one.0, &one.1).cmp(&field.value(&other.0, &other.1));
        if *direction == Direction::Ascending { order } else { order.reverse() }
    };
    order.iter().map(by).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// What a client that holds nothing is answered. None: no index has this order.
fn answer(rows: &[(i64, &str, i64)], asked: &Question) -> Option<(Gateway, Vec<(RowKey, Row)>)> {
    let mut harness = connected();
    let mut gateway = Gateway::with(rows);
    let found = Rc::new(RefCell::new(None));
    let (log, asked) = (found.clone(), asked.clone());
    harness.react(View::Confirmed, move |tx| {
        *log.borrow_mut() = Some(tx.ask(tasks(), &asked));
        Ok(())
    });
    gateway.answer(&mut harness);
    match found.take().expect("it ran") {
        Ok(found) => Some((gateway, found)),
        Err(RunError::Question(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

fn columns((key, row): &(RowKey, Row)) -> BTreeMap<String, Value> {
    let of = |column: &str| (column.to_owned(), field(column).value(key, row).into_owned());
    ["id", "owner", "stars"].iter().map(|column| of(column)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn whatever_index_is_taken_the_answer_is_the_same(
        rows in prop::collection::vec((0i64..30, 0usize..4, 0i64..5), 0..25),
        question in question(),
    ) {
        let rows: Vec<(i64, &str, i64)> = rows.into_iter().map(|(id, owner, stars)| (id, OWNERS[owner], stars)).collect();
        let Some((gateway, found)) = answer(&rows, &question) else { return Ok(()) };
        let fits = |(key, row): &(&RowKey, &Row)| {
            let hold = |asked: &Vec<(String, Test)>| {
                asked.iter().all(|(column, test)| test.holds(&field(column).value(key, row)))
            };
            hold(&question.conditions) && question.any_of.iter().all(|any_of| any_of.iter().any(hold))
        };
        let all = gateway.rows.iter().filter(fits).map(|(key, row)| (key.clone(), row.clone()));
        let mut all: Vec<(RowKey, Row)> = all.collect();
        all.sort_by(|one, other| compared(&question.order, one, other));
        prop_assert_eq!(found.len(), all.len().min(question.limit.unwrap_or(usize::MAX)));
        for (own, expected) in found.iter().zip(&all) {
            prop_assert!(all.contains(own));
            prop_assert_eq!(compared(&question.order, own, expected), Ordering::Equal, "{:?}", question);
        }
        let keys: BTreeSet<&RowKey> = found.iter().map(|(key, _)| key).collect();
        prop_assert_eq!(keys.len(), found.len());
    }

    #[test]
    fn after_any_row_comes_what_came_after_it(
        rows in prop::collection::vec((0i64..30, 0usize..4, 0i64..5), 1..25),
        question in question(),
        place in any::<prop::sample::Index>(),
    ) {
        let rows: Vec<(i64, &str, i64)> = rows.into_iter().map(|(id, owner, stars)| (id, OWNERS[owner], stars)).collect();
        let all = Question { limit: Some(100), ..question.clone() };
        let Some((_, all)) = answer(&rows, &all) else { return Ok(()) };
        prop_assume!(!all.is_empty());
        let last = place.index(all.len());
        let asked = Question { after: Some(columns(&all[last])), ..question };
        let (_, found) = answer(&rows, &asked).expect("there was an index");
        let rest = &all[last + 1..];
        prop_assert_eq!(&found[..], &rest[..rest.len().min(asked.limit.unwrap_or(usize::MAX))]);
    }
}
