//! The options of `iolite bench`.

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use crate::diamond::DiamondOptions;
use crate::fanout::FanoutOptions;
use crate::game::GameOptions;
use crate::memory::{MemoryOptions, MemoryWorkload};
use crate::objects::ObjectOptions;
use crate::queries::QueryOptions;
use crate::queue::QueueOptions;
use crate::rebase::RebaseOptions;
use crate::rights::RightsOptions;
use crate::rows::RowsOptions;
use crate::swiftsocial::SwiftSocialOptions;
use crate::text::TextOptions;
use crate::transactions::{TransactionOptions, TransactionWorkload};
use crate::views::ViewsOptions;

#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("server").args(["embedded", "target"])))]
pub struct Arguments {
    /// The part that every client plays
    pub workload: AnyWorkload,
    /// Start a server for this run, with a data directory of its own
    #[arg(long)]
    pub embedded: bool,
    /// The address of a running server, like http://127.0.0.1:7777
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// How many clients, each a process; `propagate` is one that calls and one that listens
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub clients: u32,
    /// How long to measure
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub seconds: u32,
    /// The meaning of acknowledged at the server that is started
    #[arg(long, default_value = "fsync")]
    pub durability: Durability,
    /// The round trip that every link gets in addition, in milliseconds; of schemes and object-cache also several with commas
    #[arg(long, default_value = "0", value_name = "MS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(..=60_000))]
    pub delay_ms: Vec<u32>,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub transactions: TransactionOptions,
    #[command(flatten)]
    pub game: GameOptions,
    #[command(flatten)]
    pub diamond: DiamondOptions,
    #[command(flatten)]
    pub fanout: FanoutOptions,
    #[command(flatten)]
    pub queries: QueryOptions,
    #[command(flatten)]
    pub text: TextOptions,
    #[command(flatten)]
    pub memory: MemoryOptions,
    #[command(flatten)]
    pub views: ViewsOptions,
    #[command(flatten)]
    pub rebase: RebaseOptions,
    #[command(flatten)]
    pub queue: QueueOptions,
    #[command(flatten)]
    pub rows: RowsOptions,
    #[command(flatten)]
    pub swiftsocial: SwiftSocialOptions,
    #[command(flatten)]
    pub objects: ObjectOptions,
    #[command(flatten)]
    pub rights: RightsOptions,
}

/// Everything that can be measured, by one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyWorkload {
    /// The whole client, each a process, with a server.
    OfClients(Workload),
    /// Transactions of a store, beside those of other systems.
    Transactions(TransactionWorkload),
    /// A recording of people who type.
    Text,
    /// Memory that a daemon takes back.
    OfMemory(MemoryWorkload),
    /// Apps on a cluster, beside the same apps on other systems.
    OfApps(AppWorkload),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AppWorkload {
    /// Rounds of the 100 game between two players
    Game,
    /// A Twitter clone at each isolation, as the Diamond paper has it
    RetwisDiamond,
    /// Calls that many sessions of one gateway see
    Fanout,
    /// One changed row, and who watches a query over a table
    Query,
    /// From a call to each of the four views, a member that fails, and the bytes of `delivered`
    Views,
    /// The cost of others' operations at a member of a log
    Rebase,
    /// How fast a client drains what it called offline, and what another one waits for meanwhile
    Queue,
    /// A large blob in a row: whole, with one byte changed, and over a link that is cut
    Blob,
    /// The bytes of syncing a change set of a causal table, beside those of its content
    SyncOverhead,
    /// The cost of a table's consistency for who writes a row and who reads it
    Schemes,
    /// A social network whose clients hold their friends' pages: what reads and updates wait for
    Swiftsocial,
    /// The cost of rules: rooms whose members see and write by them, beside the same rooms without
    Rights,
    /// A call without arguments and result between two processes, beside that of other systems
    ObjectNull,
    /// Reads and writes of an object that is far away, without a cache and with two
    ObjectCache,
    /// Calls a second that one, two and three copies of an object take
    ObjectFront,
    /// Creating, copying and moving objects of several sizes
    ObjectMoves,
    /// A word game whose object is in the cloud, or at the device of a player
    ObjectGame,
}

