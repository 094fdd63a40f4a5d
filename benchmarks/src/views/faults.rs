//! A member that fails, and what the others wait for: figure 3.15 of the paper.
//!
//! All members call steadily. One of them is killed, stopped or cut off for a while, and comes back; the calls of another one are measured. At the end, the
//! member that came back is stopped once more for a moment: a call is waited for again, so the member counts again.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use iolite_host::monotonic_nanos;
use rustix::process::Signal;
use serde_json::json;
use tokio::runtime::Runtime;

use super::Fault;
use super::cut::CutProxy;
use super::delays::{Delays, end, faults};
use super::seats::{Seats, agree, calls, expect_ready};
use super::talk::{Call, Subject, ToMember};
use crate::arguments::Arguments;
use crate::cells::Cells;
use crate::child::Address;
use crate::cluster::ClusterDirectory;
use crate::server::Server;

/// Between two calls of a member.
const EVERY_MS: u32 = 50;
/// After so long a member that owes something is not waited for any longer: `DELIVERED_WITHIN` of the gateway.
const TIME_OUT_MS: u64 = 2_000;
/// The member fails for longer than that.
const FAILS_FOR_MIN_S: u32 = 3;
/// From the end of the time-out until what waited for it is through.
const GOES_ON_AFTER_MS: u64 = 500;
/// How long the member that came back is stopped: less than the time-out.
const STOPPED_AGAIN_FOR: Duration = Duration::from_secs(1);
/// Until what the member applied last has reached the gateway.
const SETTLES_WITHIN: Duration = Duration::from_millis(300);

/// When the member failed, and was back.
#[derive(Clone, Copy, Debug)]
struct Span {
    failed_nanos: u64,
    back_nanos: u64,
}

pub fn run(arguments: &Arguments, fault: Fault, count: u32) -> anyhow::Result<ExitCode> {
    let victim = count as usize - 1;
    let fails_for_s = arguments.seconds.max(FAILS_FOR_MIN_S);
    let settings = json!({
        "members": count, "fault": format!("{fault:?}").to_lowercase(), "delay_ms": arguments.delay_ms(), "every_ms": EVERY_MS,
        "fails_for_seconds": fails_for_s, "durability": arguments.durability.name(),
    });
    let mut cells = Cells::new(&super::name(), settings);
    let server = Server::of(arguments)?;
    let link = Link::before(&server.clients_address())?;
    let mut seats = Seats::empty(ClusterDirectory::new(arguments.durability)?);
    for number in 0..=victim {
        let address = if number == victim { &link.address } else { &server.clients_address() };
        seats.members.push(seats.start(number, address)?);
    }
    seats.members.iter_mut().try_for_each(expect_ready)?;
    let steadily = ToMember::Steadily { seconds: 2 * arguments.seconds + fails_for_s, every_ms: EVERY_MS };
    seats.members.iter_mut().try_for_each(|member| member.tell(&steadily))?;
    let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
    std::thread::sleep(seconds(arguments.seconds));
    let span = fail(&mut seats, &link, fault, seconds(fails_for_s))?;
    let mut own = Vec::new();
    for (number, member) in seats.members.iter_mut().enumerate() {
        if number == victim && fault == Fault::Kill {
            continue;
        }
        let made = calls(member)?;
        faults(&mut cells, &format!("member {number}"), &made);
        if number == 0 {
            own = made.calls;
        }
    }
    agree(&mut seats.members, "at the end", &mut cells)?;
    if !counts_again(&mut seats, &mut cells)? {
        cells.fault("the member that came back is not waited for".to_owned());
    }
    report(&mut cells, &own, span);
    end(seats.members)?;
    cells.print(arguments.json)
}

/// The victim's link, which can be cut.
struct Link {
    address: Address,
    proxy: CutProxy,
    /// Carries the proxy.
    _runtime: Runtime,
}

impl Link {
    fn before(address: &Address) -> anyhow::Result<Link> {
        let target = address.url.trim_start_matches("ws://").trim_end_matches("/sync");
        let target: SocketAddr = target.parse().with_context(|| format!("{:?} has no address", address.url))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let proxy = runtime.block_on(CutProxy::start(target))?;
        let url = format!("ws://{}/sync", proxy.address());
        Ok(Link { address: Address { url, token: address.token.clone() }, proxy, _runtime: runtime })
    }
}

/// Lets the last member fail for so long, and come back.
fn fail(seats: &mut Seats, link: &Link, fault: Fault, time: Duration) -> anyhow::Result<Span> {
    let victim = seats.members.len() - 1;
    let failed_nanos = monotonic_nanos();
    match fault {
        Fault::Kill => seats.members[victim].pid().kill(),
        Fault::Stop => seats.signal(victim, Signal::STOP)?,
        Fault::Partition => link.proxy.cut(true),
    }
    std::thread::sleep(time);
    match fault {
        Fault::Kill => {
            let mut again = seats.start(victim, &link.address)?;
            expect_ready(&mut again)?;
            seats.seat(victim, again);
        }
        Fault::Stop => seats.signal(victim, Signal::CONT)?,
        Fault::Partition => link.proxy.cut(false),
    }
    Ok(Span { failed_nanos, back_nanos: monotonic_nanos() })
}

