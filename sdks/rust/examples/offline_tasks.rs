//! A to-do list that goes on without a connection, also after a restart. `cargo run -p iolite --example offline_tasks`

use iolite::table::Register;
use iolite::{Client, Embedded, Id, Mutators, Options, Table, View, abort, schema};

#[derive(Table, Debug)]
#[table(name = "tasks")]
struct Task {
    #[key]
    id: Id,
    title: Register<String>,
    done: bool,
}

fn open(server: &Embedded, folder: &std::path::Path) -> Result<Client, Box<dyn std::error::Error>> {
    let mutators = Mutators::new()
        .with("add", |tx, title: String| {
            let id = tx.new_id();
            tx.create(&Task { id, title: Register(title), done: false })
        })
        .with("finish", |tx, title: String| {
            let tasks = tx.all::<Task>()?;
            let task = tasks.iter().find(|task| task.title.0 == title).ok_or_else(|| abort("there is no such task"))?;
            tx.at(Task::DONE, task.id).set(true)
        });
    let tables = schema().with::<Task>().build()?;
    Ok(server.client(tables, Options::new().directory(folder).mutators(mutators))?)
}

async fn show(client: &Client, when: &str) -> Result<(), Box<dyn std::error::Error>> {
    let tasks = client.read(View::Optimistic, |tx| tx.all::<Task>()).await?;
    println!("{when}: {} pending", client.pending().len());
    for task in tasks.iter() {
        println!("  [{}] {}", if task.done { 'x' } else { ' ' }, task.title.0);
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = iolite::embedded().await?;
    let folder = std::env::temp_dir().join(format!("iolite-example-{}", std::process::id()));

    let client = open(&server, &folder)?;
    client.mutate("add", "water the plants")?.confirmed().await?;
    show(&client, "online").await?;

    client.go_offline();
    client.mutate("finish", "water the plants")?.durable().await?;
    client.mutate("add", "buy milk")?.durable().await?;
    client.close().await;

    let client = open(&server, &folder)?;
    client.go_offline();
    show(&client, "offline, after a restart").await?;

    client.go_online();
    while let Some(last) = client.pending().last().map(|pending| pending.counter) {
        if let Some(handle) = client.mutation(last) {
            handle.confirmed().await?;
        }
    }
    show(&client, "online again").await?;

    let missing = client.mutate("finish", "fly to the moon")?.confirmed().await;
    println!("{}", missing.err().map_or_else(String::new, |end| end.to_string()));
    client.close().await;
    server.stop().await?;
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
