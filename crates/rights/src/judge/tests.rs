//! The rules of a chat, judged.

use std::borrow::Cow;
use std::collections::BTreeMap;

use iolite_values::{Cell, CellState, ColumnId, Effect, Element, Lives, Mark, Operation, Stamp, Value};

use super::*;
use crate::{
    Allowed, Change, Claim, LogRules, TableRules, after, at, flag, key, mine, old, operation, ops, row, user, value,
};

struct Known(BTreeMap<RowName, Row>);

impl Rows for Known {
    fn row(&self, row: &RowName) -> Option<Cow<'_, Row>> {
        Some(self.0.get(row).map_or_else(Cow::default, Cow::Borrowed))
    }

    fn answers(&self, query: &Query) -> Option<Vec<(RowKey, Cow<'_, Row>)>> {
        let own = self.0.iter().filter(|(name, row)| name.table == query.table && query.selects(&name.key, row));
        Some(own.map(|(name, row)| (name.key.clone(), Cow::Borrowed(row))).collect())
    }
}

fn schema() -> Schema {
    let json = r#"{"tables":{
        "rooms":{"key":["id"],"columns":{"id":{"type":"string"},"owner":{"type":"string"}}},
        "members":{"key":["user","room"],"columns":{"room":{"type":"string"},"user":{"type":"string"}}},
        "messages":{"key":["id"],"columns":{"id":{"type":"int"},"room":{"type":"string"},"author":{"type":"string"},
            "text":{"type":"register","of":"string"},"likes":{"type":"counter"},"tags":{"type":"set","of":"string"}}},
        "live":{"key":["id"],"live":true,"columns":{"id":{"type":"string"},"n":{"type":"counter"}}},
        "walls":{"key":["id"],"consistency":"causal","columns":{"id":{"type":"string"},"owner":{"type":"register","of":"string","optional":true}}}}}"#;
    Schema::from_json(json).expect("a good schema")
}

fn rights() -> Rights {
    let member = |room| at("members", [user("sub"), room]);
    let messages = TableRules::default()
        .read(row("room").within(mine("members", "room", [("user", user("sub"))])))
        .create(row("author").is(user("sub")).and(member(row("room")).exists()))
        .update(
            member(old("room")).exists().and(
                ops([("likes", vec![Allowed::add(1, 1)])])
                    .or(old("author").is(user("sub")).and(ops([("text", vec![Allowed::all(Change::Any)])]))),
            ),
        )
        .delete(old("author").is(user("sub")))
        .check(row("likes").at_least(value(0)));
    let rooms = TableRules::default()
        .create(row("owner").is(user("sub")).and(after("members", [user("sub"), row("id")]).exists()));
    let members = TableRules::default().create(after("rooms", [row("room")]).column("owner").is(user("sub")));
    let walls = TableRules::default().create(row("owner").is(user("sub"))).update(old("owner").is(user("sub")));
    let run = member(key()).exists().and(operation().is(value("setCell")));
    let rights = Rights::default().table("messages", messages).table("rooms", rooms).table("members", members);
    let rights = rights.table("live", TableRules::default().update(flag("staff")).check(row("n").at_least(value(0))));
    rights.table("walls", walls).log("sheet", LogRules { join: None, run: Some(run) })
}

fn name(table: &str, key: &[Value]) -> RowName {
    RowName { table: TableId::of(table), key: RowKey::new(key).expect("short") }
}

fn cell(row: &RowName, column: &str) -> Cell {
    Cell { table: row.table, row: row.key.clone(), column: ColumnId::of(column) }
}

fn whole(row: &RowName, column: &str) -> Read {
    Read::Cell { cell: cell(row, column), element: Element::Whole }
}

fn life(row: &RowName) -> Read {
    Read::Cell { cell: Cell::row(row.table, row.key.clone()), element: Element::Whole }
}

fn write(row: &RowName, column: &str, operation: Operation) -> Write {
    Write { cell: cell(row, column), operation }
}

fn of_life(row: &RowName, operation: Operation) -> Write {
    Write { cell: Cell::row(row.table, row.key.clone()), operation }
}

fn put(row: &RowName, column: &str, text: &str) -> Write {
    write(row, column, Operation::Put(Value::from(text)))
}

fn message() -> RowName {
    name("messages", &[Value::Int(1)])
}

fn member(who: &str) -> RowName {
    name("members", &[Value::from(who), Value::from("r")])
}

/// Ann is a member of the room, and has written in it.
fn known() -> Known {
    let text = |own: &str| CellState::Scalar(Value::from(own));
    let cells = [(ColumnId::of("room"), text("r")), (ColumnId::of("author"), text("ann"))];
    Known([(message(), Row::from_parts(true, cells)), (member("ann"), Row::from_parts(true, []))].into())
}

fn judged_in(known: &Known, who: &str, writes: &[Write]) -> Judgement {
    let (rights, schema) = (rights(), schema());
    let claims = Claims::new(who, [("staff".to_owned(), Claim::Flag(who == "ann"))]);
    Judge { rights: &rights, schema: &schema, claims: &claims, now_ms: 0, rows: known }.transaction(writes)
}

