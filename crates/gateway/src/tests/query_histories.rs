//! Random commits, subscriptions, connections and replies in any order: what clients make of what they are told is what the store holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_values::{Condition, Direction, Interest, Query, TableId, Test, Timestamp, Value, Write};
use iolite_wire::message::{First, FromClient, FromGateway, Subscribe, SubscriptionId};
use proptest::prelude::*;

use super::client_view::ClientView;
use super::queries::{create, delete, in_state, state, vote, with_votes_above};
use super::world::*;
use crate::{Input, SessionId};

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<Write>),
    Publish,
    /// The store answers one of its open requests.
    Answer(usize),
    Subscribe {
        client: u64,
        interest: usize,
        first: Option<First>,
    },
    Unsubscribe {
        client: u64,
        place: usize,
    },
    /// The connection breaks, and the client comes back with its resume token.
    Reconnect {
        client: u64,
    },
    /// Its socket takes nothing any more, or all of it.
    Block,
    Unblock,
    /// It commits something, and the feed is faster than the reply.
    Submit {
        client: u64,
        writes: Vec<Write>,
    },
}

const CLIENTS: u64 = 2;

fn interests() -> Vec<Interest> {
    let texts = Query {
        conditions: vec![Condition {
            field: schema().table(TABLE).expect("declared").field("text").expect("declared"),
            test: Test::NotEqual(Value::string("a")),
        }],
        ..Query::all(TableId::of(TABLE), true)
    };
    let some = Query { keys: iolite_values::KeyRange::all().from(&key(2)), ..in_state("a") };
    let both = Query { conditions: with_votes_above(1).conditions, ..in_state("b") };
    let queries =
        [in_state("a"), in_state("b"), with_votes_above(0), both, some, Query::all(TableId::of("tasks"), false), texts];
    let range = Interest::Range { table: TableId::of("tasks"), range: iolite_values::KeyRange::one(&key(1)) };
    queries.into_iter().map(|own| Interest::Query(Arc::new(own))).chain([range]).collect()
}

fn any_write() -> impl Strategy<Value = Vec<Write>> {
    let text = || prop_oneof![Just("a"), Just("b"), Just("c")];
    (0i64..4).prop_flat_map(move |row| {
        prop_oneof![
            3 => text().prop_map(move |own| vec![state(row, own)]),
            2 => (-1i64..3).prop_map(move |votes| vec![vote(row, votes)]),
            2 => (text(), 0i64..3).prop_map(move |(own, votes)| vec![create(row), state(row, own), vote(row, votes)]),
            1 => Just(vec![create(row)]),
            1 => Just(vec![delete(row)]),
            1 => text().prop_map(move |own| vec![put(row, own)]),
            1 => Just(vec![add(row, 1)]),
        ]
    })
}

fn any_writes() -> impl Strategy<Value = Vec<Write>> {
    proptest::collection::vec(any_write(), 1..3).prop_map(|all| all.concat())
}

fn any_first() -> impl Strategy<Value = Option<First>> {
    let direction = prop_oneof![Just(Direction::Ascending), Just(Direction::Descending)];
    proptest::option::of((0u32..3, direction).prop_map(|(rows, direction)| First { rows, direction }))
}

fn any_step() -> impl Strategy<Value = Step> {
    let client = || 1..=CLIENTS;
    let places = interests().len();
    prop_oneof![
        8 => any_writes().prop_map(Step::Commit),
        6 => Just(Step::Publish),
        9 => any::<usize>().prop_map(Step::Answer),
        4 => (client(), 0..places, any_first())
            .prop_map(|(client, interest, first)| Step::Subscribe { client, interest, first }),
        1 => (client(), any::<usize>()).prop_map(|(client, place)| Step::Unsubscribe { client, place }),
        1 => client().prop_map(|client| Step::Reconnect { client }),
        1 => Just(Step::Block),
        1 => Just(Step::Unblock),
        2 => (client(), any_writes()).prop_map(|(client, writes)| Step::Submit { client, writes }),
    ]
}

struct Stage {
    world: World,
    /// The session of each client, and what it holds.
    views: BTreeMap<u64, (u64, ClientView)>,
    next_session: u64,
    next_name: u32,
    next_counter: u64,
}

