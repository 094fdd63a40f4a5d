//! A client's process, as its parent sees it.

use anyhow::bail;
use serde::{Deserialize, Serialize};

use crate::accounting::Pid;
use crate::arguments::{Role, Workload};
use crate::part::PartProcess;
use crate::talk::{FromClient, ToClient};

/// Where clients connect to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Address {
    pub url: String,
    pub token: String,
}

/// Killed when it is dropped.
#[derive(Debug)]
pub struct ClientProcess {
    process: PartProcess,
}

impl ClientProcess {
    pub fn start(address: &Address, workload: Workload, role: Role, number: u32) -> anyhow::Result<ClientProcess> {
        let (workload, role, number) = (workload.name(), role.name(), number.to_string());
        let words = ["bench-client", "--url", &address.url, "--token", &address.token];
        let what = ["--workload", &workload, "--role", &role, "--number", &number];
        Ok(ClientProcess { process: PartProcess::start(&[&words[..], &what].concat())? })
    }

    /// One of another system, which speaks the same way.
    pub fn of(process: PartProcess) -> ClientProcess {
        ClientProcess { process }
    }

    pub fn pid(&self) -> Pid {
        self.process.pid()
    }

    pub fn tell(&mut self, message: &ToClient) -> anyhow::Result<()> {
        self.process.tell(message)
    }

    pub fn hear(&mut self) -> anyhow::Result<FromClient> {
        self.process.hear()
    }

    pub fn expect_ready(&mut self) -> anyhow::Result<()> {
        match self.hear()? {
            FromClient::Ready => Ok(()),
            other => bail!("a client said {other:?} before it was ready"),
        }
    }

    /// Waits for an end by itself.
    pub fn end(self) -> anyhow::Result<()> {
        self.process.end()
    }
}
