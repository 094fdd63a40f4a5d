//! Tokens that are let in, and tokens that are not: each algorithm, and each reason why one is not.

mod signing;

use std::collections::BTreeSet;
use std::time::Duration;

use iolite_access::{AccessError, Algorithm, ClaimType, Identity, Key, LIFE, SettingsError, Tokens, User};
use iolite_machine::WallTime;
use iolite_rights::{Claim, Claims};
use proptest::prelude::*;
use serde_json::{Value, json};

use signing::{
    ANN, AUDIENCE, ISSUER, NOW, RSA_PUBLIC, SECRET, ed_pair, public_ed, settings, sign_ed, sign_hs, sign_rs, with,
};

fn tokens(keys: Vec<Key>) -> Tokens {
    Tokens::new(settings(), keys).expect("good settings")
}

fn secret() -> Key {
    Key::secret(Some("s".into()), SECRET).expect("32 bytes")
}

fn rsa() -> Key {
    Key::of_file(Some("r".into()), Algorithm::Rs256, RSA_PUBLIC).expect("a public key of RSA")
}

fn ed() -> Key {
    Key::of_file(Some("e".into()), Algorithm::EdDsa, &public_ed()).expect("a public key of Ed25519")
}

fn all() -> Tokens {
    tokens(vec![secret(), rsa(), ed()])
}

fn user(identity: Result<Identity, AccessError>) -> User {
    identity.expect("it is let in").user().expect("a user").clone()
}

/// The answer for a payload, signed by the secret.
fn answer(payload: &Value) -> Result<Identity, AccessError> {
    all().check(&sign_hs(&json!({ "alg": "HS256", "kid": "s" }), payload, SECRET), NOW)
}

#[test]
fn each_algorithm_lets_in_with_and_without_the_name_of_the_key() {
    let payload = with(json!({}));
    for kid in [json!({}), json!({ "kid": "s" })] {
        let header = signing::merged(json!({ "alg": "HS256", "typ": "JWT" }), kid);
        let user = user(all().check(&sign_hs(&header, &payload, SECRET), NOW));
        assert_eq!((user.subject.issuer.as_str(), user.subject.name.as_str()), (ISSUER, ANN));
    }
    for kid in [json!({}), json!({ "kid": "r" })] {
        let header = signing::merged(json!({ "alg": "RS256" }), kid);
        assert_eq!(user(all().check(&sign_rs(&header, &payload), NOW)).subject.name, ANN);
    }
    for kid in [json!({}), json!({ "kid": "e" })] {
        let header = signing::merged(json!({ "alg": "EdDSA" }), kid);
        assert_eq!(user(all().check(&sign_ed(&header, &payload, &ed_pair(1)), NOW)).subject.name, ANN);
    }
}

#[test]
fn the_algorithm_is_the_keys_and_not_the_headers() {
    let payload = with(json!({}));
    let unsigned = |algorithm: &str| signing::text(&json!({ "alg": algorithm }), &payload, b"");
    for none in ["none", "None", "NONE", "", "HS384", "ES256", "PS256"] {
        assert_eq!(all().check(&unsigned(none), NOW), Err(AccessError::Algorithm), "{none}");
    }
    // A public key is no secret: whoever knows it would sign with it.
    let public = [RSA_PUBLIC.as_bytes(), RSA_PUBLIC.trim().as_bytes()];
    for secret in public {
        let token = sign_hs(&json!({ "alg": "HS256", "kid": "r" }), &payload, secret);
        assert_eq!(tokens(vec![rsa()]).check(&token, NOW), Err(AccessError::UnknownKey));
        let nameless = sign_hs(&json!({ "alg": "HS256" }), &payload, secret);
        assert_eq!(tokens(vec![rsa()]).check(&nameless, NOW), Err(AccessError::Algorithm));
        assert_eq!(all().check(&nameless, NOW), Err(AccessError::Signature));
    }
    // The header of one algorithm, and the name of a key of another one.
    let token = sign_hs(&json!({ "alg": "HS256", "kid": "e" }), &payload, SECRET);
    assert_eq!(all().check(&token, NOW), Err(AccessError::UnknownKey));
}

#[test]
fn keys_in_the_header_are_never_looked_at() {
    let mallory = ed_pair(9);
    let x = signing::part(mallory.1.as_slice());
    let header = json!({
        "alg": "EdDSA", "jwk": { "kty": "OKP", "crv": "Ed25519", "x": x }, "jku": "https://mallory.example/keys", "x5u": "https://mallory.example/x",
    });
    assert_eq!(all().check(&sign_ed(&header, &with(json!({})), &mallory), NOW), Err(AccessError::Signature));
    // They do not matter in a good token either.
    assert!(all().check(&sign_ed(&header, &with(json!({})), &ed_pair(1)), NOW).is_ok());
    let critical = json!({ "alg": "EdDSA", "crit": ["b64"], "b64": false });
    assert_eq!(all().check(&sign_ed(&critical, &with(json!({})), &ed_pair(1)), NOW), Err(AccessError::Extensions));
}

