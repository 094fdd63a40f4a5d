//! Each node works on a copy of its own, and the app says when states go to and fro: `pull` and `push`.
//!
//! Promise: a node reads what it last pulled, and its own writes since. A push takes all of these to the owner at once, or nothing: `Conflict`, if the owner's
//! state is another than the one that was pulled. The copy stays as it is then, and the app decides: a pull replaces it.
//! The version of a state is a fingerprint of it: an equal state is the same version. So it does not depend on who owns the object, and pushes fit after a
//! move as before. A push that is sent again after its reply was lost fits the state that the first one has left.
//! The owner's own node, and a node without the class, work on the object itself. The object does not move to a node that has something to push.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolite_values::DeviceRight;
use iolite_wire::objects::{Answer, CallFailure, NotRun, Rpc};
use serde::{Deserialize, Serialize};

use super::{Fact, InstanceManager, Kind, Kit, Manager, Message, MessageResult, Proxy, Settings, Slot, message};
use crate::executor::Later;

/// `ExplicitCaching`.
#[derive(Clone, Copy, Debug)]
pub struct ExplicitCaching;

/// The version of a state: 128 bits of FNV-1a.
type Fingerprint = u128;

fn fingerprint(state: &[u8]) -> Fingerprint {
    let fold =
        |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    state.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, fold)
}

#[derive(Serialize, Deserialize)]
enum Say {
    Pull,
    /// Take this state, if yours is one of those on which it rests.
    Push {
        rests_on: Vec<Fingerprint>,
        state: Vec<u8>,
    },
}

impl Manager for ExplicitCaching {
    const KIND: Kind =
        Kind { name: "ExplicitCaching", slot: Slot::Cache, facts: &[Fact::ExecutesAtCaller], settings: &[] };

    fn proxy(&self, _settings: &Settings) -> Option<Arc<dyn Proxy>> {
        Some(Arc::new(Cache { held: Mutex::new(None) }))
    }

    fn instance(&self, _settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        Some(Arc::new(Origin))
    }
}

/// The copy, as it is to the owner's state.
struct Held {
    /// The state that was pulled, and those of pushes whose replies were lost.
    rests_on: Vec<Fingerprint>,
    has_changes: bool,
}

struct Cache {
    held: Mutex<Option<Held>>,
}

impl Cache {
    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pull(&self, kit: &Kit) -> Result<(), CallFailure> {
        let state = kit.claim(DeviceRight::Hold, message::write(&Say::Pull)).await?;
        let held = Held { rests_on: vec![fingerprint(&state)], has_changes: false };
        kit.keep_copy(state).await.map_err(|problem| CallFailure::NotRun(NotRun::BadArguments(problem)))?;
        *self.held() = Some(held);
        Ok(())
    }

    async fn push(&self, kit: &Kit) -> Result<(), CallFailure> {
        let rests_on = self.held().as_ref().filter(|held| held.has_changes).map(|held| held.rests_on.clone());
        let Some(rests_on) = rests_on else { return Ok(()) };
        let state = kit.save().await.map_err(CallFailure::Broke)?;
        let pushed = fingerprint(&state);
        let say = message::write(&Say::Push { rests_on, state });
        let replied = kit.claim(DeviceRight::Hold, say).await;
        if let Some(held) = self.held().as_mut() {
            match &replied {
                Ok(_) => *held = Held { rests_on: vec![pushed], has_changes: false },
                Err(CallFailure::NotRun(_)) => {}
                Err(_) if held.rests_on.contains(&pushed) => {}
                Err(_) => held.rests_on.push(pushed),
            }
        }
        replied.map(drop)
    }

    async fn run(&self, kit: Kit, call: Rpc) -> Answer {
        let writes = !kit.reads(&call);
        let goes_round = call.chain.contains(kit.object());
        // Of what is written nothing is pushed or replaced in between. A call that goes round has the turn of the first one.
        let is_in_turn = (writes || self.held().is_none()) && !goes_round;
        let _turn = if is_in_turn { Some(kit.turn().await) } else { None };
        let is_held = self.held().is_some();
        if !is_held && goes_round {
            return kit.next(call).await;
        }
        if !is_held && let Err(failure) = self.pull(&kit).await {
            return Answer::Failed(failure);
        }
        let had_changes = self.held().as_ref().is_some_and(|held| held.has_changes);
        if writes && let Some(held) = self.held().as_mut() {
            held.has_changes = true;
        }
        match kit.run(call.clone()).await {
            // The object comes here, or this node has another life: its copies are gone.
            Answer::NotHere | Answer::Moved { .. } => {
                *self.held() = None;
                if had_changes { Answer::Failed(CallFailure::Fenced) } else { kit.next(call).await }
            }
            answer @ (Answer::Returned(_) | Answer::Threw(_) | Answer::Failed(_)) => answer,
        }
    }
}

impl Proxy for Cache {
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            if kit.is_owner() || !kit.has_class() {
                *self.held() = None;
                return kit.next(call).await;
            }
            self.run(kit, call).await
        })
    }

    fn on_app(self: Arc<Self>, kit: Kit, body: Vec<u8>) -> Later<Result<Vec<u8>, CallFailure>> {
        Box::pin(async move {
            let _turn = kit.turn().await;
            let is_apart = !kit.is_owner() && kit.has_class();
            match body.as_slice() {
                b"pull" if is_apart => self.pull(&kit).await?,
                b"push" if is_apart => self.push(&kit).await?,
                b"pull" | b"push" => {}
                _other => return Err(CallFailure::NotRun(NotRun::BadArguments("say pull or push".to_owned()))),
            }
            Ok(Vec::new())
        })
    }

    fn may_come(&self) -> Result<(), NotRun> {
        let has_changes = self.held().as_ref().is_some_and(|held| held.has_changes);
        if has_changes { Err(NotRun::Conflict) } else { Ok(()) }
    }
}

struct Origin;

impl Origin {
    async fn take(&self, kit: &Kit, rests_on: &[Fingerprint], state: Vec<u8>) -> MessageResult {
        let _turn = kit.turn().await;
        let own = kit.save().await.map_err(NotRun::BadArguments)?;
        if !rests_on.contains(&fingerprint(&own)) {
            return Err(NotRun::Conflict);
        }
        kit.load(state).await.map_err(NotRun::BadArguments)?;
        Ok(Vec::new())
    }
}

impl InstanceManager for Origin {
    /// A call of a node that keeps no copy. No write of it comes between a push's look at the state and its own.
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            if kit.reads(&call) {
                return kit.next(call).await;
            }
            match kit.turn_for(call).await {
                Ok((_turn, call)) => kit.clone().next(call).await,
                Err(failure) => Answer::Failed(failure),
            }
        })
    }

    fn on_message(self: Arc<Self>, kit: Kit, said: Message) -> Later<MessageResult> {
        Box::pin(async move {
            if said.claim != DeviceRight::Hold {
                return Err(NotRun::NotPermitted);
            }
            match message::read_or_refuse(&said.body)? {
                Say::Pull => kit.save().await.map_err(NotRun::BadArguments),
                Say::Push { rests_on, state } => self.take(&kit, &rests_on, state).await,
            }
        })
    }
}
