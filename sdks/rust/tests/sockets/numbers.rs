//! Floats that are no numbers.

use iolite::live::LiveError;
use iolite::table::{List, Map, Register, Set};
use iolite::{Client, Embedded, MutationHandle, Options, Result, Table, Transaction, Value, View, schema};

#[derive(Table, Clone, Debug, Default, PartialEq)]
struct Measured {
    #[key]
    id: i64,
    size: f64,
    ratio: Option<f64>,
    mean: Register<f64>,
    peaks: Set<f64>,
    course: List<f64>,
    by_day: Map<f64>,
}

async fn with_one_row() -> (Embedded, Client) {
    let server = iolite::embedded().await.expect("a server");
    let client = server.client(schema().with::<Measured>().build().expect("valid"), Options::new()).expect("in memory");
    client.online().await.expect("let in");
    let row = Measured { id: 1, ratio: Some(0.5), ..Measured::default() };
    client.transact(move |tx| tx.create(&row)).await.expect("committed");
    (server, client)
}

#[tokio::test]
async fn nan_is_refused_wherever_a_closure_writes_a_float() {
    let (_server, client) = with_one_row().await;
    let new = || Measured { id: 2, ..Measured::default() };
    let rows = [
        Measured { size: f64::NAN, ..new() },
        Measured { ratio: Some(f64::NAN), ..new() },
        Measured { mean: Register(f64::NAN), ..new() },
        Measured { peaks: Set(vec![1.0, f64::NAN]), ..new() },
        Measured { course: List(vec![f64::NAN]), ..new() },
        Measured { by_day: Map([("monday".to_owned(), f64::NAN)].into()), ..new() },
    ];
    for row in rows {
        let shown = format!("{row:?}");
        let end = client.transact(move |tx| tx.create(&row)).await.expect_err(&shown);
        assert!(end.to_string().contains("NaN cannot be stored"), "{shown}: {end}");
    }
    let writes: [fn(&mut Transaction<'_>) -> Result<()>; 7] = [
        |tx| tx.at(Measured::SIZE, 1).set(f64::NAN),
        |tx| tx.at(Measured::RATIO, 1).set(Some(f64::NAN)),
        |tx| tx.at(Measured::MEAN, 1).set(f64::NAN),
        |tx| tx.at(Measured::PEAKS, 1).insert(f64::NAN),
        |tx| tx.at(Measured::COURSE, 1).push(f64::NAN),
        |tx| tx.at(Measured::BY_DAY, 1).put("monday", f64::NAN),
        |tx| tx.at(Measured::PEAKS, 1).contains(f64::NAN).map(drop),
    ];
    for (place, write) in writes.into_iter().enumerate() {
        let end = client.transact(write).await.expect_err("NaN is written");
        assert!(end.to_string().contains("NaN cannot be stored"), "{place}: {end}");
    }
    for unmade in [f64::NAN, -0.0] {
        let end = client.transact(move |tx| tx.set("measured", 1, "ratio", Value::Float(unmade))).await;
        let end = end.expect_err("it has no encoding").to_string();
        assert!(end.contains(&format!("asked to put: {unmade:?}, which has no encoding")), "{end}");
    }
    let rows = client.read(View::Confirmed, |tx| tx.all::<Measured>()).await.expect("it can be read");
    assert_eq!(*rows, [Measured { id: 1, ratio: Some(0.5), ..Measured::default() }]);
}

#[tokio::test]
async fn nan_is_refused_by_live_cells_at_the_call() {
    let (_server, client) = with_one_row().await;
    let row = client.live_row::<Measured>(1).expect("it fits");
    let written: [std::result::Result<MutationHandle, LiveError>; 7] = [
        row.column(Measured::SIZE).expect("it fits").set(f64::NAN),
        row.column(Measured::RATIO).expect("it fits").set(Some(f64::NAN)),
        row.column(Measured::MEAN).expect("it fits").set(f64::NAN),
        row.column(Measured::PEAKS).expect("it fits").remove(f64::NAN),
        row.column(Measured::COURSE).expect("it fits").set(0, f64::NAN),
        row.column(Measured::BY_DAY).expect("it fits").put("monday", f64::NAN),
        row.update([Measured::SIZE.to(1.0), Measured::RATIO.to(Some(f64::NAN))]),
    ];
    for (place, written) in written.into_iter().enumerate() {
        let error = written.map(|handle| handle.counter()).expect_err("NaN is written");
        assert!(error.to_string().contains("NaN cannot be stored"), "{place}: {error}");
    }
    assert_eq!(client.pending().len(), 0);
}

#[tokio::test]
async fn nan_is_refused_in_conditions_and_finds_no_empty_columns() {
    let (_server, client) = with_one_row().await;
    client.transact(|tx| tx.at(Measured::RATIO, 1).set(None)).await.expect("committed");
    let questions: [fn(&mut Transaction<'_>) -> Result<usize>; 3] = [
        |tx| tx.query::<Measured>().filter(Measured::RATIO.eq(f64::NAN)).count(),
        |tx| Ok(tx.query::<Measured>().filter(Measured::RATIO.one_of([0.5, f64::NAN])).all()?.len()),
        |tx| Ok(tx.query::<Measured>().filter(Measured::PEAKS.has(f64::NAN)).first()?.iter().count()),
    ];
    for (place, question) in questions.into_iter().enumerate() {
        let error = client.read(View::Confirmed, question).await.expect_err("NaN is compared with");
        assert!(error.to_string().contains("NaN cannot be stored"), "{place}: {error}");
    }
}
