//! Public keys in DER: `SubjectPublicKeyInfo` (RFC 5280, 4.1), and the older form of RSA's (RFC 8017, A.1.1).

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const NAME: u8 = 0x06;

/// `rsaEncryption`: 1.2.840.113549.1.1.1.
const RSA: [u8; 9] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

/// `id-Ed25519`: 1.3.101.112.
const ED25519: [u8; 3] = [0x2b, 0x65, 0x70];

/// Modulus and exponent. `is_bare`: the bytes are the older form.
pub(super) fn rsa_key(bytes: &[u8], is_bare: bool) -> Option<(&[u8], &[u8])> {
    let key = if is_bare { bytes } else { key_of(bytes, &RSA)? };
    let (numbers, rest) = take(key, SEQUENCE)?;
    let (modulus, after) = take(numbers, INTEGER)?;
    let (exponent, end) = take(after, INTEGER)?;
    (rest.is_empty() && end.is_empty()).then_some((modulus, exponent))
}

pub(super) fn ed25519_key(bytes: &[u8]) -> Option<&[u8]> {
    key_of(bytes, &ED25519)
}

/// The key of an algorithm.
fn key_of<'a>(bytes: &'a [u8], algorithm: &[u8]) -> Option<&'a [u8]> {
    let (info, rest) = take(bytes, SEQUENCE)?;
    let (kind, after) = take(info, SEQUENCE)?;
    let (name, _) = take(kind, NAME)?;
    let (key, end) = take(after, BIT_STRING)?;
    // The first byte says how many bits of the last one are none.
    let (unused, key) = key.split_first()?;
    (rest.is_empty() && end.is_empty() && name == algorithm && *unused == 0).then_some(key)
}

/// The contents of the value that the bytes begin with, and what is behind it. None: it has another tag, or is cut off.
fn take(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (length, rest) = length(rest)?;
    (*first == tag).then(|| rest.split_at_checked(length)).flatten()
}

/// A length: one byte below 128, else the number of the bytes that it has, and these.
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let more = match first {
        0..0x80 => return Some((usize::from(*first), rest)),
        0x80..=0xff => usize::from(first & 0x7f),
    };
    let (digits, rest) = rest.split_at_checked(more).filter(|_| (1..=2).contains(&more))?;
    Some((digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest))
}
