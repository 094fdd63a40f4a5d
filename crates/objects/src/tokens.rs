//! The token of a device: a fixed one, or those of its host, which is asked before one runs out.
//!
//! Invariants:
//! - at most one question to the host is open;
//! - a token whose time is over is not said in a hello.

use std::time::Duration;

use iolite_machine::{Backoff, Instant};
use iolite_wire::limits::TOKEN;

/// Where the token of a device comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// Always this one, as the development token is.
    Fixed(String),
    /// The host has it: the device asks with [`DeviceOutput::TokenWanted`](crate::DeviceOutput::TokenWanted).
    Asked,
}

impl std::fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TokenSource::Fixed(_) => "Fixed(..)",
            TokenSource::Asked => "Asked",
        })
    }
}

/// The token that a device has, and its question to the host.
pub(crate) struct Tokens {
    is_asked: bool,
    token: Option<String>,
    /// The server has not heard the token yet.
    is_unsaid: bool,
    /// As the server said it, if the token runs out.
    times: Option<Times>,
    asking: Asking,
    backoff: Backoff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    /// The host is asked for another one.
    renew: Instant,
    ends: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asking {
    No,
    /// The host has not answered.
    Open,
    /// The host is asked again then: it had no good token.
    After(Instant),
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").field("times", &self.times).field("asking", &self.asking).finish_non_exhaustive()
    }
}

impl Tokens {
    /// The first pause after the host had no good token, and the longest one.
    const PAUSE_FIRST: Duration = Duration::from_secs(1);
    const PAUSE_LAST: Duration = Duration::from_secs(60);

    pub fn new(source: TokenSource, seed: u64) -> Tokens {
        let (is_asked, token) = match source {
            TokenSource::Fixed(token) => (false, Some(token)),
            TokenSource::Asked => (true, None),
        };
        let backoff = Backoff::new(Tokens::PAUSE_FIRST, Tokens::PAUSE_LAST, seed);
        Tokens { is_asked, token, is_unsaid: false, times: None, asking: Asking::No, backoff }
    }

    /// Whether the host gives the tokens.
    pub fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Whether there is a token whose time is not over.
    pub fn is_good(&self, now: Instant) -> bool {
        !self.is_asked || (self.token.is_some() && self.times.is_none_or(|times| now < times.ends))
    }

    /// Whether nothing is to be done until the host answers, or until it is asked again.
    pub fn is_waiting(&self) -> bool {
        self.asking != Asking::No
    }

    /// The token for a hello, if there is a good one.
    pub fn say(&mut self, now: Instant) -> Option<String> {
        if !self.is_good(now) {
            return None;
        }
        self.is_unsaid = false;
        self.token.clone()
    }

    /// The token for the connection that is open, if the server has not heard it.
    pub fn say_newer(&mut self) -> Option<String> {
        if std::mem::take(&mut self.is_unsaid) { self.token.clone() } else { None }
    }

    /// Opens the question to the host. False: it is open already, or waits.
    pub fn ask(&mut self) -> bool {
        let asks = self.is_asked && self.asking == Asking::No;
        if asks {
            self.asking = Asking::Open;
        }
        asks
    }

    /// The server takes the token, which is good for so long.
    pub fn taken(&mut self, now: Instant, left: Option<Duration>) {
        self.backoff.reset();
        if self.is_unsaid {
            // That was said of the token before this one.
            return;
        }
        let times = |left: Duration| Times { renew: now + (left / 5 * 4).max(Tokens::PAUSE_FIRST), ends: now + left };
        self.times = left.filter(|_| self.is_asked).map(times);
    }

    /// The host gives a token.
    ///
    /// # Errors
    /// The token is too long for a message. The host is asked again later.
    pub fn given(&mut self, now: Instant, token: String) -> Result<(), String> {
        if token.len() > TOKEN.most {
            self.failed(now);
            return Err(format!("the token has {} bytes, and may have {}", token.len(), TOKEN.most));
        }
        (self.token, self.is_unsaid, self.times, self.asking) = (Some(token), true, None, Asking::No);
        Ok(())
    }

    /// The host has none now.
    pub fn failed(&mut self, now: Instant) {
        self.asking = Asking::After(now + self.backoff.next_pause());
    }

    /// The server refuses the token, or its time is over there. A host that gives the same one again is not asked without end.
    pub fn refused(&mut self, now: Instant) {
        if self.is_unsaid {
            // There is a newer one already.
            return;
        }
        (self.token, self.times) = (None, None);
        if self.asking == Asking::No {
            self.failed(now);
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        match self.asking {
            Asking::Open => None,
            Asking::After(until) => Some(until),
            Asking::No => self.times.map(|times| times.renew),
        }
    }

    /// Whether the host is asked now. The question is open then.
    pub fn overdue(&mut self, now: Instant) -> bool {
        if self.deadline().is_none_or(|due| now < due) {
            return false;
        }
        self.asking = Asking::Open;
        true
    }
}
