//! Messages of the tab that leads.

use iolite_values::{ClientId, DeviceSecret};

use super::{JoinNumber, TabUpdate, update};
use crate::encoding::{Reader, Writer, identity, required};
use crate::generated::proto::{self, to_tab_frame::Notice};
use crate::generated::shapes;
use crate::limits::TO_TAB;
use crate::message::Goodbye;
use crate::session::{read_goodbye, write_goodbye};
use crate::{DecodeError, EncodeError, frame};

/// A message of the tab that leads to one that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToTab {
    pub join: JoinNumber,
    pub notice: TabNotice,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TabNotice {
    /// The tab is taken, and the first update follows. All tabs share the client and the device's secret.
    Welcome(ClientId, DeviceSecret),
    Update(Box<TabUpdate>),
    /// Acknowledge, so that it is known that the tab lives.
    Ping,
    /// The join has ended, or was refused: for good with the reasons `Version`, `Schema` and `Limit`; otherwise join again.
    Goodbye(Goodbye),
}

impl ToTab {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let notice = match &self.notice {
            TabNotice::Welcome(client, secret) => Notice::Welcome([client.0.to_bytes(), secret.0].concat()),
            TabNotice::Update(update) => Notice::Update(update::write(update, &mut writer)),
            TabNotice::Ping => Notice::Ping(true),
            TabNotice::Goodbye(goodbye) => Notice::Goodbye(write_goodbye(goodbye, &mut writer)),
        };
        writer.check()?;
        frame::encode(&proto::ToTabFrame { join: self.join.0, notice: Some(notice) }, shapes::TO_TAB_FRAME, TO_TAB)
    }

    /// # Errors
    /// [`DecodeError`]: the leader is of another version of the app, or wrong.
    pub fn decode(bytes: &[u8]) -> Result<ToTab, DecodeError> {
        let frame: proto::ToTabFrame = frame::decode(bytes, shapes::TO_TAB_FRAME, TO_TAB)?;
        let mut reader = Reader::default();
        let notice = match required(frame.notice, "no notice that is known here")? {
            Notice::Welcome(both) => read_welcome(&both)?,
            Notice::Update(update) => TabNotice::Update(Box::new(update::read(update, &mut reader)?)),
            Notice::Ping(true) => TabNotice::Ping,
            Notice::Ping(false) => return Err(DecodeError::malformed("a ping that is none")),
            Notice::Goodbye(goodbye) => TabNotice::Goodbye(read_goodbye(goodbye, &reader)?),
        };
        Ok(ToTab { join: JoinNumber(frame.join), notice })
    }
}

fn read_welcome(both: &[u8]) -> Result<TabNotice, DecodeError> {
    let (client, secret) = both.split_at_checked(16).ok_or(DecodeError::malformed("a welcome without a secret"))?;
    Ok(TabNotice::Welcome(ClientId(identity(client)?), DeviceSecret(identity(secret)?.to_bytes())))
}
