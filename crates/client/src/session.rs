//! The connection to a gateway: greeting, resuming, staying alive, coming back.
//!
//! Invariants:
//! - nothing but the greeting, the held interests and pings is sent before the gateway has brought everything held to one timestamp;
//! - a lost link is retried for ever, with growing pauses; a refusal that only people can lift is not.
//!
//! docs/protocols/session.md shows the exchange.

use std::time::Duration;

use iolite_machine::{Instant, Now};
use iolite_wire::message::{FromClient, FromGateway, GoodbyeReason};
use iolite_wire::{SessionDecoder, SessionEncoder};

use crate::backoff::Backoff;

use crate::limits::Limits;

/// How the client stands to its gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// No link; the next try comes by itself.
    Offline,
    /// A link is being made, or the state is being brought up to date.
    Connecting,
    /// Everything subscribed is current.
    Online,
    /// The gateway refuses: the token, the schema or the version. The queue is held until the app helps.
    Refused { reason: GoodbyeReason, message: String },
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) state: State,
    backoff: Backoff,
    limits: Limits,
    /// Whether missing data was likely to come when that was last looked at.
    could_fetch: bool,
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

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) phase: Phase,
    /// The token that its hello said.
    pub(crate) token: String,
    pub(crate) encoder: SessionEncoder<FromClient>,
    pub(crate) decoder: SessionDecoder<FromGateway>,
    pub(crate) heard: Instant,
    pub(crate) pinged: Instant,
    pub(crate) pings: u32,
}

/// Whether the next try is likely to bring a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// It is the first of all, or the last session was open when it was lost.
    Good,
    /// The last try failed.
    Bad,
}

impl Link {
    fn waits_for_pong(&self) -> bool {
        self.pinged > self.heard
    }
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
    const LINK_WITHIN: Duration = Duration::from_secs(10);
    /// Since the last ping, whatever is heard: what a gateway sends does not tell it that its client lives.
    pub(crate) const PING_AFTER: Duration = Duration::from_secs(10);
    /// A ping that nothing at all has followed for so long was sent into a dead link. (Counted from the ping, because a hidden page's timers come
    /// minutes late.)
    pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(15);

    /// `seed` spreads the retries of many clients.
    pub(crate) fn new(now: Instant, seed: u64, limits: Limits) -> Session {
        let state = State::Waiting { retry: now, outlook: Outlook::Good };
        let backoff = Backoff::new(Self::RETRY_FIRST, Self::RETRY_LAST, seed);
        Session { state, backoff, limits, could_fetch: true }
    }

    pub(crate) fn connection(&self) -> Connection {
        match &self.state {
            State::Waiting { .. } | State::Paused => Connection::Offline,
            State::Linking { .. } => Connection::Connecting,
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
            State::Linking { .. } | State::Linked(_) => true,
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
            State::Waiting { .. } | State::Paused | State::Linking { .. } | State::Refused { .. } => None,
        }
    }

    /// `token`: what the hello says.
    pub(crate) fn linked(&mut self, now: Now, token: String) {
        self.state = State::Linked(Box::new(Link {
            phase: Phase::Greeting,
            token,
            encoder: SessionEncoder::new(),
            decoder: SessionDecoder::new(),
            heard: now.instant,
            pinged: now.instant,
            pings: 0,
        }));
    }

    /// The session works: the next loss is retried at once.
    pub(crate) fn opened(&mut self) {
        self.backoff.reset();
    }

    /// The link is gone or could not be made; try again after a pause.
    pub(crate) fn lost(&mut self, now: Instant, at_least: Option<Duration>) {
        let outlook = if self.is_open() { Outlook::Good } else { Outlook::Bad };
        let pause = self.backoff.next_pause().max(at_least.unwrap_or_default());
        self.state = State::Waiting { retry: now + pause, outlook };
    }

    pub(crate) fn refused(&mut self, reason: GoodbyeReason, message: String) {
        self.state = State::Refused { reason, message };
    }

    pub(crate) fn pause(&mut self) {
        self.state = State::Paused;
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
            State::Linked(link) if link.waits_for_pong() => Some(link.pinged + self.limits.answer_within),
            State::Linked(link) => Some(link.pinged + self.limits.ping_after),
            State::Paused | State::Refused { .. } => None,
        }
    }

    /// What the deadline calls for.
    pub(crate) fn due(&mut self, now: Instant) -> Due {
        let Limits { ping_after, answer_within, .. } = self.limits;
        match &mut self.state {
            State::Waiting { retry, .. } if *retry <= now => {
                self.state = State::Linking { give_up: now + Self::LINK_WITHIN };
                Due::Connect
            }
            State::Linking { give_up } if *give_up <= now => Due::GiveUp,
            State::Linked(link) if link.waits_for_pong() && link.pinged + answer_within <= now => Due::GiveUp,
            State::Linked(link) if !link.waits_for_pong() && link.pinged + ping_after <= now => Due::Ping,
            State::Waiting { .. }
            | State::Linking { .. }
            | State::Linked(_)
            | State::Paused
            | State::Refused { .. } => Due::Nothing,
        }
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
