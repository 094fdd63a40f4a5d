//! Why sessions end, and what is said to them: one place for reasons, advice and when to come back.

use std::ops::RangeInclusive;
use std::time::Duration;

use iolite_access::AccessError;
use iolite_wire::message::{Goodbye, GoodbyeReason, ProtocolVersion};

use crate::limits;

/// Why a session ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Farewell {
    Version {
        newest: ProtocolVersion,
        /// For people.
        protocol: &'static str,
        spoken: RangeInclusive<ProtocolVersion>,
    },
    Unauthorized(AccessError),
    Schema(String),
    /// A frame that cannot be read, or a message out of place.
    Protocol(String),
    Limit(String),
    /// A limit that somebody else may make room below: it is tried again here.
    LimitForNow(String),
    /// Nothing was heard for too long.
    Silent(Duration),
    /// The greeting took too long, on the client's side.
    GreetingTooLong,
    Slow,
    Replaced,
    Unavailable(String),
}

impl Farewell {
    pub fn goodbye(&self) -> Goodbye {
        let soon = Some(Duration::from_secs(1));
        let at_once = Some(Duration::ZERO);
        let (reason, message, retry_after) = match self {
            Farewell::Version { newest, protocol, spoken } => {
                (GoodbyeReason::Version, version_message(*newest, protocol, spoken), None)
            }
            Farewell::Unauthorized(error @ (AccessError::OtherUser | AccessError::OthersDevice)) => {
                (GoodbyeReason::OtherUser, error.to_string(), None)
            }
            Farewell::Unauthorized(error) => (GoodbyeReason::Unauthorized, error.to_string(), None),
            Farewell::Schema(problem) => (GoodbyeReason::Schema, problem.clone(), None),
            Farewell::Protocol(problem) => (GoodbyeReason::Protocol, problem.clone(), None),
            Farewell::Limit(problem) => (GoodbyeReason::Limit, problem.clone(), None),
            Farewell::LimitForNow(problem) => (GoodbyeReason::Limit, problem.clone(), soon),
            Farewell::Silent(time) => {
                let time = time.as_secs();
                (GoodbyeReason::Limit, format!("nothing was heard for {time} s: send a ping now and then"), at_once)
            }
            Farewell::GreetingTooLong => {
                let time = limits::GREETING_TIME_MAX.as_secs();
                let message = format!("the session was not open {time} s after the connection: send hello first");
                (GoodbyeReason::Limit, message, soon)
            }
            Farewell::Slow => {
                let message = "too much was sent and not read: come back with the resume token".to_owned();
                (GoodbyeReason::Slow, message, soon)
            }
            Farewell::Replaced => {
                let message = "another session of the same client has taken over".to_owned();
                (GoodbyeReason::Replaced, message, None)
            }
            Farewell::Unavailable(problem) => (GoodbyeReason::Unavailable, problem.clone(), soon),
        };
        Goodbye { reason, message: shortened(message), retry_after }
    }
}

/// Text for people that fits a frame: what a client sent may be quoted in it.
pub fn shortened(mut text: String) -> String {
    const CUT: &str = " (cut)";
    if text.len() > limits::REASON_BYTES_MAX {
        let room = limits::REASON_BYTES_MAX - CUT.len();
        let end = (0..=room).rev().find(|place| text.is_char_boundary(*place)).expect("the beginning is a boundary");
        text.truncate(end);
        text.push_str(CUT);
    }
    text
}

fn version_message(newest: ProtocolVersion, protocol: &str, spoken: &RangeInclusive<ProtocolVersion>) -> String {
    let (oldest, current) = (spoken.start().0, spoken.end().0);
    let side = if newest < *spoken.start() { "client" } else { "server" };
    format!("the server speaks versions {oldest} to {current} of the {protocol} protocol: update the {side}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shortened("short".into()), "short");
        let long = shortened("a\u{e4}".repeat(limits::REASON_BYTES_MAX));
        assert!(long.len() <= limits::REASON_BYTES_MAX && long.ends_with(" (cut)"));
    }
}
