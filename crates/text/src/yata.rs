//! A document by `yrs`.
//!
//! Invariant: it never draws a random number: whoever opens it says whose edits it makes.
//! Source: YATA (Nicolaescu 2016), as the library has it.

use std::sync::Arc;

use iolite_values::{Author, Edit};
use yrs::updates::decoder::Decode;
use yrs::{ClientID, Doc, GetString, OffsetKind, Options, Text as _, TextRef, Transact, Update};

use crate::bytes::{NAME, edit_of, update_of};
use crate::{Document, OutOfText};

pub struct Yata {
    document: Doc,
    text: TextRef,
}

impl Document for Yata {
    fn new(author: Author) -> Yata {
        let mut options = Options::with_guid_and_client_id("".into(), ClientID::new(author.0));
        options.offset_kind = OffsetKind::Utf16;
        let document = Doc::with_options(options);
        let text = document.get_or_insert_text(NAME);
        Yata { document, text }
    }

    fn apply(&mut self, edits: &[Arc<Edit>]) {
        if edits.is_empty() {
            return;
        }
        let mut transaction = self.document.transact_mut();
        for edit in edits {
            let update = Update::decode_v1(&update_of(edit)).expect("it is an update as the library writes them");
            transaction.apply_update(update).expect("an edit that fits has all that it stands on");
        }
    }

    fn splice(&mut self, at: u32, removed: u32, inserted: &str) -> Result<Option<Edit>, OutOfText> {
        let length = self.length();
        let to = u64::from(at) + u64::from(removed);
        if to > u64::from(length) {
            return Err(OutOfText { at, to, length });
        }
        if removed == 0 && inserted.is_empty() {
            return Ok(None);
        }
        let mut transaction = self.document.transact_mut();
        if removed > 0 {
            self.text.remove_range(&mut transaction, at, removed);
        }
        if !inserted.is_empty() {
            self.text.insert(&mut transaction, at, inserted);
        }
        let edit = edit_of(&transaction.encode_update_v1());
        Ok(Some(edit.expect("one insertion and removals are all that was done")))
    }

    fn length(&self) -> u32 {
        self.text.len(&self.document.transact())
    }

    fn string(&self) -> String {
        self.text.get_string(&self.document.transact())
    }
}
