//! A member: a whole client that follows the sheet and two strong tables, calls when it is told to, and says when each view had the call.
//!
//! A view is looked at when the client says that it has the call: one that does not show it is a violation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use iolite::table::Register;
use iolite::{Client, MutationHandle, Mutators, Options, Reaction, Table, Value, View, schema};
use iolite_host::monotonic_nanos;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::place::place;
use super::sheet::{Cells, Cursors, SHEET, Sheet, operations};
use super::talk::{Call, Calls, FromMember, State, Subject, ToMember};
use crate::child::Address;
use crate::part::{hear, say};

#[derive(Table)]
#[table(live, delivered)]
struct Items {
    #[key]
    sheet: String,
    #[key]
    at: String,
    #[column(default = "")]
    text: Register<String>,
}

#[derive(Table)]
#[table(live)]
struct Plain {
    #[key]
    sheet: String,
    #[key]
    at: String,
    #[column(default = "")]
    text: Register<String>,
}

const ROOM: &str = "hall";
/// How long a call is followed: far more than the 2 s after which nobody waits for a member.
const FOLLOWED_FOR: Duration = Duration::from_secs(30);

/// Arguments that the parent gives a member's process.
#[derive(Args, Debug)]
pub struct MemberArguments {
    #[arg(long)]
    url: String,
    #[arg(long)]
    token: String,
    #[arg(long)]
    name: String,
    #[arg(long)]
    directory: PathBuf,
}

pub struct Member {
    pub client: Client,
    pub sheet: Sheet,
    name: String,
    number: u64,
    wrote: BTreeMap<String, String>,
    _pins: [Reaction<()>; 3],
}

/// Runs a member until the parent says that it was all.
///
/// # Errors
/// When the server or the parent does not do what it should.
pub fn run_member(arguments: &MemberArguments) -> anyhow::Result<()> {
    // One thread: between a call and its frame there is no other to wake.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let address = Address { url: arguments.url.clone(), token: arguments.token.clone() };
        let mut member = Member::open(&address, &arguments.name, Some(&arguments.directory)).await?;
        say(&FromMember::Ready)?;
        loop {
            match hear().await? {
                ToMember::Calls { of, seconds, warm_up } => {
                    say(&FromMember::Calls(member.calls(of, seconds, warm_up).await?))?;
                }
                ToMember::Steadily { seconds, every_ms } => {
                    say(&FromMember::Calls(member.steadily(seconds, every_ms).await?))?;
                }
                ToMember::State => say(&FromMember::State(member.state()?))?,
                ToMember::End => return Ok(()),
            }
        }
    })
}

impl Member {
    /// Without a directory, its store is in memory.
    pub async fn open(address: &Address, name: &str, directory: Option<&Path>) -> anyhow::Result<Member> {
        let mutators = operations(Mutators::new())
            .with("set_item", |tx, (at, text): (String, String)| tx.at(Items::TEXT, (ROOM, at.as_str())).set(text))
            .with("set_plain", |tx, (at, text): (String, String)| tx.at(Plain::TEXT, (ROOM, at.as_str())).set(text));
        let tables = schema().with::<Cells>().with::<Cursors>().with::<Items>().with::<Plain>().build()?;
        let options = directory.map_or(Options::new(), |directory| Options::new().directory(directory));
        let client = Client::connect(&address.url, &address.token, tables, options.mutators(mutators))?;
        client.online().await.map_err(|state| anyhow!("the server does not let the member in: {state:?}"))?;
        let sheet = Sheet::join(&client)?;
        let mut pins = [
            client.pin(|tx| tx.all_with::<Items>(&[Value::from(ROOM)]).map(drop)),
            client.pin(|tx| tx.all_with::<Plain>(&[Value::from(ROOM)]).map(drop)),
            client.pin(|tx| tx.all_with::<Cells>(&[Value::from(SHEET)]).map(drop)),
        ];
        for pin in &mut pins {
            pin.next().await?;
        }
        sheet.select(name, "A1")?.confirmed().await?;
        Ok(Member { client, sheet, name: name.to_owned(), number: 0, wrote: BTreeMap::new(), _pins: pins })
    }

    fn begin(&self, of: Subject, at: &str, text: &str) -> anyhow::Result<MutationHandle> {
        Ok(match of {
            Subject::Strong => self.client.mutate("set_item", &(at, text))?,
            Subject::Plain => self.client.mutate("set_plain", &(at, text))?,
            Subject::Log => self.sheet.set_cell(at, text)?,
        })
    }

