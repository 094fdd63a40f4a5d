//! Which gateway is tried next.
//!
//! Invariants: a client stays with a gateway that works, also over one lost link; those of its data centre are tried before those of others; every other one is
//! tried before it pauses.

use std::collections::BTreeSet;
use std::num::NonZeroU16;

/// One of the gateways that the host knows the addresses of, by its place among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gateway(pub u16);

#[derive(Debug)]
pub(crate) struct Route {
    /// The gateways of each data centre. Each in an order that the seed draws, so that many clients spread over the gateways, and over those that are left
    /// when one is gone.
    order: Vec<Vec<Gateway>>,
    centre: usize,
    at: usize,
    /// How many in a row did not serve, since the last pause.
    failed: usize,
    /// How many of this data centre did not, since it was turned to or served.
    failed_here: usize,
    /// Whether the current gateway served last, and was not tried again since.
    has_served: bool,
    /// Data centres that have refused the client since one has served it.
    refused: BTreeSet<usize>,
}

impl Route {
    /// The number of gateways of each data centre, the preferred one first.
    pub(crate) fn new(centres: &[NonZeroU16], seed: u64) -> Route {
        let (mut random, mut next) = (seed, 0);
        let mut order = Vec::new();
        for gateways in centres {
            let mut own: Vec<Gateway> = (next..next + gateways.get()).map(Gateway).collect();
            next += gateways.get();
            for place in (1..own.len()).rev() {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                own.swap(place, (random >> 33) as usize % (place + 1));
            }
            order.push(own);
        }
        Route { order, centre: 0, at: 0, failed: 0, failed_here: 0, has_served: false, refused: BTreeSet::new() }
    }

    pub(crate) fn current(&self) -> Gateway {
        self.order[self.centre][self.at]
    }

    /// The place of the current data centre in the configuration.
    pub(crate) fn centre(&self) -> usize {
        self.centre
    }

    fn all(&self) -> usize {
        self.order.iter().map(Vec::len).sum()
    }

    /// Whether there is a choice.
    pub(crate) fn has_others(&self) -> bool {
        self.all() > 1
    }

    /// The current gateway served its client for a while.
    pub(crate) fn served(&mut self) {
        (self.failed, self.failed_here, self.has_served) = (0, 0, true);
        self.refused.clear();
    }

    /// Whether the current gateway is tried once more, after a link to it was lost: it has served, its data centre has no other one, and another data centre
    /// would have to send everything anew.
    pub(crate) fn try_again(&mut self) -> bool {
        let is_last_here = self.order.len() > 1 && self.order[self.centre].len() == 1;
        std::mem::take(&mut self.has_served) && is_last_here
    }

    /// The current data centre refuses the client, as it is of another version or schema. Turns to the next one. False when all have refused it.
    pub(crate) fn turn_from_refusal(&mut self) -> bool {
        self.refused.insert(self.centre);
        if self.refused.len() == self.order.len() {
            self.refused.clear();
            return false;
        }
        self.failed_here = self.order[self.centre].len();
        self.move_on();
        true
    }

    /// Turns to the next gateway: of the same data centre, and of the next one if all of these were tried. False when all have been tried, so that a pause is
    /// due.
    pub(crate) fn move_on(&mut self) -> bool {
        (self.failed_here, self.has_served) = (self.failed_here + 1, false);
        if self.failed_here < self.order[self.centre].len() {
            self.at = (self.at + 1) % self.order[self.centre].len();
        } else {
            (self.centre, self.at, self.failed_here) = ((self.centre + 1) % self.order.len(), 0, 0);
        }
        self.failed = (self.failed + 1) % self.all();
        self.failed > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(gateways: u16, seed: u64) -> Route {
        Route::new(&[NonZeroU16::new(gateways).expect("at least one")], seed)
    }

    #[test]
    fn every_gateway_is_tried_before_a_pause() {
        let mut route = route(3, 5);
        let mut tried = vec![route.current()];
        while route.move_on() {
            tried.push(route.current());
        }
        tried.sort();
        assert_eq!(tried, [Gateway(0), Gateway(1), Gateway(2)]);
    }

    #[test]
    fn one_gateway_is_tried_after_a_pause_each_time() {
        let mut route = route(1, 5);
        assert!(!route.move_on());
        assert!(!route.move_on());
        assert_eq!(route.current(), Gateway(0));
    }

    #[test]
    fn many_clients_spread_over_the_gateways_and_over_those_that_are_left() {
        let mut moves = std::collections::BTreeMap::new();
        for seed in 0..6_000_u64 {
            let mut route = route(3, seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let first = route.current();
            assert!(route.move_on());
            *moves.entry((first, route.current())).or_insert(0) += 1;
        }
        assert_eq!(moves.len(), 6, "{moves:?}");
        assert!(moves.values().all(|count| (700..1_300).contains(count)), "{moves:?}");
    }

    #[test]
    fn the_only_gateway_of_a_data_centre_is_tried_once_more_after_a_lost_link() {
        let mut route = Route::new(&[NonZeroU16::MIN, NonZeroU16::MIN], 3);
        assert!(!route.try_again(), "it has not served");
        route.served();
        assert!(route.try_again() && !route.try_again(), "once");
        assert!(route.move_on() && route.centre() == 1);
    }

    #[test]
    fn a_client_is_refused_once_every_data_centre_has_refused_it() {
        let mut route = Route::new(&[NonZeroU16::MIN, NonZeroU16::MIN], 3);
        assert!(route.turn_from_refusal() && route.centre() == 1);
        assert!(!route.move_on() && route.centre() == 0, "the other one cannot be reached");
        assert!(route.turn_from_refusal() && route.centre() == 1, "and may come back");
        assert!(!route.turn_from_refusal());
        assert!(!Route::new(&[NonZeroU16::MIN], 3).turn_from_refusal(), "there is no other one");
    }

    #[test]
    fn the_gateways_of_a_data_centre_are_tried_before_those_of_the_next_one() {
        let two = NonZeroU16::new(2).expect("not none");
        let mut route = Route::new(&[two, two], 3);
        assert!(route.move_on());
        route.served();
        let mut centres = Vec::new();
        loop {
            centres.push(route.centre());
            if !route.move_on() {
                break;
            }
        }
        assert_eq!((centres, route.centre()), (vec![0, 0, 1, 1], 0));
    }
}
