//! Rights of what is read: what a user may subscribe to.
//!
//! Invariant: an interest is followed for a user only if the rule lets that user see every row that it may ever have. Rules that let a user see some of the rows
//! decline it, until they are made conditions of queries. New rights end the sessions of users, which come back and are asked anew.

use std::borrow::Cow;

use iolite_access::Identity;
use iolite_rights::{Effective, Judge, LogRights, RowName, Rows};
use iolite_values::{Interest, KeyRange, LogCheckpoint, LogPages, Query, Row, RowKey, TableId};

use crate::Gateway;
use crate::sessions::farewell::Farewell;

/// No row is looked at.
struct NoRows;

impl Rows for NoRows {
    fn row(&self, _row: &RowName) -> Option<Cow<'_, Row>> {
        None
    }

    fn answers(&self, _query: &Query) -> Option<Vec<(RowKey, Cow<'_, Row>)>> {
        None
    }
}

impl Gateway {
    /// Whether a session may subscribe to this, now.
    ///
    /// # Errors
    /// Why not, for the app.
    pub(crate) fn may_read(&self, identity: &Identity, interest: &Interest) -> Result<(), String> {
        let (Some(rights), Identity::User(user)) = (self.catalog.rights(), identity) else { return Ok(()) };
        let schema = self.catalog.schema();
        if [LogPages::table(), LogCheckpoint::table()].contains(&interest.table()) {
            // A range of pages may have those of several logs.
            let closed = schema.logs().keys().find(|name| rights.logs.get(*name) != Some(&LogRights::Open));
            return closed.map_or(Ok(()), |name| {
                Err(format!("log {name:?} is not open to everybody, and rules of logs are not judged yet"))
            });
        }
        let all = |table: TableId, keys: KeyRange| {
            let live = schema.table_by_id(table).is_some_and(|own| own.live);
            Query { keys, ..Query::all(table, live) }
        };
        let query = match interest {
            Interest::Cell(cell) => all(cell.table, KeyRange::one(&cell.row)),
            Interest::Range { table, range } => all(*table, range.clone()),
            Interest::Query(query) => (**query).clone(),
        };
        // No read rule looks at the time.
        let judge = Judge { rights, schema, claims: &user.claims, now_ms: 0, rows: &NoRows };
        let table = || schema.table_name(query.table).unwrap_or("?");
        match judge.effective(&query) {
            Effective::True => Ok(()),
            Effective::False => Err(format!("table {:?}: the rule \"read\" lets this user see no row of it", table())),
            Effective::Conditions { .. } | Effective::Needs(_) => Err(format!(
                "table {:?}: the rule \"read\" lets this user see some of the rows, and such rules are not applied to queries yet",
                table()
            )),
            Effective::Declined(why) => Err(why),
        }
    }

    /// Ends the sessions of all users: there are other rights. They come back.
    pub(crate) fn end_users(&mut self) {
        let is_user = |identity: Option<&Identity>| identity.is_some_and(|own| own.user().is_some());
        let sessions = self.sessions.iter().filter(|(_, own)| is_user(own.identity())).map(|(id, _)| *id);
        let links = self.blobs.links.iter().filter(|(_, own)| is_user(own.identity())).map(|(link, _)| *link);
        let (sessions, links): (Vec<_>, Vec<_>) = (sessions.collect(), links.collect());
        let farewell = Farewell::Unavailable("there are other rights: come back".to_owned());
        sessions.into_iter().for_each(|id| self.end(id, &farewell));
        links.into_iter().for_each(|link| self.end_link(link, &farewell));
    }

    /// Why a user is not let in: nobody has said what users may do.
    pub(crate) fn lacks_rights(&self, identity: &Identity) -> Option<String> {
        let is_lacking = self.settings.rights_required && self.catalog.rights().is_none() && identity.user().is_some();
        is_lacking.then(|| {
            "this server has no rights yet: give it some by `iolite schema apply`, or let its file say `rights = \"open\"`"
                .to_owned()
        })
    }
}
