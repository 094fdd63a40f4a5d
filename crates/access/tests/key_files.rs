//! Keys as operators have them: secrets, PEM, sets of keys from an address, and the gateway's own for anonymous users.

mod signing;

use std::time::Duration;

use iolite_access::{
    AccessError, Algorithm, AnonymousKey, Key, KeyError, KeySetError, TokenSettings, Tokens, read_key_set,
};
use iolite_rights::{Claim, Claims};
use iolite_values::Id;
use serde_json::{Value, json};

use signing::{AUDIENCE, NOW, RSA_PUBLIC, SECRET, ed_pair, part, public_ed, settings, sign_ed, sign_rs, with};

const X25519: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VuAyEAiuxUYRt4/Ke3s1c0D3iiHsut4QT7IcwWTbPi4y958zc=\n-----END PUBLIC KEY-----\n";

fn tokens(keys: Vec<Key>) -> Tokens {
    Tokens::new(settings(), keys).expect("good settings")
}

fn key(algorithm: Algorithm, text: &str) -> Result<Key, KeyError> {
    Key::of_file(None, algorithm, text)
}

/// Modulus and exponent of the public key, as a set of keys has them.
fn numbers() -> (String, String) {
    let digits: String =
        include_str!("keys/rsa.public.bare.pem").lines().filter(|line| !line.starts_with('-')).collect();
    let der = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, digits).expect("PEM");
    // A sequence of 4 bytes' head, an integer of 4 bytes' head and a zero, 256 bytes, and an integer of 2 bytes' head.
    (part(&der[9..265]), part(&der[267..]))
}

fn set(keys: &Value) -> Result<Vec<Key>, KeySetError> {
    read_key_set(json!({ "keys": keys }).to_string().as_bytes())
}

#[test]
fn a_key_is_read_as_openssl_writes_it() {
    let token = sign_rs(&json!({ "alg": "RS256" }), &with(json!({})));
    for text in [RSA_PUBLIC, include_str!("keys/rsa.public.bare.pem"), &format!("a comment\n\n{RSA_PUBLIC}")] {
        let key = key(Algorithm::Rs256, text).expect("a public key of RSA");
        assert!(tokens(vec![key]).check(&token, NOW).is_ok());
    }
    let token = sign_ed(&json!({ "alg": "EdDSA" }), &with(json!({})), &ed_pair(1));
    let key = key(Algorithm::EdDsa, &public_ed()).expect("a public key of Ed25519");
    assert!(tokens(vec![key]).check(&token, NOW).is_ok());
}

#[test]
fn a_file_that_is_no_such_key_is_refused_with_what_to_do() {
    use Algorithm::{EdDsa, Hs256, Rs256};
    let (ed, private) = (public_ed(), include_str!("keys/rsa.pem"));
    let cut = RSA_PUBLIC.replace("MIIB", "MIIC");
    for (algorithm, text, told) in [
        (Hs256, "0123456789abcdef0123456789abcde", KeyError::ShortSecret),
        (Hs256, " 0123456789abcdef0123456789abcde\n\n", KeyError::ShortSecret),
        (Hs256, RSA_PUBLIC, KeyError::PemAsSecret),
        (Hs256, private, KeyError::PemAsSecret),
        (Rs256, "0123456789abcdef0123456789abcdef", KeyError::NoPem),
        (Rs256, private, KeyError::Private),
        (Rs256, &ed, KeyError::NotRsa),
        (Rs256, &cut, KeyError::NotRsa),
        (Rs256, include_str!("keys/rsa.1024.pem"), KeyError::RsaSize),
        (Rs256, "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", KeyError::Certificate),
        (EdDsa, RSA_PUBLIC, KeyError::NotEd25519),
        // A key of X25519 is as long.
        (EdDsa, X25519, KeyError::NotEd25519),
        (EdDsa, "-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----", KeyError::NoPem),
        (EdDsa, "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----", KeyError::NotEd25519),
    ] {
        assert_eq!(key(algorithm, text).map(drop), Err(told), "{text}");
    }
    let key = format!("{:?}", Key::secret(Some("s".into()), SECRET).expect("32 bytes"));
    assert!(key.contains("Hs256") && !key.contains("0123") && !key.contains("48, 49"), "{key}");
}

