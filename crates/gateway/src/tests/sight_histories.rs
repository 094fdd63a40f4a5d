//! Random memberships, notes, subscriptions, connections and replies in any order: as of each advance, users hold what the rule lets them see of what they
//! asked for, no more and no less, and nothing that they are told is of any other row.
//!
//! What may be seen is judged here by closures over whole rows, which share nothing with the gateway.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_values::{
    CellState, ColumnId, Direction, Interest, KeyRange, Query, Row, RowKey, TableId, Timestamp, Value, Write,
};
use iolite_wire::message::{Advance, First, FromClient, FromGateway, Hello, Resume, Subscribe, SubscriptionId};
use proptest::prelude::*;

use super::client_view::ClientView;
use super::fake_store::{FakeStore, STORE};
use super::rights::{delete, deploy, name, note, put_in, schema_of_rooms};
use super::sight::{all_notes, leaves, member, notes_of, rules};
use super::world::*;
use crate::{Broken, Input, SessionId};

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<Write>),
    Publish,
    Answer(usize),
    Subscribe { client: u64, interest: usize, first: Option<First> },
    Unsubscribe { client: u64, place: usize },
    Reconnect { client: u64 },
    Block,
    Unblock,
}

/// Users of the clients. The first one has two devices.
const USERS: [&str; 3] = ["ann", "bob", "ann"];
const NOTES: i64 = 4;

fn interests() -> Vec<Interest> {
    let one = Interest::Range { table: TableId::of("notes"), range: KeyRange::one(&name(&[1.into()])) };
    let cell = |column| Interest::Cell(put_in("notes", &[1.into()], column, "").cell);
    let ordered = Interest::Query(Arc::new(Query::all(TableId::of("notes"), false)));
    vec![all_notes(), notes_of(1), notes_of(2), ordered, one, cell("text"), cell("room")]
}

