//! Why a token is refused.
//!
//! Invariant: no message says anything about the right token.

use iolite_rights::ClaimType;

use crate::claim::described;

/// Why a token is refused. Each message says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    #[error("no token was sent: pass the development token that the server printed at start, or a user's token")]
    Missing,
    #[error(
        "the token is wrong: pass the development token that the server printed at start, it belongs to the data directory"
    )]
    Wrong,
    #[error("the token has more than 8192 bytes: put fewer claims into it")]
    TooLong,
    #[error(
        "the development token speaks `as` nobody: give an object with `sub`, of 1 to 256 bytes, whose other values are texts, whole numbers, flags or lists of texts"
    )]
    BadAs,
    #[error(
        "the token is no JSON web token: pass the token as the sign-in service issued it, three parts with dots between them"
    )]
    Malformed,
    #[error("the header of the token asks for extensions (`crit`) that Iolite does not have: issue it without them")]
    Extensions,
    #[error(
        "no key of this server has the algorithm of the token: sign it by HS256, RS256 or EdDSA, as the server's keys say"
    )]
    Algorithm,
    #[error("no key of this server has the `kid` of the token: give the server that key, or sign in again")]
    UnknownKey,
    #[error("the signature of the token does not fit: pass the token unchanged, signed by a key that this server has")]
    Signature,
    #[error("the token is of another issuer: its `iss` has to be the `issuer` of the server's settings")]
    Issuer,
    #[error("the token is for somebody else: its `aud` has to have the `audience` of the server's settings")]
    Audience,
    #[error("the token has no `sub` that names a user: it has to be a text of 1 to 256 bytes")]
    Subject,
    #[error("the token has no `exp`, which says when it runs out: issue tokens with one")]
    NoEnd,
    #[error("a time of the token (`exp`, `nbf`, `iat`) is no number of seconds since 1970: issue it as one")]
    BadTime,
    #[error("the token has run out: sign in again, and pass the new token")]
    Expired,
    #[error("the token is not good yet (`nbf` or `iat`): wait, or set the clocks of the issuer and of the server")]
    NotYet,
    #[error("the token lives longer than this server allows: issue it for a shorter time, or raise `life_max`")]
    LivesTooLong,
    #[error("a claim of the token is not {}: compare the token with `claims` of the server's settings", described(*.0))]
    Claim(ClaimType),
    #[error("the operator has revoked the tokens that this user had: sign in again, and pass the new token")]
    Revoked,
    #[error(
        "the operator has revoked older tokens of this user, and this one does not say how old it is: issue tokens with `iat`"
    )]
    RevokedUndated,
    #[error("the token is of another user than the one of this session: begin a new session with it")]
    OtherUser,
    #[error(
        "this device was first used by another user: sign in as that user again, or remove the data from the device and begin anew"
    )]
    OthersDevice,
    #[error("this user has written from 32 devices today, and from no more: use one of those, or come back tomorrow")]
    TooManyDevices,
}
