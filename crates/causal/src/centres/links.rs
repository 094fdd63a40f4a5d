//! Links to the other data centres: who dialled takes, the other one serves.
//!
//! Invariant: a peer is heard only in its own name, and only by what the side that it has on a link may say.

use iolite_store::ReadReply;
use iolite_values::StoreIncarnation;
use iolite_wire::centres::{CentreName, Entries, FromCentre, OutboxEntry, Place, Seen};

use super::{Centres, Link, Stage};
use crate::interface::{Broken, LinkId, LinkOutput, LinkSide, Output};
use crate::rows::Column;
use crate::serving::{Next, Serving, Trimmed};

impl Centres {
    pub(super) fn on_opened(&mut self, link: LinkId, peer: CentreName, side: LinkSide) {
        if !self.settings.peers.contains(&peer) {
            let reason =
                format!("{peer} is no data centre that {} knows: name it in the configuration", self.settings.name);
            return self.close(link, reason);
        }
        self.links.insert(link, Link { peer: peer.clone(), side });
        if side == LinkSide::Dialled {
            self.follow(link, &peer);
        }
    }

    pub(super) fn on_closed(&mut self, link: LinkId) {
        let Some(Link { peer, .. }) = self.links.remove(&link) else { return };
        if let Stage::Running(running) = &mut self.stage {
            running.serving.remove(&link);
            if let Some(taking) = running.taking.get_mut(&peer) {
                taking.closed(link);
            }
        }
    }

    /// The outbox was read: the outboxes of all peers that there are links to are asked for.
    pub(super) fn follow_all(&mut self) {
        let dialled = self.links.iter().filter(|(_, own)| own.side == LinkSide::Dialled);
        let dialled: Vec<_> = dialled.map(|(link, own)| (*link, own.peer.clone())).collect();
        for (link, peer) in dialled {
            self.follow(link, &peer);
        }
    }

    fn follow(&mut self, link: LinkId, peer: &CentreName) {
        let Stage::Running(running) = &mut self.stage else { return };
        let Some(taking) = running.taking.get_mut(peer) else { return };
        let (after, known_store) = (taking.opened(link), running.rows.store(peer));
        let message = FromCentre::Follow { group: self.settings.group.clone(), known_store, after };
        self.send(link, message);
    }

    fn send(&mut self, link: LinkId, message: FromCentre) {
        self.emit(Output::Link(LinkOutput::Send { link, message }));
    }

    fn close(&mut self, link: LinkId, reason: String) {
        self.on_closed(link);
        self.emit(Output::Link(LinkOutput::Close { link, reason }));
    }

    pub(super) fn on_message(&mut self, link: LinkId, message: FromCentre) {
        // What was on its way when it was closed.
        let Some(Link { peer, side }) = self.links.get(&link).cloned() else { return };
        if !matches!(self.stage, Stage::Running(_)) {
            return self.close(link, format!("{} is starting", self.settings.name));
        }
        let heard = match (side, message) {
            (LinkSide::Accepted, FromCentre::Follow { group, known_store, after }) => {
                self.on_follow(link, peer, &group, known_store, after)
            }
            (LinkSide::Accepted, FromCentre::Applied { through }) => self.on_applied(link, &peer, through),
            (LinkSide::Dialled, FromCentre::Following { store, last }) => self.on_following(&peer, store, last),
            (LinkSide::Dialled, FromCentre::Entries(entries)) => self.on_entries(&peer, entries),
            (LinkSide::Dialled, FromCentre::Lost) => Err(self.on_lost(&peer)),
            (LinkSide::Accepted, FromCentre::Following { .. } | FromCentre::Entries(_) | FromCentre::Lost)
            | (LinkSide::Dialled, FromCentre::Follow { .. } | FromCentre::Applied { .. }) => {
                Err("it says what is for the other side of the link to say".to_owned())
            }
        };
        if let Err(reason) = heard {
            self.close(link, reason);
        }
    }

    fn on_follow(
        &mut self,
        link: LinkId,
        peer: CentreName,
        group: &str,
        known_store: Option<StoreIncarnation>,
        after: Place,
    ) -> Result<(), String> {
        let own = &self.settings;
        if group != own.group {
            return Err(format!("{} is of the group {:?}, and {peer} of {group:?}", own.name, own.group));
        }
        let Stage::Running(running) = &mut self.stage else { return Ok(()) };
        let store = running.store;
        if known_store.is_some_and(|known| known != store) || after > running.tail.last() {
            return Err(format!(
                "{} has another store than the one that {peer} has followed: it was restored or made anew, and cannot take the place of the one that was there: docs/centres.md says what to do",
                own.name
            ));
        }
        if running.trimming.lacks(after) {
            self.send(link, FromCentre::Lost);
            return Ok(());
        }
        running.serving.insert(link, Serving::new(after));
        let last = running.tail.last();
        self.send(link, FromCentre::Following { store, last });
        Ok(())
    }

