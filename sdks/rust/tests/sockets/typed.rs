//! Tables as structs.

use std::collections::BTreeMap;

use iolite::table::{Counter, List, Map, Register, Set};
use iolite::{Id, Options, Table, schema};

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "everything")]
struct Everything {
    #[key]
    room: String,
    #[key]
    number: i64,
    done: bool,
    size: f64,
    bytes: Vec<u8>,
    owner: Option<Id>,
    title: Register<String>,
    votes: Counter,
    tags: Set<String>,
    #[column(order = "strict")]
    lines: List<String>,
    places: Map<i64>,
    #[column(default = 7)]
    rank: i64,
}

#[derive(Table, Debug, PartialEq)]
#[table(live)]
struct PageHits {
    #[key]
    page: String,
    total: Counter,
}

fn sample() -> Everything {
    Everything {
        room: "hall".into(),
        number: 3,
        done: true,
        size: 1.5,
        bytes: vec![1, 2],
        owner: None,
        title: Register("old".into()),
        votes: Counter(5),
        tags: Set(vec!["a".into(), "b".into()]),
        lines: List(vec!["first".into()]),
        places: Map(BTreeMap::from([("x".into(), 1)])),
        rank: 9,
    }
}

#[test]
fn a_struct_is_the_schema_that_its_json_says() {
    let json = r#"{"tables":{"page_hits":{"columns":{"page":{"type":"string"},"total":{"type":"counter"}},"consistency":"strong","isolation":"strict-serializable","key":["page"],"live":true,"offline":"queue"}}}"#;
    assert_eq!(schema().with::<PageHits>().build().expect("valid").to_json(), json);
    let all = schema().with::<Everything>().build().expect("valid").to_json();
    for part in [
        r#""key":["room","number"]"#,
        r#""rank":{"default":7,"type":"int"}"#,
        r#""owner":{"optional":true,"type":"id"}"#,
        r#""lines":{"of":"string","order":"strict","type":"list"}"#,
        r#""title":{"of":"string","type":"register"}"#,
    ] {
        assert!(all.contains(part), "{part} in {all}");
    }
}

#[tokio::test]
async fn rows_and_columns_read_back_as_they_were_written() {
    let server = iolite::embedded().await.expect("a server");
    let tables = schema().with::<Everything>().with::<PageHits>().build().expect("valid");
    let client = server.client(tables, Options::new()).expect("in memory");
    client.online().await.expect("let in");
    client.transact(|tx| tx.create(&sample())).await.expect("committed");
    let key = || ("hall", 3);
    let changed = client.transact(move |tx| {
        let before = tx.get::<Everything>(key())?;
        tx.at(Everything::VOTES, key()).add(2)?;
        tx.at(Everything::TITLE, key()).set("new")?;
        tx.at(Everything::TAGS, key()).remove("a")?;
        tx.at(Everything::LINES, key()).push("second")?;
        tx.at(Everything::PLACES, key()).put("y", 2)?;
        tx.at(Everything::OWNER, key()).set(Some(Id::from_u128(8)))?;
        let rank = tx.at(Everything::RANK, key()).get()?;
        tx.at(Everything::RANK, key()).set(rank + 1)?;
        tx.at(PageHits::TOTAL, "home").add(1)?;
        assert!(tx.at(Everything::TAGS, key()).contains("b")?);
        Ok((before, tx.all::<Everything>()?))
    });
    let (before, after) = changed.await.expect("committed");
    assert_eq!(before, Some(sample()));
    let expected = Everything {
        owner: Some(Id::from_u128(8)),
        title: Register("new".into()),
        votes: Counter(7),
        tags: Set(vec!["b".into()]),
        lines: List(vec!["first".into(), "second".into()]),
        places: Map(BTreeMap::from([("x".into(), 1), ("y".into(), 2)])),
        rank: 10,
        ..sample()
    };
    assert_eq!(after, [expected]);
    let hits = client.read(iolite::View::Confirmed, |tx| tx.get::<PageHits>("home")).await.expect("it can be read");
    assert_eq!(*hits, Some(PageHits { page: "home".into(), total: Counter(1) }));
}

#[derive(Table, Debug, PartialEq)]
struct Member {
    #[key]
    name: String,
    #[column(default = 7)]
    rank: i64,
    #[column(default = "guest")]
    role: Register<String>,
    email: Option<String>,
    #[column(default = "anonymous")]
    alias: Option<String>,
}

#[tokio::test]
async fn what_was_not_given_reads_as_its_default() {
    let server = iolite::embedded().await.expect("a server");
    let client = server.client(schema().with::<Member>().build().expect("valid"), Options::new()).expect("in memory");
    client.online().await.expect("let in");
    let read = client.transact(|tx| {
        tx.insert("member", "ada", [])?;
        let record = tx.row("member", "ada")?.expect("it was inserted");
        let columns = (tx.at(Member::RANK, "ada").get()?, tx.at(Member::ROLE, "ada").get()?);
        let ben = Member { name: "ben".into(), rank: 1, role: Register("host".into()), email: None, alias: None };
        tx.create(&ben)?;
        Ok((record.get::<i64>("rank")?, columns, tx.all::<Member>()?))
    });
    let (rank, columns, all) = read.await.expect("committed");
    assert_eq!((rank, columns), (7, (7, "guest".to_owned())));
    let ada = Member {
        name: "ada".into(),
        rank: 7,
        role: Register("guest".into()),
        email: None,
        alias: Some("anonymous".into()),
    };
    let ben = Member { name: "ben".into(), rank: 1, role: Register("host".into()), email: None, alias: None };
    assert_eq!(all, [ada, ben], "what a struct leaves empty is empty, and not its default");
    let asked = client.read(iolite::View::Confirmed, |tx| {
        let without = tx.query::<Member>().filter(Member::ALIAS.is_null()).all()?;
        Ok((without, tx.query::<Member>().filter(Member::ALIAS.is_some()).all()?))
    });
    let asked = asked.await.expect("it can be read");
    let names = |members: &[Member]| members.iter().map(|own| own.name.clone()).collect::<Vec<_>>();
    assert_eq!((names(&asked.0), names(&asked.1)), (vec!["ben".to_owned()], vec!["ada".to_owned()]));
}
