//! A link that was made, and whether it still lives.
//!
//! Invariants:
//! - a link is given up only if a ping went out on it and was not answered in time;
//! - a timer that comes late proves nothing, since the answer may lie behind it: another ping goes out first, once.

use std::time::Duration;

use iolite_machine::Instant;
use iolite_wire::client_storage::Bound;
use iolite_wire::message::{FromClient, FromGateway};
use iolite_wire::{SessionDecoder, SessionEncoder};

use super::{Due, Phase};
use crate::limits::Limits;

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) phase: Phase,
    /// The token that was said last.
    pub(crate) token: String,
    /// True while a token that was said after the hello is not answered.
    pub(crate) renews: bool,
    /// The client and the user that the welcome told.
    pub(crate) welcomed: Option<Bound>,
    pub(crate) encoder: SessionEncoder<FromClient>,
    pub(crate) decoder: SessionDecoder<FromGateway>,
    /// When the welcome has to be there, if another gateway could give one.
    pub(super) welcome_by: Option<Instant>,
    /// Since when everything is current.
    pub(super) open_since: Option<Instant>,
    heard: Instant,
    pinged: Instant,
    pings: u32,
    /// The first of the pings since the last pong.
    unanswered: Option<Instant>,
    /// How many more pings may follow a short silence.
    probes: u32,
    /// Since when the client waits for an answer, or wants to know whether the link lives.
    asked: Option<Instant>,
    /// The app asked whether the link lives, and nothing was heard since.
    doubted: bool,
    /// A timer came late, so the silence was given another ping.
    spared: bool,
    /// Whether the gateway said that more of its message follows.
    expects_part: bool,
    bytes: Sent,
}

/// Bytes that the link was given: all, those before the last ping, and those that the gateway is known to have.
#[derive(Debug, Default)]
struct Sent {
    all: usize,
    before_ping: usize,
    arrived: usize,
}

/// How long silence may last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) limits: Limits,
    /// After which silence a link is probed, and how long the answer may take.
    pub(super) after: Duration,
    pub(super) within: Duration,
    /// Whether there are other gateways to go to: then a link is probed whenever something goes on, else only while an answer is awaited.
    pub(super) has_others: bool,
}

impl Link {
    /// After so many probes that brought nothing but pongs, pings are as seldom as elsewhere: nothing goes on.
    pub(super) const PROBES_MAX: u32 = 120;
    /// A timer that comes later than this is late.
    pub(super) const LATE_AFTER: Duration = Duration::from_millis(100);
    /// A line that carries fewer bytes a second may be taken for a dead one while it carries something large.
    pub(super) const SLOW_LINE_BYTES: usize = 32 * 1024;
    /// The time that the next part of a message may take on such a line.
    pub(super) const PART_WITHIN: Duration = Duration::from_secs(8);

    pub(super) fn new(now: Instant, token: String, welcome_by: Option<Instant>) -> Link {
        Link {
            phase: Phase::Greeting,
            token,
            renews: false,
            welcomed: None,
            encoder: SessionEncoder::new(),
            decoder: SessionDecoder::new(),
            welcome_by,
            open_since: None,
            heard: now,
            pinged: now,
            pings: 0,
            unanswered: None,
            probes: Self::PROBES_MAX,
            asked: Some(now),
            doubted: false,
            spared: false,
            expects_part: false,
            bytes: Sent::default(),
        }
    }

    pub(crate) fn hear(&mut self, now: Instant) {
        self.heard = now;
        self.doubted = false;
        self.spared = false;
    }

    /// Something goes on: were the link gone now, it would matter. `now`: not before the last input.
    pub(crate) fn is_in_use(&mut self, now: Instant) {
        self.probes = Self::PROBES_MAX;
        self.asked.get_or_insert(now);
    }

    /// The app wants to know whether the link lives. True if a ping has to go out for that: one that is judged already would get more time by another.
    pub(crate) fn doubt(&mut self, now: Instant) -> bool {
        let is_judged = self.asked.is_some() && self.pinged > self.heard;
        self.is_in_use(now);
        self.doubted = true;
        !is_judged
    }