#[test]
fn a_set_of_keys_has_public_keys_of_the_two_algorithms() {
    let (n, e) = numbers();
    let x = part(&ed_pair(1).1);
    let keys = json!([
        { "kty": "RSA", "kid": "r", "use": "sig", "alg": "RS256", "n": n, "e": e },
        { "kty": "OKP", "kid": "e", "crv": "Ed25519", "key_ops": ["verify"], "x": x },
        { "kty": "oct", "kid": "s", "alg": "HS256", "k": part(SECRET) },
        { "kty": "EC", "kid": "c", "crv": "P-256", "x": x, "y": x },
        { "kty": "RSA", "kid": "enc", "use": "enc", "n": n, "e": e },
        { "kty": "RSA", "kid": "ps", "alg": "PS256", "n": n, "e": e },
        { "kty": "RSA", "kid": "small", "n": part(&[0xff; 128]), "e": e },
        { "kty": "OKP", "kid": "x", "crv": "X25519", "x": x },
        7,
    ]);
    let keys = set(&keys).expect("two good ones");
    assert_eq!(keys.len(), 2, "{keys:?}");
    let mut tokens = tokens(Vec::new());
    tokens.set_keys(keys);
    assert!(tokens.check(&sign_rs(&json!({ "alg": "RS256", "kid": "r" }), &with(json!({}))), NOW).is_ok());
    let token = sign_ed(&json!({ "alg": "EdDSA", "kid": "e" }), &with(json!({})), &ed_pair(1));
    assert!(tokens.check(&token, NOW).is_ok());
    let secret = signing::sign_hs(&json!({ "alg": "HS256", "kid": "s" }), &with(json!({})), SECRET);
    assert_eq!(tokens.check(&secret, NOW), Err(AccessError::UnknownKey), "no secret comes from a set");
}

#[test]
fn a_bad_set_of_keys_is_none() {
    let x = part(&ed_pair(1).1);
    let key = json!({ "kty": "OKP", "crv": "Ed25519", "x": x });
    assert_eq!(set(&vec![key.clone(); 64].into()).map(|keys| keys.len()), Ok(64));
    assert_eq!(set(&vec![key.clone(); 65].into()).map(drop), Err(KeySetError::TooMany));
    let of_length = |pad: usize| read_key_set(json!({ "keys": [key], "pad": "a".repeat(pad) }).to_string().as_bytes());
    assert!(of_length(65_000).is_ok());
    assert_eq!(of_length(65_536).map(drop), Err(KeySetError::TooLong));
    for empty in [json!([]), json!([{}]), json!([{ "kty": "oct", "k": part(SECRET) }])] {
        assert_eq!(set(&empty).map(drop), Err(KeySetError::Empty));
    }
    for bad in ["", "{}", "[]", "{\"keys\":{}}", "<html></html>", "\u{0}"] {
        assert_eq!(read_key_set(bad.as_bytes()).map(drop), Err(KeySetError::Malformed), "{bad}");
    }
}

#[test]
fn the_gateways_own_key_names_anonymous_users_and_nobody_else() {
    let (old, new) = (AnonymousKey::from_seed([1; 32]), AnonymousKey::from_seed([2; 32]));
    let (ann, hour) = (Id::from_u128(7), Duration::from_secs(3600));
    let token = |key: &AnonymousKey| key.token(ann, AUDIENCE, NOW, hour);
    let mut tokens = tokens(Vec::new());
    assert_eq!(tokens.check(&token(&new), NOW), Err(AccessError::UnknownKey));
    tokens.set_anonymous_keys(vec![new.clone(), old.clone()]);
    for key in [&old, &new] {
        let identity = tokens.check(&token(key), NOW).expect("both are kept in rotation");
        let user = identity.user().expect("a user");
        assert_eq!(user.subject.issuer, "iolite anonymous");
        assert_eq!(user.subject.name, "00000000000000000000000000000007");
        let claims = [("anonymous".to_owned(), Claim::Flag(true))];
        assert_eq!(user.claims, Claims::new(&user.subject.name, claims));
        assert_eq!(user.issued, Some(NOW));
    }
    assert_eq!(tokens.check(&new.token(ann, "else", NOW, hour), NOW), Err(AccessError::Audience));
    tokens.set_anonymous_keys(vec![new.clone()]);
    assert_eq!(tokens.check(&token(&old), NOW), Err(AccessError::UnknownKey));
    // A key of the deployment names no anonymous user, and the gateway's own key names nobody else.
    tokens.set_keys(vec![Key::ed25519(None, &ed_pair(1).1).expect("32 bytes")]);
    let forged = sign_ed(&json!({ "alg": "EdDSA" }), &with(json!({ "iss": "iolite anonymous" })), &ed_pair(1));
    assert_eq!(tokens.check(&forged, NOW), Err(AccessError::Issuer));
    tokens.set_anonymous_keys(vec![AnonymousKey::from_seed([3; 32])]);
    let of_app = sign_ed(&json!({ "alg": "EdDSA" }), &with(json!({})), &ed_pair(3));
    assert_eq!(tokens.check(&of_app, NOW), Err(AccessError::Issuer));
}

#[test]
fn no_anonymous_user_is_let_in_where_the_settings_have_none() {
    let key = AnonymousKey::from_seed([1; 32]);
    let settings = TokenSettings { anonymous: false, ..settings() };
    let mut tokens = Tokens::new(settings, vec![]).expect("good settings");
    tokens.set_anonymous_keys(vec![key.clone()]);
    let token = key.token(Id::from_u128(7), AUDIENCE, NOW, Duration::from_secs(60));
    assert_eq!(tokens.check(&token, NOW), Err(AccessError::UnknownKey));
    assert!(!format!("{key:?}").contains("[1, 1"), "{key:?}");
}
