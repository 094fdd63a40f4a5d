//! The connection to a gateway: greeting, resuming, staying alive, coming back.
//!
//! Invariants:
//! - nothing but the greeting, the held interests and pings is sent before the gateway has brought everything held to one timestamp;
//! - a lost link is retried for ever, at each gateway in turn, with growing pauses; a refusal that only people can lift is not.
//!
//! docs/protocols/session.md shows the exchange.

mod link;
mod route;

use std::num::NonZeroU16;
use std::time::Duration;

use iolite_machine::{Backoff, Instant};
use iolite_wire::message::GoodbyeReason;

pub(crate) use link::Link;
use link::Patience;
pub use route::Gateway;
use route::Route;

use crate::client::Need;
use crate::limits::Limits;

/// How the client stands to its gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// No link; the next try comes by itself.
    Offline,
    /// The app is asked for a token, a link is being made, or the state is being brought up to date.
    Connecting,
    /// Everything subscribed is current.
    Online,
    /// The gateway refuses: the token, the schema or the version. Or the app has no token, or one of another user than the data on this device. The queue is
    /// held until the app helps.
    Refused { reason: GoodbyeReason, message: String },
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) state: State,
    route: Route,
    backoff: Backoff,
    /// How often in a row a gateway was left because it took long, since one answered quickly: each time the next is given twice as long, or clients on
    /// a slow network would go round for ever, and those of a busy cluster make it busier.
    doubts: u32,
    limits: Limits,
    /// Whether missing data was likely to come when that was last looked at.
    could_fetch: bool,
    /// When the host last said what time it is.
    told: Instant,
}

#[derive(Debug)]
pub(crate) enum State {
    /// Waits until `retry`.
    Waiting {
        retry: Instant,
        outlook: Outlook,
    },
    /// The app asked for silence.
    Paused,
    /// The app is asked for a token, without which there is no link.
    Tokenless,
    /// The host makes a link.
    Linking {
        give_up: Instant,
    },
    Linked(Box<Link>),
    Refused {
        reason: GoodbyeReason,
        message: String,
    },
}

/// Whether the next try is likely to bring a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// It is the first of all, or the last session was open when it was lost, or another gateway is tried now.
    Good,
    /// Every gateway was tried.
    Bad,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Hello is sent.
    Greeting,
    /// The held interests are sent; the first complete `Advance` brings them up to date.
    Resuming,
    Open,
}

impl Session {
    /// The first pause between tries to connect, and the longest one.
    const RETRY_FIRST: Duration = Duration::from_millis(100);
    const RETRY_LAST: Duration = Duration::from_secs(10);
    /// The making of a link; and of one that may be made to another gateway instead, as long as nothing says that this takes long, up to the welcome.
    const LINK_WITHIN: Duration = Duration::from_secs(10);
    const CHOICE_WITHIN: Duration = Duration::from_secs(2);
    /// Since the last ping, whatever is heard: what a gateway sends does not tell it that its client lives.
    pub(crate) const PING_AFTER: Duration = Duration::from_secs(10);
    /// From a ping until anything is heard.
    pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(15);
    /// The same two, where an answer is awaited, or there are other gateways and something goes on: after so much silence, and so soon. Without
    /// another gateway, twice as long.
    pub(crate) const PROBE_AFTER: Duration = Duration::from_millis(500);
    pub(crate) const PROBE_WITHIN: Duration = Duration::from_secs(1);
    /// A session that was open for so long worked. One that is lost before counts as a try in vain.
    const WORKED_AFTER: Duration = Duration::from_secs(1);

    /// `seed` spreads the retries of many clients.
    pub(crate) fn new(now: Instant, gateways: &[NonZeroU16], seed: u64, limits: Limits) -> Session {
        let state = State::Waiting { retry: now, outlook: Outlook::Good };
        let backoff = Backoff::new(Self::RETRY_FIRST, Self::RETRY_LAST, seed);
        Session { state, route: Route::new(gateways, seed), backoff, doubts: 0, limits, could_fetch: true, told: now }
    }

    /// The gateway that is tried, or was last.
    pub(crate) fn gateway(&self) -> Gateway {
        self.route.current()
    }

    /// The place of its data centre in the configuration.
    pub(crate) fn place_of_centre(&self) -> usize {
        self.route.centre()
    }

