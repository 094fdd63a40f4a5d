//! Links between data centres: ordered, and whole or gone. Each end learns at a time of its own that a link is gone.
//!
//! Invariants:
//! - what arrives on a link is a prefix of what was sent, in order;
//! - a data centre that is up has a link to each other one that it dialled, or dials again.

use std::collections::BTreeMap;

use iolite_causal::{FromCentre, LinkId, LinkInput, LinkOutput, LinkSide};
use iolite_wire::limits::FROM_CENTRE;

use super::data_centres::{CENTRES, name};
use super::events::{CentreLinkEvent, Event};
use super::{Process, World};
use crate::history::Moment;

const MILLISECOND: Moment = 1_000_000;

#[derive(Debug, Default)]
pub struct CentreLinks {
    links: BTreeMap<LinkId, Link>,
    last: u64,
    /// The last reason for which each data centre closed a link with another one.
    pub reasons: BTreeMap<(usize, usize), String>,
}

/// The end that dialled, and the other one.
#[derive(Debug)]
struct Link {
    ends: [LinkEnd; 2],
    /// True if nothing more is sent on it.
    is_broken: bool,
}

#[derive(Debug)]
struct LinkEnd {
    centre: usize,
    /// The life of its gateway's process.
    life: u64,
    state: State,
    /// The last arrival here, so that nothing overtakes.
    until: Moment,
    /// Frames that would arrive later are lost.
    lost_after: Option<Moment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Opening,
    Open,
    Closed,
}

impl CentreLinks {
    /// Links with an end at a data centre that are not broken.
    fn of(&self, centre: usize) -> Vec<LinkId> {
        let is_of = |link: &Link| !link.is_broken && link.ends.iter().any(|end| end.centre == centre);
        self.links.iter().filter(|(_, link)| is_of(link)).map(|(id, _)| *id).collect()
    }

    pub(super) fn between(&self, one: usize, other: usize) -> Vec<LinkId> {
        let has = |link: &Link, centre| link.ends.iter().any(|end| end.centre == centre);
        self.of(one).into_iter().filter(|id| has(&self.links[id], other)).collect()
    }

    fn is_dialled(&self, from: usize, to: usize) -> bool {
        self.links.values().any(|link| {
            let [dialled, accepted] = &link.ends;
            (dialled.centre, accepted.centre) == (from, to) && dialled.state != State::Closed
        })
    }

    /// The data centre that an end of a link is at.
    pub fn centre_at(&self, link: LinkId, end: usize) -> Option<usize> {
        self.links.get(&link).map(|link| link.ends[end].centre)
    }
}

impl World {
    pub(super) fn on_centre_link_event(&mut self, event: CentreLinkEvent) {
        match event {
            CentreLinkEvent::Dial { from, to, life } => self.dial_centre(from, to, life),
            CentreLinkEvent::Opens { link, end } => self.centre_link_opens(link, end),
            CentreLinkEvent::Frame { link, end, frame } => self.centre_frame(link, end, &frame),
            CentreLinkEvent::Closes { link, end } => self.centre_link_closes(link, end),
        }
    }

    /// A gateway's process has started: it dials all others.
    pub(super) fn dial_all_centres(&mut self, from: usize) {
        if self.centres.is_some() {
            (0..CENTRES).filter(|to| *to != from).for_each(|to| self.dial_later(from, to));
        }
    }

    fn dial_later(&mut self, from: usize, to: usize) {
        let at = self.moment + self.random.between(20, 1_500) * MILLISECOND;
        let life = self.front_lives[from];
        self.events.add(at, Event::Centre(CentreLinkEvent::Dial { from, to, life }));
    }

    fn is_up_in(&self, centre: usize, life: u64) -> bool {
        self.front_lives[centre] == life && matches!(self.fronts[centre], Process::Up(_))
    }

    fn dial_centre(&mut self, from: usize, to: usize, life: u64) {
        if !self.is_up_in(from, life) {
            return;
        }
        let at = self.centre_arrival(from, to);
        let to_life = self.front_lives[to];
        let is_there = self.is_up_in(to, to_life);
        let moment = self.moment;
        let Some(centres) = &mut self.centres else { return };
        if centres.links.is_dialled(from, to) || centres.lost.contains(&to) {
            return;
        }
        if !is_there || centres.is_cut(from, to, moment) {
            return self.dial_later(from, to);
        }
        let end = |centre, life| LinkEnd { centre, life, state: State::Opening, until: at, lost_after: None };
        centres.links.last += 1;
        let link = LinkId(centres.links.last);
        centres.links.links.insert(link, Link { ends: [end(from, life), end(to, to_life)], is_broken: false });
        self.events.add(at, Event::Centre(CentreLinkEvent::Opens { link, end: 1 }));
    }

    /// The end that was dialled opens first.
    fn centre_link_opens(&mut self, id: LinkId, end: usize) {
        let Some(centres) = &mut self.centres else { return };
        let Some(link) = centres.links.links.get_mut(&id).filter(|link| !link.is_broken) else { return };
        link.ends[end].state = State::Open;
        let (centre, life, peer) = (link.ends[end].centre, link.ends[end].life, link.ends[1 - end].centre);
        let side = if end == 0 { LinkSide::Dialled } else { LinkSide::Accepted };
        self.tell_centre(centre, life, LinkInput::Opened { link: id, peer: name(peer), side });
        if end == 1 {
            let at = self.centre_arrival(centre, peer);
            self.events.add(at, Event::Centre(CentreLinkEvent::Opens { link: id, end: 0 }));
        }
    }

