//! SwiftSocial with several data centres, beside the same transactions run in them: latency, and throughput with rising load.
//!
//! Invariant: every arm has a group of its own, made anew, with the same network, delays and class. One arm runs after the other.
//! Source: SwiftCloud (Zawirski 2013), sections 6.2 to 6.4.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::arm::{Arm, Runs};
use super::cloud::Caller;
use super::comparison::Comparison;
use super::failover::Failover;
use super::group::{Group, GroupSetup};
use super::ledger::{self, FreshAt, Ledger};
use super::network::Network;
use super::person::Person;
use super::plan::Mix;
use super::seat::{Device, Seat};
use super::staleness::{Staleness, Versions, Watcher};
use super::tally::Tally;
use super::{Shape, gone, loading, metadata, report};
use crate::arguments::Durability;
use crate::cells::Cells;

/// A run as it was asked for.
#[derive(Clone, Debug)]
pub struct Several {
    /// Numbers of data centres, each measured by itself.
    pub centres: Vec<usize>,
    /// Ours is the first.
    pub arms: Vec<Arm>,
    pub client_rtts: Vec<Duration>,
    pub centre_rtt: Duration,
    pub network: Network,
    pub mix: Mix,
    pub shape: Shape,
    pub durability: Durability,
    pub cloud_cache_rows: u32,
    pub question: Question,
}

/// The question that a run answers.
#[derive(Clone, Debug)]
pub enum Question {
    /// Percent of transactions that read anybody's page, each of which is measured after those of the mix, ours alone.
    Latency {
        miss_shares: Vec<u32>,
    },
    /// Numbers of clients.
    Load {
        clients: Vec<u32>,
    },
    Staleness,
    Metadata {
        clients: Vec<u32>,
    },
    Failover(Failover),
    /// Numbers of clients that wrote once and went.
    Memory {
        clients: Vec<u32>,
    },
}

/// Figures of people who lived at the same time.
pub struct Lived {
    /// One for each round trip of clients.
    pub tallies: Vec<Tally>,
    pub took: Duration,
    /// Processor time of each data centre.
    pub cpu: Vec<Duration>,
}

/// People of one group, of one round after the other.
struct Town<'a> {
    several: &'a Several,
    arm: Arm,
    group: Group,
    centres: usize,
    rounds: u32,
    ledger: Ledger,
}

/// A person, and the place of the round trip.
struct Resident {
    person: Person,
    rtt: usize,
}

/// Devices that come at the same time.
const ARRIVE_TOGETHER: usize = 16;
/// Until followers of calls have seen their ends.
const FOLLOWERS: Duration = Duration::from_millis(200);