    /// Nobody waits for an answer any more, unless the app asked for one.
    pub(crate) fn is_answered(&mut self) {
        if !self.doubted {
            self.asked = None;
        }
    }

    pub(crate) fn sent(&mut self, bytes: usize) {
        self.bytes.all += bytes;
    }

    /// Bytes that it was given so far.
    pub(crate) fn given(&self) -> usize {
        self.bytes.all
    }

    /// Whether the gateway is known to have so many bytes of it.
    pub(crate) fn has_brought(&self, bytes: usize) -> bool {
        self.bytes.arrived >= bytes
    }

    /// Whether more parts of a message follow.
    pub(crate) fn expect_part(&mut self, follows: bool) {
        self.expects_part = follows;
    }

    /// Whether it matters now if somebody still waits for an answer.
    pub(super) fn asks_at(&self, now: Instant, patience: Patience) -> bool {
        let is_due = if self.pinged > self.heard { self.silent_at(patience) } else { self.ping_at(patience) } <= now;
        is_due && !patience.has_others && self.asked.is_some()
    }

    /// The number of the ping that is sent now.
    pub(crate) fn ping(&mut self, now: Instant) -> u32 {
        self.pings += 1;
        self.probes = self.probes.saturating_sub(1);
        self.spared = self.pinged > self.heard;
        self.pinged = now;
        self.bytes.before_ping = self.bytes.all;
        if self.spared {
            self.unanswered = None;
        }
        self.unanswered.get_or_insert(now);
        self.pings
    }

    /// An answer came; how long it took, if it is that to the last ping.
    pub(crate) fn pong(&mut self, now: Instant, number: u32) -> Option<Duration> {
        let is_last = number == self.pings;
        if is_last {
            self.bytes.arrived = self.bytes.before_ping;
        }
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
        if is_late {
            return Due::GiveUp;
        }
        if let Some(at) = self.deaf_at(patience).filter(|at| *at <= now) {
            return self.unless_late(at, now);
        }
        if self.pinged > self.heard {
            return self.due_in_silence(now, patience);
        }
        if self.ping_at(patience) <= now { Due::Ping } else { Due::Nothing }
    }

    /// After sleep, or a long task of the page, timers come before the frames that have arrived meanwhile.
    fn due_in_silence(&self, now: Instant, patience: Patience) -> Due {
        let due = self.silent_at(patience);
        if due <= now { self.unless_late(due, now) } else { Due::Nothing }
    }

    fn unless_late(&self, due: Instant, now: Instant) -> Due {
        let is_late = due + Self::LATE_AFTER < now && self.pinged > self.heard;
        if is_late && !self.spared { Due::Ping } else { Due::GiveUp }
    }

    fn ping_at(&self, patience: Patience) -> Instant {
        let regular = self.pinged + patience.limits.ping_after;
        let since = match patience.has_others {
            true => (self.probes > 0).then_some(self.heard),
            false => self.asked,
        };
        since.map_or(regular, |since| regular.min(since.max(self.heard).max(self.pinged) + patience.after))
    }

    /// When nothing at all has followed the last ping for too long. (Counted from the ping, because a hidden page's timers come minutes late.)
    fn silent_at(&self, patience: Patience) -> Instant {
        let most = patience.limits.answer_within;
        match self.asked {
            _ if patience.has_others => self.pinged + patience.within,
            Some(asked) => asked.max(self.pinged) + (patience.within + self.on_its_way()).min(most),
            None => self.pinged + most,
        }
    }

    /// How long a slow line may be busy with what was sent before the ping, and with what the gateway is sending.
    fn on_its_way(&self) -> Duration {
        let bytes = self.bytes.before_ping - self.bytes.arrived;
        let up = Duration::from_millis(bytes as u64 * 1000 / Self::SLOW_LINE_BYTES as u64);
        if self.expects_part { up + Self::PART_WITHIN } else { up }
    }

    /// When pings have had no pong for so long that what the client says is lost, whatever it hears. A gateway does not answer while it is behind
    /// with its client, so this is longer. A slow line that is busy with what was sent before the ping is given the time for that.
    fn deaf_at(&self, patience: Patience) -> Option<Instant> {
        self.unanswered.map(|since| since + patience.limits.answer_within * 2 + self.on_its_way())
    }
}
