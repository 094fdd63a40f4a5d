//! The real clock: a process a node, over loopback. The client is this process.
//!
//! Invariant: nodes, disks and client are the machines of the virtual clock; here only waiting and sending are real. Each process fills its node
//! with the data of the workload by itself, as all would be the same.
//!
//! The links are plain TCP with one thread a connection and direction. Those of `iolite-host` have certificates, greetings and a runtime, whose
//! processor time no emulated design has.

mod clock;
mod cluster;
mod frames;
mod host;
mod links;

pub use clock::RealClock;
pub use cluster::Start;
pub use host::{Host, Input};
pub use links::{Links, listen};

use std::sync::mpsc;
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};
use iolite_emulator::{Begun, Busy, Deployment, LoadClient, NodeInput, Plan, PlanFiles, Recorded, Report};
use rustix::time::{ClockId, clock_gettime};

use cluster::Cluster;

/// Runs a plan in real time: what the client saw, and its busiest disk.
pub fn run(files: &PlanFiles, plan: &Plan) -> Result<(Vec<Recorded>, Option<Busy>)> {
    let mut nodes = plan.nodes()?;
    let own = nodes.swap_remove(Deployment::CLIENT.0 as usize);
    drop(nodes);
    let (inputs, received) = mpsc::channel();
    let port = listen(inputs)?;
    let mut cluster = Cluster::start(files, plan)?;
    let ports = cluster.introduce(port)?;
    let clock = RealClock::start();
    let mut host = Host::new(Deployment::CLIENT, own, Links::new(&ports), clock);
    let mut client = LoadClient::new(&plan.workload, plan.seed, clock.now());
    let began = processor_time();
    while !client.has_ended() {
        let due = client.deadline().into_iter().chain(host.deadline()).min();
        match clock.receive(&received, due)? {
            Some(Input::Message(message)) => host.handle(NodeInput::Message(message))?,
            Some(Input::Broken(problem)) => bail!("a link broke: {problem}"),
            Some(Input::Stop) | None => {}
        }
        for begun in client.on_deadline(clock.now()) {
            host.handle(match begun {
                Begun::Operation(message) => NodeInput::Message(message),
                Begun::Forget(operation) => NodeInput::Forget(operation),
            })?;
        }
        host.on_time()?;
        for message in host.finished() {
            client.finish(clock.now(), &message);
            host.handle(NodeInput::Forget(message.operation))?;
        }
    }
    let whole = clock.elapsed();
    let cores = available_parallelism().context("how many processors there are cannot be asked")?.get();
    let share = (processor_time() - began) / (whole.as_secs_f64() * cores as f64);
    let counts = cluster.stop()?;
    if share > 0.5 {
        bail!(
            "the client took {:.0} % of this machine, so the figures would be its own: lower the rates, or take a larger machine",
            share * 100.0
        );
    }
    let names: Vec<String> = plan.deployment.nodes().skip(1).map(|node| plan.deployment.name(node)).collect();
    Ok((client.into_history(), Report::busiest_disk(&names, &counts, whole)))
}

/// Seconds that this process has had of processors.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
