//! Tokens for users without a name. The gateway says by which key they are signed, once it knows its store.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use iolite_access::{ANONYMOUS_ISSUER, AnonymousKey, Subject, TokenSettings, Tokens};
use iolite_gateway::RevokedTokens;
use iolite_host::{Clock, Guests, Issued, random_id};
use iolite_machine::WallTime;
use iolite_values::Id;
use serde_json::json;

/// The answer at `/token/anonymous` where there are no such users.
pub(crate) const NO_ANONYMOUS_USERS: &str =
    "This server lets no anonymous users in: say `anonymous = true` under [gateway.tokens] in its file.\n";

const NO_TOKEN_OF_OURS: &str = "this is no token of an anonymous user of this server, or it is too old or revoked: ask without it to be a new user";

/// Issues tokens to whoever asks. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AnonymousTokens {
    known: Arc<RwLock<Known>>,
    audience: String,
    life: Duration,
    clock: Clock,
}

/// News of the gateway.
#[derive(Debug, Default)]
struct Known {
    key: Option<AnonymousKey>,
    /// Users whose tokens have to be issued since then, by the digests of their subjects.
    revoked: BTreeMap<Id, WallTime>,
}

impl AnonymousTokens {
    /// None: the settings let no such users in.
    pub fn of(tokens: Option<&Tokens>, clock: Clock) -> Option<AnonymousTokens> {
        let TokenSettings { audience, life_max, anonymous, .. } = tokens?.settings();
        let known = Arc::default();
        anonymous.then(|| AnonymousTokens { known, audience: audience.clone(), life: *life_max, clock })
    }

    /// Signs them by this key from now on.
    pub fn set(&self, key: AnonymousKey) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).key = Some(key);
    }

    /// Gives these users no other tokens for those that were issued before.
    pub fn revoke(&self, RevokedTokens { subject, not_before }: RevokedTokens) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).revoked.insert(subject, not_before);
    }
}

impl Known {
    /// The user of a token that this key has signed, unless it is revoked.
    fn user_of(&self, key: &AnonymousKey, token: &str, audience: &str, now: WallTime) -> Option<Id> {
        let (user, issued) = key.named_by(token, audience, now)?;
        let digest = Subject { issuer: ANONYMOUS_ISSUER.to_owned(), name: user.to_string() }.digest();
        self.revoked.get(&digest).is_none_or(|not_before| issued >= *not_before).then_some(user)
    }
}

impl Guests for AnonymousTokens {
    fn issue(&self, before: Option<&str>) -> Issued {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let (Some(key), now) = (&known.key, self.clock.now().wall) else { return Issued::NotYet };
        let user = match before {
            None => Id::from_u128(random_id()),
            Some(token) => match known.user_of(key, token, &self.audience, now) {
                Some(user) => user,
                None => return Issued::Refused(NO_TOKEN_OF_OURS),
            },
        };
        let token = key.token(user, &self.audience, now, self.life);
        Issued::Token(json!({ "token": token, "expires_in_s": self.life.as_secs() }).to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn tokens(anonymous: bool) -> Tokens {
        let settings = TokenSettings {
            issuer: "https://sign-in.example".into(),
            audience: "rooms".into(),
            claims: [].into(),
            life_max: Duration::from_secs(600),
            anonymous,
        };
        Tokens::new(settings, Vec::new()).expect("good settings")
    }

    /// The token that somebody is given who has this one.
    fn given(issuer: &AnonymousTokens, before: Option<&str>) -> Option<String> {
        let Issued::Token(json) = issuer.issue(before) else { return None };
        let answer: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(answer["expires_in_s"], 600);
        answer["token"].as_str().map(str::to_owned)
    }

    #[test]
    fn who_has_a_token_gets_another_one_of_the_same_user_until_it_is_revoked() {
        let (own, clock) = (tokens(true), Clock::start());
        let issuer = AnonymousTokens::of(Some(&own), clock).expect("they are let in");
        let key = AnonymousKey::from_seed([7; 32]);
        issuer.set(key.clone());
        let user = |token: &str| key.named_by(token, "rooms", clock.now().wall).expect("a user").0;
        let first = given(&issuer, None).expect("a key");
        let next = given(&issuer, Some(&first)).expect("the same user");
        assert_eq!(user(&first), user(&next));
        assert_eq!(given(&issuer, Some("a.b.c")), None);
        let subject = Subject { issuer: ANONYMOUS_ISSUER.into(), name: user(&first).to_string() }.digest();
        let not_before = WallTime::from_micros(clock.now().wall.as_micros() + 2_000_000);
        issuer.revoke(RevokedTokens { subject, not_before });
        assert_eq!(given(&issuer, Some(&next)), None);
    }

    #[test]
    fn each_anonymous_user_is_another_one_whom_the_gateway_lets_in() {
        let (mut own, clock) = (tokens(true), Clock::start());
        let issuer = AnonymousTokens::of(Some(&own), clock).expect("they are let in");
        assert_eq!(issuer.issue(None), Issued::NotYet, "there is no key yet");
        let key = AnonymousKey::from_seed([7; 32]);
        issuer.set(key.clone());
        own.set_anonymous_keys(vec![key]);
        let users = (0..3).map(|_| {
            let token = given(&issuer, None).expect("a key");
            let identity = own.check(&token, clock.now().wall).expect("let in");
            identity.user().expect("a user").subject.name.clone()
        });
        assert_eq!(users.collect::<BTreeSet<String>>().len(), 3);
        assert!(AnonymousTokens::of(Some(&tokens(false)), clock).is_none());
        assert!(AnonymousTokens::of(None, clock).is_none());
    }
}
