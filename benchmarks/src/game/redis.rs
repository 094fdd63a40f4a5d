//! The game in Redis, with storage and notifications by hand, as `examples/hundred-game/redis` has it, but faster: reads go with WATCH in one
//! piece, and news carry the new state, so that nobody has to ask for it. That is the paper's manual version of data push.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use iolite_host::monotonic_nanos;

use super::check::{Found, GOAL};
use super::play::{Seat, Seen, Settled};
use crate::accounting::Traffic;
use crate::redis::{Connection, Reply};

/// How a move is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Keys are watched and read, and written if none of them has changed: two round trips.
    Watched,
    /// The server runs all of it: one round trip.
    Script,
}

pub struct RedisSeat {
    at: SocketAddr,
    me: String,
    moves: Moves,
    /// What the server calls the script.
    script: String,
    moving: Connection,
    /// Of the game that was joined last.
    listening: Option<Connection>,
    keys: Keys,
    /// What was read when the game was joined.
    first: Option<Seen>,
    traffic: Arc<Traffic>,
    settled: Settled,
}

/// Of one game.
#[derive(Default)]
struct Keys {
    players: String,
    sum: String,
    turn: String,
    channel: String,
}

const WAIT: &[&[u8]] = &[b"WAIT", b"1", b"5000"];

