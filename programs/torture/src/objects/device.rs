//! A device: it calls an object of each kind at the same time, and may move those that move.
//!
//! Invariant: when it is asked to end, each kind has an answer to an append and to a read that began after that.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use iolite::objects::deployment::ExplicitMigration;
use iolite::objects::{CallError, Host, NodeId, Ran, Ref};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::classes::{List, Migrating, of_kind};
use super::kind::{Kind, Place};
use super::node::Generations;
use super::record::{End, Record, Recorder};
use crate::moment::moment;
use crate::random::Random;

/// The part that is one device's own.
pub struct Own<'a> {
    pub life: u32,
    pub seed: u64,
    /// The hosts that it moves objects to. None: it moves nothing.
    pub moves_to: &'a [String],
}

const PAUSE: Duration = Duration::from_millis(50);
/// The most numbers that one worker of a device appends.
const NUMBERS_OF_WORKER: u64 = 100_000;

/// Runs until it is asked to end, and has its last answers.
///
/// # Errors
/// When it cannot write its record.
pub async fn run(
    host: &Host,
    generations: Generations,
    own: Own<'_>,
    recorder: &Arc<Recorder>,
    ends: &watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let mut running = JoinSet::new();
    let life = u64::from(own.life);
    for kind in Kind::ALL {
        let number = life * Kind::ALL.len() as u64 + kind as u64;
        let caller = Caller {
            host: host.clone(),
            kind,
            generations,
            recorder: recorder.clone(),
            ends: ends.clone(),
            random: Random::new(own.seed, 2_000_000 + number),
            number: number * NUMBERS_OF_WORKER,
        };
        of_kind!(kind, Class => running.spawn(caller.run::<Class>()));
    }
    let hosts: Result<Vec<NodeId>, _> = own.moves_to.iter().map(|node| node.parse()).collect();
    let hosts = hosts.context("hosts have said their names")?;
    if !hosts.is_empty() {
        let random = Random::new(own.seed, 3_000_000 + life);
        let mover = Mover { host: host.clone(), generations, hosts, random };
        running.spawn(mover.run(recorder.clone(), ends.clone()));
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}

/// Calls the objects of one kind, one call after the other.
struct Caller {
    host: Host,
    kind: Kind,
    generations: Generations,
    recorder: Arc<Recorder>,
    ends: watch::Receiver<bool>,
    random: Random,
    /// The number that was appended last.
    number: u64,
}

impl Caller {
    async fn run<T: List>(mut self) -> anyhow::Result<()> {
        let mut known: BTreeMap<u32, Ref<T>> = BTreeMap::new();
        loop {
            let is_ending = *self.ends.borrow();
            let place = Place { kind: self.kind, generation: self.generations.now() };
            let object = match known.get(&place.generation) {
                Some(object) => object.clone(),
                None => known.entry(place.generation).or_insert(self.found(place).await?).clone(),
            };
            let is_append = is_ending || self.random.percent(40);
            let is_answered =
                if is_append { self.append(place, &object).await? } else { self.read(place, &object).await? };
            if is_ending && is_answered && self.read(place, &object).await? {
                return Ok(());
            }
            sleep(self.random.millis(0, 80)).await;
        }
    }

    /// The object, which is there all the time.
    async fn found<T: List>(&self, place: Place) -> anyhow::Result<Ref<T>> {
        loop {
            match self.host.find::<T>(&place.id()).await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => self.recorder.say(&Record::Missing { at: moment().0, place })?,
                // No gateway, or no store: it is asked again.
                Err(_) => {}
            }
            sleep(PAUSE).await;
        }
    }

    /// Whether it has the object's answer.
    async fn append<T: List>(&mut self, place: Place, object: &Ref<T>) -> anyhow::Result<bool> {
        self.number += 1;
        let call = self.recorder.begins(place, Some(self.number))?;
        let end = T::append(object, self.number).await.map_or_else(failed, |birth| End::Appended { birth });
        let is_answered = matches!(end, End::Appended { .. });
        self.recorder.ends(call, end)?;
        Ok(is_answered)
    }

    async fn read<T: List>(&self, place: Place, object: &Ref<T>) -> anyhow::Result<bool> {
        let call = self.recorder.begins(place, None)?;
        let end = T::read(object).await.map_or_else(failed, |(birth, list)| End::Read { birth, list });
        let is_answered = matches!(end, End::Read { .. });
        self.recorder.ends(call, end)?;
        Ok(is_answered)
    }
}

/// How a call without a result ended.
pub fn failed(error: CallError) -> End {
    let why = error.to_string();
    match (error.ran(), error) {
        (_, CallError::Gone) => End::Gone,
        (Ran::No, _) => End::NotRun { why },
        (Ran::Unknown, _) => End::Unknown { why },
        (Ran::Yes, _) => End::Broke { how: why },
    }
}

/// Moves objects from host to host.
struct Mover {
    host: Host,
    generations: Generations,
    hosts: Vec<NodeId>,
    random: Random,
}

impl Mover {
    async fn run(mut self, recorder: Arc<Recorder>, ends: watch::Receiver<bool>) -> anyhow::Result<()> {
        while !*ends.borrow() {
            sleep(self.random.millis(50, 400)).await;
            let place = Place { kind: Kind::Migrating, generation: self.generations.now() };
            // What is not found now is moved later.
            let Ok(Some(object)) = self.host.find::<Migrating>(&place.id()).await else { continue };
            let to = *self.random.pick(&self.hosts);
            let has_moved = ExplicitMigration::move_to(&object, to).await.is_ok();
            recorder.say(&Record::Moved { has_moved })?;
        }
        Ok(())
    }
}
