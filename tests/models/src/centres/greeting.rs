//! Whether a data centre lets a client in: the real gateway is asked.
//!
//! Invariant: the gateway hears what `Centres` has told, and the client's hello; nothing here decides.

use std::time::Duration;

use iolite_access::{Access, DevelopmentToken};
use iolite_catalog::SchemaPolicy;
use iolite_gateway::{Gateway, Input, Limits, Output, SessionId, Settings, Without};
use iolite_machine::{Machine, Now};
use iolite_store::{Event, ReadReply, Reply, Request};
use iolite_values::{ClientId, Counter, Id, Schema, StoreIncarnation, Timestamp};
use iolite_wire::centres::{Ceiling, CentreToken, Place};
use iolite_wire::message::{FromClient, FromGateway, Hello, ProtocolVersion, Resume};

use super::node::{client, name};
use super::plan::{Broken, CENTRES, Centre};
use super::pool::Facts;
use super::world::Token;

const SCHEMA: &str = r#"{"tables":{"people":{"columns":{"id":{"type":"int"}},"key":["id"],"consistency":"causal","onConflict":"merge"}}}"#;

/// Whether this client is let in, if it is looked at now.
pub fn lets_in(broken: Broken, facts: &Facts, whose: usize, token: &Token, seen: usize) -> bool {
    let mut gateway = Gateway::new(settings(broken)).in_group(name(facts.centre));
    let store = incarnation(facts.centre);
    give(&mut gateway, Input::Store(Event::Ready { store, resolved: facts.position }));
    for news in &facts.news {
        give(&mut gateway, Input::Centre(news.clone()));
    }
    assert!(gateway.is_ready(), "it serves");
    give(&mut gateway, Input::SessionOpened(SessionId(1)));
    let heard = give(&mut gateway, Input::Message(SessionId(1), FromClient::Hello(hello(facts, whose, token, seen))));
    // It asks for the schema only once nothing else is in the way.
    heard.iter().any(|own| matches!(own, FromGateway::SchemaWanted | FromGateway::Welcome(_)))
}

fn hello(facts: &Facts, whose: usize, token: &Token, seen: usize) -> Hello {
    let last = seen.checked_sub(1).and_then(|last| facts.times.get(last).copied());
    let at = if token.at == facts.centre { last.unwrap_or(Timestamp::ZERO) } else { Timestamp::MAX };
    Hello {
        oldest_version: ProtocolVersion::CURRENT,
        newest_version: ProtocolVersion::CURRENT,
        token: "let me in".into(),
        client: client(whose),
        schema: Schema::from_json(SCHEMA).expect("it is good").hash(),
        resume: Some(Resume { store: incarnation(token.at), at, rights: None }),
        acknowledged: Counter(0),
        centre_token: Some(real(token)),
        batch: Duration::ZERO,
    }
}

fn real(token: &Token) -> CentreToken {
    let ceilings = (0..CENTRES).map(|centre| {
        let (through, here) = token.clock[centre];
        (name(centre), Ceiling { through: Place(through), here: Place(here) })
    });
    CentreToken { at: name(token.at), clock: ceilings.collect() }
}

fn incarnation(centre: Centre) -> StoreIncarnation {
    super::store::Store::new(centre).incarnation
}

fn settings(broken: Broken) -> Settings {
    let broken = match broken {
        Broken::Gateway(broken) => broken,
        Broken::Nothing | Broken::Centres(_) => iolite_gateway::Broken::Nothing,
    };
    Settings {
        client: ClientId(Id::from_u128(0x6a7e)),
        access: Access::Development(DevelopmentToken::new("let me in")),
        schemas: SchemaPolicy::Grow,
        limits: Limits::default(),
        fresh_key: [0; 32],
        rights_required: false,
        has_indexes: true,
        has_blob_store: false,
        broken,
        without: Without::Nothing,
    }
}

/// Gives it an input, with a store that has no rows. Returns what it says to sessions.
fn give(gateway: &mut Gateway, input: Input) -> Vec<FromGateway> {
    let mut heard = Vec::new();
    gateway.handle(Now::default(), input);
    while let Some(output) = gateway.poll() {
        match output {
            Output::Message(_, message) => heard.push(message),
            Output::Store(number, Request::ReadAt { at, limit, .. }) => {
                let reply = Reply::ReadAt(Ok(ReadReply::through_limit(at, [], limit)));
                gateway.handle(Now::default(), Input::Store(Event::Reply(number, reply)));
            }
            Output::Store(number, Request::Changes { .. }) => {
                let reply = Event::Reply(number, Reply::Changes(Ok(Vec::new())));
                gateway.handle(Now::default(), Input::Store(reply));
            }
            Output::Store(..) | Output::Close(_) | Output::GiveUp(_) | Output::Blobs(..) | Output::Access(_) => {}
        }
    }
    heard
}
