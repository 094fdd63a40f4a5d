//! What runs have to meet besides faults: paths that only some calls, small limits or old links lead to.

use serde::Serialize;

/// Something that a run would prove little without, so it is counted like a fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Occasion {
    /// An advance came in parts.
    AdvanceInParts,
    /// A client gave up interests that nobody needed any more.
    Unsubscribed,
    /// A client came back with a resume token and what it held.
    Resumed,
    /// A client came to another gateway than its last.
    Moved,
    /// A gateway said goodbye to a session whose socket took too little.
    SaidSlow,
    /// A client dropped a half-open link by itself.
    HalfOpenLeft,
    /// A client learned that the store's history is another one.
    HistoryLeft,
    /// What a reactive transaction or a mutation needs had no room in a client's cache.
    NoRoom,
    /// A pending mutation was taken back.
    TakenBack,
    /// The app forgot a mutation that had ended without effect.
    Dismissed,
    /// A closure without a name took effect, as its client was told.
    ClosureConfirmed,
    /// A closure without a name was pending when its client's process ended.
    ClosureLost,
    /// A client started again with a table and a column more.
    SchemaGrown,
    /// A client started again with a column less.
    SchemaPruned,
    /// A shard went over to another group.
    GroupChanged,
    /// A shard ended, and two others go on with its rows.
    ShardSplit,
    /// A replica did not start, because its disk was damaged.
    DamageRefused,
    /// A text was edited.
    TextEdited,
    /// A text was edited without a connection.
    TextEditedOffline,
    /// A text was edited in a tab that follows.
    TextEditedInTab,
    /// An edit was refused, because what it stood on had been taken back.
    EditRefused,
    /// A replica answered with how far it had looked, because that was far.
    LookedThrough,
    /// The delivered view showed less than the confirmed one.
    SeenUndelivered,
    /// A client was taken out of the set of those that are waited for.
    LeftOut,
    /// A client came back into that set.
    CameBack,
    /// A client's app was busy in a closure while messages came.
    BusyApp,
    /// A client's process ended while something was confirmed and not delivered.
    RestartedUndelivered,
    /// A gateway's process ended while something of one of its clients was confirmed and not delivered.
    GatewayLostUndelivered,
    /// A link was lost while something of its client was confirmed and not delivered.
    LinkLostUndelivered,
}

impl Occasion {
    pub const ALL: [Occasion; 29] = [
        Occasion::AdvanceInParts,
        Occasion::Unsubscribed,
        Occasion::Resumed,
        Occasion::Moved,
        Occasion::SaidSlow,
        Occasion::HalfOpenLeft,
        Occasion::HistoryLeft,
        Occasion::NoRoom,
        Occasion::TakenBack,
        Occasion::Dismissed,
        Occasion::ClosureConfirmed,
        Occasion::ClosureLost,
        Occasion::SchemaGrown,
        Occasion::SchemaPruned,
        Occasion::GroupChanged,
        Occasion::ShardSplit,
        Occasion::DamageRefused,
        Occasion::TextEdited,
        Occasion::TextEditedOffline,
        Occasion::TextEditedInTab,
        Occasion::EditRefused,
        Occasion::LookedThrough,
        Occasion::SeenUndelivered,
        Occasion::LeftOut,
        Occasion::CameBack,
        Occasion::BusyApp,
        Occasion::RestartedUndelivered,
        Occasion::GatewayLostUndelivered,
        Occasion::LinkLostUndelivered,
    ];
}
