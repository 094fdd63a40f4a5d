//! The token that says who the client's user is: a fixed one, or those that its app is asked for.
//!
//! Invariants:
//! - at most one question is open;
//! - a token that is known to have run out is not said, and the app is asked first;
//! - a token that was refused is not tried again by itself: pauses between questions grow until one is taken.

use std::time::Duration;

use iolite_machine::{Backoff, Instant};
use iolite_wire::limits::TOKEN;

/// Where a client has its token from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// This one, until the app gives another one by [`crate::Client::set_token`].
    Fixed(String),
    /// The app is asked by [`crate::Output::TokenWanted`] whenever one is needed.
    Asked,
}

#[derive(Debug)]
pub(super) struct Tokens {
    is_asked: bool,
    token: Option<Token>,
    question: Question,
    /// Put out with the next poll.
    is_wanted: bool,
    pauses: Backoff,
}

#[derive(Debug)]
struct Token {
    text: String,
    /// When it runs out, and when another one is asked for, if a gateway has said so.
    ends: Option<Ends>,
    standing: Standing,
}

/// The experience with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    New,
    TakenSince(Instant),
    /// The token was good for a while, so pauses are short again.
    Proven,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    at: Instant,
    renew: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    /// None is open, and none failed since a gateway took a token.
    None,
    Open,
    /// The last answer was of no use. The next question comes then.
    Later(Instant),
}

/// How much a client needs its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A session is there, which goes on with another one.
    ForSession,
    /// There is no session before there is another one.
    ToConnect,
    None,
}

impl Token {
    fn new(text: String) -> Token {
        Token { text, ends: None, standing: Standing::New }
    }
}

impl Tokens {
    /// Between two questions, the first time and the longest.
    const ASK_FIRST: Duration = Duration::from_secs(1);
    const ASK_LAST: Duration = Duration::from_secs(60);
    /// A token is asked for when four fifths of the last one's time have passed.
    const RENEW_AFTER: (u32, u32) = (4, 5);
    /// Longer times count as this one.
    const LONG: Duration = Duration::from_secs(365 * 24 * 3600);

    pub(super) fn of(source: TokenSource, seed: u64) -> Tokens {
        let (is_asked, token) = match source {
            TokenSource::Fixed(text) => (false, Some(Token::new(text))),
            TokenSource::Asked => (true, None),
        };
        let pauses = Backoff::new(Self::ASK_FIRST * 2, Self::ASK_LAST, seed);
        Tokens { is_asked, token, question: Question::None, is_wanted: false, pauses }
    }

    /// The newest token, if there is one.
    pub(super) fn text(&self) -> Option<&str> {
        self.token.as_ref().map(|token| token.text.as_str())
    }

    /// The token that a hello may say. A fixed one is said whatever is known of it.
    pub(super) fn to_say(&self, now: Instant) -> Option<&str> {
        let has_run_out = |token: &&Token| self.is_asked && token.ends.is_some_and(|ends| ends.at <= now);
        self.token.as_ref().filter(|token| !has_run_out(token)).map(|token| token.text.as_str())
    }

    /// There is no session before the app answers. It is asked, unless it is to be left alone for a while.
    pub(super) fn want(&mut self) {
        if self.is_asked && self.question == Question::None {
            self.ask();
        }
    }

    /// The same, and at once: the app has said that things are better.
    pub(super) fn want_now(&mut self) {
        if self.is_asked && self.question != Question::Open {
            self.ask();
        }
    }

    fn ask(&mut self) {
        (self.question, self.is_wanted) = (Question::Open, true);
    }

    pub(super) fn take_wanted(&mut self) -> bool {
        std::mem::take(&mut self.is_wanted)
    }

    /// The app gives a token. False if that is of no use: it is the one that is here, which has run out or was to be renewed.
    pub(super) fn given(&mut self, now: Instant, text: String) -> bool {
        (self.question, self.is_wanted) = (Question::None, false);
        let is_none = text.is_empty() || text.len() > TOKEN.most;
        if self.is_asked && is_none {
            self.ask_later(now);
            return false;
        }
        if let Some(own) = self.token.as_ref().filter(|own| own.text == text && self.is_asked) {
            let is_old = own.ends.is_some_and(|ends| ends.renew <= now);
            if is_old {
                self.ask_later(now);
            }
            return !is_old;
        }
        self.token = Some(Token::new(text));
        true
    }

    /// The app has none, or the last one was refused.
    pub(super) fn ask_later(&mut self, now: Instant) {
        if self.is_asked {
            self.prove(now);
            self.is_wanted = false;
            self.question = Question::Later(now + self.pauses.next_pause());
        }
    }

    /// A gateway has taken this token, for so long.
    pub(super) fn taken(&mut self, now: Instant, text: &str, left: Option<Duration>) {
        let Some(own) = self.token.as_mut().filter(|own| own.text == text) else { return };
        let left = left.map(|left| left.min(Self::LONG));
        let (part, of) = Self::RENEW_AFTER;
        own.ends = left.map(|left| Ends { at: now + left, renew: now + (left * part / of).max(Self::ASK_FIRST) });
        if own.standing == Standing::New {
            own.standing = Standing::TakenSince(now);
        }
    }

    /// Whether the token was good for a while. One that was not is as good as refused, or a gateway and its client would go round.
    fn prove(&mut self, now: Instant) -> bool {
        let Some(own) = &mut self.token else { return false };
        match own.standing {
            Standing::New => false,
            Standing::TakenSince(since) if since + Self::ASK_FIRST > now => false,
            Standing::TakenSince(_) => {
                own.standing = Standing::Proven;
                self.pauses.reset();
                true
            }
            Standing::Proven => true,
        }
    }

    /// A gateway refuses this token.
    pub(super) fn refused(&mut self, now: Instant) {
        if !self.is_asked {
            return;
        }
        let is_proven = self.prove(now);
        self.token = None;
        match self.question {
            Question::Open => {}
            Question::None if is_proven => self.ask(),
            Question::None | Question::Later(_) => self.ask_later(now),
        }
    }

    /// Whether the app was asked and has not answered.
    pub(super) fn awaits_answer(&self) -> bool {
        self.question == Question::Open
    }

    pub(super) fn deadline(&self, need: Need) -> Option<Instant> {
        let renew = self.token.as_ref().and_then(|token| token.ends).map(|ends| ends.renew);
        match (self.question, need) {
            _ if !self.is_asked => None,
            (Question::Open, _) | (_, Need::None) => None,
            (Question::Later(at), Need::ForSession | Need::ToConnect) => Some(at),
            (Question::None, Need::ForSession) => renew,
            (Question::None, Need::ToConnect) => None,
        }
    }

    pub(super) fn on_due(&mut self, now: Instant, need: Need) {
        if self.deadline(need).is_some_and(|due| due <= now) {
            self.ask();
        }
    }

    pub(super) fn validate(&self) {
        assert!(self.is_asked || self.question == Question::None, "who has a fixed token is asked for none");
        assert!(!self.is_wanted || self.question == Question::Open, "what is put out is open");
    }
}