impl Stage {
    fn new() -> Stage {
        let mut world = World::new();
        world.knows_outcomes = false;
        world.gateway.settings.limits.undrained_bytes_max = 2000;
        world.gateway.settings.limits.catch_up_undrained_bytes = 200;
        world.gateway.settings.limits.load_buffer_bytes = 200;
        world.gateway.settings.limits.advance_part_bytes = 120;
        let mut stage = Stage { world, views: BTreeMap::new(), next_session: 1, next_name: 1, next_counter: 1 };
        for client in 1..=CLIENTS {
            stage.views.insert(client, (stage.next_session, ClientView::default()));
            stage.world.open(stage.next_session);
            stage.world.say(stage.next_session, FromClient::Hello(hello(client)));
            stage.next_session += 1;
        }
        stage.hear();
        stage
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Commit(writes) => drop(self.world.store.write(writes)),
            Step::Publish => self.world.publish(),
            Step::Answer(place) => {
                if let Some(place) = place.checked_rem(self.world.asked.len()) {
                    self.world.answer(place);
                }
            }
            Step::Subscribe { client, interest, first } => self.subscribe(client, interest, first),
            Step::Unsubscribe { client, place } => self.unsubscribe(client, place),
            Step::Reconnect { client } => self.reconnect(client),
            Step::Block => self.world.sockets_take = false,
            Step::Unblock => self.unblock(),
            Step::Submit { client, writes } => {
                let (session, _) = self.views[&client];
                self.world.say(session, submit(self.next_counter, writes));
                self.next_counter += 1;
            }
        }
        self.hear();
    }

    fn subscribe(&mut self, client: u64, interest: usize, first: Option<First>) {
        let (session, view) = self.views.get_mut(&client).expect("it has one");
        let (name, interest) = (self.next_name, interests()[interest].clone());
        self.next_name += 1;
        view.subscribe(name, interest.clone());
        let is_query = matches!(interest, Interest::Query(_));
        let first = first.filter(|_| is_query).into_iter().map(|own| (SubscriptionId(name), own)).collect();
        let interests = vec![(SubscriptionId(name), interest)];
        self.world.say(*session, FromClient::Subscribe(Subscribe { held: false, interests, first }));
    }

    fn unsubscribe(&mut self, client: u64, place: usize) {
        let (session, view) = self.views.get_mut(&client).expect("it has one");
        let names: Vec<u32> = view.interests.keys().map(|own| own.0).collect();
        let Some(place) = place.checked_rem(names.len()) else { return };
        view.unsubscribe(names[place]);
        self.world.say(*session, unsubscribe(&[names[place]]));
    }

    /// What was answered is held; what was not is asked for again, all of it.
    fn reconnect(&mut self, client: u64) {
        let (session, view) = self.views.get_mut(&client).expect("it has one");
        self.world.input(Input::SessionClosed(SessionId(*session)));
        *session = self.next_session;
        self.next_session += 1;
        view.drop_parts();
        let (held, others) = view.held();
        let session = *session;
        self.world.rejoin(session, client, view.to);
        self.world.say(session, subscribe(true, held));
        self.world.say(session, subscribe(false, others));
    }

    fn unblock(&mut self) {
        self.world.sockets_take = true;
        for (session, _) in self.views.values() {
            self.world.input(Input::Drained { session: SessionId(*session), messages: 10_000 });
        }
    }

    /// Clients take what was said, and hold what the store held then.
    fn hear(&mut self) {
        for said in self.world.take() {
            let Said::To(to, message) = said else { panic!("{said:?}") };
            let Some((_, view)) = self.views.values_mut().find(|(session, _)| *session == to) else { continue };
            match message {
                FromGateway::Advance(advance) => {
                    if view.take(advance) {
                        check(&self.world, view, view.to);
                    }
                }
                FromGateway::Welcome(_) | FromGateway::Pong(_) => {}
                FromGateway::SchemaWanted | FromGateway::Goodbye(_) => panic!("{message:?}"),
            }
        }
    }

    /// When nothing is open any more, everybody holds what the store holds.
    fn settle(&mut self) {
        self.unblock();
        for _ in 0..3 {
            self.world.publish();
            self.world.answer_all();
            self.hear();
        }
        assert_eq!(self.world.position(), self.world.store.resolved);
        for (_, view) in self.views.values() {
            assert!(view.interests.values().all(Option::is_some), "everything is answered");
            check(&self.world, view, self.world.position());
        }
    }
}

fn check(world: &World, view: &ClientView, at: Timestamp) {
    for interest in view.interests.values().flatten() {
        let rows = world.store.rows(interest, at).into_iter().map(|own| (own.key, own.row)).collect();
        assert_eq!(view.answers(interest), rows, "{interest:?} as of {at:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn clients_hold_what_the_store_holds(steps in proptest::collection::vec(any_step(), 0..60)) {
        let mut stage = Stage::new();
        for step in steps {
            stage.step(step);
        }
        stage.settle();
    }
}
