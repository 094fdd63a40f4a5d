//! The faults of a run, one after the other and over each other, each with its end.
//!
//! Invariant: what a fault did is undone by the end of it, and by [`Chaos::heal`] at the latest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use iolite_histories::Fault;

use crate::bed::Bed;
use crate::faults::FaultKind;
use crate::moment::moment;
use crate::network::Way;
use crate::party::Party;
use crate::random::Random;

#[derive(Debug)]
pub struct Chaos {
    bed: Bed,
    kinds: Vec<FaultKind>,
    random: Random,
    /// Processes that are down or stand still.
    away: BTreeSet<Party>,
    ends: BTreeMap<(Instant, u64), End>,
    last_end: u64,
    made: Vec<Fault>,
    counts: BTreeMap<FaultKind, u64>,
}

/// How a fault ends.
#[derive(Clone, Debug)]
enum End {
    Start(Party),
    Resume(Party),
    Heal(Vec<Way>),
}

impl Chaos {
    pub fn new(bed: Bed, kinds: &BTreeSet<FaultKind>, random: Random) -> Chaos {
        Chaos {
            bed,
            kinds: kinds.iter().copied().collect(),
            random,
            away: BTreeSet::new(),
            ends: BTreeMap::new(),
            last_end: 0,
            made: Vec::new(),
            counts: BTreeMap::new(),
        }
    }

    pub fn bed(&mut self) -> &mut Bed {
        &mut self.bed
    }

    pub fn counts(&self) -> &BTreeMap<FaultKind, u64> {
        &self.counts
    }

    pub fn into_faults(self) -> Vec<Fault> {
        self.made
    }

