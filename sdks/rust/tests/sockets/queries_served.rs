//! Queries of structs, answered by a server.

use std::time::Duration;

use iolite::table::{Counter, Set};
use iolite::{Abort, Client, Embedded, Options, Reaction, Schema, Table, Transaction, View, abort, schema};
use iolite_values::Direction;

#[derive(Table, Clone, Debug, PartialEq)]
#[table(index(by_owner = [owner, created]))]
struct Task {
    #[key]
    id: i64,
    owner: String,
    created: i64,
    title: String,
    #[column(default = false)]
    done: bool,
    votes: Counter,
    tags: Set<String>,
}

fn tables() -> Schema {
    schema().with::<Task>().build().expect("valid")
}

fn task(id: i64, owner: &str, created: i64) -> Task {
    let (votes, tags) = (Counter(0), Set::default());
    Task { id, owner: owner.into(), created, title: format!("task {id}"), done: false, votes, tags }
}

async fn two_clients() -> (Embedded, Client, Client) {
    let server = iolite::embedded().await.expect("a server");
    let open = || server.client(tables(), Options::new()).expect("in memory");
    let (one, other) = (open(), open());
    one.online().await.expect("let in");
    other.online().await.expect("let in");
    (server, one, other)
}

/// The ids of Ann's newest open tasks.
fn newest(client: &Client, limit: usize) -> Reaction<Vec<i64>> {
    client.react(View::Confirmed, move |tx| {
        let open = tx.query::<Task>().filter(Task::OWNER.eq("ann")).filter(Task::DONE.eq(false));
        let rows = open.order_by_descending(Task::CREATED).limit(limit).all()?;
        Ok(rows.iter().map(|task| task.id).collect())
    })
}

async fn becomes(reaction: &mut Reaction<Vec<i64>>, expected: &[i64]) {
    let told = reaction.wait_for(|ids| ids == expected);
    tokio::time::timeout(Duration::from_secs(60), told).await.expect("it is told").expect("it runs");
}

#[tokio::test]
async fn rows_enter_leave_and_move_as_others_change_them() {
    let (_server, one, other) = two_clients().await;
    one.transact(|tx| (1..=5).try_for_each(|id| tx.create(&task(id, "ann", id * 10)))).await.expect("committed");
    let mut seen = newest(&other, 3);
    becomes(&mut seen, &[5, 4, 3]).await;
    // One leaves, and the next one moves up.
    one.transact(|tx| tx.at(Task::DONE, 4).set(true)).await.expect("committed");
    becomes(&mut seen, &[5, 3, 2]).await;
    // One that is created is among them at once, one of somebody else is not.
    one.transact(|tx| tx.create(&task(6, "ann", 60)).and_then(|()| tx.create(&task(7, "ben", 70))))
        .await
        .expect("committed");
    becomes(&mut seen, &[6, 5, 3]).await;
    // A write of one column brings a row in of which nothing else is said.
    one.transact(|tx| tx.at(Task::OWNER, 7).set("ann")).await.expect("committed");
    becomes(&mut seen, &[7, 6, 5]).await;
    // And moves one to another place.
    one.transact(|tx| tx.at(Task::CREATED, 1).set(65)).await.expect("committed");
    becomes(&mut seen, &[7, 1, 6]).await;
    one.transact(|tx| tx.delete("task", 7)).await.expect("committed");
    becomes(&mut seen, &[1, 6, 5]).await;
}

#[tokio::test]
async fn who_is_far_behind_sees_what_the_query_says_now() {
    let (_server, one, other) = two_clients().await;
    one.transact(|tx| (1..=5).try_for_each(|id| tx.create(&task(id, "ann", id)))).await.expect("committed");
    let mut seen = newest(&other, 2);
    becomes(&mut seen, &[5, 4]).await;
    other.go_offline();
    one.transact(|tx| tx.at(Task::DONE, 5).set(true)).await.expect("committed");
    one.transact(|tx| tx.at(Task::CREATED, 1).set(100)).await.expect("committed");
    other.go_online();
    becomes(&mut seen, &[1, 4]).await;
}

