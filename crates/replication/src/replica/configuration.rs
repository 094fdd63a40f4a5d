//! Who keeps the shard, as far as this replica knows, and how it goes over to the next configuration.
//!
//! Invariants:
//! - the configuration that a replica goes over to was chosen: a transaction of the epoch before committed it;
//! - who has gone over answers nothing of an earlier epoch any more, and that is in the journal before anything tells of it: it is sealed;
//! - an epoch begins with the records of a majority of the sealed ones of the epoch before, or, once it has begun, with its own.
//!
//! Source: epochs of IR (TAPIR, TOCS 2018, 3.2.2), with docs/decisions/0009-sealed-epochs.md.

use std::cmp::Ordering;

use iolite_machine::Now;
use iolite_store::{ConfigurationFault, Refusal};
use iolite_values::{Timestamp, Write};

use super::Replica;
use super::standing::{Changing, Parts, Standing};
use crate::broken::Broken;
use crate::configuration::{configuration_cell, configurations_table, said, written, written_split};
use crate::ir::Quorums;
use crate::journal::JournalRecord;
use crate::node::{Configuration, Epoch, Group, Objection, Peer, Proposal, ReplicaId, ToReplica, View};
use crate::versions::Logged;

/// Whose records a view begins from.
pub(super) struct Givers {
    pub quorums: Quorums,
    /// Whether this replica's own record is one of them.
    pub own: bool,
    pub others: Vec<Parts>,
}

/// To somebody who does not know the present group.
fn behind() -> Objection {
    Objection::Conflict { at_least: Timestamp::ZERO }
}

impl Replica {
    pub(super) fn epoch(&self) -> Epoch {
        self.configuration.group().epoch
    }

    /// Whether it keeps the shard: others have its state at most, and answer nothing.
    pub(super) fn is_member(&self) -> bool {
        self.configuration.group().contains(self.settings.id)
    }

    /// Whether it has taken part in the epoch.
    pub(super) fn has_begun(&self) -> bool {
        self.standing.last_normal().epoch == self.epoch()
    }

    /// A proposal may make the next configuration only, and only of this one: whatever else stands in that row is a thing of the past.
    pub(super) fn check_configuration(&self, proposal: &Proposal) -> Result<(), Objection> {
        let table = configurations_table();
        let mut own = proposal.writes().iter().filter(|write| write.cell.table == table);
        let cell = configuration_cell(self.configuration.group().shard);
        let unfit = Objection::Refused(Refusal::Configuration(ConfigurationFault::Unfit));
        match (own.next(), own.next()) {
            (None, _) => Ok(()),
            (Some(write), None) if write.cell == cell => self.check_next(write),
            // Of a shard that has ended, perhaps: its row falls to whoever has this place.
            (Some(write), None) if write.cell.column == cell.column => Err(behind()),
            (Some(_), _) => Err(unfit),
        }
    }

    /// What follows another group than this is of somebody who is behind, or ahead.
    fn check_next(&self, write: &Write) -> Result<(), Objection> {
        let group = self.configuration.group();
        let refused = |fault| Err(Objection::Refused(Refusal::Configuration(fault)));
        let split = written_split(write);
        let before = match (written(write), &split) {
            (Some(configuration), _) => configuration.previous().cloned(),
            (None, split) => split.as_ref().map(|split| split.parent().clone()),
        };
        match before {
            Some(before) if before == *group => match split {
                Some(split) if !self.settings.extent.is_cut_by(&split) => refused(ConfigurationFault::Outside),
                Some(_) | None => Ok(()),
            },
            Some(before) if before.shard == group.shard => Err(behind()),
            Some(_) | None => refused(ConfigurationFault::Unfit),
        }
    }

    /// A commit may have said what is next.
    pub(super) fn note_configuration(&mut self, logged: &Logged) {
        let table = configurations_table();
        let own = logged.commit.writes.iter().filter(|write| write.cell.table == table);
        if let Some(next) = own.filter_map(written).find(|next| self.is_later(next)) {
            self.next = Some(next);
        }
        self.note_split(logged);
    }

    /// The rows came from elsewhere: they may say what is next.
    pub(super) fn look_for_configuration(&mut self) {
        let cell = configuration_cell(self.configuration.group().shard);
        let row = self.versions.row(cell.table, &cell.row);
        let next = row.and_then(|row| row.latest().cell(cell.column)).and_then(said);
        self.next = next.filter(|next| self.is_later(next));
        self.look_for_split();
    }

    fn is_later(&self, next: &Configuration) -> bool {
        next.group().shard == self.configuration.group().shard && next.group().epoch > self.epoch()
    }

