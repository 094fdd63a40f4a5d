//! A client of its own process, with its storage in a directory: it puts blobs into rows, changes them, and reads those of others byte for byte.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use iolite::table::Table as _;
use iolite::{Blob, Client, Mutators, Options, Table, View, schema};
use serde::{Deserialize, Serialize};

use super::noise::{FLIP, Noise};
use crate::part::{hear, say};

#[derive(Table, Clone, Debug)]
#[table(name = "files")]
struct File {
    #[key]
    id: String,
    #[column(fetch = "on-demand")]
    content: Blob,
}

/// Arguments that the parent gives a member's process.
#[derive(Args, Debug)]
pub struct MemberArguments {
    #[arg(long)]
    url: String,
    #[arg(long)]
    token: String,
    #[arg(long)]
    directory: PathBuf,
}

/// A file's name and content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Content {
    pub id: String,
    pub seed: u64,
    pub bytes: u64,
    /// The place of the byte that was changed.
    pub changed: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToMember {
    /// Take a content onto the device.
    Put(Content),
    /// Add the row of what was put, and wait until the server has all of it.
    Add,
    /// Change the byte of this content, and wait until the server has it.
    Change(Content),
    /// Wait for the row with this digest, and read its blob.
    Read {
        content: Content,
        digest: String,
    },
    End,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromMember {
    Ready,
    /// How it ended, in how many seconds.
    Done {
        seconds: f64,
        /// Frames that the client gave to its sockets, also those that a cut took away.
        bytes_up: u64,
        digest: String,
        is_equal: bool,
    },
}

/// For the slowest of what a member does. It is not waited for in vain for ever.
const WITHIN: Duration = Duration::from_secs(1800);
/// A read goes on after so many times that a link was away for long.
const ATTEMPTS: u32 = 100;

/// Runs a member to its end.
///
/// # Errors
/// When the server or the parent does not do what it should.
pub fn run_member(arguments: &MemberArguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut member = Member { client: connect(arguments)?, put: None };
        member.client.online().await.map_err(|state| anyhow!("the server does not let the member in: {state:?}"))?;
        say(&FromMember::Ready)?;
        loop {
            let word = hear().await?;
            let (begun, before) = (Instant::now(), member.bytes_up());
            if matches!(word, ToMember::End) {
                member.client.close().await;
                return Ok(());
            }
            let did = tokio::time::timeout(WITHIN, member.does(word));
            let (digest, is_equal) = did.await.context("it takes too long")??;
            let (seconds, bytes_up) = (begun.elapsed().as_secs_f64(), member.bytes_up() - before);
            say(&FromMember::Done { seconds, bytes_up, digest, is_equal })?;
        }
    })
}

fn connect(arguments: &MemberArguments) -> anyhow::Result<Client> {
    let add = |tx: &mut iolite::Transaction<'_>, (id, content): (String, Blob)| tx.create(&File { id, content });
    let replace = |tx: &mut iolite::Transaction<'_>, (id, blob): (String, Blob)| tx.at(File::CONTENT, &id).set(blob);
    let mutators = Mutators::new().with("add", add).with("replace", replace);
    let options = Options::new().directory(&arguments.directory).mutators(mutators);
    Ok(Client::connect(&arguments.url, &arguments.token, schema().with::<File>().build()?, options)?)
}

struct Member {
    client: Client,
    put: Option<(String, Blob)>,
}

impl Member {
    fn bytes_up(&self) -> u64 {
        self.client.traffic().bytes_up + self.client.blobs().traffic().bytes_up
    }

    /// Returns the digest of the blob that it is about, and whether its bytes are the right ones.
    async fn does(&mut self, word: ToMember) -> anyhow::Result<(String, bool)> {
        match word {
            ToMember::Put(content) => {
                let blob = self.client.blobs().put(Noise::new(content.seed, content.bytes)).await?;
                let digest = blob.digest().to_string();
                self.put = Some((content.id, blob));
                Ok((digest, true))
            }
            ToMember::Add => {
                let put = self.put.take().context("something was put")?;
                self.client.mutate("add", &put)?.confirmed().await?;
                Ok((put.1.digest().to_string(), true))
            }
            ToMember::Change(content) => Ok((self.change(&content).await?, true)),
            ToMember::Read { content, digest } => {
                let is_equal = self.read(&content, &digest).await?;
                Ok((digest, is_equal))
            }
            ToMember::End => bail!("it has ended"),
        }
    }

    async fn change(&self, content: &Content) -> anyhow::Result<String> {
        let at = content.changed.context("a byte to change")?;
        let byte = Noise::new(content.seed, content.bytes).byte_at(at) ^ FLIP;
        let blob = self.row(&content.id).await?.context("the row is there")?.content;
        let changed = self.client.blobs().write_at(File::NAME, &content.id, "content", &blob, at, &[byte]).await?;
        self.client.mutate("replace", &(&content.id, &changed))?.confirmed().await?;
        Ok(changed.digest().to_string())
    }

    async fn row(&self, id: &str) -> anyhow::Result<Option<File>> {
        let id = id.to_owned();
        Ok((*self.client.read(View::Confirmed, move |tx| tx.get::<File>(&id)).await?).clone())
    }

    async fn read(&self, content: &Content, digest: &str) -> anyhow::Result<bool> {
        let id = content.id.clone();
        let mut rows = self.client.react(View::Confirmed, move |tx| tx.get::<File>(&id));
        let blob = loop {
            let row = rows.next().await?;
            match (*row).clone() {
                Some(file) if file.content.digest().to_string() == digest => break file.content,
                Some(_) | None => {}
            }
        };
        for _ in 0..ATTEMPTS {
            let stream = self.client.blobs().open(File::NAME, &content.id, "content", &blob)?;
            let wanted = Noise::new(content.seed, content.bytes).changed_at(content.changed);
            // Parts that came are on the device, and are not fetched again.
            if let Ok(is_equal) = wanted.equals(stream).await {
                return Ok(is_equal);
            }
        }
        bail!("the blob could not be read {ATTEMPTS} times")
    }
}
