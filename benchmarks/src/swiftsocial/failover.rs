//! A data centre that is cut off or killed while clients live: their single transactions, and how long those that miss stand still.
//!
//! Each client has two loops: one runs transactions about held pages, the other reads anybody's page. So what misses never keeps a hit from being tried.
//!
//! Invariant: all checks of pages stay on, and at the end every data centre shows every call once.
//! Source: SwiftCloud (Zawirski 2013), section 6.4 and Figure 10.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::ValueEnum;
use futures_util::future::try_join_all;
use iolite::{Centre, Client};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::group::{Group, GroupSetup, NAMES};
use super::ledger::{self, FreshAt, Ledger};
use super::person::Person;
use super::plan::Mix;
use super::plot::svg;
use super::scatter::{Away, Point, Scatter, When, csv, figures, name_of};
use super::seat::{Device, Seat, UpdateEnds};
use super::several::Several;
use super::tally::Tally;
use super::{Shape, loading, report};
use crate::cells::Cells;

/// The run's failure, as it was asked for.
#[derive(Clone, Debug)]
pub struct Failover {
    pub failure: Failure,
    pub kind: FailKind,
    /// Where the transactions of one client go, with `.csv` and `.svg` for an extension.
    pub scatter: Option<PathBuf>,
}

/// The name of a data centre, and the seconds between which it is away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub centre: String,
    pub from: Duration,
    pub to: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FailKind {
    /// All its links carry nothing
    #[default]
    Cut,
    /// SIGKILL for all its processes, which are started again later
    Kill,
}

/// A client, its two loops, and when it moved.
struct Resident {
    home: usize,
    held: Person,
    distant: Person,
    moves: Moves,
}

/// The data centres that served a client, and since when.
#[derive(Clone, Debug, Default)]
struct Moves(Arc<Mutex<Vec<(Instant, Centre)>>>);

/// One client that went from the data centre that failed to another one.
struct Moved {
    noticed: Duration,
    /// From that until the other one served it.
    took: Duration,
    to: String,
    /// The round trip to it.
    round_trip: Duration,
}

impl FromStr for Failure {
    type Err = String;

    fn from_str(text: &str) -> Result<Failure, String> {
        let told = || format!("{text:?}: say it like eu@33..64, a data centre and the seconds in which it is away");
        let (centre, times) = text.split_once('@').ok_or_else(told)?;
        let (from, to) = times.split_once("..").ok_or_else(told)?;
        let seconds = |text: &str| text.parse().map(Duration::from_secs).map_err(|_| told());
        let (from, to) = (seconds(from)?, seconds(to)?);
        if from.is_zero() || from >= to || !NAMES.contains(&centre) {
            return Err(format!("{}; data centres are {}", told(), NAMES.join(", ")));
        }
        Ok(Failure { centre: centre.to_owned(), from, to })
    }
}

impl FailKind {
    pub fn name(self) -> &'static str {
        match self {
            FailKind::Cut => "cut",
            FailKind::Kill => "kill",
        }
    }
}

impl Failover {
    /// # Errors
    /// When the run has no such data centre, ends before it comes back, or does not say how far each data centre is.
    pub fn check(&self, several: &Several) -> anyhow::Result<()> {
        let Failure { centre, to, .. } = &self.failure;
        let [count] = several.centres[..] else { bail!("--fail goes with one number of --centres") };
        if count < 2 || self.place() >= count {
            bail!(
                "--fail {centre}: of {count} data centres, which are {}, one is to be left",
                NAMES[..count].join(", ")
            );
        }
        if several.client_rtts.len() != count {
            bail!("--fail: --client-rtt-ms has one time for each data centre, a client's own first");
        }
        if (several.shape.clients as usize) < count {
            bail!("--fail: each of {count} data centres is to have a client: say --clients {count} or more");
        }
        if *to >= several.shape.seconds {
            bail!("--fail: the data centre is to come back before the --seconds end");
        }
        Ok(())
    }

    pub fn settings(&self) -> Value {
        let Failure { centre, from, to } = &self.failure;
        json!({"fail": format!("{centre}@{}..{}", from.as_secs(), to.as_secs()), "fail_kind": self.kind.name()})
    }

    fn place(&self) -> usize {
        NAMES.iter().position(|name| *name == self.failure.centre).unwrap_or(NAMES.len())
    }