    /// Whether a view shows a text. The delivered view has no tables of logs yet: there nothing is looked at.
    pub fn shows(&self, view: View, of: Subject, at: &str, text: &str) -> bool {
        let found = match of {
            Subject::Strong => self.client.peek(view, |tx| tx.at(Items::TEXT, (ROOM, at)).get()),
            Subject::Plain => self.client.peek(view, |tx| tx.at(Plain::TEXT, (ROOM, at)).get()),
            Subject::Log => match (view, self.sheet.cell(view, at)) {
                (View::Delivered, Err(_)) => return true,
                (_, found) => found,
            },
        };
        found.is_ok_and(|found| found == text)
    }

    /// The cell of a member's call and its text.
    pub fn content(name: &str, number: u64) -> (String, String) {
        (place(number), format!("{name} {number}"))
    }

    /// One call, until everybody has it. Without a result its way was not known to its end in time.
    pub async fn call(&mut self, of: Subject) -> anyhow::Result<Option<Call>> {
        let (at, text) = Member::content(&self.name, self.number);
        self.number += 1;
        let called_nanos = monotonic_nanos();
        let handle = self.begin(of, &at, &text)?;
        let first = u64::from(!self.shows(View::Optimistic, of, &at, &text));
        let optimistic = monotonic_nanos() - called_nanos;
        let shows = |view| self.shows(view, of, &at, &text);
        let followed = follow(&handle, Call { called_nanos, optimistic, ..Call::none() }, of != Subject::Plain, shows);
        let Ok(call) = timeout(FOLLOWED_FOR, followed).await else { return Ok(None) };
        let mut call = call?;
        call.violations += first;
        if of == Subject::Log {
            self.wrote.insert(at, text);
        }
        Ok(Some(call))
    }

    async fn calls(&mut self, of: Subject, seconds: u32, warm_up: u32) -> anyhow::Result<Calls> {
        for _ in 0..warm_up {
            self.call(of).await?;
        }
        let mut made = Calls::default();
        let end = monotonic_nanos() + u64::from(seconds) * 1_000_000_000;
        loop {
            match self.call(of).await? {
                Some(call) => made.calls.push(call),
                None => made.unknown += 1,
            }
            if monotonic_nanos() >= end {
                return Ok(made);
            }
        }
    }

    /// Each call has a cell of its own member, so that members do not overwrite each other.
    async fn steadily(&mut self, seconds: u32, every_ms: u32) -> anyhow::Result<Calls> {
        let mut ticks = interval(Duration::from_millis(u64::from(every_ms)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let end = monotonic_nanos() + u64::from(seconds) * 1_000_000_000;
        let mut following = Vec::new();
        while monotonic_nanos() < end {
            ticks.tick().await;
            let (at, text) = (format!("{} of {}", place(self.number), self.name), self.number.to_string());
            self.number += 1;
            let called_nanos = monotonic_nanos();
            let handle = self.begin(Subject::Log, &at, &text)?;
            let shown = self.shows(View::Optimistic, Subject::Log, &at, &text);
            let optimistic = monotonic_nanos() - called_nanos;
            let call = Call { called_nanos, optimistic, violations: u64::from(!shown), ..Call::none() };
            self.wrote.insert(at, text);
            following.push(tokio::spawn(async move {
                timeout(FOLLOWED_FOR, follow(&handle, call, true, |_| true)).await.ok().transpose()
            }));
        }
        let mut made = Calls::default();
        for followed in following {
            match followed.await?? {
                Some(call) => made.calls.push(call),
                None => made.unknown += 1,
            }
        }
        Ok(made)
    }

    fn state(&self) -> anyhow::Result<State> {
        let items = self.client.peek(View::Delivered, |tx| tx.all_with::<Items>(&[Value::from(ROOM)]))?;
        let uncertain = self.sheet.uncertain();
        Ok(State {
            cells: self.sheet.cells(View::Confirmed)?,
            items: items.into_iter().map(|row| (row.at, row.text.0)).collect(),
            wrote: self.wrote.clone(),
            cursors: self.sheet.cursors(View::Confirmed)?.len(),
            is_delivered_view: uncertain.is_ok(),
            uncertain: uncertain.map_or(0, |cells| cells.len()),
        })
    }
}

/// Waits for each view in turn, and looks whether it shows the call.
async fn follow(
    handle: &MutationHandle,
    mut call: Call,
    is_delivered: bool,
    shows: impl Fn(View) -> bool,
) -> anyhow::Result<Call> {
    let since = |called: u64| monotonic_nanos() - called;
    handle.durable().await?;
    call.durable = Some(since(call.called_nanos));
    handle.confirmed().await?;
    call.confirmed = since(call.called_nanos);
    call.violations += u64::from(!shows(View::Confirmed));
    if is_delivered {
        handle.delivered().await?;
        call.delivered = Some(since(call.called_nanos));
        call.violations += u64::from(!shows(View::Delivered));
    }
    Ok(call)
}

impl Call {
    fn none() -> Call {
        Call { called_nanos: 0, optimistic: 0, durable: None, confirmed: 0, delivered: None, violations: 0 }
    }
}