fn any_write() -> impl Strategy<Value = Vec<Write>> {
    let user = || prop::sample::select(USERS.to_vec());
    (0..NOTES, 1i64..3, user()).prop_flat_map(|(id, room, who)| {
        let key = [Value::Int(id)];
        prop_oneof![
            2 => Just(vec![member(room, who)]),
            2 => Just(vec![leaves(room, who)]),
            3 => Just(note(id, room, who)),
            2 => Just(vec![put_in("notes", &key, "room", room)]),
            3 => (0i64..9).prop_map(move |text| vec![put_in("notes", &[Value::Int(id)], "text", text.to_string())]),
            1 => Just(vec![delete("notes", &key)]),
        ]
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let client = || 1..=USERS.len() as u64;
    let direction = prop_oneof![Just(Direction::Ascending), Just(Direction::Descending)];
    let first = proptest::option::of((0u32..3, direction).prop_map(|(rows, direction)| First { rows, direction }));
    let writes = proptest::collection::vec(any_write(), 1..3).prop_map(|all| all.concat());
    prop_oneof![
        9 => writes.prop_map(Step::Commit),
        6 => Just(Step::Publish),
        9 => any::<usize>().prop_map(Step::Answer),
        4 => (client(), 0..interests().len(), first)
            .prop_map(|(client, interest, first)| Step::Subscribe { client, interest, first }),
        1 => (client(), any::<usize>()).prop_map(|(client, place)| Step::Unsubscribe { client, place }),
        1 => client().prop_map(|client| Step::Reconnect { client }),
        1 => Just(Step::Block),
        1 => Just(Step::Unblock),
    ]
}

struct Stage {
    world: World,
    views: BTreeMap<u64, (u64, ClientView)>,
    next_session: u64,
    next_name: u32,
}

impl Stage {
    fn new() -> Stage {
        let mut world = World::starting(Broken::Nothing);
        world.store_comes();
        world.answer_all();
        deploy(&mut world, &rules());
        world.gateway.settings.limits.undrained_bytes_max = 2000;
        world.gateway.settings.limits.catch_up_undrained_bytes = 200;
        world.gateway.settings.limits.load_buffer_bytes = 200;
        world.gateway.settings.limits.advance_part_bytes = 120;
        let mut stage = Stage { world, views: BTreeMap::new(), next_session: 1, next_name: 1 };
        for client in 1..=USERS.len() as u64 {
            stage.views.insert(client, (0, ClientView::default()));
            stage.open(client, false);
        }
        stage.hear();
        stage
    }

    /// `resume`: whether it holds what it was told before.
    fn open(&mut self, client: u64, resume: bool) -> u64 {
        let session = self.next_session;
        self.next_session += 1;
        let (own, view) = self.views.get_mut(&client).expect("known");
        *own = session;
        let resume = resume.then_some(Resume { store: STORE, at: view.to, rights: view.rights });
        let token = format!("{TOKEN} as {{\"sub\":\"{}\"}}", USERS[client as usize - 1]);
        self.world.open(session);
        let own = Hello { token, resume, schema: schema_of_rooms().hash(), ..hello(client) };
        self.world.say(session, FromClient::Hello(own));
        session
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
        }
        self.hear();
    }

    fn subscribe(&mut self, client: u64, interest: usize, first: Option<First>) {
        let (session, view) = self.views.get_mut(&client).expect("known");
        let (name, interest) = (self.next_name, interests()[interest].clone());
        self.next_name += 1;
        view.subscribe(name, interest.clone());
        let is_query = matches!(interest, Interest::Query(_));
        let first = first.filter(|_| is_query).into_iter().map(|own| (SubscriptionId(name), own)).collect();
        let interests = vec![(SubscriptionId(name), interest)];
        self.world.say(*session, FromClient::Subscribe(Subscribe { held: false, interests, first }));
    }

    fn unsubscribe(&mut self, client: u64, place: usize) {
        let (session, view) = self.views.get_mut(&client).expect("known");
        let names: Vec<u32> = view.interests.keys().map(|own| own.0).collect();
        let Some(place) = place.checked_rem(names.len()) else { return };
        view.unsubscribe(names[place]);
        self.world.say(*session, unsubscribe(&[names[place]]));
    }

    fn reconnect(&mut self, client: u64) {
        let (session, view) = self.views.get_mut(&client).expect("known");
        self.world.input(Input::SessionClosed(SessionId(*session)));
        view.drop_parts();
        let (held, others) = view.held();
        let session = self.open(client, true);
        self.world.say(session, subscribe(true, held));
        self.world.say(session, subscribe(false, others));
    }

    fn unblock(&mut self) {
        self.world.sockets_take = true;
        for (session, _) in self.views.values() {
            self.world.input(Input::Drained { session: SessionId(*session), messages: 10_000 });
        }
    }

    fn hear(&mut self) {
        for said in self.world.take() {
            let Said::To(to, message) = said else { panic!("{said:?}") };
            let found = self.views.iter_mut().find(|(_, (session, _))| *session == to);
            let Some((client, (_, view))) = found else { continue };
            let user = USERS[*client as usize - 1];
            match message {
                FromGateway::Advance(advance) => {
                    check_told(&self.world.store, user, &advance);
                    if view.take(advance) {
                        check_held(&self.world.store, user, view, view.to);
                    }
                }
                FromGateway::Welcome(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn settle(&mut self) {
        self.unblock();
        for _ in 0..3 {
            self.world.publish();
            self.world.answer_all();
            self.hear();
        }
        for (client, (_, view)) in &self.views {
            assert!(view.interests.values().all(Option::is_some), "everything is answered");
            check_held(&self.world.store, USERS[*client as usize - 1], view, self.world.position());
        }
    }
}

/// The notes that a user may see.
fn visible(store: &FakeStore, user: &str, at: Timestamp) -> BTreeMap<RowKey, Row> {
    let all = |table| store.rows(&Interest::Range { table: TableId::of(table), range: KeyRange::all() }, at);
    let members = all("members").into_iter().filter(|own| own.row.exists()).map(|own| own.key.values().expect("a key"));
    let rooms: BTreeSet<Value> =
        members.filter(|key| key[1] == Value::string(user)).map(|mut key| key.swap_remove(0)).collect();
    let of_room = |row: &Row| match row.cell(ColumnId::of("room")) {
        Some(CellState::Scalar(room)) => rooms.contains(room),
        Some(_) | None => false,
    };
    all("notes").into_iter().filter(|own| own.row.exists() && of_room(&own.row)).map(|own| (own.key, own.row)).collect()
}

fn check_told(store: &FakeStore, user: &str, advance: &Advance) {
    let visible = visible(store, user, advance.to);
    let rows = advance.snapshots.iter().flat_map(|own| &own.rows).chain(&advance.entered).map(|own| &own.key);
    for key in advance.changes.iter().map(|own| &own.cell.row).chain(rows) {
        assert!(visible.contains_key(key), "{user} is told of note {key:?} as of {:?}", advance.to);
    }
}

fn check_held(store: &FakeStore, user: &str, view: &ClientView, at: Timestamp) {
    let visible = visible(store, user, at);
    for (name, interest) in &view.interests {
        let Some(interest) = interest else { continue };
        let asked = visible.iter().filter_map(|(key, row)| match interest {
            Interest::Cell(cell) => (cell.row == *key).then(|| (key.clone(), row.with_only(cell.column))),
            Interest::Range { range, .. } => range.contains(key).then(|| (key.clone(), row.clone())),
            Interest::Query(query) => query.selects(key, row).then(|| (key.clone(), row.clone())),
        });
        assert_eq!(view.answers(*name, interest), asked.collect(), "{user}: {interest:?} as of {at:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn users_hold_what_they_may_see(steps in proptest::collection::vec(any_step(), 0..60)) {
        let mut stage = Stage::new();
        for step in steps {
            stage.step(step);
        }
        stage.settle();
    }
}