    /// # Errors
    /// When a group does not start, or a client fails.
    pub async fn measure(&self, several: &Several, cells: &mut Cells) -> anyhow::Result<()> {
        let mut group = self.found(several).await?;
        let mut residents = Vec::new();
        for number in 0..several.shape.clients {
            residents.push(arrive(&group, several, number).await?);
        }
        let together = Arc::new(Barrier::new(residents.len() * 2 + 1));
        let lives = residents.into_iter().map(|resident| tokio::spawn(resident.live(together.clone())));
        let lives: Vec<_> = lives.collect();
        together.wait().await;
        let away = self.happen(&mut group).await?;
        let residents = try_join_all(lives).await?.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
        group.wait_until_ready().await?;
        let (mut tally, mut ledger) = (Tally::default(), Ledger::default());
        for Resident { held, distant, .. } in &residents {
            held.settle(cells).await?;
            tally.add(&held.tally);
            tally.add(&distant.tally);
            ledger.add(&held.ledger);
        }
        report::checks_of_pages(cells, &tally);
        self.report(several, cells, &residents, away)?;
        let holders = residents.iter().filter_map(|resident| resident.held.held()).collect();
        let fresh: Vec<_> = group.nears().map(FreshAt::of_several).collect();
        ledger::check(cells, &ledger, &several.network, &fresh, holders).await
    }

    async fn found(&self, several: &Several) -> anyhow::Result<Group> {
        let centres = several.client_rtts.len();
        let setup = GroupSetup {
            centres,
            k: centres.min(2),
            durability: several.durability,
            centre_rtt: several.centre_rtt,
            client_rtts: several.client_rtts.clone(),
            cloud_rows: None,
            failing: Some(self.place()),
        };
        let group = Group::start(&setup).await?;
        let mut nears = group.nears();
        if let Some(first) = nears.next() {
            loading::fill(first, &several.network).await?;
        }
        for near in nears {
            loading::wait_for_all(near, &several.network).await?;
        }
        Ok(group)
    }

    /// The failure and its end, while clients live.
    async fn happen(&self, group: &mut Group) -> anyhow::Result<Away> {
        let begun = Instant::now();
        tokio::time::sleep_until((begun + self.failure.from).into()).await;
        let from = Instant::now();
        match self.kind {
            FailKind::Cut => group.set_cut(true),
            FailKind::Kill => group.kill(self.place())?,
        }
        tokio::time::sleep_until((begun + self.failure.to).into()).await;
        let to = Instant::now();
        match self.kind {
            FailKind::Cut => group.set_cut(false),
            FailKind::Kill => group.bring_back(self.place())?,
        }
        Ok(Away { begun, from, to })
    }

    fn report(&self, several: &Several, cells: &mut Cells, residents: &[Resident], away: Away) -> anyhow::Result<()> {
        let (own, others): (Vec<_>, Vec<_>) = residents.iter().partition(|resident| resident.home == self.place());
        for (whose, residents) in [("of the data centre that failed", &own), ("of the others", &others)] {
            When::ALL.iter().for_each(|when| cells.push(cell(whose, residents, *when, away)));
        }
        for resident in &own {
            match resident.moved(several, away) {
                Some(moved) => resident.report_move(cells, &moved, away),
                None => cells.fault("a client of the data centre that failed has not moved".to_owned()),
            }
        }
        if let (Some(path), Some(first)) = (&self.scatter, own.first()) {
            let points = first.points();
            let written = |extension: &str, text: String| {
                let path = path.with_extension(extension);
                std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
            };
            written("csv", csv(&points, away))?;
            written("svg", svg(&points, away))?;
        }
        Ok(())
    }
}

/// A client comes to its own data centre, knows all, and fetches what it holds.
async fn arrive(group: &Group, several: &Several, number: u32) -> anyhow::Result<Resident> {
    let Several { network, shape, client_rtts, mix, .. } = several;
    let (centres, clients) = (client_rtts.len(), shape.clients);
    let home = number as usize % centres;
    let at = |rtt: usize| group.far_gateway((home + rtt) % centres, rtt);
    let others = (1..centres).map(|rtt| [at(rtt).url]);
    let user = network.played_by(number, clients);
    let folder = group.folder(&format!("device-{number}"))?;
    let options = iolite::Options::new().directory(folder).centres(others);
    let device = Device::open(&at(0), network, user, shape.cache_rows as usize, options, UpdateEnds::Durable).await?;
    let (beside, client) = (device.beside(), device.client().clone());
    let shape = Shape { delay: client_rtts[0], ..*shape };
    let person = |device, mix| {
        let mut person = Person::new(Seat::Device(device), network, user, mix, shape, 0);
        person.scatter = Some(Scatter::of(client.clone()));
        person
    };
    let held = person(device, Mix { updates: mix.updates, locality: 100 });
    let distant = person(beside, Mix { updates: 0, locality: 0 });
    Ok(Resident { home, held, distant, moves: Moves::of(&client) })
}

impl Moves {
    /// Follows a client until it is closed.
    fn of(client: &Client) -> Moves {
        let (moves, mut centre) = (Moves::default(), client.centre());
        let told = moves.clone();
        tokio::spawn(async move {
            while centre.changed().await.is_ok() {
                let now = centre.borrow_and_update().clone();
                told.0.lock().expect("nobody panics with it").extend(now.map(|centre| (Instant::now(), centre)));
            }
        });
        moves
    }