    /// Ends the epoch, if a transaction has chosen what comes after it.
    pub(super) fn press_configuration(&mut self, now: Now) {
        if let Some(next) = self.next.take() {
            self.go_over(now, next);
        }
        self.press_division(now);
    }

    fn go_over(&mut self, now: Now, configuration: Configuration) {
        if !self.is_later(&configuration) {
            return;
        }
        let view = View { epoch: configuration.group().epoch, number: 0 };
        if self.is_alone() {
            self.record_what_was_decided_alone();
        }
        self.persist(&JournalRecord::Configured(configuration.clone()));
        self.configure(configuration);
        self.join(now, view);
    }

    /// As if the configuration had been known from the start.
    pub(super) fn configure(&mut self, configuration: Configuration) {
        let view = View { epoch: configuration.group().epoch, number: 0 };
        self.quorums = Quorums::of(configuration.group());
        self.configuration = configuration;
        self.catch_up.forget_target();
        self.standing = self.standing.joined(view);
    }

    /// For simulations: one that was left out answers in the epoch before, as if nothing had happened.
    pub(super) fn answer_unsealed(&mut self, now: Now, message: &ToReplica) -> bool {
        let is_before = |previous: &&Group| previous.epoch == message.view.epoch && !self.is_member();
        let is_broken = self.settings.broken == Broken::LeaveUnsealed;
        let Some(previous) = self.configuration.previous().filter(is_before).filter(|_| is_broken) else {
            return false;
        };
        let before = Standing::Normal { view: self.standing.last_normal(), master: None };
        let previous = Configuration::first(previous.clone());
        let configuration = std::mem::replace(&mut self.configuration, previous);
        let standing = std::mem::replace(&mut self.standing, before);
        if self.admit(now, message) {
            self.answer_admitted(now, message.clone());
        }
        (self.configuration, self.standing) = (configuration, standing);
        true
    }

    pub(super) fn on_configured(&mut self, now: Now, from: ReplicaId, configuration: Configuration) {
        match configuration.group().epoch.cmp(&self.epoch()) {
            // The first one of a peer that was made later, by its host: whose records the epoch begins from, it does not say.
            Ordering::Greater if configuration.previous().is_none() => {}
            Ordering::Greater => self.go_over(now, configuration),
            Ordering::Less => self.tell_configuration(from),
            Ordering::Equal => {}
        }
    }

    /// A coordinator tells of a later group. Whose records it begins from is known of the next one only; of one further on peers say it.
    pub(super) fn on_group(&mut self, now: Now, group: Group) {
        let own = self.configuration.group();
        let next = Configuration::after(own, group.members());
        match next {
            Ok(next) if *next.group() == group => self.go_over(now, next),
            Ok(_) | Err(_) if group.shard == own.shard && group.epoch > own.epoch => self.ask_for_configuration(),
            Ok(_) | Err(_) => {}
        }
    }

    pub(super) fn tell_configuration(&mut self, to: ReplicaId) {
        let configuration = self.configuration.clone();
        self.tell(to, Peer::Configured { configuration });
    }

    /// Somebody knows of a later epoch: who knows of it as well answers with its configuration.
    pub(super) fn ask_for_configuration(&mut self) {
        for other in self.others() {
            self.tell_configuration(other);
        }
    }

    /// Whoever begins the view does without this replica's record.
    pub(super) fn on_begun(&mut self, view: View) {
        if !self.is_member() && view >= self.standing.view() {
            self.standing.rest();
        }
    }

    /// Whose records make the master record of the view: those of a majority of the group, if one of them took part in the epoch, for then the epoch may have
    /// decided something. If none of a majority did, it has not, and those of a majority of the group before make it, who are sealed.
    pub(super) fn givers(&self, changing: &Changing) -> Option<Givers> {
        let joined = self.enough_of(changing, self.configuration.group(), 0)?;
        let epochs = joined.others.iter().map(|parts| parts.last_normal.epoch);
        let has_begun = epochs.chain([changing.last_normal.epoch]).any(|epoch| epoch == changing.view.epoch);
        let fewer = usize::from(self.settings.broken == Broken::BeginFromFewer);
        match self.configuration.previous().filter(|_| !has_begun) {
            None => Some(joined),
            Some(previous) => self.enough_of(changing, previous, fewer),
        }
    }

    fn enough_of(&self, changing: &Changing, group: &Group, fewer: usize) -> Option<Givers> {
        let quorums = Quorums::of(group);
        let own = group.contains(self.settings.id);
        let whole = changing.records.iter().filter(|(from, parts)| group.contains(**from) && parts.are_all_there());
        let count = quorums.majority() - fewer - usize::from(own);
        let others: Vec<Parts> = whole.map(|(_, parts)| parts.clone()).take(count).collect();
        (others.len() == count).then_some(Givers { quorums, own, others })
    }
}