/// KEYS: players, sum, turn, the channel. ARGV: who, the goal. Answers 1 if it was in turn.
const SCRIPT: &str = "
local players = redis.call('SMEMBERS', KEYS[1])
table.sort(players)
local sum, turn = tonumber(redis.call('GET', KEYS[2]) or 0), tonumber(redis.call('GET', KEYS[3]) or 0)
if players[turn % #players + 1] ~= ARGV[1] or sum >= tonumber(ARGV[2]) then return 0 end
sum = redis.call('INCR', KEYS[2])
if sum < tonumber(ARGV[2]) then turn = redis.call('INCR', KEYS[3]) end
redis.call('PUBLISH', KEYS[4], sum .. ' ' .. turn .. ' ' .. table.concat(players, ' '))
return 1";

impl RedisSeat {
    pub async fn connect(at: SocketAddr, me: &str, moves: Moves) -> anyhow::Result<RedisSeat> {
        let traffic = Arc::new(Traffic::default());
        let mut moving = Connection::open(at, traffic.clone()).await?;
        let script = load_script(&mut moving).await?;
        let (me, keys, settled) = (me.to_owned(), Keys::default(), Settled::default());
        Ok(RedisSeat { at, me, moves, script, moving, listening: None, keys, first: None, traffic, settled })
    }

    /// Whether it was made; what was watched may have changed.
    async fn try_watched(&mut self) -> anyhow::Result<bool> {
        let Keys { players, sum, turn, channel } = &self.keys;
        self.moving.write(&[b"WATCH", players.as_bytes(), sum.as_bytes(), turn.as_bytes()]).await?;
        ask(&mut self.moving, &self.keys).await?;
        expect(self.moving.receive().await?, &Reply::Simple("OK".into()))?;
        let state = State::receive(&mut self.moving).await?;
        ensure!(state.player() == Some(&self.me) && state.sum < GOAL, "a move is called in turn");
        let next = State { sum: state.sum + 1, turn: state.turn + i64::from(state.sum + 1 < GOAL), ..state };
        self.moving.write(&[b"MULTI"]).await?;
        self.moving.write(&[b"INCR", sum.as_bytes()]).await?;
        if next.turn > state.turn {
            self.moving.write(&[b"INCR", turn.as_bytes()]).await?;
        }
        self.moving.write(&[b"PUBLISH", channel.as_bytes(), next.news().as_bytes()]).await?;
        self.moving.send(&[&[b"EXEC"], WAIT]).await?;
        expect(self.moving.receive().await?, &Reply::Simple("OK".into()))?;
        for _ in 0..2 + usize::from(next.turn > state.turn) {
            expect(self.moving.receive().await?, &Reply::Simple("QUEUED".into()))?;
        }
        let made = match self.moving.receive().await? {
            Reply::Array(done) => done.is_some(),
            other => bail!("EXEC was answered by {other:?}"),
        };
        self.replicated(made).await?;
        Ok(made)
    }

    async fn try_script(&mut self) -> anyhow::Result<bool> {
        let Keys { players, sum, turn, channel } = &self.keys;
        let keys = [players, sum, turn, channel].map(|key| key.as_bytes());
        let goal = GOAL.to_string();
        let words =
            [&[b"EVALSHA", self.script.as_bytes(), b"4"][..], &keys, &[self.me.as_bytes(), goal.as_bytes()]].concat();
        self.moving.send(&[&words, WAIT]).await?;
        let made = match self.moving.receive().await? {
            Reply::Integer(made) => made == 1,
            other => bail!("the script was answered by {other:?}"),
        };
        self.replicated(made).await?;
        Ok(made)
    }

    async fn replicated(&mut self, made: bool) -> anyhow::Result<()> {
        let Reply::Integer(replicas) = self.moving.receive().await? else { bail!("WAIT has no count") };
        self.settled.unknown += u64::from(made && replicas == 0);
        Ok(())
    }
}

impl Seat for RedisSeat {
    async fn join(&mut self, game: u32) -> anyhow::Result<()> {
        self.keys = Keys::of(game);
        let mut listening = Connection::open(self.at, self.traffic.clone()).await?;
        listening.send(&[&[b"SUBSCRIBE", self.keys.channel.as_bytes()]]).await?;
        let Reply::Array(Some(_)) = listening.receive().await? else { bail!("it cannot listen") };
        self.listening = Some(listening);
        self.moving.send(&[&[b"SADD", self.keys.players.as_bytes(), self.me.as_bytes()]]).await?;
        let Reply::Integer(_) = self.moving.receive().await? else { bail!("it cannot join") };
        let state = State::read(&mut self.moving, &self.keys).await?;
        // The others have not seen who is here now.
        self.moving.send(&[&[b"PUBLISH", self.keys.channel.as_bytes(), b""]]).await?;
        let Reply::Integer(_) = self.moving.receive().await? else { bail!("it cannot tell that it joined") };
        self.first = Some(state.seen());
        Ok(())
    }

    async fn see(&mut self) -> anyhow::Result<Seen> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        let listening = self.listening.as_mut().context("a player joins before it looks")?;
        match listening.receive().await? {
            Reply::Array(Some(news)) => match news.as_slice() {
                [_, _, Reply::Bulk(Some(news))] if news.is_empty() => {
                    Ok(State::read(&mut self.moving, &self.keys).await?.seen())
                }
                [_, _, Reply::Bulk(Some(news))] => Ok(State::of_news(news)?.seen()),
                other => bail!("news are {other:?}"),
            },
            other => bail!("news are {other:?}"),
        }
    }

    async fn make_move(&mut self) -> anyhow::Result<()> {
        let called = monotonic_nanos();
        loop {
            let made = match self.moves {
                Moves::Watched => self.try_watched().await?,
                Moves::Script => self.try_script().await?,
            };
            if made {
                break;
            }
            self.settled.repeated += 1;
        }
        self.settled.commits.record(monotonic_nanos() - called);
        Ok(())
    }

    async fn settle(&mut self) -> anyhow::Result<Settled> {
        Ok(std::mem::take(&mut self.settled))
    }

    fn traffic(&self) -> (u64, u64) {
        let counts = self.traffic.counts();
        (counts.bytes_up, counts.bytes_down)
    }
}

/// What is kept of each game.
pub async fn games(connection: &mut Connection, games: usize) -> anyhow::Result<Vec<Found>> {
    let mut found = Vec::new();
    for game in 0..games {
        let state = State::read(connection, &Keys::of(game as u32)).await?;
        found.push(Found { sum: state.sum, turn: state.turn, players: state.players.len() });
    }
    Ok(found)
}

impl Keys {
    fn of(game: u32) -> Keys {
        let key = |name: &str| format!("game-{game}:{name}");
        Keys { players: key("players"), sum: key("sum"), turn: key("turn"), channel: key("moves") }
    }
}

/// A game, as it is read and told.
#[derive(Debug, PartialEq, Eq)]
struct State {
    sum: i64,
    turn: i64,
    players: Vec<String>,
}

impl State {
    async fn read(connection: &mut Connection, keys: &Keys) -> anyhow::Result<State> {
        ask(connection, keys).await?;
        State::receive(connection).await
    }

