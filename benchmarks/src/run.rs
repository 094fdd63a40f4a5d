//! Whatever `iolite bench` is asked for.

use std::process::ExitCode;

use anyhow::bail;

use crate::arguments::{AnyWorkload, AppWorkload, Arguments, Workload};
use crate::peer::Peer;
use crate::{
    diamond, fanout, game, measure, memory, objects, queries, queue, rebase, rights, rows, swiftsocial, text,
    transactions, views,
};

/// Measures a workload and prints the report.
///
/// # Errors
/// When options do not fit together, or servers or clients do not start or fail. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let (Some(_), AnyWorkload::OfClients(_) | AnyWorkload::Transactions(_) | AnyWorkload::OfApps(_)) =
        (&arguments.text.trace, arguments.workload)
    {
        bail!("only text has a --trace");
    }
    let has_delays = [AppWorkload::Schemes, AppWorkload::ObjectCache].map(AnyWorkload::OfApps);
    if arguments.delay_ms.len() > 1 && !has_delays.contains(&arguments.workload) {
        bail!("only schemes and object-cache have several --delay-ms");
    }
    match arguments.workload {
        AnyWorkload::Text => match &arguments.text.trace {
            Some(trace) => text::run(&arguments.text, trace, arguments.json),
            None => bail!("nothing to replay: text needs --trace FILE"),
        },
        AnyWorkload::OfMemory(workload) => memory::run(&arguments.memory, workload, arguments.json),
        AnyWorkload::Transactions(workload) => {
            if let Some(option) = of_any_app(arguments) {
                bail!("{} has no {option}: it has no reactive data", workload.name());
            }
            transactions::run(arguments, workload)
        }
        AnyWorkload::OfApps(workload) => {
            if let Some(option) = of_another_app(arguments, workload) {
                bail!("{} has no {option}", workload.name());
            }
            match workload {
                AppWorkload::Game => game::run(arguments),
                AppWorkload::RetwisDiamond => diamond::run(arguments),
                AppWorkload::Fanout => fanout::run(arguments),
                AppWorkload::Query => queries::run(arguments),
                AppWorkload::Views => views::run(arguments),
                AppWorkload::Rebase => rebase::run(arguments),
                AppWorkload::Queue => queue::run(arguments),
                AppWorkload::Blob => rows::run_blob(arguments),
                AppWorkload::SyncOverhead => rows::run_overhead(arguments),
                AppWorkload::Schemes => rows::run_schemes(arguments),
                AppWorkload::Swiftsocial => swiftsocial::run(arguments),
                AppWorkload::Rights => rights::run(arguments),
                AppWorkload::ObjectNull => objects::run(arguments),
                AppWorkload::ObjectCache => objects::run_cache(arguments),
                AppWorkload::ObjectFront => objects::run_front(arguments),
                AppWorkload::ObjectMoves => objects::run_moves(arguments),
                AppWorkload::ObjectGame => objects::run_game(arguments),
            }
        }
        AnyWorkload::OfClients(workload) => {
            if let Some(option) = arguments.transactions.name_of_any_but(beside(workload)).or(of_any_app(arguments)) {
                bail!("{} has no {option}: it measures clients of one server", workload.name());
            }
            if let Some(other) = arguments.transactions.beside.iter().find(|peer| **peer != Peer::Hocuspocus) {
                bail!("{} is beside {}, not beside {}", other.name(), other.beside(), workload.name());
            }
            if !arguments.embedded && arguments.target.is_none() {
                bail!("nothing to measure: {} needs --embedded or --target URL", workload.name());
            }
            measure::run(arguments, workload)
        }
    }
}

/// Which options of transactions a workload of clients has.
fn beside(workload: Workload) -> &'static [&'static str] {
    match workload {
        Workload::Propagate => &["--beside"],
        Workload::Counter | Workload::Rmw | Workload::Bank | Workload::Append => &[],
    }
}

/// What was asked for that only apps have.
fn of_any_app(arguments: &Arguments) -> Option<&'static str> {
    of_apps_but(arguments, None)
}

/// What was asked for that only other apps have.
fn of_apps_but(arguments: &Arguments, own: Option<AppWorkload>) -> Option<&'static str> {
    use AppWorkload::{
        Blob, Fanout, Game, ObjectMoves, ObjectNull, Query, Queue, Rebase, RetwisDiamond, Rights, Schemes, Swiftsocial,
        SyncOverhead, Views,
    };
    let Arguments { game, diamond, fanout, queries, views, rebase, queue, .. } = arguments;
    let Arguments { rows, swiftsocial, objects, rights, .. } = arguments;
    let all: [(&[AppWorkload], Option<&'static str>); 18] = [
        (&[Game], game.name_of_any()),
        (&[Game, Views], game.name_of_kill()),
        (&[RetwisDiamond], diamond.name_of_any()),
        (&[Fanout], fanout.name_of_any()),
        (&[Query], queries.name_of_any()),
        (&[Views], views.name_of_any()),
        (&[Views, Rebase], views.name_of_members()),
        (&[Rebase], rebase.name_of_any()),
        (&[Queue], queue.name_of_any()),
        (&[Views, Blob, ObjectNull], views.name_of_bytes()),
        (&[Blob], rows.name_of_cuts()),
        (&[Query, SyncOverhead], queries.name_of_rows()),
        (&[SyncOverhead], rows.name_of_blob()),
        (&[Schemes], rows.name_of_away()),
        (&[Schemes, SyncOverhead, ObjectMoves], rows.name_of_times()),
        (&[Swiftsocial], swiftsocial.name_of_any()),
        (&[ObjectNull], objects.name_of_any()),
        (&[Rights], rights.name_of_any()),
    ];
    all.into_iter().find_map(|(apps, name)| name.filter(|_| own.is_none_or(|own| !apps.contains(&own))))
}

/// What was asked for that this app does not have.
fn of_another_app(arguments: &Arguments, workload: AppWorkload) -> Option<&'static str> {
    use AppWorkload::{
        Blob, Fanout, Game, ObjectCache, ObjectFront, ObjectGame, ObjectMoves, ObjectNull, Query, Queue, Rebase,
        RetwisDiamond, Rights, Schemes, Swiftsocial, SyncOverhead, Views,
    };
    // These start a server of their own, so they may be told to.
    let starts_its_own = matches!(workload, Views | Blob | SyncOverhead | Schemes | Swiftsocial | Rights);
    let of_servers = [("--embedded", arguments.embedded && !starts_its_own), ("--target", arguments.target.is_some())];
    let of_servers = of_servers.into_iter().find_map(|(name, is_asked)| is_asked.then_some(name));
    let of_transactions: &[&str] = match workload {
        Game | Fanout | Views | Swiftsocial | ObjectNull => &["--beside"],
        RetwisDiamond => &["--beside", "--keys", "--zipf"],
        Rights => &["--keys", "--zipf"],
        Query | Rebase | Queue | Blob | SyncOverhead | Schemes | ObjectCache | ObjectFront | ObjectMoves
        | ObjectGame => &[],
    };
    let of_apps = of_servers.or(of_apps_but(arguments, Some(workload)));
    of_apps.or(arguments.transactions.name_of_any_but(of_transactions))
}