    /// The first change behind a moment of which a condition holds.
    fn first(&self, behind: Instant, of: impl Fn(&Centre) -> bool) -> Option<(Instant, Centre)> {
        let moves = self.0.lock().expect("nobody panics with it");
        moves.iter().find(|(at, centre)| *at >= behind && of(centre)).cloned()
    }
}

impl Resident {
    async fn live(self, together: Arc<Barrier>) -> anyhow::Result<Resident> {
        let Resident { home, held, distant, moves } = self;
        let both = [tokio::spawn(held.live(together.clone())), tokio::spawn(distant.live(together))];
        let [held, distant] = both;
        Ok(Resident { home, held: held.await??, distant: distant.await??, moves })
    }

    /// All points of both loops, in the order of calls.
    fn points(&self) -> Vec<Point> {
        let mut points: Vec<Point> = self.loops().flat_map(Scatter::points).cloned().collect();
        points.sort_by_key(|point| point.called);
        points
    }

    fn loops(&self) -> impl Iterator<Item = &Scatter> {
        [&self.held, &self.distant].into_iter().filter_map(|person| person.scatter.as_ref())
    }

    fn moved(&self, several: &Several, away: Away) -> Option<Moved> {
        let (noticed, _) = self.moves.first(away.from, |centre| *centre == Centre::Moving)?;
        let (served, centre) = self.moves.first(noticed, |centre| matches!(centre, Centre::At(_)))?;
        let to = name_of(Some(&centre));
        let (place, centres) = (NAMES.iter().position(|name| *name == to)?, several.client_rtts.len());
        let round_trip = several.client_rtts[(place + centres - self.home) % centres];
        Some(Moved { noticed: noticed - away.from, took: served - noticed, to, round_trip })
    }

    /// How long transactions that miss stood still, beside the aim.
    fn report_move(&self, cells: &mut Cells, moved: &Moved, away: Away) {
        let points = self.points();
        let misses: Vec<&Point> = points.iter().filter(|point| point.missed()).collect();
        let mut ends: Vec<Instant> = misses.iter().map(|point| point.ended()).collect();
        ends.sort();
        let met = |pair: &&[Instant]| pair[1] >= away.from && pair[0] < away.to;
        let gap = ends.windows(2).filter(met).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
        let longest = misses.iter().filter(|point| point.when(away) == When::Away).map(|point| point.took).max();
        let longest = longest.unwrap_or_default();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let aim = ms(moved.noticed + moved.round_trip);
        cells.push(json!({
            "of": "move", "to": moved.to, "noticed_ms": ms(moved.noticed), "move_ms": ms(moved.took),
            "round_trip_ms": ms(moved.round_trip), "aim_ms": aim, "longest_miss_ms": ms(longest),
            "longest_gap_ms": ms(gap), "round_trips_behind_notice": (ms(longest) - ms(moved.noticed)) / ms(moved.round_trip),
        }));
        let name = self.held.name();
        cells.ratio(&format!("longest_miss_of_aim, {name}"), ms(longest), aim);
        cells.ratio(&format!("longest_gap_of_aim, {name}"), ms(gap), aim);
    }
}

/// Figures of some clients in one part of the run.
fn cell(whose: &str, residents: &[&Resident], when: When, away: Away) -> Value {
    let points: Vec<Point> = residents.iter().flat_map(|resident| resident.points()).collect();
    let confirmed = residents.iter().flat_map(|resident| resident.loops()).flat_map(Scatter::confirmed);
    let confirmed: Vec<Point> = confirmed.filter(|point| point.when(away) == when).collect();
    let of = |is: &dyn Fn(&Point) -> bool| figures(points.iter().filter(|point| point.when(away) == when && is(point)));
    let waited = |point: &&Point| point.when(away) == when && point.is_of_held_page() && point.missed();
    json!({
        "of": "transactions", "clients": format!("{} {whose}", residents.len()), "when": when.name(),
        "hits": of(&|point| !point.missed() && !point.kind.writes()),
        "updates": of(&|point| point.kind.writes()),
        "misses": of(&|point| point.missed()),
        "updates_until_confirmed": figures(confirmed.iter()),
        "held_pages": of(&Point::is_of_held_page)["transactions"],
        "held_pages_that_waited": points.iter().filter(waited).count(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_a_data_centre_and_two_seconds_in_their_order() {
        let seconds = Duration::from_secs;
        let read = Failure { centre: "eu".to_owned(), from: seconds(33), to: seconds(64) };
        assert_eq!("eu@33..64".parse(), Ok(read));
        for wrong in ["eu", "eu@33", "eu@64..33", "eu@0..3", "mars@33..64", "eu@a..b"] {
            let told = wrong.parse::<Failure>().expect_err("it cannot be");
            assert!(told.contains("eu@33..64"), "{told}");
        }
    }
}
