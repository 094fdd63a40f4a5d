//! Many seeds, one report.

use std::fmt::Debug;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::broken::Broken;
use crate::centres::CentreEvent;
use crate::counts::Counts;
use crate::faults::Fault;
use crate::needs::WorldKind;
use crate::objects::ObjectEvent;
use crate::occasions::Occasion;
use crate::rights::RightsEvent;
use crate::rows::RowEvent;
use crate::run::{Outcome, run, run_whole, run_world};

/// The subject of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulated {
    /// The system as it is.
    Whole(WorldKind),
    /// A variant with one rule taken out.
    Broken(Broken),
    /// The system as it is, in the worlds in which a variant is looked for.
    WorldOf(Broken),
}

impl Simulated {
    pub fn run(self, seed: u64) -> Outcome {
        match self {
            Simulated::Whole(kind) => run_world(seed, kind),
            Simulated::Broken(broken) => run(seed, broken),
            Simulated::WorldOf(variant) => run_whole(seed, variant),
        }
    }
}

/// What `iolite simulate` prints. The run as a whole fails if a seed failed, a fault or an
/// occasion of some kind was rare, or little was confirmed.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub seeds: u64,
    pub failed_seeds: Vec<u64>,
    pub steps: u64,
    pub confirmed: u64,
    pub sightings: u64,
    pub faults: Counts<Fault>,
    pub occasions: Counts<Occasion>,
    /// Counts of the world of tables that sync.
    #[serde(skip_serializing_if = "Counts::is_empty")]
    pub row_events: Counts<RowEvent>,
    /// Counts of the world of tables that merge.
    #[serde(skip_serializing_if = "Counts::is_empty")]
    pub centre_events: Counts<CentreEvent>,
    /// Counts of the world of rights.
    #[serde(skip_serializing_if = "Counts::is_empty")]
    pub rights_events: Counts<RightsEvent>,
    /// Counts of the world of objects.
    #[serde(skip_serializing_if = "Counts::is_empty")]
    pub object_events: Counts<ObjectEvent>,
    /// Judged by what this world has to meet.
    #[serde(skip)]
    pub world: WorldKind,
    /// Equal for equal seeds.
    pub trace_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    /// The variant in whose worlds nothing was taken out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world_of: Option<String>,
    /// What the first failed seed violated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violated: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<String>,
    /// How the first cycle came to be, if one was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<String>,
}

/// Per 300 seeds; fewer seeds need fewer, in proportion.
const FAULTS_OF_EACH_KIND: u64 = 100;
const OCCASIONS_OF_EACH_KIND: u64 = 50;
/// [`Occasion::CameBack`] is rarer: an app has to be busy for longer than a gateway waits, while its link holds and somebody else commits.
const CAME_BACK: u64 = 30;
const CONFIRMED: u64 = 20_000;
/// In the world of tables that sync.
const ROW_EVENTS_OF_EACH_KIND: u64 = 100;
/// In the world of tables that merge.
const CENTRE_EVENTS_OF_EACH_KIND: u64 = 100;
/// A run loses a data centre once at most, and has one away for long once at most.
const CENTRES_GONE: u64 = 20;
/// In the world of objects. Some kinds are rarer, and have to come once.
const OBJECT_EVENTS_OF_EACH_KIND: u64 = 20;
/// In the world of rights.
const RIGHTS_EVENTS_OF_EACH_KIND: u64 = 100;
const SEEDS: u64 = 300;
/// In fewer than so many, chance decides what is rare.
const SEEDS_JUDGED_MIN: u64 = 60;

impl Report {
    /// Of what came of seeds. Of a broken variant no more is taken after the first seed that finds it.
    pub fn of(what: Simulated, outcomes: impl IntoIterator<Item = Outcome>) -> Report {
        let mut report = Report::empty(what);
        let mut trace = Sha256::new();
        for outcome in outcomes {
            trace.update(outcome.trace_hash);
            let failed = outcome.violation.is_some();
            report.add(outcome);
            if failed && report.broken.is_some() {
                break;
            }
        }
        report.trace_hash = hex(&trace.finalize());
        report
    }