impl Several {
    /// # Errors
    /// When a group does not start, or a client fails. What the run found wrong is in the exit code.
    pub fn run(&self, json: bool) -> anyhow::Result<ExitCode> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let mut settings = self.settings();
        if let Question::Failover(failover) = &self.question {
            failover
                .settings()
                .as_object()
                .into_iter()
                .flatten()
                .for_each(|(name, value)| settings[name] = value.clone());
        }
        let mut cells = Cells::new(&report::name(), settings);
        match &self.question {
            Question::Latency { miss_shares } => runtime.block_on(self.latency(&mut cells, miss_shares))?,
            Question::Load { clients } => runtime.block_on(self.load(&mut cells, clients))?,
            Question::Staleness => runtime.block_on(self.staleness(&mut cells))?,
            Question::Metadata { clients } => runtime.block_on(self.metadata(&mut cells, clients))?,
            Question::Memory { clients } => runtime.block_on(self.memory(&mut cells, clients))?,
            Question::Failover(failover) => runtime.block_on(failover.measure(self, &mut cells))?,
        }
        cells.print(json)
    }

    fn settings(&self) -> Value {
        let Several { centres, network, mix, shape, .. } = self;
        let rtts: Vec<_> = self.client_rtts.iter().map(Duration::as_millis).collect();
        json!({
            "centres": centres, "centre_rtt_ms": self.centre_rtt.as_millis(), "client_rtt_ms": rtts,
            "users": network.users, "friends": network.friends, "updates": mix.updates, "locality": mix.locality,
            "clients": shape.clients, "cache_rows": shape.cache_rows, "cloud_cache_rows": self.cloud_cache_rows,
            "seconds": shape.seconds.as_secs(), "pause_ms": shape.pause.as_millis(),
            "durability": self.durability.name(),
        })
    }

    /// The arms that can be with so many data centres.
    fn arms_of(&self, centres: usize) -> impl Iterator<Item = Arm> {
        self.arms.iter().copied().filter(move |arm| arm.is_possible(centres))
    }

    async fn latency(&self, cells: &mut Cells, miss_shares: &[u32]) -> anyhow::Result<()> {
        for &centres in &self.centres {
            let mut compared = Comparison::latency(self, centres, self.mix);
            for arm in self.arms_of(centres) {
                let mut town = Town::found(self, arm, centres).await?;
                compared.add(arm, town.round(cells, self.shape.clients, self.mix).await?);
                town.check(cells).await?;
            }
            compared.report(cells);
        }
        let Some(&centres) = self.centres.last().filter(|_| !miss_shares.is_empty()) else { return Ok(()) };
        let mut town = Town::found(self, Arm::Ours, centres).await?;
        for share in miss_shares {
            let mix = Mix { updates: self.mix.updates, locality: 100 - share };
            let mut alone = Comparison::latency(self, centres, mix);
            alone.add(Arm::Ours, town.round(cells, self.shape.clients, mix).await?);
            alone.report_misses(cells);
        }
        town.check(cells).await
    }

    async fn load(&self, cells: &mut Cells, loads: &[u32]) -> anyhow::Result<()> {
        for &centres in &self.centres {
            let mut steps: Vec<_> = loads.iter().map(|clients| Comparison::load(self, centres, *clients)).collect();
            for arm in self.arms_of(centres) {
                let mut town = Town::found(self, arm, centres).await?;
                for (clients, step) in loads.iter().zip(&mut steps) {
                    step.add(arm, town.round(cells, *clients, self.mix).await?);
                }
                town.check(cells).await?;
            }
            steps.iter().for_each(|step| step.report_load(cells));
            Comparison::report_peaks(&steps, cells);
        }
        Ok(())
    }

    async fn staleness(&self, cells: &mut Cells) -> anyhow::Result<()> {
        for &centres in &self.centres {
            let mut town = Town::found(self, Arm::Ours, centres).await?;
            let versions: Vec<Versions> = (0..centres).map(|_| Versions::default()).collect();
            let residents = town.settle_in(self.shape.clients, self.mix, Some(&versions)).await?;
            let (lived, residents) = town.live(cells, residents).await?;
            tokio::time::sleep(FOLLOWERS).await;
            let mut sum = Staleness::default();
            for watched in residents.iter().filter_map(|resident| resident.person.watched.as_ref()) {
                watched.count(&mut sum);
            }
            let mut alone = Comparison::latency(self, centres, self.mix);
            alone.add(Arm::Ours, lived);
            alone.report(cells);
            sum.report(cells, &json!({"centres": centres}), &versions);
            town.leave(&residents);
            town.check(cells).await?;
        }
        Ok(())
    }

    async fn metadata(&self, cells: &mut Cells, clients: &[u32]) -> anyhow::Result<()> {
        for &centres in &self.centres {
            let town = Town::found(self, Arm::Ours, centres).await?;
            let mut measured = Vec::new();
            let seconds = self.shape.seconds.as_secs() as u32;
            for clients in clients {
                measured.push(metadata::measure(&town.group, &self.network, *clients, seconds).await?);
            }
            metadata::ratios(cells, &measured);
            measured.into_iter().for_each(|cell| cells.push(cell));
        }
        Ok(())
    }

    async fn memory(&self, cells: &mut Cells, clients: &[u32]) -> anyhow::Result<()> {
        for &centres in &self.centres {
            let town = Town::found(self, Arm::Ours, centres).await?;
            gone::measure(cells, &town.group, &self.network, clients).await?;
        }
        Ok(())
    }
}

