//! Two clients of one server count together. `cargo run -p iolite --example shared_counter`

use iolite::table::Counter;
use iolite::{Mutators, Options, Table, View, schema};

#[derive(Table)]
#[table(name = "counters", live)]
struct Shared {
    #[key]
    name: String,
    total: Counter,
}

fn options() -> Options {
    let increment = |tx: &mut iolite::Transaction<'_>, by: i64| tx.at(Shared::TOTAL, "visits").add(by);
    Options::new().mutators(Mutators::new().with("increment", increment))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = iolite::embedded().await?;
    let tables = schema().with::<Shared>().build()?;
    let (ada, bob) = (server.client(tables.clone(), options())?, server.client(tables, options())?);

    let mut seen = bob.react(View::Confirmed, |tx| tx.at(Shared::TOTAL, "visits").get());
    for by in 1..=3 {
        ada.mutate("increment", &by)?.confirmed().await?;
    }
    bob.mutate("increment", &4)?;
    println!("together they counted to {}", seen.wait_for(|total| *total == 10).await?);

    server.stop().await?;
    Ok(())
}
