//! Interests in portions that each fit a message, for a gateway or for a leading tab.

use iolite_values::Interest;
use iolite_wire::message::SubscriptionId;

/// Interests in one message that asks for what is not held. (A client that resumes names all that it holds in one.)
pub(crate) const SUBSCRIBE_PART: usize = 1000;
/// Bytes of the interests in any message.
pub(crate) const SUBSCRIBE_BYTES: usize = 512 * 1024;

type Named = (SubscriptionId, Interest);

/// At most `count` in each.
pub(crate) fn portions(interests: Vec<Named>, count: usize) -> Vec<Vec<Named>> {
    let mut portions: Vec<Vec<Named>> = Vec::new();
    let mut bytes = 0;
    for named in interests {
        bytes += named.1.size_bytes();
        match portions.last_mut() {
            Some(last) if last.len() < count && bytes <= SUBSCRIBE_BYTES => last.push(named),
            Some(_) | None => {
                bytes = named.1.size_bytes();
                portions.push(vec![named]);
            }
        }
    }
    portions
}

/// Those that one message can name, and the others.
pub(crate) fn fitting_one(interests: Vec<Named>) -> (Vec<Named>, Vec<Named>) {
    let mut bytes = 0;
    interests.into_iter().partition(|(_, interest)| {
        bytes += interest.size_bytes();
        bytes <= SUBSCRIBE_BYTES
    })
}