#[test]
fn another_name_of_a_key_is_refused() {
    let header = json!({ "alg": "HS256", "kid": "t" });
    assert_eq!(all().check(&sign_hs(&header, &with(json!({})), SECRET), NOW), Err(AccessError::UnknownKey));
    // A key without a name is tried for every token.
    let nameless = Key::secret(None, SECRET).expect("32 bytes");
    assert!(tokens(vec![nameless]).check(&sign_hs(&header, &with(json!({})), SECRET), NOW).is_ok());
}

#[test]
fn issuer_and_audience_are_always_checked() {
    for wrong in [json!({ "iss": "https://else.example" }), json!({ "iss": null }), json!({ "iss": [ISSUER] })] {
        assert_eq!(answer(&with(wrong)), Err(AccessError::Issuer));
    }
    assert_eq!(answer(&signing::without("iss")), Err(AccessError::Issuer));
    for wrong in [json!({ "aud": "else" }), json!({ "aud": ["else", 1] }), json!({ "aud": [] }), json!({ "aud": {} })] {
        assert_eq!(answer(&with(wrong)), Err(AccessError::Audience));
    }
    assert_eq!(answer(&signing::without("aud")), Err(AccessError::Audience));
    assert!(answer(&with(json!({ "aud": ["else", AUDIENCE] }))).is_ok());
}

#[test]
fn a_token_is_good_from_its_beginning_to_its_end_and_a_minute_around() {
    let now = NOW.as_micros() / 1_000_000;
    let at = |exp: u64| answer(&with(json!({ "iat": now - 3600, "exp": exp })));
    assert!(at(now + 1).is_ok() && at(now - 59).is_ok());
    assert_eq!(at(now - 60), Err(AccessError::Expired));
    assert_eq!(answer(&signing::without("exp")), Err(AccessError::NoEnd));
    let user = user(answer(&with(json!({ "iat": now - 10, "exp": now + 30 }))));
    let second = |second: u64| Some(WallTime::from_micros(second * 1_000_000));
    assert_eq!((user.issued, user.ends), (second(now - 10), second(now + 30)));
    for early in ["nbf", "iat"] {
        assert!(answer(&with(json!({ early: now + 60, "exp": now + 90 }))).is_ok());
        assert_eq!(answer(&with(json!({ early: now + 61, "exp": now + 90 }))), Err(AccessError::NotYet), "{early}");
    }
    for name in ["exp", "nbf", "iat"] {
        for bad in [json!("tomorrow"), json!(-1), json!(null), json!(1e300), json!({})] {
            assert_eq!(answer(&with(json!({ name: bad }))), Err(AccessError::BadTime), "{name}");
        }
    }
}

#[test]
fn a_token_has_a_longest_life() {
    let (now, day) = (NOW.as_micros() / 1_000_000, LIFE.as_secs());
    assert!(answer(&with(json!({ "iat": now, "exp": now + day }))).is_ok());
    assert_eq!(answer(&with(json!({ "iat": now, "exp": now + day + 1 }))), Err(AccessError::LivesTooLong));
    assert_eq!(answer(&with(json!({ "iat": now - day, "exp": now + 2 }))), Err(AccessError::LivesTooLong));
    // Without a beginning it is what is left.
    let payload = |exp| signing::merged(signing::without("iat"), json!({ "exp": exp }));
    assert!(answer(&payload(now + day)).is_ok());
    assert_eq!(answer(&payload(now + day + 61)), Err(AccessError::LivesTooLong));
    let short = signing::merged(signing::without("iat"), json!({ "exp": now + 100 }));
    let settings = iolite_access::TokenSettings { life_max: Duration::from_secs(30), ..settings() };
    let tokens = Tokens::new(settings, vec![secret()]).expect("good settings");
    assert_eq!(tokens.check(&sign_hs(&json!({ "alg": "HS256" }), &short, SECRET), NOW), Err(AccessError::LivesTooLong));
}

#[test]
fn a_user_has_a_name() {
    assert_eq!(answer(&signing::without("sub")), Err(AccessError::Subject));
    for bad in [json!(""), json!(7), json!(null), json!("a".repeat(257))] {
        assert_eq!(answer(&with(json!({ "sub": bad }))), Err(AccessError::Subject));
    }
    assert!(answer(&with(json!({ "sub": "a".repeat(256) }))).is_ok());
}

#[test]
fn a_token_has_at_most_8_kib() {
    let of = |pad: usize| answer(&with(json!({ "pad": "a".repeat(pad) })));
    assert!(of(5000).is_ok());
    assert_eq!(of(8000), Err(AccessError::TooLong));
}

