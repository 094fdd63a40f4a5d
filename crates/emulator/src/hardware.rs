//! Hardware as data: the disks, links and processors of each node.

use crate::design::Kept;
use crate::disk::{Model, Scheduler};
use crate::file::{Problem, Section};
use crate::quantity::{Bytes, Span};

#[derive(Clone, Debug, PartialEq)]
pub struct Hardware {
    pub name: String,
    pub about: String,
    pub disks: u32,
    pub disk: Model,
    pub disk_capacity: Bytes,
    pub scheduler: Scheduler,
    /// The time that a message takes from one node to another, besides its bytes.
    pub link_latency: Span,
    pub link_bytes_per_second: u64,
    /// Messages that a node works on at once.
    pub workers: usize,
    /// The processor time that a node takes for a message, and for each of its bytes.
    pub processor_message: Span,
    pub processor_nanos_per_byte: f64,
}

macro_rules! kept {
    ($name:literal) => {
        Kept {
            name: $name,
            file: concat!("hardware/", $name, ".toml"),
            text: include_str!(concat!("../hardware/", $name, ".toml")),
        }
    };
}

/// The hardware that comes with the program.
pub const HARDWARE: &[Kept] = &[kept!("hdd-7200"), kept!("nvme-ssd"), kept!("sata-ssd")];

impl Hardware {
    pub const DISKS_MAX: u64 = 64;

    /// # Errors
    /// What is wrong with the file, and where.
    pub fn load(file: &str, text: &str) -> Result<Hardware, Problem> {
        let root = Section::parse(file, text)?;
        let part = |name| root.section(name).map(|part| part.cloned().unwrap_or_else(|| Section::empty(file, name, 1)));
        let (disk, link, processor) = (part("disk")?, part("link")?, part("processor")?);
        let disks = root.count_or("disks", 1)?;
        if disks > Hardware::DISKS_MAX {
            let what = format!("a node has at most {} disks", Hardware::DISKS_MAX);
            return Err(root.problem("disks", what, "take more nodes"));
        }
        let schedulers = ["reads-first", "in-order"];
        let hardware = Hardware {
            name: root.text("name")?.to_owned(),
            about: root.text("about")?.to_owned(),
            disks: disks as u32,
            disk: Model::read(&disk)?,
            disk_capacity: disk.bytes("capacity")?,
            scheduler: match disk.choice("scheduler", &schedulers, Some(0))? {
                0 => Scheduler::ReadsFirst,
                _ => Scheduler::InOrder,
            },
            link_latency: link.span("latency")?,
            link_bytes_per_second: link.bytes("bytes_per_second")?.0,
            workers: processor.count_or("workers", 1)?.min(4096) as usize,
            processor_message: processor.span("message")?,
            processor_nanos_per_byte: processor.number_or("nanoseconds_per_byte", 0.0)?,
        };
        [&root, &disk, &link, &processor].into_iter().try_for_each(Section::finish)?;
        if hardware.link_bytes_per_second == 0 {
            let what = "a link that carries nothing never delivers";
            return Err(link.problem("bytes_per_second", what, "write bytes a second, as \"1.25 GB\""));
        }
        Ok(hardware)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hardware_that_comes_with_the_program_loads() {
        for kept in HARDWARE {
            let hardware = Hardware::load(kept.file, kept.text).unwrap_or_else(|problem| panic!("{problem}"));
            assert_eq!(hardware.name, kept.name);
        }
    }

    #[test]
    fn each_mistake_is_told_with_its_line_and_a_remedy() {
        let good = HARDWARE[0].text;
        let wrong = [
            ("kind = \"rotating\"", "kind = \"tape\"", "cannot be `tape`"),
            ("rpm = 7200", "rpm = 0", "not a whole number from 1 on"),
            ("rpm = 7200", "rpm = 7200\nheads = 3", "nothing reads `heads`"),
            ("latency = \"50 us\"", "latency = \"50\"", "not a time with its unit"),
            ("bytes_per_second = \"1.25 GB\"", "bytes_per_second = \"0 B\"", "never delivers"),
            ("disks = 8", "disks = 100", "at most 64 disks"),
            ("transfer = \"110 MB\"", "transfer = \"0 B\"", "never answers"),
            ("[link]", "[lnk]", "has no `latency`"),
        ];
        for (from, to, what) in wrong {
            assert!(good.contains(from), "{from}");
            let problem = Hardware::load("h.toml", &good.replace(from, to)).expect_err(what);
            assert!(problem.what.contains(what), "{problem}");
            assert!(problem.line >= 1 && !problem.remedy.is_empty());
        }
    }
}
