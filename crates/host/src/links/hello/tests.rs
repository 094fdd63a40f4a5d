//! What both sides say first, byte by byte, and what else may come.

use proptest::prelude::*;

use super::*;

const PAGE: &str = include_str!("../../../../../docs/protocols/links.md");

fn hello() -> Hello {
    Hello { name: NodeName::new("store-0-2").expect("a name"), frame_bytes_max: 16 << 20, said: b"epoch 7".to_vec() }
}

fn preamble(bytes: &[u8]) -> Result<Preamble, HelloError> {
    Preamble::decode(bytes.first_chunk().expect("16 bytes"))
}

/// The bytes of the block behind the first heading of that name.
fn block(heading: &str) -> Vec<u8> {
    let (_, rest) = PAGE.split_once(heading).expect("the page has the heading");
    let (_, rest) = rest.split_once("```text\n").expect("a block follows");
    let (block, _) = rest.split_once("```").expect("the block ends");
    let pairs = block.lines().flat_map(|line| line.split("  ").next().unwrap_or_default().split(' '));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("two hexadecimal digits")).collect()
}

#[test]
fn a_hello_has_the_bytes_of_the_page() {
    let golden = block("### A hello");
    assert_eq!(hello().encode(), Ok(golden.clone()));
    let preamble = preamble(&golden).expect("a preamble");
    assert_eq!(preamble, Preamble { kind: Kind::Hello, oldest: 1, newest: 1, body_bytes: golden.len() - 16 });
    assert_eq!(preamble.negotiate(), Ok(1));
    assert_eq!(Hello::decode(&golden[PREAMBLE_BYTES..]), Ok(hello()));
}

#[test]
fn a_refusal_has_the_bytes_of_the_page() {
    let golden = block("### A refusal");
    assert_eq!(encode_refusal("wrong epoch"), golden);
    assert_eq!(preamble(&golden).map(|preamble| preamble.kind), Ok(Kind::Refusal));
    assert_eq!(decode_refusal(&golden[PREAMBLE_BYTES..]), "wrong epoch");
}

#[test]
fn a_hello_and_a_refusal_have_a_length() {
    let mut longest = Hello { said: vec![7; SAID_BYTES_MAX], ..hello() };
    let bytes = longest.encode().expect("it may be so long");
    assert_eq!(Hello::decode(&bytes[PREAMBLE_BYTES..]), Ok(longest.clone()));
    longest.said.push(7);
    let mut longer = bytes[PREAMBLE_BYTES..].to_vec();
    longer.push(7);
    assert_eq!(Hello::decode(&longer), Err(HelloError::TooLong(longer.len())));
    assert_eq!(longest.encode(), Err(SAID_BYTES_MAX + 1));
    let refusal = encode_refusal(&"ä".repeat(REFUSAL_BYTES_MAX));
    assert_eq!(refusal.len(), PREAMBLE_BYTES + REFUSAL_BYTES_MAX);
    let mut announced = bytes;
    announced[12..16].copy_from_slice(&(HELLO_BYTES_MAX as u32).to_le_bytes());
    assert!(preamble(&announced).is_ok());
    announced[12..16].copy_from_slice(&(HELLO_BYTES_MAX as u32 + 1).to_le_bytes());
    assert_eq!(preamble(&announced), Err(HelloError::TooLong(HELLO_BYTES_MAX + 1)));
}

#[test]
fn the_newest_version_that_both_speak_is_taken() {
    let speaks = |oldest, newest| Preamble { kind: Kind::Hello, oldest, newest, body_bytes: 0 }.negotiate();
    assert_eq!(speaks(1, 1), Ok(1));
    assert_eq!(speaks(0, 9), Ok(1));
    assert_eq!(speaks(2, 3), Err(HelloError::Version { oldest: 2, newest: 3 }));
    assert_eq!(speaks(0, 0), Err(HelloError::Version { oldest: 0, newest: 0 }));
}

#[test]
fn other_protocols_are_told_apart() {
    assert_eq!(Preamble::judge(*b"IO"), Ok(()));
    assert_eq!(Preamble::judge(*b"GE"), Err(HelloError::OtherProtocol));
    assert_eq!(Preamble::judge([0x16, 0x03]), Err(HelloError::Tls), "a handshake");
    assert_eq!(Preamble::judge([0x15, 0x03]), Err(HelloError::Tls), "an alert");
    assert_eq!(preamble(b"IOLITEM\n\x01\0\x01\0\0\0\0\0"), Err(HelloError::OtherProtocol));
    assert_eq!(preamble(&[0; 16]), Err(HelloError::OtherProtocol));
}

#[test]
fn what_a_refusal_says_does_not_steer_a_terminal() {
    assert_eq!(decode_refusal(b"no\x1b[31m\n\xff"), "no[31m\u{fffd}");
}

proptest! {
    #[test]
    fn whatever_bytes_come_first_nothing_panics_and_a_hello_encodes_to_itself(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(hello) = Hello::decode(&bytes) {
            prop_assert_eq!(&hello.encode().expect("it was one")[PREAMBLE_BYTES..], &bytes[..]);
        }
        if let Some(first) = bytes.first_chunk() {
            let _ = Preamble::decode(first).map(|preamble| preamble.negotiate());
        }
    }
}
