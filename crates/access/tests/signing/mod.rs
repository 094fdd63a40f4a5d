//! An issuer of tokens, for tests: keys, and tokens of all kinds.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use iolite_access::{ClaimType, LIFE, TokenSettings};
use iolite_machine::WallTime;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use ring::{hmac, signature};
use serde_json::{Value, json};

pub const ISSUER: &str = "https://sign-in.example";
pub const AUDIENCE: &str = "rooms";
pub const ANN: &str = "ann";
pub const NOW: WallTime = WallTime::from_micros(1_700_000_000_000_000);
pub const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

/// Made for these tests, and used nowhere else.
const RSA_PRIVATE: &str = include_str!("../keys/rsa.pem");
pub const RSA_PUBLIC: &str = include_str!("../keys/rsa.public.pem");

/// A pair of Ed25519, and its public half.
pub type EdPair = (Ed25519KeyPair, Vec<u8>);

pub fn settings() -> TokenSettings {
    use ClaimType::{Flag, Number, Text, Texts};
    let claims = [("org", Text), ("roles", Texts), ("level", Number), ("staff", Flag)];
    TokenSettings {
        issuer: ISSUER.into(),
        audience: AUDIENCE.into(),
        claims: claims.map(|(name, of)| (name.to_owned(), of)).into_iter().collect::<BTreeMap<_, _>>(),
        life_max: LIFE,
        anonymous: true,
    }
}

pub fn ed_pair(number: u8) -> EdPair {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[number; 32]).expect("32 bytes");
    let public = pair.public_key().as_ref().to_vec();
    (pair, public)
}

/// The first pair's public half, in PEM.
pub fn public_ed() -> String {
    let mut der = vec![0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    der.extend(ed_pair(1).1);
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
}

/// A good payload, with these fields in addition or instead.
pub fn with(fields: Value) -> Value {
    let now = NOW.as_micros() / 1_000_000;
    merged(json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": ANN, "iat": now - 10, "exp": now + 3600 }), fields)
}

/// A good payload but for a field that it lacks.
pub fn without(name: &str) -> Value {
    let mut payload = with(json!({}));
    payload.as_object_mut().expect("an object").remove(name);
    payload
}

pub fn merged(mut object: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else { panic!("an object") };
    object.as_object_mut().expect("an object").extend(fields);
    object
}

pub fn part(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub fn text(header: &Value, payload: &Value, signature: &[u8]) -> String {
    format!("{}.{}", signed(header, payload), part(signature))
}

pub fn sign_hs(header: &Value, payload: &Value, secret: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    text(header, payload, hmac::sign(&key, signed(header, payload).as_bytes()).as_ref())
}

pub fn sign_rs(header: &Value, payload: &Value) -> String {
    let digits: String = RSA_PRIVATE.lines().filter(|line| !line.starts_with("-----")).collect();
    let pair = RsaKeyPair::from_pkcs8(&STANDARD.decode(digits).expect("PEM")).expect("a private key");
    let mut signature = vec![0; pair.public().modulus_len()];
    let encoding: &dyn signature::RsaEncoding = &RSA_PKCS1_SHA256;
    let message = signed(header, payload);
    pair.sign(encoding, &SystemRandom::new(), message.as_bytes(), &mut signature).expect("2048 bits");
    text(header, payload, &signature)
}

pub fn sign_ed(header: &Value, payload: &Value, pair: &EdPair) -> String {
    text(header, payload, pair.0.sign(signed(header, payload).as_bytes()).as_ref())
}

fn signed(header: &Value, payload: &Value) -> String {
    format!("{}.{}", part(header.to_string().as_bytes()), part(payload.to_string().as_bytes()))
}