#[test]
fn rules_see_the_claims_that_the_operator_names_and_no_others() {
    let payload = json!({ "org": "iron", "roles": ["teller", "editor"], "level": 3, "staff": true, "secret": "x" });
    let roles = ["editor", "teller"].map(String::from).into();
    let claims = [
        ("level", Claim::Number(3)),
        ("org", Claim::Text("iron".into())),
        ("roles", Claim::Texts(roles)),
        ("staff", Claim::Flag(true)),
    ];
    let claims = claims.map(|(name, claim)| (name.to_owned(), claim));
    let own = user(answer(&with(payload)));
    assert_eq!(own.claims, Claims::new(&own.subject.name, claims));
    let bare = user(answer(&with(json!({}))));
    assert_eq!(bare.claims, Claims::new(&bare.subject.name, []), "a token may lack them");
    let one = user(answer(&with(json!({ "roles": "teller" }))));
    assert_eq!(one.claims.get("roles"), Some(&Claim::Texts(BTreeSet::from(["teller".to_owned()]))));
    for (wrong, of) in [
        (json!({ "org": 1 }), ClaimType::Text),
        (json!({ "roles": ["a", 1] }), ClaimType::Texts),
        (json!({ "level": "3" }), ClaimType::Number),
        (json!({ "level": 1.5 }), ClaimType::Number),
        (json!({ "staff": "true" }), ClaimType::Flag),
        (json!({ "org": null }), ClaimType::Text),
    ] {
        assert_eq!(answer(&with(wrong)), Err(AccessError::Claim(of)));
    }
}

#[test]
fn rules_may_look_at_the_flag_of_anonymous_users_and_at_named_claims() {
    let claims = all().claims();
    assert_eq!(claims.get("anonymous"), Some(&ClaimType::Flag));
    assert!(claims.len() == all().settings().claims.len() + 1 && claims.contains_key("roles"), "{claims:?}");
}

#[test]
fn two_keys_are_good_while_one_takes_the_place_of_the_other() {
    let token = |number: u8, kid: Option<&str>| {
        let header = kid.map_or(json!({ "alg": "EdDSA" }), |kid| json!({ "alg": "EdDSA", "kid": kid }));
        sign_ed(&header, &with(json!({})), &ed_pair(number))
    };
    let key = |number: u8, kid: &str| Key::ed25519(Some(kid.into()), &ed_pair(number).1).expect("32 bytes");
    let mut tokens = tokens(vec![secret()]);
    tokens.set_keys(vec![key(1, "old")]);
    assert!(tokens.check(&token(1, Some("old")), NOW).is_ok());
    assert_eq!(tokens.check(&token(2, Some("new")), NOW), Err(AccessError::UnknownKey));
    tokens.set_keys(vec![key(1, "old"), key(2, "new")]);
    for good in [token(1, Some("old")), token(2, Some("new")), token(1, None), token(2, None)] {
        assert!(tokens.check(&good, NOW).is_ok());
    }
    assert_eq!(tokens.check(&token(1, Some("new")), NOW), Err(AccessError::Signature));
    tokens.set_keys(vec![key(2, "new")]);
    assert_eq!(tokens.check(&token(1, Some("old")), NOW), Err(AccessError::UnknownKey));
    assert_eq!(tokens.check(&token(1, None), NOW), Err(AccessError::Signature));
    // The keys of the settings stay.
    assert!(tokens.check(&sign_hs(&json!({ "alg": "HS256" }), &with(json!({})), SECRET), NOW).is_ok());
}

#[test]
fn settings_that_would_let_anybody_in_are_refused() {
    use iolite_access::TokenSettings;
    for (bad, told) in [
        (TokenSettings { issuer: String::new(), ..settings() }, SettingsError::NoIssuer),
        (TokenSettings { issuer: "iolite dev".into(), ..settings() }, SettingsError::OwnIssuer),
        (TokenSettings { issuer: "iolite anonymous".into(), ..settings() }, SettingsError::OwnIssuer),
        (TokenSettings { audience: String::new(), ..settings() }, SettingsError::NoAudience),
        (TokenSettings { life_max: Duration::ZERO, ..settings() }, SettingsError::NoLife),
    ] {
        assert_eq!(Tokens::new(bad, vec![secret()]).map(drop), Err(told));
    }
}

fn signed_by(number: u8) -> String {
    let payload = with(json!({ "org": "iron" }));
    match number {
        0 => sign_hs(&json!({ "alg": "HS256", "kid": "s" }), &payload, SECRET),
        1 => sign_rs(&json!({ "alg": "RS256", "kid": "r" }), &payload),
        _ => sign_ed(&json!({ "alg": "EdDSA", "kid": "e" }), &payload, &ed_pair(1)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_token_with_a_changed_byte_is_let_in(number in 0..3_u8, place in any::<prop::sample::Index>(), byte in 0x20..0x7f_u8) {
        let mut token = signed_by(number).into_bytes();
        let place = place.index(token.len());
        prop_assume!(token[place] != byte);
        token[place] = byte;
        let token = String::from_utf8(token).expect("ASCII");
        prop_assert!(all().check(&token, NOW).is_err(), "{}", token);
    }

    #[test]
    fn any_text_is_refused(text in ".{0,200}", parts in prop::collection::vec("[A-Za-z0-9_-]{0,80}|eyJhbGciOiJIUzI1NiJ9|e30|W10", 0..5)) {
        prop_assert!(all().check(&text, NOW).is_err());
        prop_assert!(all().check(&parts.join("."), NOW).is_err());
    }
}