    fn centre_frame(&mut self, id: LinkId, end: usize, frame: &[u8]) {
        let moment = self.moment;
        let own = self.centres.as_ref().and_then(|centres| centres.links.links.get(&id)).map(|link| &link.ends[end]);
        let Some(LinkEnd { centre, life, state: State::Open, lost_after, .. }) = own else { return };
        if lost_after.is_some_and(|last| moment > last) {
            return;
        }
        let message = FromCentre::decode(frame).expect("what was encoded can be decoded");
        self.tell_centre(*centre, *life, LinkInput::Message { link: id, message });
    }

    /// An end learns that its link is gone.
    fn centre_link_closes(&mut self, id: LinkId, end: usize) {
        let Some(centres) = &mut self.centres else { return };
        let Some(link) = centres.links.links.get_mut(&id) else { return };
        let own = &mut link.ends[end];
        let (centre, life, was) = (own.centre, own.life, std::mem::replace(&mut own.state, State::Closed));
        if was == State::Open {
            self.tell_centre(centre, life, LinkInput::Closed { link: id });
        }
        self.end_closed(id, end);
    }

    /// An end is closed, and knows it: what has dialled dials again.
    fn end_closed(&mut self, id: LinkId, end: usize) {
        let Some(centres) = &mut self.centres else { return };
        let Some(link) = centres.links.links.get(&id) else { return };
        let (from, life, to) = (link.ends[0].centre, link.ends[0].life, link.ends[1].centre);
        if link.ends.iter().all(|end| end.state == State::Closed) {
            centres.links.links.remove(&id);
        }
        if end == 0 && self.is_up_in(from, life) {
            self.dial_later(from, to);
        }
    }

    fn tell_centre(&mut self, centre: usize, life: u64, input: LinkInput) {
        let now = self.now_of_front(centre);
        if let (Process::Up(node), true) = (&mut self.fronts[centre], self.front_lives[centre] == life) {
            node.centre(now, input);
        }
    }

    /// Something leaves a data centre for another one.
    pub(super) fn take_from_centre(&mut self, centre: usize, output: LinkOutput) {
        match output {
            LinkOutput::Send { link, message } => self.send_between_centres(centre, link, &message),
            LinkOutput::Close { link, reason } => self.centre_closes(centre, link, reason),
        }
    }

    fn send_between_centres(&mut self, centre: usize, id: LinkId, message: &FromCentre) {
        let frame = message.encode().expect("data centres limit their messages");
        assert!(frame.len() <= FROM_CENTRE.bytes.most, "a message of {} bytes", frame.len());
        assert_eq!(FromCentre::decode(&frame).as_ref(), Ok(message), "a frame says what its message does");
        let Some((end, to)) = self.other_end(centre, id) else { return };
        let at = self.centre_arrival(centre, to);
        let Some(centres) = &mut self.centres else { return };
        let Some(link) = centres.links.links.get_mut(&id).filter(|link| !link.is_broken) else { return };
        let own = &mut link.ends[end];
        own.until = at.max(own.until + 1);
        self.events.add(own.until, Event::Centre(CentreLinkEvent::Frame { link: id, end, frame }));
    }

    /// The end of a link that is not at this data centre, and where it is.
    fn other_end(&self, centre: usize, id: LinkId) -> Option<(usize, usize)> {
        let link = self.centres.as_ref()?.links.links.get(&id)?;
        let end = link.ends.iter().position(|end| end.centre != centre)?;
        Some((end, link.ends[end].centre))
    }

    /// A data centre closes a link: the other one learns it behind what was sent before.
    fn centre_closes(&mut self, centre: usize, id: LinkId, reason: String) {
        let Some((end, to)) = self.other_end(centre, id) else { return };
        let at = self.centre_arrival(centre, to);
        let Some(centres) = &mut self.centres else { return };
        centres.links.reasons.insert((centre, to), reason);
        let Some(link) = centres.links.links.get_mut(&id) else { return };
        link.ends[1 - end].state = State::Closed;
        if !std::mem::replace(&mut link.is_broken, true) {
            let at = at.max(link.ends[end].until + 1);
            self.events.add(at, Event::Centre(CentreLinkEvent::Closes { link: id, end }));
        }
        self.end_closed(id, 1 - end);
    }

    /// A link is gone. Of what was on its way a prefix arrives, and each end learns of it at a time of its own.
    pub(super) fn break_centre_link(&mut self, id: LinkId) {
        let moment = self.moment;
        let Some(centres) = &mut self.centres else { return };
        let Some(link) = centres.links.links.get_mut(&id).filter(|link| !link.is_broken) else { return };
        link.is_broken = true;
        for end in 0..2 {
            let last = moment + self.random.below(2 * centres.distance.delay_ms) * MILLISECOND;
            link.ends[end].lost_after = Some(last);
            let told = last.max(moment + self.random.between(1, 3_000) * MILLISECOND);
            self.events.add(told, Event::Centre(CentreLinkEvent::Closes { link: id, end }));
        }
    }

    /// A gateway's process has ended: its links are gone, and its ends know it no more.
    pub(super) fn end_centre_links(&mut self, centre: usize) {
        let ids = self.centres.as_ref().map(|centres| centres.links.of(centre)).unwrap_or_default();
        ids.into_iter().for_each(|id| self.break_centre_link(id));
        let Some(centres) = &mut self.centres else { return };
        let ends = centres.links.links.values_mut().flat_map(|link| &mut link.ends);
        ends.filter(|end| end.centre == centre).for_each(|end| end.state = State::Closed);
    }

    /// When something that one data centre sends now comes to another one.
    fn centre_arrival(&mut self, from: usize, to: usize) -> Moment {
        let Some(centres) = &self.centres else { return self.moment };
        let waits = centres.waits.get(&(from, to)).copied().unwrap_or(0);
        let most = centres.distance.delay_ms * MILLISECOND;
        self.moment.max(waits) + self.random.between(MILLISECOND, most)
    }
}