/// Whether a call waits for the last member.
fn counts_again(seats: &mut Seats, cells: &mut Cells) -> anyhow::Result<bool> {
    std::thread::sleep(SETTLES_WITHIN);
    let victim = seats.members.len() - 1;
    seats.signal(victim, Signal::STOP)?;
    seats.members[0].tell(&ToMember::Calls { of: Subject::Log, seconds: 0, warm_up: 0 })?;
    std::thread::sleep(STOPPED_AGAIN_FOR);
    let resumed_nanos = monotonic_nanos();
    seats.signal(victim, Signal::CONT)?;
    let made = calls(&mut seats.members[0])?;
    faults(cells, "the last call", &made);
    let delivered = |call: &Call| call.called_nanos + call.delivered.unwrap_or_default();
    Ok(made.calls.first().is_some_and(|call| delivered(call) >= resumed_nanos))
}

fn report(cells: &mut Cells, own: &[Call], span: Span) {
    let told = |call: &Call| call.called_nanos + call.delivered.unwrap_or_default();
    let goes_on_nanos = span.failed_nanos + (TIME_OUT_MS + GOES_ON_AFTER_MS) * 1_000_000;
    type IsIn<'a> = &'a dyn Fn(&Call) -> bool;
    let phases: [(&str, IsIn<'_>); 4] = [
        ("before", &|call| told(call) < span.failed_nanos),
        ("failing", &|call| told(call) >= span.failed_nanos && call.called_nanos < goes_on_nanos),
        ("without", &|call| (goes_on_nanos..span.back_nanos).contains(&call.called_nanos)),
        ("back", &|call| call.called_nanos >= span.back_nanos.max(goes_on_nanos)),
    ];
    let mut measured = Vec::new();
    for (phase, is_in) in phases {
        let calls: Vec<Call> = own.iter().filter(|call| is_in(call)).copied().collect();
        if calls.is_empty() {
            cells.fault(format!("no call was measured in the phase {phase}"));
        }
        let Delays { optimistic, durable, confirmed, delivered } = Delays::of(&calls);
        let longest = longest_ms(&calls);
        cells.push(json!({
            "phase": phase, "calls": calls.len(), "optimistic": optimistic, "durable": durable, "confirmed": confirmed,
            "delivered": delivered, "longest_delivered_ms": longest, "waits_of_a_time_out": waits(&calls),
        }));
        measured.push((Delays::of(&calls), longest));
    }
    let [(before, _), (failing, longest), (without, _), _] = measured[..] else { unreachable!("four phases") };
    let durable = |delays: &Delays| delays.durable.map_or(0.0, |durable| durable.p50);
    cells.ratio("optimistic failing of before", failing.optimistic.p50, before.optimistic.p50);
    cells.ratio("durable failing of before", durable(&failing), durable(&before));
    cells.ratio("confirmed failing of before", failing.confirmed.p50, before.confirmed.p50);
    cells.ratio("delivered without the member of before", without.delivered_ms(), before.delivered_ms());
    cells.ratio("longest delivered of the time-out", longest, TIME_OUT_MS as f64);
}

fn longest_ms(calls: &[Call]) -> f64 {
    calls.iter().filter_map(|call| call.delivered).max().unwrap_or_default() as f64 / 1e6
}

/// How often calls waited for longer than half a time-out. Calls in a row are one such wait.
fn waits(calls: &[Call]) -> usize {
    let is_long = |call: &Call| call.delivered.unwrap_or_default() > TIME_OUT_MS * 500_000;
    let mut before = false;
    let begins = calls.iter().map(is_long).filter(|is_long| {
        let begins = *is_long && !before;
        before = *is_long;
        begins
    });
    begins.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_waits_in_a_row_are_one() {
        let call = |delivered_ms: u64| Call {
            called_nanos: 0,
            optimistic: 0,
            durable: None,
            confirmed: 0,
            delivered: Some(delivered_ms * 1_000_000),
            violations: 0,
        };
        let calls = |all: &[u64]| all.iter().copied().map(call).collect::<Vec<_>>();
        assert_eq!(waits(&calls(&[5, 900, 3])), 0);
        assert_eq!(waits(&calls(&[5, 2000, 1950, 1500, 4])), 1);
        assert_eq!(waits(&calls(&[2000, 3, 2000])), 2);
        assert!((longest_ms(&calls(&[2000, 3])) - 2000.0).abs() < 1e-9);
    }
}
