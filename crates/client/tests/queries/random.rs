//! Random queries, writes and interests against the table itself.

use proptest::prelude::*;

use super::*;

const OWNERS: [&str; 3] = ["ann", "ben", "cid"];

#[derive(Clone, Debug)]
enum Step {
    Create(i64, usize, i64),
    Owner(i64, usize),
    Stars(i64, i64),
    Vote(i64),
    Delete(i64),
    Watch(Asked),
    WatchCell(i64),
    WatchRow(i64),
    Stop(usize),
    Reopen,
}

#[derive(Clone, Debug)]
struct Asked {
    query: Query,
    direction: Direction,
    limit: Option<usize>,
}

fn asked() -> impl Strategy<Value = Asked> {
    let query = prop_oneof![
        (0usize..3).prop_map(|owner| of_owner(OWNERS[owner])),
        (0i64..6, 0i64..6).prop_map(|(from, more)| by_stars(from, from + more)),
        (0i64..6).prop_map(|stars| with_stars(&Query::all(tasks(), false), stars)),
    ];
    let direction = prop_oneof![Just(Direction::Ascending), Just(Direction::Descending)];
    (query, direction, prop::option::of(1usize..4)).prop_map(|(query, direction, limit)| Asked {
        query,
        direction,
        limit,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let (id, owner, stars) = (0i64..30, 0usize..3, 0i64..6);
    prop_oneof![
        8 => (id.clone(), owner.clone(), stars.clone()).prop_map(|(id, owner, stars)| Step::Create(id, owner, stars)),
        6 => (id.clone(), owner).prop_map(|(id, owner)| Step::Owner(id, owner)),
        6 => (id.clone(), stars).prop_map(|(id, stars)| Step::Stars(id, stars)),
        2 => id.clone().prop_map(Step::Vote),
        3 => id.clone().prop_map(Step::Delete),
        4 => asked().prop_map(Step::Watch),
        1 => id.clone().prop_map(Step::WatchCell),
        1 => id.prop_map(Step::WatchRow),
        1 => any::<usize>().prop_map(Step::Stop),
        1 => Just(Step::Reopen),
    ]
}

struct World {
    harness: Harness,
    gateway: Gateway,
    watched: Vec<(ReactionId, Asked, Seen)>,
}

impl World {
    fn take(&mut self, step: Step) {
        let exists = |id: i64| self.gateway.rows.contains_key(&key(id));
        let writes = match step {
            Step::Create(id, owner, stars) if !exists(id) => create(id, OWNERS[owner], stars),
            Step::Owner(id, owner) if exists(id) => vec![put(id, "owner", OWNERS[owner])],
            Step::Stars(id, stars) if exists(id) => vec![put(id, "stars", Value::Int(stars))],
            Step::Vote(id) if exists(id) => vec![Write { cell: cell(id, "votes"), operation: Operation::Add(1) }],
            Step::Delete(id) if exists(id) => vec![delete(id)],
            Step::Create(..) | Step::Owner(..) | Step::Stars(..) | Step::Vote(_) | Step::Delete(_) => return,
            Step::Watch(asked) => return self.watch(asked),
            Step::WatchCell(id) => {
                self.harness.react(View::Confirmed, move |tx| tx.cell(&cell(id, "owner")).map(drop).map_err(stopped));
                return self.settle();
            }
            Step::WatchRow(id) => {
                self.harness.react(View::Confirmed, move |tx| tx.row(tasks(), &key(id)).map(drop).map_err(stopped));
                return self.settle();
            }
            Step::Stop(which) if !self.watched.is_empty() => {
                let (id, ..) = self.watched.remove(which % self.watched.len());
                self.harness.client.stop(id);
                return;
            }
            Step::Stop(_) => return,
            Step::Reopen => return self.reopen(),
        };
        self.gateway.commit(&mut self.harness, writes);
        self.settle();
    }

    fn watch(&mut self, asked: Asked) {
        let Asked { query, direction, limit } = asked.clone();
        let (id, seen) = watch(&mut self.harness, View::Confirmed, query, direction, limit);
        self.watched.push((id, asked, seen));
        self.settle();
    }

    /// The app is closed and opened again, and the session resumed.
    fn reopen(&mut self) {
        let harness = std::mem::replace(&mut self.harness, Harness::new());
        self.harness = harness.reopened();
        iolite_machine::Machine::validate(&self.harness.client);
        self.harness.link();
        self.harness.welcome(1);
        self.gateway.subscribed = self.harness.take_subscribed(true).into_iter().collect();
        let to = self.harness.client.at();
        self.harness.advance(Advance { to, ..Advance::default() });
        let before = std::mem::take(&mut self.watched);
        for (_, asked, _) in before {
            self.watch(asked);
        }
    }

    fn settle(&mut self) {
        while !self.gateway.answer(&mut self.harness).is_empty() {}
    }

    fn check(&self) {
        for (_, asked, seen) in &self.watched {
            let all = answers(&self.gateway.rows, &asked.query).into_values().map(|key| id_of(&key));
            let all: Vec<i64> = match asked.direction {
                Direction::Ascending => all.collect(),
                Direction::Descending => all.rev().collect(),
            };
            let expected: Vec<i64> = all.into_iter().take(asked.limit.unwrap_or(usize::MAX)).collect();
            assert_eq!(last(seen), expected, "{asked:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn every_screen_shows_what_the_table_says(
        // Where there are many, a query with a limit is narrowed.
        rows in prop_oneof![Just(0i64), Just(90)],
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let rows: Vec<(i64, &str, i64)> = (30..30 + rows).map(|id| (id, OWNERS[id as usize % 3], id % 5)).collect();
        let mut world = World { harness: connected(), gateway: Gateway::with(&rows), watched: Vec::new() };
        for step in steps {
            world.take(step);
            world.check();
        }
    }
}