    /// Makes faults for so long.
    ///
    /// # Errors
    /// A node that ended by itself; and what can go wrong with processes.
    pub async fn run(&mut self, time: Duration) -> anyhow::Result<()> {
        let end = Instant::now() + time;
        let mut next = Instant::now() + self.random.millis(200, 1500);
        while Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(10)).await;
            self.end_due(Instant::now())?;
            self.bed.expect_alive()?;
            if Instant::now() >= next && !self.kinds.is_empty() {
                self.make_one()?;
                next = Instant::now() + self.random.millis(200, 1500);
            }
        }
        Ok(())
    }

    /// Ends every fault; clocks stay as they are.
    ///
    /// # Errors
    /// The first that cannot be ended; all others are.
    pub fn heal(&mut self) -> anyhow::Result<()> {
        let ends: Vec<End> = std::mem::take(&mut self.ends).into_values().collect();
        let ended: Vec<anyhow::Result<()>> = ends.into_iter().map(|end| self.end(end)).collect();
        self.note("all faults end".into());
        ended.into_iter().collect()
    }

    fn end_due(&mut self, now: Instant) -> anyhow::Result<()> {
        while let Some(entry) = self.ends.first_entry()
            && entry.key().0 <= now
        {
            let end = entry.remove();
            self.end(end)?;
        }
        Ok(())
    }

    fn end(&mut self, end: End) -> anyhow::Result<()> {
        match end {
            End::Start(party) => {
                self.away.remove(&party);
                self.bed.start(party)?;
                self.note(format!("{party} starts"));
            }
            End::Resume(party) => {
                self.away.remove(&party);
                self.bed.resume(party)?;
                self.note(format!("{party} goes on"));
            }
            End::Heal(ways) => {
                ways.iter().for_each(|way| self.bed.network().heal(*way));
                self.note(format!("{} is whole again", describe(&ways)));
            }
        }
        Ok(())
    }

    fn end_later(&mut self, after: Duration, end: End) {
        self.last_end += 1;
        self.ends.insert((Instant::now() + after, self.last_end), end);
    }

    fn note(&mut self, what: String) {
        self.made.push(Fault { at: moment(), what });
    }

    fn make_one(&mut self) -> anyhow::Result<()> {
        let kind = *self.random.pick(&self.kinds);
        match kind {
            FaultKind::Kill | FaultKind::Power => self.kill(kind)?,
            FaultKind::Pause => self.pause()?,
            FaultKind::Partition => self.cut(),
            FaultKind::Skew => self.shift()?,
        }
        Ok(())
    }

    fn count(&mut self, kind: FaultKind) {
        *self.counts.entry(kind).or_default() += 1;
    }

    /// One process, some, or all replicas at once, with or without the others.
    fn victims(&mut self) -> Vec<Party> {
        let all = self.bed.parties();
        let stores: Vec<Party> = all.iter().copied().filter(|party| party.is_store()).collect();
        let chosen = match self.random.below(10) {
            0 => all,
            1 => stores,
            2 | 3 => all.into_iter().filter(|_| self.random.percent(40)).collect(),
            _ => vec![*self.random.pick(&all)],
        };
        chosen.into_iter().filter(|party| !self.away.contains(party)).collect()
    }

    fn kill(&mut self, kind: FaultKind) -> anyhow::Result<()> {
        let victims: Vec<Party> = self.victims().into_iter().filter(|party| party.may_be_killed()).collect();
        if victims.is_empty() {
            return Ok(());
        }
        for party in &victims {
            self.bed.kill(*party)?;
            self.away.insert(*party);
            let after = self.random.millis(0, 2500);
            self.end_later(after, End::Start(*party));
        }
        self.note(format!("{kind} {}", names(&victims)));
        self.count(kind);
        Ok(())
    }

    fn pause(&mut self) -> anyhow::Result<()> {
        let victims = self.victims();
        if victims.is_empty() {
            return Ok(());
        }
        for party in &victims {
            self.bed.pause(*party)?;
            self.away.insert(*party);
            let after = self.random.millis(50, 4000);
            self.end_later(after, End::Resume(*party));
        }
        self.note(format!("pause {}", names(&victims)));
        self.count(FaultKind::Pause);
        Ok(())
    }

    /// Cuts some processes from the others, both ways or one.
    fn cut(&mut self) {
        let all = self.bed.parties();
        let side: Vec<Party> = match self.random.below(2) {
            0 => vec![*self.random.pick(&all)],
            _ => all.iter().copied().filter(|_| self.random.percent(50)).collect(),
        };
        let others = all.iter().copied().filter(|party| !side.contains(party));
        let pairs: Vec<Way> = others.flat_map(|other| side.iter().map(move |own| (*own, other))).collect();
        let back = pairs.iter().map(|(from, to)| (*to, *from));
        let ways: Vec<Way> = match self.random.below(3) {
            0 => pairs,
            1 => back.collect(),
            _ => back.chain(pairs.iter().copied()).collect(),
        };
        if ways.is_empty() {
            return;
        }
        ways.iter().for_each(|way| self.bed.network().cut(*way));
        self.note(format!("{} is cut", describe(&ways)));
        let after = self.random.millis(200, 6000);
        self.end_later(after, End::Heal(ways));
        self.count(FaultKind::Partition);
    }

    fn shift(&mut self) -> anyhow::Result<()> {
        let role = *self.random.pick(&self.bed.roles());
        let millis = self.random.below(10_001) as i64 - 5_000;
        self.bed.shift(role, millis)?;
        self.note(format!("the clock of {role} is wrong by {millis} ms"));
        self.count(FaultKind::Skew);
        Ok(())
    }
}

fn names(parties: &[Party]) -> String {
    parties.iter().map(Party::to_string).collect::<Vec<_>>().join(", ")
}

fn describe(ways: &[Way]) -> String {
    let from: BTreeSet<Party> = ways.iter().map(|(from, _)| *from).collect();
    let to: BTreeSet<Party> = ways.iter().map(|(_, to)| *to).collect();
    let list = |parties: BTreeSet<Party>| names(&parties.into_iter().collect::<Vec<_>>());
    if from == to {
        format!("everything between two sides of {}", list(from))
    } else {
        format!("the way from {} to {}", list(from), list(to))
    }
}