    async fn receive(connection: &mut Connection) -> anyhow::Result<State> {
        expect(connection.receive().await?, &Reply::Simple("OK".into()))?;
        for _ in 0..3 {
            expect(connection.receive().await?, &Reply::Simple("QUEUED".into()))?;
        }
        let Reply::Array(Some(parts)) = connection.receive_nested().await? else { bail!("nothing was read") };
        let [Reply::Array(Some(members)), sum, turn] = parts.as_slice() else { bail!("{parts:?} is no game") };
        let mut players = members.iter().map(text).collect::<anyhow::Result<Vec<_>>>()?;
        players.sort();
        Ok(State { sum: number(sum)?, turn: number(turn)?, players })
    }

    /// As [`State::news`] tells it.
    fn of_news(news: &[u8]) -> anyhow::Result<State> {
        let news = std::str::from_utf8(news)?;
        let mut words = news.split(' ');
        let mut number =
            || words.next().and_then(|word| word.parse().ok()).with_context(|| format!("news are {news:?}"));
        let (sum, turn) = (number()?, number()?);
        Ok(State { sum, turn, players: words.map(str::to_owned).collect() })
    }

    fn news(&self) -> String {
        format!("{} {} {}", self.sum, self.turn, self.players.join(" "))
    }

    fn player(&self) -> Option<&String> {
        self.players.get(self.turn as usize % self.players.len().max(1))
    }

    fn seen(&self) -> Seen {
        Seen { sum: self.sum, player: self.player().cloned(), players: self.players.len() }
    }
}

/// Sends what waits, and asks for a game's state, of one moment.
async fn ask(connection: &mut Connection, Keys { players, sum, turn, .. }: &Keys) -> std::io::Result<()> {
    let read = [&[b"SMEMBERS", players.as_bytes()][..], &[b"GET", sum.as_bytes()], &[b"GET", turn.as_bytes()]];
    connection.send(&[&[&b"MULTI"[..]][..], read[0], read[1], read[2], &[b"EXEC"]]).await
}

/// Gives the script to the server, so that no move has to carry it, and returns what it is called there.
async fn load_script(connection: &mut Connection) -> anyhow::Result<String> {
    connection.send(&[&[b"SCRIPT", b"LOAD", SCRIPT.as_bytes()]]).await?;
    text(&connection.receive().await?)
}

fn expect(reply: Reply, wanted: &Reply) -> anyhow::Result<()> {
    ensure!(reply == *wanted, "redis answered {reply:?}");
    Ok(())
}

fn text(reply: &Reply) -> anyhow::Result<String> {
    match reply {
        Reply::Bulk(Some(bytes)) => Ok(String::from_utf8(bytes.clone())?),
        other => bail!("{other:?} in the place of a text"),
    }
}

fn number(reply: &Reply) -> anyhow::Result<i64> {
    match reply {
        Reply::Bulk(None) => Ok(0),
        some => Ok(text(some)?.parse()?),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::arguments::Durability;
    use crate::redis::{Delays, RedisServers};

    #[tokio::test(flavor = "multi_thread")]
    async fn a_move_by_the_servers_script_does_not_carry_the_script() {
        let delays = Delays { of_clients: Duration::ZERO, between_servers: Duration::ZERO };
        let servers =
            RedisServers::start(Durability::Memory, delays).await.expect("redis is installed by `make setup`");
        let mut seat = RedisSeat::connect(servers.clients_address(), "ada", Moves::Script).await.expect("it connects");
        seat.join(0).await.expect("it joins");
        let (before, _) = seat.traffic();
        for _ in 0..10 {
            seat.make_move().await.expect("it is alone, so always in turn");
        }
        let each = (seat.traffic().0 - before) / 10;
        assert!(each < 300, "{each} bytes up for a move");
        let found = games(&mut servers.connect().await.expect("it connects"), 1).await.expect("it reads");
        assert_eq!(found, [Found { sum: 10, turn: 10, players: 1 }]);
    }

    #[test]
    fn news_say_who_is_next() {
        let state = State { sum: 5, turn: 3, players: vec!["ada".into(), "ben".into()] };
        let told = State::of_news(state.news().as_bytes()).expect("it was written by us");
        assert_eq!(told, state);
        assert_eq!(told.seen(), Seen { sum: 5, player: Some("ben".into()), players: 2 });
        assert!(State::of_news(b"5").is_err());
    }
}