/// What the parent tells a client's process.
#[derive(Args, Debug)]
pub struct ClientArguments {
    #[arg(long)]
    pub workload: Workload,
    #[arg(long)]
    pub url: String,
    #[arg(long)]
    pub token: String,
    #[arg(long)]
    pub number: u32,
    #[arg(long)]
    pub role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// Increments of one counter, which commute
    Counter,
    /// The same as read and write of one int, which conflict
    Rmw,
    /// Transfers between rows of two tables; the sum stays
    Bank,
    /// Reads and appends of lists; the history is checked
    Append,
    /// From one client's call to another client's reactive transaction
    Propagate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    Fsync,
    Memory,
}

/// What a client's process is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Makes the rows that the workload needs.
    Prepare,
    /// Runs the workload in a closed loop.
    Load,
    /// Calls when it is told to.
    Writer,
    /// Says when its reactive transaction ran.
    Reader,
    /// A fresh session that reads everything at the end.
    Verify,
}

impl ValueEnum for AnyWorkload {
    fn value_variants<'a>() -> &'a [AnyWorkload] {
        const {
            &[
                AnyWorkload::OfClients(Workload::Counter),
                AnyWorkload::OfClients(Workload::Rmw),
                AnyWorkload::OfClients(Workload::Bank),
                AnyWorkload::OfClients(Workload::Append),
                AnyWorkload::OfClients(Workload::Propagate),
                AnyWorkload::Transactions(TransactionWorkload::RetwisTapir),
                AnyWorkload::Transactions(TransactionWorkload::YcsbT),
                AnyWorkload::Text,
                AnyWorkload::OfMemory(MemoryWorkload::Reclaim),
                AnyWorkload::OfMemory(MemoryWorkload::Burst),
                AnyWorkload::OfMemory(MemoryWorkload::Resume),
                AnyWorkload::OfMemory(MemoryWorkload::Fault),
                AnyWorkload::OfApps(AppWorkload::Game),
                AnyWorkload::OfApps(AppWorkload::RetwisDiamond),
                AnyWorkload::OfApps(AppWorkload::Fanout),
                AnyWorkload::OfApps(AppWorkload::Query),
                AnyWorkload::OfApps(AppWorkload::Views),
                AnyWorkload::OfApps(AppWorkload::Rebase),
                AnyWorkload::OfApps(AppWorkload::Queue),
                AnyWorkload::OfApps(AppWorkload::Blob),
                AnyWorkload::OfApps(AppWorkload::SyncOverhead),
                AnyWorkload::OfApps(AppWorkload::Schemes),
                AnyWorkload::OfApps(AppWorkload::Swiftsocial),
                AnyWorkload::OfApps(AppWorkload::Rights),
                AnyWorkload::OfApps(AppWorkload::ObjectNull),
                AnyWorkload::OfApps(AppWorkload::ObjectCache),
                AnyWorkload::OfApps(AppWorkload::ObjectFront),
                AnyWorkload::OfApps(AppWorkload::ObjectMoves),
                AnyWorkload::OfApps(AppWorkload::ObjectGame),
            ]
        }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            AnyWorkload::OfClients(workload) => workload.to_possible_value(),
            AnyWorkload::Transactions(workload) => workload.to_possible_value(),
            AnyWorkload::Text => {
                Some(PossibleValue::new("text").help("A recording of people who type, through real clients"))
            }
            AnyWorkload::OfMemory(workload) => workload.to_possible_value(),
            AnyWorkload::OfApps(workload) => workload.to_possible_value(),
        }
    }
}

/// As it is written on the command line.
pub fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().expect("none is hidden").get_name().to_owned()
}

impl Workload {
    pub fn name(self) -> String {
        name_of(&self)
    }
}

impl Arguments {
    /// The delay of a workload that has one.
    pub fn delay_ms(&self) -> u32 {
        self.delay_ms.first().copied().unwrap_or_default()
    }
}

impl AppWorkload {
    pub fn name(self) -> String {
        name_of(&self)
    }
}

impl Durability {
    pub fn name(self) -> String {
        name_of(&self)
    }
}

impl Role {
    pub fn name(self) -> String {
        name_of(&self)
    }
}
