//! The 100 game: players add 1 to 10 in turn, and whoever brings the sum to 100 wins. `hundred-game URL[,URL...] TOKEN NAME [GAME]`

use iolite::table::{Counter, Set};
use iolite::{Client, MutationStatus, Mutators, Options, Result, Table, Transaction, View, abort, schema};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

#[derive(Table)]
#[table(live)]
struct Players {
    #[key]
    key: String,
    value: Set<String>,
}

#[derive(Table)]
#[table(live)]
struct Sum {
    #[key]
    key: String,
    value: Counter,
}

#[derive(Table)]
#[table(live)]
struct Turn {
    #[key]
    key: String,
    value: Counter,
}

#[derive(Serialize, Deserialize)]
struct Move {
    game: String,
    player: String,
    by: i64,
}

fn player_of(tx: &mut Transaction<'_>, game: &str) -> Result<Option<String>> {
    let turn = tx.at(Turn::VALUE, game).get()?;
    let players = tx.at(Players::VALUE, game).all()?;
    Ok(players.get(turn as usize % players.len().max(1)).cloned())
}

fn make_move(tx: &mut Transaction<'_>, Move { game, player, by }: Move) -> Result<()> {
    let sum = tx.at(Sum::VALUE, &game).get()?;
    if player_of(tx, &game)? != Some(player) || sum >= 100 || !(1..=10).contains(&by) {
        return Err(abort("not now, or not that much"));
    }
    tx.at(Sum::VALUE, &game).add(by)?;
    if sum + by < 100 { tx.at(Turn::VALUE, &game).add(1) } else { Ok(()) }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().unwrap_or_default();
    let (urls, token, me, game) = (next(), next(), next(), arguments.next().unwrap_or("first".into()));
    let tables = schema().with::<Players>().with::<Sum>().with::<Turn>().build()?;
    let options = Options::new().mutators(Mutators::new().with("move", make_move));
    let client = Client::connect_to_one_of(&urls.split(',').collect::<Vec<_>>(), &token, tables, options)?;

    client.online().await.map_err(|refused| anyhow::anyhow!("the server refuses: {refused:?}"))?;
    client.live(Players::VALUE, &game)?.insert(me.clone())?;
    let of = game.clone();
    let mut seen = client.react(View::Confirmed, move |tx| Ok((tx.at(Sum::VALUE, &of).get()?, player_of(tx, &of)?)));
    let (mut settled, mut lines) = (client.settled(), BufReader::new(stdin()).lines());
    loop {
        tokio::select! {
            state = seen.next() => {
                let (sum, player) = &*state?;
                println!("Sum: {sum}");
                match player {
                    Some(player) if *sum >= 100 => println!("{player} won!"),
                    Some(player) if *player == me => println!("Your turn:"),
                    _ => {}
                }
            }
            Some(ended) = settled.recv() => {
                if let MutationStatus::Rejected { reason } = ended.status {
                    println!("{reason}");
                }
            }
            line = lines.next_line() => {
                let Some(line) = line? else { break };
                let by = line.trim().parse().unwrap_or(0);
                client.mutate("move", &Move { game: game.clone(), player: me.clone(), by })?;
            }
        }
    }
    client.close().await;
    Ok(())
}
