//! Random queries, writes and interests against the table itself, in a client and in tabs that follow it.

use harness::tab::{Tab, exchange};
use iolite_client::{FollowerInput, Limits};
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
        (0usize..3, 0i64..6).prop_map(|(owner, stars)| owned_or_starred(&by_stars(0, 9), OWNERS[owner], stars)),
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

/// A client and the tabs that follow it. Who watches something: 0 is the client itself.
struct World {
    harness: Harness,
    tabs: Vec<Tab>,
    gateway: Gateway,
    watched: Vec<(usize, ReactionId, Asked, Seen)>,
}

impl World {
    fn with(rows: i64, tabs: u64) -> World {
        let rows: Vec<(i64, &str, i64)> = (30..30 + rows).map(|id| (id, OWNERS[id as usize % 3], id % 5)).collect();
        // So small that the updates of tabs are cut.
        let mut harness = Harness::with(Limits { tab_part_bytes: 400, ..Limits::default() });
        harness.connect();
        let tabs = (1..=tabs).map(|id| Tab::new(id, harness.now)).collect();
        World { harness, tabs, gateway: Gateway::with(&rows), watched: Vec::new() }
    }

    fn take(&mut self, who: usize, step: Step) {
        let exists = |id: i64| self.gateway.rows.contains_key(&key(id));
        let writes = match step {
            Step::Create(id, owner, stars) if !exists(id) => create(id, OWNERS[owner], stars),
            Step::Owner(id, owner) if exists(id) => vec![put(id, "owner", OWNERS[owner])],
            Step::Stars(id, stars) if exists(id) => vec![put(id, "stars", Value::Int(stars))],
            Step::Vote(id) if exists(id) => vec![Write { cell: cell(id, "votes"), operation: Operation::Add(1) }],
            Step::Delete(id) if exists(id) => vec![delete(id)],
            Step::Create(..) | Step::Owner(..) | Step::Stars(..) | Step::Vote(_) | Step::Delete(_) => return,
            Step::Watch(asked) => return self.watch(who, asked),
            Step::WatchCell(id) => {
                self.react(who, move |tx| tx.cell(&cell(id, "owner")).map(drop).map_err(stopped));
                return;
            }
            Step::WatchRow(id) => {
                self.react(who, move |tx| tx.row(tasks(), &key(id)).map(drop).map_err(stopped));
                return;
            }
            Step::Stop(which) if !self.watched.is_empty() => {
                let (who, id, ..) = self.watched.remove(which % self.watched.len());
                match who {
                    0 => self.harness.client.stop(id),
                    tab => self.tabs[tab - 1].follower.stop(id),
                };
                return;
            }
            Step::Stop(_) => return,
            Step::Reopen if who > 0 => {
                return self.tabs[who - 1].input(self.harness.now, FollowerInput::LeaderChanged);
            }
            Step::Reopen => return self.reopen(),
        };
        self.gateway.commit(&mut self.harness, writes);
    }

    fn react(
        &mut self,
        who: usize,
        closure: impl Fn(&mut Transaction<'_>) -> Result<(), Stop> + 'static,
    ) -> ReactionId {
        match who {
            0 => self.harness.react(View::Confirmed, closure),
            tab => self.tabs[tab - 1].react(View::Confirmed, closure),
        }
    }

    fn watch(&mut self, who: usize, asked: Asked) {
        let Asked { query, direction, limit } = asked.clone();
        let seen = Seen::default();
        let log = seen.clone();
        let id = self.react(who, move |tx| {
            let rows = tx.query(&query, direction, limit)?;
            log.borrow_mut().push(rows.iter().map(|(key, _)| id_of(key)).collect());
            Ok(())
        });
        self.watched.push((who, id, asked, seen));
    }

    /// The app is closed and opened again, and the session resumed. Tabs join anew.
    fn reopen(&mut self) {
        let harness = std::mem::replace(&mut self.harness, Harness::new());
        self.harness = harness.reopened();
        iolite_machine::Machine::validate(&self.harness.client);
        self.harness.link();
        self.harness.welcome(1);
        self.gateway.subscribed = self.harness.take_subscribed(true).into_iter().collect();
        let to = self.harness.client.at();
        self.harness.advance(Advance { to, ..Advance::default() });
        for (_, _, asked, _) in self.watched.extract_if(.., |(who, ..)| *who == 0).collect::<Vec<_>>() {
            self.watch(0, asked);
        }
        for tab in &mut self.tabs {
            tab.input(self.harness.now, FollowerInput::LeaderChanged);
        }
    }

    fn settle(&mut self) {
        loop {
            exchange(&mut self.harness, &mut self.tabs);
            if self.gateway.answer(&mut self.harness).is_empty() {
                return;
            }
        }
    }

    fn check(&self) {
        for (who, _, asked, seen) in &self.watched {
            let all = answers(&self.gateway.rows, &asked.query).into_values().map(|key| id_of(&key));
            let all: Vec<i64> = match asked.direction {
                Direction::Ascending => all.collect(),
                Direction::Descending => all.rev().collect(),
            };
            let expected: Vec<i64> = all.into_iter().take(asked.limit.unwrap_or(usize::MAX)).collect();
            assert_eq!(last(seen), expected, "{asked:?} of {who}");
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
        let mut world = World::with(rows, 0);
        for step in steps {
            world.take(0, step);
            world.settle();
            world.check();
        }
    }

    #[test]
    fn every_screen_of_every_tab_shows_what_the_table_says(
        rows in prop_oneof![Just(0i64), Just(90)],
        // Not each step waits until all have heard of the one before.
        steps in prop::collection::vec((0usize..3, step(), any::<bool>()), 1..80),
    ) {
        let mut world = World::with(rows, 2);
        for (who, step, waits) in steps {
            world.take(who, step);
            if waits {
                world.settle();
                world.check();
            }
        }
        world.settle();
        world.check();
    }
}