    fn empty(what: Simulated) -> Report {
        let world = match what {
            Simulated::Whole(kind) => kind,
            Simulated::Broken(_) | Simulated::WorldOf(_) => WorldKind::Main,
        };
        let (broken, world_of) = match what {
            Simulated::Whole(_) => (None, None),
            Simulated::Broken(broken) => (Some(broken.name().to_owned()), None),
            Simulated::WorldOf(variant) => (None, Some(variant.name().to_owned())),
        };
        Report {
            seeds: 0,
            failed_seeds: Vec::new(),
            steps: 0,
            confirmed: 0,
            sightings: 0,
            faults: Counts::default(),
            occasions: Counts::default(),
            row_events: Counts::default(),
            centre_events: Counts::default(),
            rights_events: Counts::default(),
            object_events: Counts::default(),
            world,
            trace_hash: String::new(),
            broken,
            world_of,
            violated: None,
            violation: None,
            timeline: None,
        }
    }

    fn add(&mut self, outcome: Outcome) {
        self.seeds += 1;
        self.steps += outcome.steps;
        self.confirmed += outcome.confirmed;
        self.sightings += outcome.sightings;
        self.faults.merge(&outcome.faults);
        self.occasions.merge(&outcome.occasions);
        self.row_events.merge(&outcome.row_events);
        self.centre_events.merge(&outcome.centre_events);
        self.rights_events.merge(&outcome.rights_events);
        self.object_events.merge(&outcome.object_events);
        if let Some(violation) = outcome.violation {
            self.failed_seeds.push(outcome.seed);
            self.violated.get_or_insert_with(|| format!("{:?}", violation.invariant));
            self.violation.get_or_insert_with(|| violation.to_string());
            self.timeline = self.timeline.take().or(outcome.timeline);
        }
    }

    /// Why the run as a whole fails, if it does. A broken variant fails when no seed found it.
    pub fn failures(&self) -> Vec<String> {
        if let Some(broken) = &self.broken {
            let missed = self.failed_seeds.is_empty();
            return if missed { vec![format!("the broken variant {broken} was not found")] } else { Vec::new() };
        }
        let mut failures = Vec::new();
        if !self.failed_seeds.is_empty() {
            let seeds = &self.failed_seeds;
            failures
                .push(format!("seeds failed: {seeds:?}; replay one with `iolite simulate --seeds {0}..{0}`", seeds[0]));
        }
        if self.world_of.is_some() || self.seeds < SEEDS_JUDGED_MIN {
            return failures;
        }
        failures.extend(match self.world {
            WorldKind::Main => self.too_rare_in_main(),
            WorldKind::Rows => {
                too_rare("the event", &self.row_events, &RowEvent::ALL, |_| self.share(ROW_EVENTS_OF_EACH_KIND))
            }
            WorldKind::Centres => too_rare("the event", &self.centre_events, &CentreEvent::ALL, |event| {
                self.share(centre_events_wanted(event))
            }),
            WorldKind::Rights => too_rare("the event", &self.rights_events, &RightsEvent::ALL, |_| {
                self.share(RIGHTS_EVENTS_OF_EACH_KIND)
            }),
            WorldKind::Objects => {
                let wanted = |event| self.share(object_events_wanted(event));
                too_rare("the event", &self.object_events, &ObjectEvent::ALL, wanted)
            }
        });
        failures
    }

    /// As many of these seeds, if so many are of [`SEEDS`].
    fn share(&self, whole: u64) -> u64 {
        whole * self.seeds / SEEDS
    }

    fn too_rare_in_main(&self) -> Vec<String> {
        let share = |whole| self.share(whole);
        let mut failures = Vec::new();
        failures.extend(too_rare("the fault", &self.faults, &Fault::ALL, |_| share(FAULTS_OF_EACH_KIND)));
        let wanted = |occasion| share(occasions_wanted(occasion));
        failures.extend(too_rare("the occasion", &self.occasions, &Occasion::ALL, wanted));
        if self.confirmed < share(CONFIRMED) {
            let wanted = share(CONFIRMED);
            failures.push(format!("{} mutations were confirmed, and should have been {wanted}", self.confirmed));
        }
        failures
    }
}

