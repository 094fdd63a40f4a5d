//! The place where a person's transactions run: the person's own device, or a server process in the data centre.

use std::time::Instant;

use iolite::{Client, MutationHandle, MutationStatus, Options, View};
use serde::{Deserialize, Serialize};

use super::cloud::Caller;
use super::held::Held;
use super::ledger::Holder;
use super::network::{Network, User};
use super::tables::{Befriend, Friend, Page, Post, Status, connect, friends, page};
use super::waiting::{Waited, watched};
use crate::child::Address;

pub enum Seat {
    Device(Device),
    Cloud(Caller),
}

/// A whole client with a socket and a folder of its own. It keeps pages current.
pub struct Device {
    client: Client,
    held: Held,
    update_ends: UpdateEnds,
}

/// The moment at which an update has ended for the person who called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateEnds {
    /// The device's folder has it.
    Durable,
    /// K data centres have it.
    Confirmed,
}

/// A mutation and its arguments.
#[derive(Debug, Serialize, Deserialize)]
pub enum Call {
    Status(Status),
    Post(Post),
    Befriend(Befriend),
}

/// An update that has ended.
pub struct Written {
    pub waited: Waited,
    /// The app saw its effect then.
    pub shown: Instant,
    /// Follows it further. Missing where a server process called it.
    pub handle: Option<MutationHandle>,
}

/// The cache of the SDK is bounded by bytes: it gets so many for a row. A person with 25 friends who merge takes more, a message of a wall less.
pub const ROW_BYTES: usize = 4 << 10;

impl Seat {
    /// # Errors
    /// When the page cannot be read.
    pub async fn page(&mut self, of: User) -> anyhow::Result<(Page, Waited)> {
        match self {
            Seat::Device(device) => read_page(&device.client, &of.name()).await,
            Seat::Cloud(caller) => caller.page(of).await,
        }
    }

    /// Reads names and statuses of a person's friends.
    ///
    /// # Errors
    /// When a row cannot be read.
    pub async fn friends(&mut self, of: User) -> anyhow::Result<(Vec<Friend>, Waited)> {
        match self {
            Seat::Device(device) => read_friends(&device.client, &of.name()).await,
            Seat::Cloud(caller) => caller.friends(of).await,
        }
    }

    /// # Errors
    /// When it ends without effect.
    pub async fn write(&mut self, call: &Call) -> anyhow::Result<Written> {
        match self {
            Seat::Device(device) => {
                let (handle, waited) = call.on(&device.client)?;
                let shown = Instant::now();
                match device.update_ends {
                    UpdateEnds::Durable => handle.durable().await?,
                    UpdateEnds::Confirmed => drop(handle.confirmed().await?),
                }
                Ok(Written { waited, shown, handle: Some(handle) })
            }
            Seat::Cloud(caller) => {
                let waited = caller.write(call).await?;
                Ok(Written { waited, shown: Instant::now(), handle: None })
            }
        }
    }

    /// Lets go of pages for which there is no room.
    pub fn keep_within(&mut self) {
        match self {
            Seat::Device(device) => device.held.keep_within(),
            Seat::Cloud(_) => {}
        }
    }

    /// The client of a device, and the people whose pages it holds.
    pub fn held(&self) -> Option<Holder> {
        match self {
            Seat::Device(device) => Some((device.client.clone(), device.held.people().collect())),
            Seat::Cloud(_) => None,
        }
    }
}

impl Device {
    /// Connects and fetches the pages that are held. `options` say in which folder the device keeps them.
    ///
    /// # Errors
    /// When the server refuses the client, or does not have the people.
    pub async fn open(
        at: &Address,
        network: &Network,
        user: User,
        cache_rows: usize,
        options: Options,
        update_ends: UpdateEnds,
    ) -> anyhow::Result<Device> {
        let options = options.cache_bytes_max(cache_rows * ROW_BYTES).user(user.name());
        let client = connect(at, options).await?;
        let people: Vec<User> = [user].into_iter().chain(network.known(user)).collect();
        let held = Held::fetch(&client, &people, cache_rows).await?;
        Ok(Device { client, held, update_ends })
    }

    /// The same client again, which holds nothing more, for a second loop.
    pub fn beside(&self) -> Device {
        Device { client: self.client.clone(), held: Held::nothing(), update_ends: self.update_ends }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }
}

impl Call {
    /// Calls the mutation. The app sees its effect when this returns.
    ///
    /// # Errors
    /// When the client takes no call.
    pub fn on(&self, client: &Client) -> anyhow::Result<(MutationHandle, Waited)> {
        let handle = match self {
            Call::Status(status) => client.mutate("status", status)?,
            Call::Post(post) => client.mutate("post", post)?,
            Call::Befriend(befriend) => client.mutate("befriend", befriend)?,
        };
        let waits = matches!(handle.status(), MutationStatus::Pending(pending) if pending.waits_for_data);
        Ok((handle, if waits { Waited::ForData } else { Waited::Not }))
    }
}

/// Reads a page with the client's own changes on it.
///
/// # Errors
/// When it cannot be read.
pub async fn read_page(client: &Client, of: &str) -> anyhow::Result<(Page, Waited)> {
    let of = of.to_owned();
    let (page_read, waited) = watched(client.read(View::Optimistic, move |tx| page(tx, &of))).await;
    Ok(((*page_read?).clone(), waited))
}

/// Reads the friends of a person.
///
/// # Errors
/// When a row cannot be read.
pub async fn read_friends(client: &Client, of: &str) -> anyhow::Result<(Vec<Friend>, Waited)> {
    let of = of.to_owned();
    let (read, waited) = watched(client.read(View::Optimistic, move |tx| friends(tx, &of))).await;
    Ok(((*read?).clone(), waited))
}
