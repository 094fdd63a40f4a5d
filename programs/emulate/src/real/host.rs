//! Runs one node and its disks on the real clock: hands in what comes, waits for what is due, sends what it says.

use std::collections::VecDeque;

use anyhow::Result;
use iolite_emulator::{DiskCounts, Loaded, Message, NodeId, NodeInput, NodeOutput};
use iolite_machine::Instant;

use super::{Links, RealClock};

#[derive(Debug)]
pub enum Input {
    Message(Message),
    /// The process is to end.
    Stop,
    /// A link broke, for this reason.
    Broken(String),
}

#[derive(Debug)]
pub struct Host {
    own: NodeId,
    loaded: Loaded,
    links: Links,
    clock: RealClock,
    finished: Vec<Message>,
}

impl Host {
    pub fn new(own: NodeId, mut loaded: Loaded, links: Links, clock: RealClock) -> Host {
        loaded.node.start(clock.now());
        Host { own, loaded, links, clock, finished: Vec::new() }
    }

    pub fn handle(&mut self, input: NodeInput) -> Result<()> {
        let mut waiting = VecDeque::from([input]);
        while let Some(input) = waiting.pop_front() {
            self.loaded.node.handle(self.clock.now(), input);
            self.drain(&mut waiting)?;
        }
        Ok(())
    }

    /// When a disk or a trigger is due.
    pub fn deadline(&self) -> Option<Instant> {
        let disks = self.loaded.disks.iter().filter_map(iolite_emulator::Device::deadline);
        disks.chain(self.loaded.node.deadline()).min()
    }

    /// Does what is due by now.
    pub fn on_time(&mut self) -> Result<()> {
        let now = self.clock.now();
        let mut waiting = VecDeque::new();
        for disk in &mut self.loaded.disks {
            disk.on_deadline(now);
            waiting.extend(std::iter::from_fn(|| disk.poll()).map(NodeInput::Disk));
        }
        if self.loaded.node.deadline().is_some_and(|due| due <= now) {
            self.loaded.node.on_deadline(now);
            self.drain(&mut waiting)?;
        }
        waiting.into_iter().try_for_each(|input| self.handle(input))
    }

    /// Operations that ended since this was last asked.
    pub fn finished(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.finished)
    }

    pub fn counts(&self) -> Vec<DiskCounts> {
        self.loaded.disks.iter().map(iolite_emulator::Device::counts).collect()
    }

    fn drain(&mut self, waiting: &mut VecDeque<NodeInput>) -> Result<()> {
        while let Some(output) = self.loaded.node.poll() {
            match output {
                NodeOutput::Send { to, message } if to == self.own => waiting.push_back(NodeInput::Message(message)),
                NodeOutput::Send { to, message } => self.links.send(to, message)?,
                NodeOutput::Finished(message) => self.finished.push(message),
                NodeOutput::Disk { disk, request } => {
                    let device = &mut self.loaded.disks[disk];
                    device.submit(self.clock.now(), request);
                    waiting.extend(std::iter::from_fn(|| device.poll()).map(NodeInput::Disk));
                }
            }
        }
        Ok(())
    }
}
