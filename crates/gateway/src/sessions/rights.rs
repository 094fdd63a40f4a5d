//! Rights of users: who is let in, and what new rights do to sessions.
//!
//! Invariant: no user is served by rights that are not in effect any more. New rights end the sessions of users, which come back and are asked anew.

use iolite_access::Identity;

use crate::Gateway;
use crate::sessions::farewell::Farewell;

impl Gateway {
    /// Ends the sessions of all users: there are other rights. They come back.
    pub(crate) fn end_users(&mut self) {
        let is_user = |identity: Option<&Identity>| identity.is_some_and(|own| own.user().is_some());
        let sessions = self.sessions.iter().filter(|(_, own)| is_user(own.identity())).map(|(id, _)| *id);
        let links = self.blobs.links.iter().filter(|(_, own)| is_user(own.identity())).map(|(link, _)| *link);
        let (sessions, links): (Vec<_>, Vec<_>) = (sessions.collect(), links.collect());
        let farewell = Farewell::Unavailable("there are other rights: come back".to_owned());
        sessions.into_iter().for_each(|id| self.end(id, &farewell));
        links.into_iter().for_each(|link| self.end_link(link, &farewell));
        self.withdraw_rights();
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