impl Town<'_> {
    /// Starts the data centres and makes all people.
    async fn found(several: &Several, arm: Arm, centres: usize) -> anyhow::Result<Town<'_>> {
        let setup = GroupSetup {
            centres,
            k: arm.k(centres),
            durability: several.durability,
            centre_rtt: several.centre_rtt,
            client_rtts: several.client_rtts.clone(),
            cloud_rows: match arm.runs() {
                Runs::OnDevices(_) => None,
                Runs::InDataCentres => Some(several.cloud_cache_rows),
            },
            failing: None,
        };
        let group = Group::start(&setup).await?;
        let mut nears = group.nears();
        if let Some(first) = nears.next() {
            loading::fill(first, &several.network).await?;
        }
        for near in nears {
            loading::wait_for_all(near, &several.network).await?;
        }
        Ok(Town { several, arm, group, centres, rounds: 0, ledger: Ledger::default() })
    }

    /// People come, live, and go.
    async fn round(&mut self, cells: &mut Cells, clients: u32, mix: Mix) -> anyhow::Result<Lived> {
        let residents = self.settle_in(clients, mix, None).await?;
        let (lived, residents) = self.live(cells, residents).await?;
        // Those who hold pages are compared at once: nobody changes them any more.
        let holders = residents.iter().filter_map(|resident| resident.person.held()).collect();
        self.leave(&residents);
        ledger::check(cells, &self.ledger, &self.several.network, &[], holders).await?;
        Ok(lived)
    }

    /// People come to data centres and round trips in turn.
    async fn settle_in(
        &mut self,
        clients: u32,
        mix: Mix,
        versions: Option<&[Versions]>,
    ) -> anyhow::Result<Vec<Resident>> {
        self.rounds += 1;
        let this: &Town<'_> = self;
        let coming = stream::iter(0..clients).map(|number| this.arrive(number, clients, mix, versions));
        coming.buffered(ARRIVE_TOGETHER).try_collect().await
    }

    async fn arrive(
        &self,
        number: u32,
        clients: u32,
        mix: Mix,
        versions: Option<&[Versions]>,
    ) -> anyhow::Result<Resident> {
        let Several { network, shape, client_rtts, .. } = self.several;
        let (centre, rtt) = (number as usize % self.centres, number as usize / self.centres % client_rtts.len());
        let user = network.played_by(number, clients);
        let seat = match self.arm.runs() {
            Runs::InDataCentres => Seat::Cloud(Caller::connect(self.group.far(centre, rtt)).await?),
            Runs::OnDevices(update_ends) => {
                let folder = self.group.folder(&format!("device-{}-{number}", self.rounds))?;
                let at = self.group.far_gateway(centre, rtt);
                let rows = shape.cache_rows as usize;
                let options = iolite::Options::new().directory(folder);
                Seat::Device(Device::open(&at, network, user, rows, options, update_ends).await?)
            }
        };
        let shape = Shape { delay: client_rtts[rtt], clients, ..*shape };
        let mut person = Person::new(seat, network, user, mix, shape, self.rounds);
        person.watched = versions.map(|all| Watcher::new(number, all[centre].clone(), shape.delay));
        Ok(Resident { person, rtt })
    }

    /// All live at the same time. They have settled when this returns.
    async fn live(&mut self, cells: &mut Cells, residents: Vec<Resident>) -> anyhow::Result<(Lived, Vec<Resident>)> {
        let together = Arc::new(Barrier::new(residents.len()));
        let (before, begun) = (self.group.cpu(), Instant::now());
        let lives = residents.into_iter().map(|Resident { person, rtt }| {
            let living = tokio::spawn(person.live(together.clone()));
            async move { anyhow::Ok(Resident { person: living.await??, rtt }) }
        });
        let residents = try_join_all(lives).await?;
        let took = begun.elapsed();
        let cpu = self.group.cpu().into_iter().zip(before).map(|(now, before)| now.saturating_sub(before)).collect();
        let mut tallies: Vec<Tally> = self.several.client_rtts.iter().map(|_| Tally::default()).collect();
        for Resident { person, rtt } in &residents {
            person.settle(cells).await?;
            tallies[*rtt].add(&person.tally);
        }
        let mut all = Tally::default();
        tallies.iter().for_each(|tally| all.add(tally));
        report::checks_of_pages(cells, &all);
        Ok((Lived { tallies, took, cpu }, residents))
    }

    fn leave(&mut self, residents: &[Resident]) {
        residents.iter().for_each(|resident| self.ledger.add(&resident.person.ledger));
    }

    /// A fresh session of each data centre has to find what was called.
    async fn check(self, cells: &mut Cells) -> anyhow::Result<()> {
        let fresh: Vec<_> = self.group.nears().map(FreshAt::of_several).collect();
        ledger::check(cells, &self.ledger, &self.several.network, &fresh, Vec::new()).await
    }
}

/// Refuses people of whom some round trip or data centre has none.
///
/// # Errors
/// When there are too few.
pub fn check_clients(several: &Several, clients: u32) -> anyhow::Result<()> {
    let centres = several.centres.iter().copied().max().unwrap_or(1);
    if (clients as usize) < centres * several.client_rtts.len() {
        bail!(
            "--clients {clients}: each of {centres} data centres is to have a client of each --client-rtt-ms: say {} or more",
            centres * several.client_rtts.len()
        );
    }
    Ok(())
}
