//! `iolite simulate`: whole clusters, each in one thread, from seeds, with every invariant on.
//!
//! Invariant: what is printed follows from the seeds, however many cores run them. (Not the seconds, which `--check` and `--every-variant` print.)

mod rows;

use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use iolite_simulation::{Broken, Outcome, Report, Simulated, WorldKind};

#[derive(Args)]
pub struct Arguments {
    /// The seeds to run, both ends included, such as 1..300
    #[arg(long, value_parser = parse_seeds, required_unless_present_any = ["seed", "check", "every_variant"])]
    seeds: Option<RangeInclusive<u64>>,
    /// Run one seed
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// The world: strong tables of every type and level, tables that sync, tables that merge, objects that move, or users with rights
    #[arg(long, value_name = "WORLD", value_parser = world(), default_value = WorldKind::Main.name(), conflicts_with_all = ["broken", "world_of"])]
    world: WorldKind,
    /// Take one rule out, to see that the checks find it; stops at the first seed that does
    #[arg(long, value_name = "RULE", value_parser = broken())]
    broken: Option<Broken>,
    /// Take nothing out, but run the worlds in which the lack of a rule is looked for
    #[arg(long, value_name = "RULE", value_parser = broken(), conflicts_with = "broken")]
    world_of: Option<Broken>,
    /// Check rules of the simulation itself: equal seeds give equal runs, the worlds of variants pass, the anomaly of Figure 9 is told
    #[arg(long, conflicts_with_all = ["seeds", "seed", "broken", "world_of", "json"])]
    check: bool,
    /// Take each rule out in turn, and fail unless the seeds of the variant find it
    #[arg(long, conflicts_with_all = ["seeds", "seed", "broken", "world_of", "json", "check"])]
    every_variant: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

fn parse_seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let (first, last) = text.split_once("..").ok_or("seeds are two numbers, such as 1..300")?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{text:?} is not a number"));
    let seeds = number(first)?..=number(last.trim_start_matches('='))?;
    if seeds.is_empty() { Err("the first seed is at most the last".into()) } else { Ok(seeds) }
}

fn broken() -> impl TypedValueParser<Value = Broken> {
    PossibleValuesParser::new(Broken::all().map(Broken::name))
        .map(|name| Broken::from_name(&name).expect("it is one of the names"))
}

fn world() -> impl TypedValueParser<Value = WorldKind> {
    PossibleValuesParser::new(WorldKind::ALL.map(WorldKind::name))
        .map(|name| WorldKind::from_name(&name).expect("it is one of the names"))
}

/// Fails when a seed failed, a fault or an occasion of some kind was rare, little was confirmed, or a broken variant was not found.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    tell_panics_of_the_main_thread_only();
    if arguments.check {
        return rows::checks();
    }
    if arguments.every_variant {
        return rows::every_variant();
    }
    let report = run_seeds(arguments);
    iolite_host::print(&if arguments.json { serde_json::to_string_pretty(&report)? + "\n" } else { text(&report) })?;
    let failures = report.failures();
    for failure in &failures {
        iolite_host::warn(&format!("error: {failure}"));
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// In a run a machine's failed assertion is a finding, and is told with its seed; where it was is not needed for that.
fn tell_panics_of_the_main_thread_only() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if thread::current().name() == Some("main") {
            usual(panic);
        }
    }));
}

fn run_seeds(arguments: &Arguments) -> Report {
    let one = arguments.seed.map(|seed| seed..=seed);
    let seeds = one.or_else(|| arguments.seeds.clone()).expect("one of the two is required");
    let what = match (arguments.broken, arguments.world_of) {
        (Some(broken), _) => Simulated::Broken(broken),
        (None, Some(variant)) => Simulated::WorldOf(variant),
        (None, None) => Simulated::Whole(arguments.world),
    };
    Report::of(what, outcomes(seeds, what).inspect(tell_failure))
}

/// So many outcomes wait for those of seeds before them, of each core.
const AHEAD: usize = 16;

/// What comes of each seed, in their order. Each core runs every nth; one whose outcomes nobody takes any more stops after its seed.
fn outcomes(seeds: RangeInclusive<u64>, what: Simulated) -> impl Iterator<Item = Outcome> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let start = |core| {
        let own = seeds.clone().skip(core).step_by(cores);
        let (sender, outcomes) = mpsc::sync_channel(AHEAD);
        thread::spawn(move || {
            for seed in own {
                if sender.send(what.run(seed)).is_err() {
                    return;
                }
            }
        });
        outcomes
    };
    let running: Vec<_> = (0..cores).map(start).collect();
    seeds.zip((0..cores).cycle()).map(move |(_, core)| running[core].recv().expect("a run's panic is its outcome"))
}

fn tell_failure(outcome: &Outcome) {
    if let Some(violation) = &outcome.violation {
        iolite_host::warn(&format!("seed {}: {violation}", outcome.seed));
    }
}

fn text(report: &Report) -> String {
    let mut lines = vec![
        format!("seeds        {} ({} failed)", report.seeds, report.failed_seeds.len()),
        format!("steps        {}", report.steps),
        format!("confirmed    {} mutations", report.confirmed),
        format!("sightings    {} runs of reactive transactions, each checked", report.sightings),
        format!("faults       {}", report.faults),
        format!("occasions    {}", report.occasions),
        format!("trace hash   {}", report.trace_hash),
    ];
    if !report.row_events.is_empty() {
        lines.insert(6, format!("row events   {}", report.row_events));
    }
    if !report.centre_events.is_empty() {
        lines.insert(6, format!("centre events {}", report.centre_events));
    }
    if !report.rights_events.is_empty() {
        lines.insert(6, format!("rights events {}", report.rights_events));
    }
    if !report.object_events.is_empty() {
        lines.insert(6, format!("object events {}", report.object_events));
    }
    lines.extend(report.violation.as_ref().map(|violation| format!("violated     {violation}")));
    lines.extend(report.timeline.as_ref().map(|timeline| format!("\n{timeline}")));
    lines.join("\n") + "\n"
}
