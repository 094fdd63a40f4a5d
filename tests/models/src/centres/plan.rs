//! A world of data centres: who calls what, and how much may happen.

/// How many data centres there are.
pub const CENTRES: usize = 3;

/// A data centre, by its number from 0.
pub type Centre = usize;
/// A transaction, by its place in [`Plan::calls`].
pub type Call = usize;

#[derive(Clone, Debug)]
pub struct Plan {
    pub k: usize,
    /// The data centre of each client at the beginning.
    pub clients: Vec<Centre>,
    pub calls: Vec<Called>,
    pub pace: Pace,
    /// Whether entries that are taken wait in the store, so that they pass each other. Else each is there with its message.
    pub side_by_side: bool,
    pub bounds: Bounds,
    pub broken: Broken,
}

/// A transaction of a client.
#[derive(Clone, Copy, Debug)]
pub struct Called {
    pub client: usize,
    /// The client makes it once it sees this one.
    pub after: Option<Call>,
}

/// The events that come at once, in place of at any time. Notes of how far somebody is are always stored at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Marks are written at once, and messages come at once that bring no new transaction.
    Eager,
    /// All messages come at once but entries.
    Entries,
    /// None comes at once.
    Messages,
}

/// How often what is not forced may happen. What is beyond a bound is not explored.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Moves of clients whose data centre is there.
    pub moves: u8,
    /// Links that are lost and dialled again.
    pub cuts: u8,
    pub restarts: u8,
    pub deaths: u8,
    /// Commits that the store answers with a conflict.
    pub conflicts: u8,
    /// Whether clients acknowledge what they have.
    pub acknowledge: bool,
    /// This one dies or restarts, if anyone does.
    pub only: Option<Centre>,
}

/// A rule that the machines leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    #[default]
    Nothing,
    Centres(iolite_causal::Broken),
    Gateway(iolite_gateway::Broken),
}
