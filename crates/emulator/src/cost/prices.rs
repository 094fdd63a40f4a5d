//! Prices as data: of a server, of a server without disks, and of a disk of each hardware.

use std::collections::BTreeMap;

use crate::design::Kept;
use crate::file::{Problem, Section};

#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    pub name: String,
    pub about: String,
    pub currency: String,
    /// A server with its processors, memory and network, but without disks.
    pub server: f64,
    /// The same for nodes that have no disks, as directories and proxies.
    pub diskless_server: f64,
    disks: BTreeMap<String, f64>,
    file: String,
}

macro_rules! kept {
    ($name:literal) => {
        Kept {
            name: $name,
            file: concat!("prices/", $name, ".toml"),
            text: include_str!(concat!("../../prices/", $name, ".toml")),
        }
    };
}

/// The prices that come with the program.
pub const PRICES: &[Kept] = &[kept!("2015"), kept!("2025")];

impl Prices {
    /// # Errors
    /// What is wrong with the file, and where.
    pub fn load(file: &str, text: &str) -> Result<Prices, Problem> {
        let root = Section::parse(file, text)?;
        let disk = root.section("disk")?.cloned().unwrap_or_else(|| Section::empty(file, "`disk`", 1));
        let price = |section: &Section, key: &str| {
            let price = section.number_or(key, 0.0)?;
            if price > 0.0 {
                return Ok(price);
            }
            let what = format!("`{key}` has no price");
            Err(section.problem(key, what, format!("write `{key} = 1500`, a number above 0")))
        };
        let disks = disk.keys().map(|hardware| Ok((hardware.to_owned(), price(&disk, hardware)?)));
        let prices = Prices {
            name: root.text("name")?.to_owned(),
            about: root.text("about")?.to_owned(),
            currency: root.text("currency")?.to_owned(),
            server: price(&root, "server")?,
            diskless_server: price(&root, "diskless_server")?,
            disks: disks.collect::<Result<_, Problem>>()?,
            file: file.to_owned(),
        };
        root.finish()?;
        Ok(prices)
    }

    /// The price of one disk of a hardware, by its name.
    ///
    /// # Errors
    /// That the file has none.
    pub fn disk(&self, hardware: &str) -> Result<f64, Problem> {
        self.disks.get(hardware).copied().ok_or_else(|| Problem {
            file: self.file.clone(),
            line: 1,
            what: format!("there is no price of a disk of `{hardware}`"),
            remedy: format!("add `{hardware} = 100` below [disk]"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::HARDWARE;

    #[test]
    fn the_prices_that_come_with_the_program_have_one_for_each_hardware() {
        for kept in PRICES {
            let prices = Prices::load(kept.file, kept.text).unwrap_or_else(|problem| panic!("{problem}"));
            assert_eq!(prices.name, kept.name);
            assert!(HARDWARE.iter().all(|hardware| prices.disk(hardware.name).is_ok()));
        }
    }

    #[test]
    fn each_mistake_is_told_with_its_line_and_a_remedy() {
        let good = "name = \"a\"\nabout = \"b\"\ncurrency = \"USD\"\nserver = 3000\ndiskless_server = 2000\n[disk]\nhdd = 80\n";
        let prices = Prices::load("p.toml", good).expect("these are prices");
        let problem = prices.disk("tape").expect_err("tape has no price").to_string();
        assert_eq!(problem, "p.toml:1: there is no price of a disk of `tape`: add `tape = 100` below [disk]");
        let wrong = [
            ("server = 3000\n", "", 1, "`server` has no price"),
            ("server = 3000", "server = -1", 4, "not a number that is not negative"),
            ("hdd = 80", "hdd = 0", 7, "`hdd` has no price"),
            ("hdd = 80", "hdd = \"80 USD\"", 7, "not a number"),
            ("currency = \"USD\"", "currency = 3", 3, "is not a text"),
            ("[disk]", "[disks]", 6, "nothing reads `disks`"),
        ];
        for (from, to, line, what) in wrong {
            let problem = Prices::load("p.toml", &good.replacen(from, to, 1)).expect_err(what);
            assert!(problem.what.contains(what) && problem.line == line, "{problem} for {to}");
            assert!(!problem.remedy.is_empty());
        }
    }
}
