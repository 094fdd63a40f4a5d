//! Interests in portions that each fit a message, for a gateway or for a leading tab.

use iolite_values::Interest;
use iolite_wire::message::{Subscribe, SubscriptionId};

/// Interests in one message that asks for what is not held. (A client that resumes names all that it holds in one.)
pub(crate) const SUBSCRIBE_PART: usize = 1000;
/// Bytes of the interests in any message.
pub(crate) const SUBSCRIBE_BYTES: usize = 512 * 1024;
/// Parts of the interests in any message, as frames count them. The largest query has fewer.
pub(crate) const SUBSCRIBE_PARTS: usize = 12 * 1024;

type Named = (SubscriptionId, Interest);

/// At most `count` in each.
pub(crate) fn portions(interests: Vec<Named>, count: usize) -> Vec<Vec<Named>> {
    let mut portions: Vec<Vec<Named>> = Vec::new();
    let mut size = Size::default();
    for named in interests {
        size.add(&named.1);
        match portions.last_mut() {
            Some(last) if last.len() < count && size.fits() => last.push(named),
            Some(_) | None => {
                size = Size::default();
                size.add(&named.1);
                portions.push(vec![named]);
            }
        }
    }
    portions
}

/// Those that one message can name, and the others.
pub(crate) fn fitting_one(interests: Vec<Named>) -> (Vec<Named>, Vec<Named>) {
    let mut size = Size::default();
    interests.into_iter().partition(|(_, interest)| {
        size.add(interest);
        size.fits()
    })
}

/// What the interests of a message take of it.
#[derive(Default)]
struct Size {
    bytes: usize,
    parts: usize,
}

impl Size {
    fn add(&mut self, interest: &Interest) {
        self.bytes += interest.size_bytes();
        self.parts += Subscribe::parts_of(interest);
    }

    fn fits(&self) -> bool {
        self.bytes <= SUBSCRIBE_BYTES && self.parts <= SUBSCRIBE_PARTS
    }
}