    fn on_applied(&mut self, link: LinkId, peer: &CentreName, through: Place) -> Result<(), String> {
        let Stage::Running(running) = &mut self.stage else { return Ok(()) };
        let serving = running.serving.get_mut(&link).ok_or("it has not followed")?;
        serving.applied(through, running.tail.last())?;
        running.rows.want(peer, Column::Applied, through, None);
        Ok(())
    }

    fn on_following(&mut self, peer: &CentreName, store: StoreIncarnation, last: Place) -> Result<(), String> {
        let Stage::Running(running) = &mut self.stage else { return Ok(()) };
        let known = running.rows.store(peer);
        let Some(taking) = running.taking.get_mut(peer) else { return Ok(()) };
        if known.is_some_and(|known| known != store) {
            let reason = format!("{peer} has another store than before");
            taking.stop(reason.clone());
            return Err(reason);
        }
        taking.following(store);
        running.clocks.following(peer, last);
        Ok(())
    }

    /// The peer has deleted what is lacking here. Returns why the link is closed.
    fn on_lost(&mut self, peer: &CentreName) -> String {
        if let Stage::Running(running) = &mut self.stage
            && let Some(taking) = running.taking.get_mut(peer)
        {
            taking.lost();
        }
        why_lost(&self.settings.name, peer)
    }

    /// Tells the gateway's side once that this data centre is lost, and once that it is not any more.
    pub(super) fn tell_lost(&mut self) {
        let Stage::Running(running) = &self.stage else { return };
        let by = running.taking.iter().find(|(_, taking)| taking.is_lost());
        let lost = by.map(|(peer, _)| why_lost(&self.settings.name, peer));
        if lost != self.lost {
            self.lost.clone_from(&lost);
            self.emit(Output::Lost(lost));
        }
    }

    fn on_entries(&mut self, peer: &CentreName, entries: Entries) -> Result<(), String> {
        let Stage::Running(running) = &mut self.stage else { return Ok(()) };
        let Some(taking) = running.taking.get_mut(peer) else { return Ok(()) };
        let early = match self.settings.broken {
            Broken::AcknowledgeEarly => acknowledged_in(&entries),
            Broken::Nothing
            | Broken::ShowBeforeDurable
            | Broken::NameAnew
            | Broken::ApplySideBySide
            | Broken::ShipFromHistory
            | Broken::RepeatUnjudged => Vec::new(),
        };
        taking.entries(entries)?;
        early.into_iter().for_each(|seen| self.on_mark(seen));
        Ok(())
    }

    /// Pages for a peer that follows were read, or cannot be.
    pub(super) fn on_pages(&mut self, link: LinkId, reply: Option<ReadReply>) {
        let Stage::Running(running) = &mut self.stage else { return };
        let Some(serving) = running.serving.get_mut(&link) else { return };
        let Some(reply) = reply else { return serving.on_no_pages() };
        match serving.on_pages(&reply.rows) {
            Ok(Next::Send(entries)) => self.send(link, FromCentre::Entries(entries)),
            Ok(Next::Read(_) | Next::Nothing) => {}
            Err(Trimmed) => {
                running.serving.remove(&link);
                self.send(link, FromCentre::Lost);
            }
        }
    }
}

/// The text for people of a lost data centre. `by`: the peer that has said it.
fn why_lost(own: &CentreName, by: &CentreName) -> String {
    format!(
        "data centre {own} is lost: {by} has deleted transactions that {own} lacks, because {own} was away for too long. No client is served here: send clients to another data centre. It cannot be replaced in this group yet: docs/centres.md says what to do"
    )
}

/// The acknowledgements of the marks among entries, for a broken data centre.
fn acknowledged_in(entries: &Entries) -> Vec<Seen> {
    let marks = entries.entries.iter().filter_map(|(_, bytes)| match OutboxEntry::decode(bytes).ok()? {
        OutboxEntry::Seen(Seen { acknowledged, .. }) => Some(Seen { acknowledged, ..Seen::default() }),
        OutboxEntry::Transaction(_) => None,
    });
    marks.collect()
}
