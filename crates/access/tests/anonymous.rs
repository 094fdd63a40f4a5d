//! Tokens of anonymous users, and others that take their place.

use std::time::Duration;

use iolite_access::{AnonymousKey, RENEWED_WITHIN};
use iolite_machine::WallTime;
use iolite_values::Id;

const AUDIENCE: &str = "rooms";
const HOUR: Duration = Duration::from_secs(3600);
const USER: Id = Id::from_u128(7);
const NOW: WallTime = WallTime::from_micros(1_700_000_000_000_000);

fn after(time: Duration) -> WallTime {
    WallTime::from_micros(NOW.as_micros() + u64::try_from(time.as_micros()).expect("not for so long"))
}

#[test]
fn who_has_an_anonymous_users_token_is_that_user_for_a_while_after_its_end() {
    let key = AnonymousKey::from_seed([1; 32]);
    let token = key.token(USER, AUDIENCE, NOW, HOUR);
    for now in [NOW, after(HOUR * 2), after(HOUR + RENEWED_WITHIN)] {
        assert_eq!(key.named_by(&token, AUDIENCE, now), Some((USER, NOW)));
    }
    let too_late = after(HOUR + RENEWED_WITHIN + Duration::from_secs(1));
    assert_eq!(key.named_by(&token, AUDIENCE, too_late), None);
}

#[test]
fn no_other_token_names_an_anonymous_user() {
    let key = AnonymousKey::from_seed([1; 32]);
    let others = [
        AnonymousKey::from_seed([2; 32]).token(USER, AUDIENCE, NOW, HOUR),
        key.token(USER, "another app", NOW, HOUR),
        String::new(),
        "a.b.c".into(),
        key.token(USER, AUDIENCE, NOW, HOUR) + "x",
    ];
    for token in others {
        assert_eq!(key.named_by(&token, AUDIENCE, NOW), None, "{token}");
    }
}
