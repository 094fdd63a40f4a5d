//! The rights of boards: an operator removes members and lets them in again.
//!
//! Who is a member at which moment is known from the commits that the operator is told of, and from nothing that gateways say about rights.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use iolite_catalog::Deployment;
use iolite_gateway::{Deploy, DeploymentId, Input, SessionId};
use iolite_machine::Machine;
use iolite_node::NodeInput;
use iolite_rights::{LogRules, Rights, TableRules, at, everybody, key, mine, user};
use iolite_values::{
    Attempt, Cell, ClientId, Counter, Decision, Id, LaneNumber, Operation, RowKey, Schema, TableId, Timestamp, Value,
    Write,
};
use iolite_wire::message::{FromClient, FromGateway, Hello, ProtocolVersion, Submit, Verdict};

use super::model::SCHEMA;
use super::world::{BOARDS, MEMBERS, World};

pub const OPERATOR: SessionId = SessionId(1_000_000);

/// The operator, with what it did and was told.
#[derive(Default)]
pub struct Operator {
    position: Timestamp,
    last: u64,
    /// Since when each member is in a board or out of it.
    changes: BTreeMap<(usize, i64), BTreeMap<Timestamp, bool>>,
    asked: BTreeMap<Counter, ((usize, i64), bool)>,
    /// How often a member was told that a board is closed.
    pub closed: u64,
}

impl Operator {
    /// Whether somebody is a member as of a moment.
    pub fn is_member(&self, place: usize, board: i64, at: Timestamp) -> bool {
        let own = self.changes.get(&(place, board));
        own.and_then(|own| own.range(..=at).next_back()).is_some_and(|(_, is_in)| *is_in)
    }

    /// The same of the moment just before.
    pub fn was_member(&self, place: usize, board: i64, at: Timestamp) -> bool {
        let own = self.changes.get(&(place, board));
        own.and_then(|own| own.range(..at).next_back()).is_some_and(|(_, is_in)| *is_in)
    }

    pub fn hear(&mut self, message: &FromGateway) {
        let FromGateway::Advance(advance) = message else { return };
        self.position = self.position.max(advance.to);
        for outcome in &advance.outcomes {
            let Some((whom, is_in)) = self.asked.remove(&outcome.counter) else { continue };
            match outcome.verdict {
                Verdict::Committed(at) => drop(self.changes.entry(whom).or_default().insert(at, is_in)),
                ref other => panic!("nobody else changes members: {other:?}"),
            }
        }
    }
}

pub fn token_of(place: usize) -> String {
    format!("token as {{\"sub\":\"{}\"}}", name_of(place))
}

fn name_of(place: usize) -> String {
    format!("m{place}")
}

fn rights() -> Rights {
    let boards = LogRules {
        join: Some(key().within(mine("members", "board", [("user", user("sub"))]))),
        run: Some(at("members", [key(), user("sub")]).exists()),
    };
    Rights::default().table("members", TableRules::default().read(everybody())).open("hits").log("board", boards)
}

impl World {
    /// Puts the rights into effect, and lets everybody in.
    pub(super) fn begin_to_operate(&mut self) {
        let schema = Schema::from_json(SCHEMA).expect("a good schema");
        let deployment = Deployment { schema: schema.clone(), rights: rights() };
        let deploy = Input::Deploy(DeploymentId(1), Box::new(Deploy { deployment, is_plan: false }));
        self.operator = Some(Operator::default());
        let hello = Hello {
            oldest_version: ProtocolVersion::OLDEST_SUPPORTED,
            newest_version: ProtocolVersion::CURRENT,
            token: "token".into(),
            client: ClientId(Id::from_u128(0x999)),
            schema: schema.hash(),
            resume: None,
            acknowledged: Counter::default(),
            centre_token: None,
            batch: Duration::ZERO,
        };
        let say = |message| Input::Message(OPERATOR, message);
        for input in [deploy, Input::SessionOpened(OPERATOR), say(FromClient::Hello(hello))] {
            self.node.handle(self.now, NodeInput::Gateway(input));
            self.run_node();
            (0..4).for_each(|_| self.pass(Duration::from_millis(500)));
        }
        self.admit_all();
        (0..4).for_each(|_| self.pass(Duration::from_millis(500)));
    }

    /// Lets everybody in who is not.
    pub(super) fn admit_all(&mut self) {
        if self.operator.is_none() {
            return;
        }
        // What was asked for comes first.
        (0..4).for_each(|_| self.pass(Duration::from_millis(500)));
        for (place, board) in (0..MEMBERS).flat_map(|place| (0..BOARDS).map(move |board| (place, board))) {
            let is_in = self.operator.as_ref().is_some_and(|own| own.is_member(place, board, Timestamp::MAX));
            if !is_in {
                self.change_member(place, board);
                self.run_node();
            }
        }
    }

    /// Removes a member of a board, or lets one in, unless that is under way.
    pub(super) fn change_member(&mut self, place: usize, board: i64) {
        let Some(operator) = &mut self.operator else { return };
        let under_way: BTreeSet<(usize, i64)> = operator.asked.values().map(|(whom, _)| *whom).collect();
        if under_way.contains(&(place, board)) {
            return;
        }
        let is_in = !operator.is_member(place, board, Timestamp::MAX);
        operator.last += 1;
        let counter = Counter(operator.last);
        operator.asked.insert(counter, ((place, board), is_in));
        let row = RowKey::new(&[Value::Int(board), Value::from(&*name_of(place))]).expect("short");
        let operation = if is_in { Operation::Create } else { Operation::Delete };
        let submit = Submit {
            counter,
            attempt: Attempt(1),
            snapshot: operator.position,
            reads: Vec::new(),
            decision: Decision::Commit(vec![Write { cell: Cell::row(TableId::of("members"), row), operation }]),
            acknowledged: None,
            lane: LaneNumber::STRONG,
            follows: None,
        };
        self.node.handle(self.now, NodeInput::Gateway(Input::Message(OPERATOR, FromClient::Submit(submit))));
    }
}