fn judged(who: &str, writes: &[Write]) -> Judgement {
    judged_in(&known(), who, writes)
}

fn why(judgement: Judgement) -> Why {
    let Judgement::Denied(denial) = judgement else { panic!("not denied: {judgement:?}") };
    denial.why
}

fn new_message(author: &str) -> Vec<Write> {
    let row = name("messages", &[Value::Int(2)]);
    vec![of_life(&row, Operation::Create), put(&row, "room", "r"), put(&row, "author", author)]
}

#[test]
fn a_creation_rests_on_its_own_row_and_on_the_membership_alone() {
    let reads = [life(&name("messages", &[Value::Int(2)])), life(&member("ann"))];
    assert_eq!(judged("ann", &new_message("ann")), Judgement::Allowed(reads.into()));
    assert_eq!(why(judged("ann", &new_message("bob"))), Why::Rule(Right::Create));
    let Judgement::Denied(denial) = judged("bob", &new_message("bob")) else { panic!("bob is no member") };
    assert_eq!((denial.why, denial.reads), (Why::Rule(Right::Create), [life(&member("bob"))].into()));
    assert_eq!(denial_text("bob"), r#"table "messages": the rule "create" does not let this user"#);
}

fn denial_text(who: &str) -> String {
    let Judgement::Denied(denial) = judged(who, &new_message(who)) else { panic!("denied") };
    denial.to_string()
}

#[test]
fn additions_are_judged_by_their_sum_and_other_columns_not_at_all() {
    let like = |amount| write(&message(), "likes", Operation::Add(amount));
    let Judgement::Allowed(reads) = judged("ann", &[like(1)]) else { panic!("one like is allowed") };
    let wanted = [life(&message()), whole(&message(), "room"), life(&member("ann")), whole(&message(), "likes")];
    assert_eq!(reads, wanted.into(), "the check reads the counter");
    for writes in [
        vec![like(1), like(1)],
        vec![like(i64::MAX), like(i64::MAX), like(3)],
        vec![like(1), put(&message(), "author", "ann")],
    ] {
        assert_eq!(why(judged("ann", &writes)), Why::Rule(Right::Update), "{writes:?}");
    }
}

#[test]
fn a_check_holds_for_everybody() {
    let row = name("live", &[Value::from("x")]);
    let add = |amount| [write(&row, "n", Operation::Add(amount))];
    assert_eq!(judged("ann", &add(1)), Judgement::Allowed([whole(&row, "n")].into()));
    assert_eq!(why(judged("ann", &add(-1))), Why::Rule(Right::Check));
    let total = [write(&row, "n", Operation::PutTotal(3))];
    assert_eq!(judged("ann", &total), Judgement::Allowed([].into()), "a total that is put needs no read");
    let (rights, schema, known, claims) = (rights(), schema(), known(), Claims::new("root", []));
    let judge = Judge { rights: &rights, schema: &schema, claims: &claims, now_ms: 0, rows: &known };
    assert_eq!(why(judge.checks(&add(-1))), Why::Rule(Right::Check));
    assert!(matches!(judge.checks(&add(1)), Judgement::Allowed(_)));
}

#[test]
fn after_sees_what_the_transaction_writes_elsewhere() {
    let room = name("rooms", &[Value::from("new")]);
    let own = name("members", &[Value::from("ann"), Value::from("new")]);
    let both = [of_life(&room, Operation::Create), put(&room, "owner", "ann"), of_life(&own, Operation::Create)];
    assert_eq!(judged("ann", &both), Judgement::Allowed([life(&room), life(&own)].into()), "and rests on nothing else");
    assert_eq!(why(judged("ann", &both[..2])), Why::Rule(Right::Create));
    assert_eq!(why(judged("ann", &both[2..])), Why::Rule(Right::Create));
}

#[test]
fn a_creation_where_a_row_is_takes_nothing_over() {
    let row = message();
    let create = [of_life(&row, Operation::Create), put(&row, "room", "r"), put(&row, "author", "ann")];
    assert_eq!(why(judged("ann", &create)), Why::Taken);
    let replace = [&[of_life(&row, Operation::Delete)], &create[..]].concat();
    assert!(matches!(judged("ann", &replace), Judgement::Allowed(_)));
    let mut both = known();
    both.0.insert(member("bob"), Row::from_parts(true, []));
    let by_bob = [&replace[..2], &[put(&row, "room", "r"), put(&row, "author", "bob")]].concat();
    assert_eq!(why(judged_in(&both, "bob", &by_bob)), Why::Rule(Right::Delete));
    let gone = name("messages", &[Value::Int(9)]);
    assert_eq!(why(judged("ann", &[write(&gone, "likes", Operation::Add(1))])), Why::Missing);
    let lives = name("live", &[Value::from("x")]);
    assert_eq!(why(judged("bob", &[write(&lives, "n", Operation::Add(1))])), Why::Rule(Right::Update));
}

#[test]
fn what_has_no_rule_is_denied() {
    let room = name("rooms", &[Value::from("r")]);
    let known = Known([(room.clone(), Row::from_parts(true, []))].into());
    assert_eq!(why(judged_in(&known, "ann", &[put(&room, "owner", "ann")])), Why::NoRule(Right::Update));
    let unknown = name("_access", &[Value::from("r")]);
    assert_eq!(why(judged("ann", &[of_life(&unknown, Operation::Create)])), Why::NoTable);
}

#[test]
fn an_insertion_that_merges_with_a_row_changes_it_too() {
    let row = name("walls", &[Value::from("w")]);
    let merge = |effect: Effect| Operation::Merge(effect.into());
    let assign = |who: &str| {
        let stamp = Stamp { time: Default::default(), mark: Mark(7) };
        write(&row, "owner", merge(Effect::Assign { stamp, value: Value::from(who) }))
    };
    let insert = |who| [of_life(&row, merge(Lives::insertion(Mark(5)))), assign(who)];
    assert_eq!(judged("ann", &insert("ann")), Judgement::Allowed([life(&row), whole(&row, "owner")].into()));
    let mut bobs = Row::default();
    insert("bob").iter().for_each(|write| bobs.apply(write.cell.column, &write.operation).expect("its type"));
    let known = Known([(row.clone(), bobs.clone())].into());
    let over = [of_life(&row, merge(Lives::insertion(Mark(9)))), assign("ann")];
    assert_eq!(why(judged_in(&known, "ann", &over)), Why::Rule(Right::Create), "the higher stamp stands");
    assert!(matches!(judged_in(&known, "bob", &[assign("bob")]), Judgement::Allowed(_)));
    // A deletion hides the row; an update beside it is judged by the row that it shows again.
    let bury = bobs.lives().expect("it merges").deletion();
    bobs.apply(ColumnId::ROW, &merge(bury)).expect("its type");
    let hidden = Known([(row.clone(), bobs)].into());
    assert!(matches!(judged_in(&hidden, "bob", &[assign("bob")]), Judgement::Allowed(_)));
    assert_eq!(why(judged_in(&hidden, "ann", &[assign("ann")])), Why::Rule(Right::Update));
}

#[test]
fn a_log_is_judged_by_its_key_and_operation() {
    let (rights, schema, known) = (rights(), schema(), known());
    let log = LogId::new("sheet", &Value::from("r")).expect("short");
    let asked = |who: &str, operation: Option<&str>| {
        let claims = Claims::new(who, []);
        Judge { rights: &rights, schema: &schema, claims: &claims, now_ms: 0, rows: &known }.log(&log, operation)
    };
    assert_eq!(asked("ann", Some("setCell")), Judgement::Allowed([life(&member("ann"))].into()));
    assert_eq!(why(asked("ann", Some("clear"))), Why::Rule(Right::Run));
    assert_eq!(why(asked("bob", Some("setCell"))), Why::Rule(Right::Run));
    assert_eq!(why(asked("ann", None)), Why::NoRule(Right::Join));
}

#[test]
fn a_set_rests_on_one_row_or_on_there_being_none() {
    let (rights, schema, known) = (rights(), schema(), known());
    let asked = |who: &str| {
        let claims = Claims::new(who, []);
        Judge { rights: &rights, schema: &schema, claims: &claims, now_ms: 0, rows: &known }.read(&message())
    };
    let room = whole(&message(), "room");
    assert_eq!(asked("ann"), Judgement::Allowed([room.clone(), life(&member("ann"))].into()));
    let Judgement::Denied(denial) = asked("bob") else { panic!("bob is no member") };
    assert!(denial.reads.contains(&room));
    let Some(Read::Query(query)) = denial.reads.last() else { panic!("no query: {denial:?}") };
    let has = |who: &str, room: &str| {
        query.selects(&name("members", &[Value::from(who), Value::from(room)]).key, &Row::from_parts(true, []))
    };
    assert!(has("bob", "r") && !has("bob", "q") && !has("ann", "r"));
}

#[test]
fn a_rule_is_explained_as_a_tree() {
    let (rights, schema, known, claims) = (rights(), schema(), known(), Claims::new("bob", []));
    let judge = Judge { rights: &rights, schema: &schema, claims: &claims, now_ms: 0, rows: &known };
    let explained = judge.explain(&new_message("bob"));
    let (table, right, rule) = &explained[0];
    assert_eq!((table.as_str(), *right, rule.holds), ("messages", Right::Create, Some(false)));
    assert_eq!(rule.rule, "(row.author = user.sub and at.members(user.sub, row.room) exists)");
    let parts: Vec<_> = rule.parts.iter().map(|part| (part.holds, part.reads.clone())).collect();
    assert_eq!(parts, [(Some(true), vec![]), (Some(false), vec![life(&member("bob"))])]);
    assert_eq!(rule.parts[0].values[1], ("user.sub".to_owned(), Some(Value::from("bob"))));
    assert!(judge.explain_read(&message()).is_some_and(|read| read.holds == Some(false)));
}