    pub(crate) fn connection(&self) -> Connection {
        match &self.state {
            State::Waiting { .. } | State::Paused => Connection::Offline,
            State::Tokenless | State::Linking { .. } => Connection::Connecting,
            State::Linked(link) if link.phase == Phase::Open => Connection::Online,
            State::Linked(_) => Connection::Connecting,
            State::Refused { reason, message } => Connection::Refused { reason: *reason, message: message.clone() },
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(&self.state, State::Linked(link) if link.phase == Phase::Open)
    }

    /// Whether data that is missing is likely to come soon.
    pub(crate) fn can_fetch(&self) -> bool {
        match &self.state {
            State::Tokenless | State::Linking { .. } | State::Linked(_) => true,
            State::Waiting { outlook, .. } => *outlook == Outlook::Good,
            State::Paused | State::Refused { .. } => false,
        }
    }

    /// Whether missing data was likely to come when this was last asked, and is not now.
    pub(crate) fn has_lost_hope(&mut self) -> bool {
        let can_fetch = self.can_fetch();
        std::mem::replace(&mut self.could_fetch, can_fetch) && !can_fetch
    }

    pub(crate) fn link_mut(&mut self) -> Option<&mut Link> {
        match &mut self.state {
            State::Linked(link) => Some(link),
            State::Waiting { .. }
            | State::Paused
            | State::Tokenless
            | State::Linking { .. }
            | State::Refused { .. } => None,
        }
    }

    pub(crate) fn link(&self) -> Option<&Link> {
        match &self.state {
            State::Linked(link) => Some(link),
            State::Waiting { .. }
            | State::Paused
            | State::Tokenless
            | State::Linking { .. }
            | State::Refused { .. } => None,
        }
    }

    /// How much a token is needed now.
    pub(crate) fn token_need(&self) -> Need {
        match &self.state {
            State::Linked(_) => Need::ForSession,
            State::Tokenless => Need::ToConnect,
            State::Refused { reason, .. } if lacks_token(*reason) => Need::ToConnect,
            State::Waiting { .. } | State::Paused | State::Linking { .. } | State::Refused { .. } => Need::None,
        }
    }

    /// Whether a link is to be made now.
    pub(crate) fn is_due_to_link(&self, now: Instant) -> bool {
        matches!(self.state, State::Waiting { retry, .. } if retry <= now)
    }

    /// There is no link before there is a token.
    pub(crate) fn await_token(&mut self) {
        self.state = State::Tokenless;
    }

    /// The app has no token, and says why.
    pub(crate) fn lacks_token(&mut self, message: String) {
        let lacks = match &self.state {
            State::Tokenless => true,
            State::Refused { reason, .. } => *reason == GoodbyeReason::Unauthorized,
            State::Waiting { .. } | State::Paused | State::Linking { .. } | State::Linked(_) => false,
        };
        if lacks {
            self.refused(GoodbyeReason::Unauthorized, message);
        }
    }

    /// `token`: what the hello says.
    pub(crate) fn linked(&mut self, now: Instant, token: String) {
        let welcome_by = self.route.has_others().then(|| now + self.choice_within());
        self.state = State::Linked(Box::new(Link::new(now, token, welcome_by)));
    }

    /// The session works: the next loss is retried at once.
    pub(crate) fn opened(&mut self, now: Instant) {
        self.backoff.reset();
        if let Some(link) = self.link_mut() {
            link.open_since.get_or_insert(now);
        }
    }

    /// The gateway answered a ping after so long.
    pub(crate) fn answered(&mut self, after: Duration) {
        if after <= self.limits.probe_within / 2 {
            self.doubts = 0;
        }
    }

    /// The link is gone or could not be made. The next gateway is tried at once, and after a pause when all have been tried.
    pub(crate) fn lost(&mut self, now: Instant, at_least: Option<Duration>) {
        if self.has_worked(now) {
            self.route.served();
        }
        match self.route.move_on() {
            true => self.state = State::Waiting { retry: now, outlook: Outlook::Good },
            false => self.wait(now, at_least),
        }
    }

    /// The link broke. A gateway that has worked, and is alone in its data centre, is tried once more before another data centre is.
    pub(crate) fn broke(&mut self, now: Instant) {
        if self.has_worked(now) {
            self.route.served();
        }
        if self.route.try_again() {
            self.state = State::Waiting { retry: now, outlook: Outlook::Good };
        } else {
            self.lost(now, None);
        }
    }

    /// This data centre refuses the client. Whether another one is tried.
    pub(crate) fn turns_from_refusal(&mut self, now: Instant) -> bool {
        let turns = self.route.turn_from_refusal();
        if turns {
            self.wait(now, None);
        }
        turns
    }

    /// The link is gone, and no other gateway would be of more use: try again after a pause.
    pub(crate) fn wait(&mut self, now: Instant, at_least: Option<Duration>) {
        let outlook = if self.is_open() { Outlook::Good } else { Outlook::Bad };
        let pause = self.backoff.next_pause().max(at_least.unwrap_or_default());
        self.state = State::Waiting { retry: now + pause, outlook };
    }

    /// The gateway took too long.
    pub(crate) fn doubt(&mut self) {
        self.doubts = self.doubts.saturating_add(1);
    }

    pub(crate) fn refused(&mut self, reason: GoodbyeReason, message: String) {
        self.state = State::Refused { reason, message };
    }

    pub(crate) fn is_paused(&self) -> bool {
        matches!(self.state, State::Paused)
    }

    pub(crate) fn pause(&mut self) {
        self.state = State::Paused;
    }

    /// The time of an input. What is sent after it has no time of its own.
    pub(crate) fn is_at(&mut self, now: Instant) {
        self.told = now;
    }

    /// The time that the host told last.
    pub(crate) fn told(&self) -> Instant {
        self.told
    }

    /// Something goes on that a dead link would stop.
    pub(crate) fn is_in_use(&mut self) {
        let told = self.told;
        if let Some(link) = self.link_mut() {
            link.is_in_use(told);
        }
    }

    /// Whether it matters now if the client waits for an answer.
    pub(crate) fn asks_at(&self, now: Instant) -> bool {
        matches!(&self.state, State::Linked(link) if link.asks_at(now, self.patience()))
    }

    /// A link that is there may be dead, and has to prove that it lives: true if it is to be pinged for that. One that is being made may be made on a
    /// network that is gone.
    pub(crate) fn doubt_link(&mut self, now: Instant) -> bool {
        match &mut self.state {
            State::Linked(link) => link.doubt(now),
            State::Linking { give_up } => {
                *give_up = (*give_up).min(now + Self::CHOICE_WITHIN);
                false
            }
            State::Waiting { .. } | State::Paused | State::Tokenless | State::Refused { .. } => false,
        }
    }

    /// Tries now, whatever the pause: the app has a new token, or the device has a network again.
    pub(crate) fn retry_now(&mut self, now: Instant) {
        if !matches!(self.state, State::Linked(_) | State::Linking { .. }) {
            self.backoff.reset();
            self.state = State::Waiting { retry: now, outlook: Outlook::Good };
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Waiting { retry, .. } => Some(*retry),
            State::Linking { give_up } => Some(*give_up),
            State::Linked(link) => Some(link.deadline(self.patience())),
            State::Paused | State::Tokenless | State::Refused { .. } => None,
        }
    }

    /// What the deadline calls for.
    pub(crate) fn due(&mut self, now: Instant) -> Due {
        match &self.state {
            State::Waiting { retry, .. } if *retry <= now => {
                let within = if self.route.has_others() { self.choice_within() } else { Self::LINK_WITHIN };
                self.state = State::Linking { give_up: now + within };
                Due::Connect
            }
            State::Linking { give_up } if *give_up <= now => Due::GiveUp,
            State::Linked(link) => link.due(now, self.patience()),
            State::Waiting { .. }
            | State::Linking { .. }
            | State::Paused
            | State::Tokenless
            | State::Refused { .. } => Due::Nothing,
        }
    }

    fn has_worked(&self, now: Instant) -> bool {
        match &self.state {
            State::Linked(link) => link.open_since.is_some_and(|since| since + Self::WORKED_AFTER <= now),
            State::Waiting { .. }
            | State::Paused
            | State::Tokenless
            | State::Linking { .. }
            | State::Refused { .. } => false,
        }
    }

    fn choice_within(&self) -> Duration {
        self.doubled(Self::CHOICE_WITHIN).min(Self::LINK_WITHIN)
    }

    fn patience(&self) -> Patience {
        let Limits { probe_after, probe_within, answer_within, .. } = self.limits;
        let has_others = self.route.has_others();
        let first = if has_others { probe_within } else { probe_within * 2 };
        let within = self.doubled(first).min(answer_within);
        Patience { limits: self.limits, after: probe_after, within, has_others }
    }

    fn doubled(&self, time: Duration) -> Duration {
        time.saturating_mul(1 << self.doubts.min(8))
    }
}

/// Whether another token can lift a refusal.
fn lacks_token(reason: GoodbyeReason) -> bool {
    match reason {
        GoodbyeReason::Unauthorized | GoodbyeReason::OtherUser => true,
        GoodbyeReason::Version
        | GoodbyeReason::Schema
        | GoodbyeReason::Protocol
        | GoodbyeReason::Limit
        | GoodbyeReason::Slow
        | GoodbyeReason::Replaced
        | GoodbyeReason::Unavailable => false,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    Connect,
    /// The peer is silent, or the link does not come about.
    GiveUp,
    Ping,
}
