//! Bytes and messages of a change, by how many members see it: of a strong table, of the same one with `delivered`, and of a log.
//!
//! All members are in this process, since what is counted is what they send and receive. A message is a WebSocket frame.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use iolite::{Traffic, View};
use serde_json::json;

use super::member::Member;
use super::talk::Subject;
use crate::arguments::Arguments;
use crate::cells::Cells;
use crate::child::Address;
use crate::server::Server;

const MEMBERS: &[u32] = &[2, 8, 32];
/// Changes of each kind that count, and before them.
const CALLS: u64 = 50;
const WARM_UP: u64 = 3;
/// Until nothing of the last change is on its way.
const SETTLES_WITHIN: Duration = Duration::from_millis(300);

/// The price of one change.
#[derive(Clone, Copy, Debug, Default)]
struct Price {
    bytes: f64,
    messages: f64,
}

pub fn run(arguments: &Arguments, members: &[u32]) -> anyhow::Result<ExitCode> {
    let settings = json!({"calls": CALLS, "durability": arguments.durability.name(), "processes": 1});
    let mut cells = Cells::new(&super::name(), settings);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    for count in if members.is_empty() { MEMBERS } else { members } {
        let server = Server::of(arguments)?;
        runtime.block_on(of_so_many(&server.clients_address(), *count, &mut cells))?;
    }
    cells.print(arguments.json)
}

async fn of_so_many(address: &Address, count: u32, cells: &mut Cells) -> anyhow::Result<()> {
    let mut members = Vec::new();
    for number in 0..count {
        members.push(Member::open(address, &format!("member-{number}"), None).await?);
    }
    let mut begun = 0;
    let mut prices = Vec::new();
    for of in [Subject::Plain, Subject::Strong, Subject::Log] {
        calls(&mut members, of, &mut begun, WARM_UP).await?;
        let before = traffic(&members);
        calls(&mut members, of, &mut begun, CALLS).await?;
        let after = traffic(&members);
        let each = |after: u64, before: u64| (after - before) as f64 / CALLS as f64;
        let (bytes_up, bytes_down) = (each(after.bytes_up, before.bytes_up), each(after.bytes_down, before.bytes_down));
        let (messages_up, messages_down) =
            (each(after.frames_up, before.frames_up), each(after.frames_down, before.frames_down));
        cells.push(json!({
            "members": count, "of": of.name(), "bytes_up": bytes_up, "bytes_down": bytes_down, "messages_up": messages_up,
            "messages_down": messages_down,
        }));
        prices.push(Price { bytes: bytes_up + bytes_down, messages: messages_up + messages_down });
    }
    let more = |of: fn(&Price) -> f64| of(&prices[1]) - of(&prices[0]);
    let (bytes, messages) = (more(|price| price.bytes), more(|price| price.messages));
    cells.ratio(&format!("{count} members: bytes of delivered by the member"), bytes, f64::from(count));
    cells.ratio(&format!("{count} members: messages of delivered by the member"), messages, f64::from(count));
    cells.ratio(&format!("{count} members: bytes of delivered by its message"), bytes, messages);
    Ok(())
}

/// Changes one at a time, until all members show the last one and nothing of it is on its way.
async fn calls(members: &mut [Member], of: Subject, begun: &mut u64, count: u64) -> anyhow::Result<()> {
    for _ in 0..count {
        let Some(call) = members[0].call(of).await? else { bail!("a call did not come to its end") };
        if call.violations > 0 {
            bail!("a view did not show a call of {} that it should have", of.name());
        }
        let (at, text) = Member::content("member-0", *begun);
        *begun += 1;
        while !members.iter().all(|member| member.shows(View::Confirmed, of, &at, &text)) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    tokio::time::sleep(SETTLES_WITHIN).await;
    Ok(())
}

/// The sum over all members.
fn traffic(members: &[Member]) -> Traffic {
    members.iter().map(|member| member.client.traffic()).fold(Traffic::default(), |all, one| Traffic {
        bytes_up: all.bytes_up + one.bytes_up,
        bytes_down: all.bytes_down + one.bytes_down,
        frames_up: all.frames_up + one.frames_up,
        frames_down: all.frames_down + one.frames_down,
    })
}