/// Nobody waits for so many round trips.
#[tokio::test]
async fn many_rows_are_asked_for_together_or_not_at_all() {
    let (_server, one, other) = two_clients().await;
    one.transact(|tx| (0..300).try_for_each(|id| tx.create(&task(id, "ann", id)))).await.expect("committed");
    let together = other.read(View::Confirmed, |tx| tx.get_all::<Task, _>([0, 299, 300].into_iter().chain(1..299)));
    let rows = together.await.expect("it ran");
    let found: Vec<Option<i64>> = rows.iter().take(4).map(|row| row.as_ref().map(|task| task.id)).collect();
    assert_eq!((rows.len(), found), (301, vec![Some(0), Some(299), None, Some(1)]));
    // Nobody has these.
    let in_turn =
        one.read(View::Confirmed, |tx| (1000..1300).map(|id| tx.get::<Task>(id)).collect::<Result<Vec<_>, _>>());
    let refused = in_turn.await.expect_err("each stops the closure once").to_string();
    assert!(refused.contains("many rows together"), "{refused}");
}

fn page(tx: &mut Transaction<'_>, direction: Direction, after: Option<&Task>) -> iolite::Result<Vec<Task>> {
    let of_ann = tx.query::<Task>().filter(Task::OWNER.eq("ann")).filter(Task::CREATED.at_least(1));
    let ordered = match direction {
        Direction::Ascending => of_ann.order_by(Task::CREATED),
        Direction::Descending => of_ann.order_by_descending(Task::CREATED),
    };
    ordered.after(after).limit(2).all()
}

fn ids(tasks: &[Task]) -> Vec<i64> {
    tasks.iter().map(|task| task.id).collect()
}

#[tokio::test]
async fn pages_hold_each_row_once_though_many_tie() {
    let (_server, one, other) = two_clients().await;
    let tasks = [(1, 0), (2, 1), (3, 1), (4, 1), (5, 1), (6, 2), (7, 2)];
    one.transact(move |tx| tasks.iter().try_for_each(|(id, created)| tx.create(&task(*id, "ann", *created))))
        .await
        .expect("committed");
    for (direction, expected) in
        [(Direction::Ascending, [[2, 3], [4, 5], [6, 7]]), (Direction::Descending, [[7, 6], [5, 4], [3, 2]])]
    {
        let (mut pages, mut last) = (Vec::new(), None);
        loop {
            let found =
                other.read(View::Confirmed, move |tx| page(tx, direction, last.as_ref())).await.expect("it ran");
            last = found.last().cloned();
            if last.is_none() {
                break;
            }
            pages.push(ids(&found));
        }
        assert_eq!(pages, expected);
    }
}

#[tokio::test]
async fn a_page_follows_what_comes_after_a_row_that_is_gone() {
    let (_server, one, other) = two_clients().await;
    one.transact(|tx| [2, 4, 6].iter().try_for_each(|id| tx.create(&task(*id, "ann", 1)))).await.expect("committed");
    let last = task(4, "ann", 1);
    let mut seen = other.react(View::Confirmed, move |tx| Ok(ids(&page(tx, Direction::Ascending, Some(&last))?)));
    becomes(&mut seen, &[6]).await;
    one.transact(|tx| tx.delete("task", 4)).await.expect("committed");
    // One that comes before stays out, and one that comes after is in.
    one.transact(|tx| [3, 5].iter().try_for_each(|id| tx.create(&task(*id, "ann", 1)))).await.expect("committed");
    becomes(&mut seen, &[5, 6]).await;
}

/// Each of two clients takes the last place of three, again and again: what a query counts holds when it commits.
#[tokio::test]
async fn a_rule_that_rests_on_a_query_holds_whoever_else_inserts() {
    let (_server, one, other) = two_clients().await;
    let takes = |client: Client, first: i64| async move {
        let mut taken = 0;
        for id in first..first + 5 {
            let took = client.transact(move |tx| {
                if tx.query::<Task>().filter(Task::OWNER.eq("ann")).count()? >= 3 {
                    return Err(abort("all three are taken"));
                }
                tx.create(&task(id, "ann", id))
            });
            match took.await {
                Ok(()) => taken += 1,
                Err(iolite::TransactError::End(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        taken
    };
    let (ours, theirs) = tokio::join!(takes(one.clone(), 10), takes(other.clone(), 20));
    assert_eq!(ours + theirs, 3);
    let count = one.read(View::Confirmed, |tx| tx.query::<Task>().filter(Task::OWNER.eq("ann")).count()).await;
    assert_eq!(*count.expect("it ran"), 3);
    let _: fn(iolite::RunError) -> Abort = Abort::Run;
}
