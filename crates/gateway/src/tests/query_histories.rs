//! Random commits, subscriptions, connections and replies in any order: what clients make of what they are told is what the store holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_store::Commit;
use iolite_values::{
    Author, CellState, ColumnId, Condition, Direction, Edit, Element, Insertion, Interest, KeyRange, Operation, Query,
    Read, TableId, Test, Text, Timestamp, Unit, UnitRange, Value, Write,
};
use iolite_wire::message::{First, FromClient, FromGateway, Submit, Subscribe, SubscriptionId};
use proptest::prelude::*;

use super::client_view::ClientView;
use super::fake_store::FakeStore;
use super::queries::{TASKS, create, delete, in_state, state, task, vote, with_votes_above};
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
    /// A client types into a task as of what it was told last, or somebody else into what the store has.
    Edit {
        client: Option<u64>,
        row: i64,
        place: usize,
        removes: bool,
    },
}

const CLIENTS: u64 = 2;
const ROWS: i64 = 4;
/// Who types where no client does.
const ELSEWHERE: Author = Author(9);

fn interests() -> Vec<Interest> {
    let texts = Query {
        conditions: vec![Condition {
            field: schema().table(TABLE).expect("declared").field("text").expect("declared"),
            test: Test::NotEqual(Value::string("a")),
        }],
        ..Query::all(TableId::of(TABLE), true)
    };
    let some = Query { keys: KeyRange::all().from(&key(2)), ..in_state("a") };
    let both = Query { conditions: with_votes_above(1).conditions, ..in_state("b") };
    let queries =
        [in_state("a"), in_state("b"), with_votes_above(0), both, some, Query::all(TableId::of("tasks"), false), texts];
    queries
        .into_iter()
        .map(|own| Interest::Query(Arc::new(own)))
        .chain([whole(1), Interest::Cell(state(2, "").cell)])
        .collect()
}

fn any_write() -> impl Strategy<Value = Vec<Write>> {
    let text = || prop_oneof![Just("a"), Just("b"), Just("c")];
    (0..ROWS).prop_flat_map(move |row| {
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
        6 => (proptest::option::of(client()), 0..ROWS, any::<usize>(), any::<bool>())
            .prop_map(|(client, row, place, removes)| Step::Edit { client, row, place, removes }),
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
            Step::Edit { client: Some(client), row, place, removes } => self.edit(client, row, place, removes),
            Step::Edit { client: None, row, place, removes } => {
                let store = &mut self.world.store;
                let text = body(store, row, Timestamp::MAX);
                store.write(vec![edit(row, &text, ELSEWHERE, place, removes)]);
            }
        }
        self.hear();
    }

    /// As clients do, it reads how much it has typed.
    fn edit(&mut self, client: u64, row: i64, place: usize, removes: bool) {
        let (session, view) = &self.views[&client];
        let author = Author(client);
        let write = edit(row, &body(&self.world.store, row, view.to), author, place, removes);
        let read = Read::Cell { cell: write.cell.clone(), element: Element::Author(author) };
        let (reads, snapshot) = (vec![read], view.to);
        let submit = Submit { reads, snapshot, ..blind(self.next_counter, vec![write]) };
        self.world.say(*session, FromClient::Submit(submit));
        self.next_counter += 1;
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
                FromGateway::SchemaWanted
                | FromGateway::Goodbye(_)
                | FromGateway::LogWanted(_)
                | FromGateway::LogDiffers(_)
                | FromGateway::Stored(_)
                | FromGateway::Renewed(_) => panic!("{message:?}"),
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
        for row in 0..ROWS {
            let text = body(&self.world.store, row, self.world.position());
            let units: u32 = authors().map(|author| text.count(author)).sum();
            assert_eq!(units, typed(&self.world.store.log, row), "nothing that was typed into task {row} is lost");
        }
    }
}

/// A task, for who knows its key.
fn whole(row: i64) -> Interest {
    Interest::Range { table: TableId::of(TASKS), range: KeyRange::one(&key(row)) }
}

fn body(store: &FakeStore, row: i64, at: Timestamp) -> Text {
    let task = store.rows(&whole(row), at).pop();
    match task.as_ref().and_then(|own| own.row.cell(ColumnId::of("body"))) {
        Some(CellState::Text(text)) => Text::clone(text),
        Some(_) | None => Text::default(),
    }
}

fn authors() -> impl Iterator<Item = Author> {
    (1..=CLIENTS).map(Author).chain([ELSEWHERE])
}

/// Types two units behind one of the text, or removes one.
fn edit(row: i64, text: &Text, author: Author, place: usize, removes: bool) -> Write {
    let units: Vec<Unit> =
        authors().flat_map(|own| (0..text.count(own)).map(move |number| Unit::new(own, number))).collect();
    let unit = place.checked_rem(units.len()).map(|place| units[place]);
    let edit = match unit.filter(|_| removes) {
        Some(unit) => Edit { inserted: None, removed: vec![UnitRange::one(unit)] },
        None => {
            let first = Unit::new(author, text.count(author));
            let inserted = Some(Insertion { first, left: unit, right: None, text: "ab".into() });
            Edit { inserted, removed: Vec::new() }
        }
    };
    task(row, "body", Operation::Edit(edit.into()))
}

/// How many units were typed into a task since it was last created or deleted.
fn typed(log: &[Commit], row: i64) -> u32 {
    let writes = log.iter().flat_map(|commit| commit.writes.iter());
    let of_task = writes.filter(|write| write.cell.row == key(row) && write.cell.table == TableId::of(TASKS));
    of_task.fold(0, |units, write| {
        if write.operation.is_of_life() {
            return 0;
        }
        let Operation::Edit(edit) = &write.operation else { return units };
        units + edit.inserted.as_ref().map_or(0, |own| own.text.len() as u32)
    })
}

fn check(world: &World, view: &ClientView, at: Timestamp) {
    for (name, interest) in &view.interests {
        let Some(interest) = interest else { continue };
        let rows = world.store.rows(interest, at).into_iter().map(|own| (own.key, own.row)).collect();
        assert_eq!(view.answers(*name, interest), rows, "{interest:?} as of {at:?}");
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
