//! Members' processes as their parent sees them, of Iolite and of the peer.

use std::time::{Duration, Instant};

use anyhow::bail;
use rustix::process::{Signal, kill_process};

use super::talk::{Calls, FromMember, State, ToMember};
use crate::cells::Cells;
use crate::child::Address;
use crate::cluster::ClusterDirectory;
use crate::part::PartProcess;

/// Where members that are on Iolite keep their stores.
pub struct Seats {
    pub members: Vec<PartProcess>,
    directory: ClusterDirectory,
}

/// Far more than anything takes: members that differ for so long stay so.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

impl Seats {
    pub fn empty(directory: ClusterDirectory) -> Seats {
        Seats { members: Vec::new(), directory }
    }

    /// Starts a member, or starts it again on the store that it had.
    pub fn start(&self, number: usize, address: &Address) -> anyhow::Result<PartProcess> {
        let name = format!("member-{number}");
        let directory = self.directory.path().join(&name);
        std::fs::create_dir_all(&directory)?;
        let words = ["bench-part", "views-member", "--url", &address.url, "--token", &address.token];
        let own = ["--name", &name, "--directory", &directory.to_string_lossy()];
        PartProcess::start(&[&words[..], &own].concat())
    }

    pub fn signal(&self, number: usize, signal: Signal) -> anyhow::Result<()> {
        kill_process(self.members[number].pid().process(), signal)?;
        Ok(())
    }

    /// Replaces a process that was killed.
    pub fn seat(&mut self, number: usize, process: PartProcess) {
        self.members[number] = process;
    }
}

pub fn expect_ready(member: &mut PartProcess) -> anyhow::Result<()> {
    match member.hear()? {
        FromMember::Ready => Ok(()),
        other => bail!("a member said {other:?} before it was ready"),
    }
}

pub fn calls(member: &mut PartProcess) -> anyhow::Result<Calls> {
    match member.hear()? {
        FromMember::Calls(calls) => Ok(calls),
        other => bail!("a member said {other:?} instead of what it called"),
    }
}

fn state(member: &mut PartProcess) -> anyhow::Result<State> {
    member.tell(&ToMember::State)?;
    match member.hear()? {
        FromMember::State(state) => Ok(state),
        other => bail!("a member said {other:?} instead of what it shows"),
    }
}

/// Waits until all members show the same, and notes what is wrong if they do not.
pub fn agree(members: &mut [PartProcess], system: &str, cells: &mut Cells) -> anyhow::Result<State> {
    let begun = Instant::now();
    loop {
        let states = members.iter_mut().map(state).collect::<anyhow::Result<Vec<_>>>()?;
        let wrong = differences(&states);
        if wrong.is_empty() || begun.elapsed() > PATIENCE {
            wrong.into_iter().for_each(|what| cells.fault(format!("{system}: {what}")));
            return Ok(states.into_iter().next().expect("there are members"));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn differences(states: &[State]) -> Vec<String> {
    let first = &states[0];
    let mut wrong = Vec::new();
    for (number, state) in states.iter().enumerate() {
        if (&state.cells, &state.items) != (&first.cells, &first.items) {
            wrong.push(format!("member {number} shows other cells than member 0"));
        }
        if state.wrote.iter().any(|(at, text)| first.cells.get(at) != Some(text)) {
            wrong.push(format!("a cell that member {number} wrote last is not what it wrote"));
        }
        if state.cursors != states.len() {
            wrong.push(format!("member {number} sees {} cursors of {}", state.cursors, states.len()));
        }
        if state.uncertain > 0 {
            wrong.push(format!("member {number} has {} cells that are not delivered", state.uncertain));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn members_that_differ_or_lost_what_they_wrote_are_found() {
        let cells = BTreeMap::from([("A1".to_owned(), "x".to_owned())]);
        let good = State { cells: cells.clone(), wrote: cells, cursors: 2, ..State::default() };
        assert_eq!(differences(&[good.clone(), good.clone()]), Vec::<String>::new());
        let other = BTreeMap::from([("A1".to_owned(), "y".to_owned())]);
        for (bad, words) in [
            (State { cells: other.clone(), ..good.clone() }, "other cells"),
            (State { wrote: other, ..good.clone() }, "wrote last"),
            (State { cursors: 1, ..good.clone() }, "1 cursors of 2"),
            (State { uncertain: 3, ..good.clone() }, "3 cells"),
        ] {
            let found = differences(&[good.clone(), bad]);
            assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
        }
    }
}