fn centre_events_wanted(event: CentreEvent) -> u64 {
    match event {
        CentreEvent::LongAway | CentreEvent::Destroyed => CENTRES_GONE,
        CentreEvent::CalledOffline
        | CentreEvent::RestartedHolding
        | CentreEvent::RestartedSent
        | CentreEvent::Parted
        | CentreEvent::Unposted
        | CentreEvent::Went
        | CentreEvent::Came
        | CentreEvent::CutBetween
        | CentreEvent::Isolated
        | CentreEvent::OneWay
        | CentreEvent::Stopped
        | CentreEvent::MostStopped
        | CentreEvent::Denied
        | CentreEvent::Allowed => CENTRE_EVENTS_OF_EACH_KIND,
    }
}

fn object_events_wanted(event: ObjectEvent) -> u64 {
    let rare = [ObjectEvent::Fenced, ObjectEvent::Displaced, ObjectEvent::Restored, ObjectEvent::CommittedAgain];
    if rare.contains(&event) { 1 } else { OBJECT_EVENTS_OF_EACH_KIND }
}

fn occasions_wanted(occasion: Occasion) -> u64 {
    if occasion == Occasion::CameBack { CAME_BACK } else { OCCASIONS_OF_EACH_KIND }
}

fn too_rare<Kind: Ord + Copy + Debug>(
    what: &str,
    counts: &Counts<Kind>,
    all: &[Kind],
    wanted: impl Fn(Kind) -> u64,
) -> Vec<String> {
    let rare =
        all.iter().map(|kind| (*kind, counts.of(*kind), wanted(*kind))).filter(|(_, came, wanted)| came < wanted);
    rare.map(|(kind, came, wanted)| format!("{what} {kind:?} came {came} times, and should have {wanted} times"))
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occasions::Occasion::CameBack;

    /// As much as 300 seeds have to meet, and no more.
    fn enough() -> Report {
        let mut report = Report::empty(Simulated::Whole(WorldKind::Main));
        (report.seeds, report.confirmed) = (300, 20_000);
        Fault::ALL.into_iter().for_each(|fault| report.faults.add(fault, 100));
        Occasion::ALL.into_iter().for_each(|own| report.occasions.add(own, if own == CameBack { 30 } else { 50 }));
        report
    }

    /// All of `enough` but `missing`, and one less of that.
    fn short_of<Kind: Ord + Copy>(all: &[Kind], missing: Kind, enough: &Counts<Kind>) -> Counts<Kind> {
        let mut counts = Counts::default();
        all.iter().for_each(|kind| counts.add(*kind, enough.of(*kind) - u64::from(*kind == missing)));
        counts
    }

    #[test]
    fn a_run_fails_when_a_fault_or_an_occasion_was_rare_or_little_was_confirmed() {
        assert_eq!(enough().failures(), Vec::<String>::new());
        for fault in Fault::ALL {
            let failures = Report { faults: short_of(&Fault::ALL, fault, &enough().faults), ..enough() }.failures();
            assert_eq!(failures, [format!("the fault {fault:?} came 99 times, and should have 100 times")]);
        }
        for occasion in Occasion::ALL {
            let occasions = short_of(&Occasion::ALL, occasion, &enough().occasions);
            let failures = Report { occasions, ..enough() }.failures();
            let (came, wanted) = if occasion == CameBack { (29, 30) } else { (49, 50) };
            let said = format!("the occasion {occasion:?} came {came} times, and should have {wanted} times");
            assert_eq!(failures, [said]);
        }
        let few = Report { confirmed: 19_999, ..enough() }.failures();
        assert_eq!(few, ["19999 mutations were confirmed, and should have been 20000"]);
        let replayed = Report { seeds: 59, confirmed: 0, ..enough() };
        assert_eq!(replayed.failures(), Vec::<String>::new(), "so few say nothing of what is rare");
    }

    #[test]
    fn a_failed_seed_fails_the_run_and_is_named_with_the_command_that_replays_it() {
        let failures = Report { failed_seeds: vec![7, 9], ..enough() }.failures();
        assert_eq!(failures, ["seeds failed: [7, 9]; replay one with `iolite simulate --seeds 7..7`"]);
    }

    #[test]
    fn a_broken_variant_fails_the_run_unless_a_seed_finds_it() {
        let found = Report { failed_seeds: vec![7], ..Report::empty(Simulated::Broken(Broken::RemoveAtReply)) };
        assert_eq!(found.failures(), Vec::<String>::new());
        let missed = Report { seeds: 300, ..Report::empty(Simulated::Broken(Broken::RemoveAtReply)) };
        assert_eq!(missed.failures(), ["the broken variant remove-at-reply was not found"]);
    }
}
