//! A link that was made, and whether it still lives.
//!
//! Invariant: a link is given up only if a ping went out on it and was not answered in time.

use std::time::Duration;

use iolite_machine::Instant;
use iolite_wire::message::{FromClient, FromGateway};
use iolite_wire::{SessionDecoder, SessionEncoder};

use super::{Due, Phase};
use crate::limits::Limits;

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) phase: Phase,
    /// The token that its hello said.
    pub(crate) token: String,
    pub(crate) encoder: SessionEncoder<FromClient>,
    pub(crate) decoder: SessionDecoder<FromGateway>,
    /// When the welcome has to be there, if another gateway could give one.
    pub(super) welcome_by: Option<Instant>,
    /// Since when everything is current.
    pub(super) open_since: Option<Instant>,
    heard: Instant,
    pinged: Instant,
    pings: u32,
    /// Of the pings since the last pong, the first.
    unanswered: Option<Instant>,
    /// How many more pings may follow a short silence.
    probes: u32,
}

/// How long silence may last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) limits: Limits,
    /// After which silence a link is probed, and how long the answer may take; none if there is no other gateway to go to.
    pub(super) probing: Option<(Duration, Duration)>,
}

impl Link {
    /// After so many probes that brought nothing but pongs, pings are as seldom as elsewhere: nothing goes on.
    pub(super) const PROBES_MAX: u32 = 120;

    pub(super) fn new(now: Instant, token: String, welcome_by: Option<Instant>) -> Link {
        Link {
            phase: Phase::Greeting,
            token,
            encoder: SessionEncoder::new(),
            decoder: SessionDecoder::new(),
            welcome_by,
            open_since: None,
            heard: now,
            pinged: now,
            pings: 0,
            unanswered: None,
            probes: Self::PROBES_MAX,
        }
    }

    pub(crate) fn hear(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Something goes on: were the link gone now, it would matter.
    pub(crate) fn is_in_use(&mut self) {
        self.probes = Self::PROBES_MAX;
    }

    /// The number of the ping that is sent now.
    pub(crate) fn ping(&mut self, now: Instant) -> u32 {
        self.pings += 1;
        self.probes = self.probes.saturating_sub(1);
        self.pinged = now;
        self.unanswered.get_or_insert(now);
        self.pings
    }

    /// An answer came; how long it took, if it is that to the last ping.
    pub(crate) fn pong(&mut self, now: Instant, number: u32) -> Option<Duration> {
        let is_last = number == self.pings;
        // Where answers take longer than the time between pings, there is always one on its way.
        self.unanswered = (!is_last).then_some(self.pinged);
        is_last.then(|| now.since(self.pinged))
    }

    pub(super) fn deadline(&self, patience: Patience) -> Instant {
        let next = if self.pinged > self.heard { self.silent_at(patience) } else { self.ping_at(patience) };
        let all = [Some(next), self.deaf_at(patience), self.welcome_by.filter(|_| self.phase == Phase::Greeting)];
        all.into_iter().flatten().min().expect("the first is there")
    }

    pub(super) fn due(&self, now: Instant, patience: Patience) -> Due {
        let is_late = self.phase == Phase::Greeting && self.welcome_by.is_some_and(|by| by <= now);
        if is_late || self.deaf_at(patience).is_some_and(|at| at <= now) {
            return Due::GiveUp;
        }
        if self.pinged > self.heard {
            return if self.silent_at(patience) <= now { Due::GiveUp } else { Due::Nothing };
        }
        if self.ping_at(patience) <= now { Due::Ping } else { Due::Nothing }
    }

    fn ping_at(&self, patience: Patience) -> Instant {
        let regular = self.pinged + patience.limits.ping_after;
        match patience.probing {
            Some((after, _)) if self.probes > 0 => regular.min(self.heard.max(self.pinged) + after),
            Some(_) | None => regular,
        }
    }

    /// When nothing at all has followed the last ping for too long. (Counted from the ping, because a hidden page's timers come minutes late.)
    fn silent_at(&self, patience: Patience) -> Instant {
        self.pinged + patience.probing.map_or(patience.limits.answer_within, |(_, within)| within)
    }

    /// When pings have had no pong for so long that what the client says is lost, whatever it hears. A gateway does not answer while it is behind
    /// with its client, so this is longer.
    fn deaf_at(&self, patience: Patience) -> Option<Instant> {
        self.unanswered.map(|since| since + patience.limits.answer_within * 2)
    }
}
