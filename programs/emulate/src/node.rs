//! `iolite-emulate node`: the process of one node of a real run. Its parent talks to it by lines on its standard input, and it ends with that.

use std::io::{BufRead, stdin};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, Result, bail};
use iolite_emulator::{NodeInput, Plan};

use crate::real::{Host, Input, Links, RealClock, Start, listen};

pub fn run() -> Result<ExitCode> {
    let mut lines = stdin().lock().lines();
    let mut line =
        || lines.next().context("`node` is for `run --clock real`, which starts it")?.context("no line can be read");
    let Start { files, own } = serde_json::from_str(&line()?)?;
    let mut nodes = Plan::read(&files)?.nodes()?;
    let loaded = nodes.swap_remove(own.0 as usize);
    drop(nodes);
    let (inputs, received) = mpsc::channel();
    let port = listen(inputs.clone())?;
    crate::output::print(&format!("{port}\n"))?;
    let ports: Vec<u16> = serde_json::from_str(&line()?)?;
    drop(lines);
    thread::spawn(move || {
        // Nothing more is said: it is the end that counts.
        _ = stdin().lock().lines().count();
        // The loop that would take it may have ended by itself.
        _ = inputs.send(Input::Stop);
    });
    let clock = RealClock::start();
    let mut host = Host::new(own, loaded, Links::new(&ports), clock);
    loop {
        match clock.receive(&received, host.deadline())? {
            Some(Input::Message(message)) => host.handle(NodeInput::Message(message))?,
            Some(Input::Stop) => break,
            Some(Input::Broken(reason)) => bail!("{own:?}: a link broke: {reason}"),
            None => {}
        }
        host.on_time()?;
    }
    crate::output::print(&(serde_json::to_string(&host.counts())? + "\n"))?;
    Ok(ExitCode::SUCCESS)
}
