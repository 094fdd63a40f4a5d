//! How long it takes until all operations of all members are delivered everywhere, by how many members there are: figure 3.14 of the paper.
//!
//! A run that is not through after two minutes and a half is given up, and its cell says how far it came.

use std::process::ExitCode;

use anyhow::bail;
use serde_json::json;

use super::array::SIZE;
use super::member::{FromMember, Ran, ToMember, Work};
use crate::arguments::Arguments;
use crate::cells::Cells;
use crate::cluster::ClusterDirectory;
use crate::latency::Latencies;
use crate::part::PartProcess;
use crate::server::Server;

const WITHIN_SECONDS: u32 = 150;

pub fn run(arguments: &Arguments, members: &[u32]) -> anyhow::Result<ExitCode> {
    let options = &arguments.rebase;
    let batches = if options.batch_ms.is_empty() { &[0][..] } else { &options.batch_ms };
    let work = Work {
        members: 0,
        operations: options.operations.unwrap_or(200),
        increments: options.increments.unwrap_or(50),
        every_ms: options.every_ms.unwrap_or(100),
        within_seconds: WITHIN_SECONDS,
    };
    let settings = json!({
        "ints": SIZE, "operations": work.operations, "increments": work.increments, "every_ms": work.every_ms,
        "delay_ms": arguments.delay_ms(), "durability": arguments.durability.name(), "members_of_a_process": 1,
    });
    let mut cells = Cells::new(&super::name(), settings);
    for batch_ms in batches {
        let mut first = None;
        for count in members {
            let seconds = with(arguments, Work { members: *count, ..work }, *batch_ms, &mut cells)?;
            match (first, seconds) {
                (None, _) => first = Some((*count, seconds)),
                (Some((least, Some(fastest))), Some(seconds)) => {
                    cells.ratio(&format!("batch {batch_ms} ms: {count} members of {least}"), seconds, fastest);
                }
                (Some(_), _) => {}
            }
        }
    }
    cells.print(arguments.json)
}

/// One server, and so many members. Returns how long they took, if they came to the end.
fn with(arguments: &Arguments, work: Work, batch_ms: u32, cells: &mut Cells) -> anyhow::Result<Option<f64>> {
    let server = Server::of(arguments)?;
    let address = server.clients_address();
    let directory = ClusterDirectory::new(arguments.durability)?;
    let mut members = Vec::new();
    for number in 0..work.members {
        let own = directory.path().join(format!("member-{number}"));
        std::fs::create_dir(&own)?;
        let words = ["bench-part", "rebase-member", "--url", &address.url, "--token", &address.token];
        let (number, batch_ms, own) = (number.to_string(), batch_ms.to_string(), own.to_string_lossy());
        let what = ["--number", &number, "--batch-ms", &batch_ms, "--directory", &own];
        members.push(PartProcess::start(&[&words[..], &what].concat())?);
    }
    members[0].tell(&ToMember::Fill)?;
    ready(&mut members[0])?;
    members.iter_mut().try_for_each(|member| member.tell(&ToMember::Load))?;
    members.iter_mut().try_for_each(ready)?;
    members.iter_mut().try_for_each(|member| member.tell(&ToMember::Run(work)))?;
    let ran = members.iter_mut().map(ran).collect::<anyhow::Result<Vec<_>>>()?;
    for mut member in members {
        member.tell(&ToMember::End)?;
        member.end()?;
    }
    Ok(report(&ran, work, batch_ms, cells))
}

fn ready(member: &mut PartProcess) -> anyhow::Result<()> {
    match member.hear()? {
        FromMember::Ready => Ok(()),
        FromMember::Ran(_) => bail!("a member ran before it was told to"),
    }
}

fn ran(member: &mut PartProcess) -> anyhow::Result<Ran> {
    match member.hear()? {
        FromMember::Ran(ran) => Ok(*ran),
        FromMember::Ready => bail!("a member is ready instead of through"),
    }
}

fn report(ran: &[Ran], work: Work, batch_ms: u32, cells: &mut Cells) -> Option<f64> {
    let all = u64::from(work.members) * u64::from(work.operations);
    let is_through = ran.iter().all(|ran| ran.delivered == work.operations && ran.replayed == all);
    let begun = ran.iter().map(|ran| ran.begun_nanos).min().unwrap_or_default();
    let ended = ran.iter().map(|ran| ran.ended_nanos).max().unwrap_or_default();
    let seconds = is_through.then(|| ended.saturating_sub(begun) as f64 / 1e9);
    let mut peek = Latencies::default();
    ran.iter().for_each(|ran| peek.add(&ran.peek));
    if is_through {
        let sum = (all * u64::from(work.increments)).cast_signed();
        for (number, own) in ran.iter().enumerate() {
            if own.sum != sum || own.digest != ran[0].digest {
                cells.fault(format!(
                    "{} members, batch {batch_ms} ms: member {number} has the sum {} instead of {sum}, or other values than member 0",
                    work.members, own.sum
                ));
            }
        }
    }
    cells.push(json!({
        "members": work.members, "batch_ms": batch_ms, "seconds": seconds, "is_through": is_through,
        "given_up_after_seconds": work.within_seconds,
        "delivered": ran.iter().map(|ran| u64::from(ran.delivered)).sum::<u64>(), "of": all,
        "replayed_least": ran.iter().map(|ran| ran.replayed).min(), "peek_ms": is_through.then(|| peek.percentiles()),
    }));
    seconds
}
