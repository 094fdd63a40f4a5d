//! Members and former members of a log, and writers of tables that sync, in raw frames: each domain is judged as tables are.

use futures_util::{SinkExt as _, StreamExt as _};
use iolite_catalog::Deployment;
use iolite_logs::{Page, append_to};
use iolite_rights::{LogRules, Rights, TableRules, at, everybody, key, mine, old, operation, row, user, value};
use iolite_values::{
    Attempt, ChunkId, ClientId, Counter, Decision, Id, Interest, LaneNumber, LeaseName, LogCheckpoint, LogId, LogPages,
    Operation, Schema, Value, Write,
};
use iolite_wire::blobs::{BLOB_PROTOCOL_VERSION, BlobContent, BlobHello, BlobPut, BlobRefusal, BlobReply, BlobRequest};
use iolite_wire::logs::LogEntry;
use iolite_wire::message::{
    Declination, FromClient, FromGateway, Rejection, Submit, Subscribe, SubscriptionId, Verdict,
};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::support::dev::{Dev, Folder};
use crate::support::tokens::Issuer;
use crate::support::users::{HOUR, User, delete, insert, write};

/// Appends that are sent ahead.
const AHEAD: u64 = 64;

fn deployment() -> Deployment {
    let schema = Schema::from_json(
        r#"{"tables":{
        "members":{"columns":{"room":{"type":"int"},"user":{"type":"string"}},"key":["room","user"],"indexes":{"byUser":["user"]}},
        "photos":{"columns":{"id":{"type":"int"},"author":{"type":"string"}},"key":["id"],"consistency":"eventual"},
        "albums":{"columns":{"id":{"type":"int"},"photo":{"type":"blob"}},"key":["id"]},
        "cells":{"columns":{"room":{"type":"int"},"n":{"type":"counter"}},"key":["room"],"live":true,"consistency":"log","log":"sheet"}}}"#,
    );
    let is_ann = || user("sub").is(value("ann"));
    let members = TableRules::default().read(everybody()).create(is_ann()).delete(is_ann());
    let is_mine = || old("author").is(user("sub"));
    let photos = TableRules::default().read(everybody()).create(row("author").is(user("sub"))).update(is_mine());
    let sheet = LogRules {
        join: Some(key().within(mine("members", "room", [("user", user("sub"))]))),
        run: Some(at("members", [key(), user("sub")]).exists().and(operation().is(value("set")))),
    };
    let rights = Rights::default().table("members", members).table("photos", photos);
    let rights =
        rights.table("albums", TableRules::default().read(everybody()).create(everybody())).log("sheet", sheet);
    Deployment { schema: schema.expect("a good schema"), rights }
}

struct Stage {
    server: Dev,
    _folder: Folder,
    issuer: Issuer,
}

impl Stage {
    fn new(name: &str) -> Stage {
        let folder = Folder::new(&format!("attack-domains-{name}"));
        let issuer = Issuer::new(&folder.0.join("issuer"));
        let rights = folder.0.join("rights.json");
        std::fs::write(&rights, deployment().to_json()).expect("there is room");
        let [tokens, file] = issuer.options();
        let rights = rights.to_str().expect("plain").to_owned();
        let server = Dev::start_with(&folder.0.join("data"), &[&tokens, &file, "--rights", &rights]);
        Stage { server, _folder: folder, issuer }
    }

    async fn user(&self, name: &str) -> User {
        let token = self.issuer.token(name, HOUR);
        User::come(&self.server.sync_url(), &token, deployment().schema.hash()).await
    }
}

fn sheet() -> LogId {
    LogId::new("sheet", &Value::Int(1)).expect("short")
}

/// An append to the first page, which is there, unless it `begins`.
fn append(counter: u64, operation: &str, begins: bool) -> Decision {
    let entry = LogEntry {
        origin: None,
        counter: Counter(counter),
        called_at_micros: 1,
        seed: [1; 16],
        operation: operation.into(),
        version: 0,
        arguments: "{}".into(),
        turns: false,
    };
    let (_, writes) = append_to(&sheet(), 0, Page::of(None), entry).expect("it is small");
    let kept = |write: &Write| begins || write.operation != Operation::Create;
    Decision::Commit(writes.into_iter().filter(kept).collect())
}

fn submit(counter: u64, lane: u32, decision: Decision) -> FromClient {
    FromClient::Submit(Submit {
        counter: Counter(counter),
        attempt: Attempt(1),
        snapshot: iolite_values::Timestamp::ZERO,
        reads: Vec::new(),
        decision,
        acknowledged: None,
        lane: LaneNumber(lane),
        follows: None,
    })
}

/// Says all of these, and hears how each ended.
async fn verdicts(user: &mut User, submits: Vec<FromClient>) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let count = submits.len();
    for submit in &submits {
        user.session.say(submit).await;
    }
    while verdicts.len() < count {
        match user.session.hear().await {
            Some(FromGateway::Advance(advance)) => {
                verdicts.extend(advance.outcomes.iter().map(|own| own.verdict.clone()));
                user.heard.push(advance);
            }
            other => panic!("no outcome: {other:?}"),
        }
    }
    verdicts
}

fn is_denied(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Rejected(Rejection::Denied(_)))
}

async fn asks_for_pages(user: &mut User, first: u32) {
    let interests = [sheet().pages(0, 8).expect("short"), LogCheckpoint::heads(&sheet()).expect("short")];
    let interests = interests.into_iter().zip(first..).map(|(own, name)| (SubscriptionId(name), own)).collect();
    user.session.say(&FromClient::Subscribe(Subscribe { held: false, interests, first: [].into() })).await;
}

/// Hears until some interests are declined, or rows have come. Returns how many entries came, and what was declined.
async fn pages_of(user: &mut User) -> (usize, Vec<Declination>) {
    loop {
        let Some(FromGateway::Advance(advance)) = user.session.hear().await else { panic!("the session ended") };
        let rows = advance.snapshots.iter().flat_map(|own| &own.rows).filter(|own| own.table == LogPages::table());
        let entries =
            rows.map(|own| (0..).take_while(|place| Page::of(Some(&own.row)).entry(*place).is_some()).count());
        let declined: Vec<_> = advance.declined.iter().map(|own| own.why.clone()).collect();
        let entries = entries.sum();
        if entries > 0 || !declined.is_empty() {
            return (entries, declined);
        }
    }
}

#[tokio::test]
async fn who_is_no_member_of_a_log_appends_nothing_and_is_told_none_of_it() {
    let stage = Stage::new("log");
    let (mut ann, mut ben, mut eve) = (stage.user("ann").await, stage.user("ben").await, stage.user("eve").await);
    ann.may("let herself in", insert("members", &[1.into(), "ann".into()], &[])).await;
    ann.may("let Ben in", insert("members", &[1.into(), "ben".into()], &[])).await;
    let first = verdicts(&mut ben, vec![submit(1, 1, append(1, "set", true))]).await;
    assert!(matches!(first[..], [Verdict::Committed(_)]), "{first:?}");
    assert!(is_denied(&verdicts(&mut ben, vec![submit(2, 1, append(2, "clear", false))]).await[0]));
    asks_for_pages(&mut ben, 1).await;
    assert_eq!(pages_of(&mut ben).await, (1, Vec::new()));

    // A stranger.
    assert!(is_denied(&verdicts(&mut eve, vec![submit(1, 1, append(1, "set", false))]).await[0]));
    asks_for_pages(&mut eve, 1).await;
    let (entries, declined) = pages_of(&mut eve).await;
    assert_eq!((entries, declined.len()), (0, 2), "pages and checkpoints");
    let all = Interest::Range { table: LogPages::table(), range: iolite_values::KeyRange::all() };
    let subscribe = Subscribe { held: false, interests: vec![(SubscriptionId(9), all)], first: [].into() };
    eve.session.say(&FromClient::Subscribe(subscribe)).await;
    assert_eq!(pages_of(&mut eve).await.1.len(), 1);

    // A former member, who has sent as many ahead as may be.
    ann.may("send Ben away", delete("members", &[1.into(), "ben".into()])).await;
    let (entries, declined) = pages_of(&mut ben).await;
    assert_eq!((entries, declined.len()), (0, 2), "he loses the log");
    let ahead = (3..3 + AHEAD).map(|counter| submit(counter, 1, append(counter, "set", false)));
    let ended = verdicts(&mut ben, ahead.collect()).await;
    assert!(ended.iter().all(is_denied), "{ended:?}");
    asks_for_pages(&mut ann, 1).await;
    assert_eq!(pages_of(&mut ann).await, (1, Vec::new()), "the log has the one entry");
}

#[tokio::test]
async fn of_a_change_set_with_one_row_that_is_denied_the_others_may_be_sent_again() {
    let stage = Stage::new("set");
    let mut mallory = stage.user("mallory").await;
    let author = |id: i64, name: &str| write("photos", &[id.into()], "author", Operation::Assign(name.into()));
    let photo = |id: i64, name: &str| [insert("photos", &[id.into()], &[]), vec![author(id, name)]].concat();
    let set = Decision::Commit([photo(1, "mallory"), photo(2, "ann"), photo(3, "mallory")].concat());
    let rest = Decision::Commit([photo(1, "mallory"), photo(3, "mallory")].concat());
    let ended = verdicts(&mut mallory, vec![submit(1, 1, set)]).await;
    assert!(is_denied(&ended[0]), "{ended:?}");
    let ended = verdicts(&mut mallory, vec![submit(2, 1, rest)]).await;
    assert!(matches!(ended[..], [Verdict::Committed(_)]), "{ended:?}");
    let stolen = Decision::Commit(photo(2, "ann"));
    assert!(is_denied(&verdicts(&mut mallory, vec![submit(3, 1, stolen)]).await[0]));
}

/// A connection to `/blobs` without a client core.
struct RawBlobs(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl RawBlobs {
    async fn come(server: &Dev, token: &str, device: u128) -> RawBlobs {
        let url = server.sync_url().replace("/sync", "/blobs");
        let (socket, _) = tokio_tungstenite::connect_async(url).await.expect("the server listens");
        let mut own = RawBlobs(socket);
        let (version, client) = (BLOB_PROTOCOL_VERSION, ClientId(Id::from_u128(device)));
        let hello = BlobHello { oldest_version: version, newest_version: version, token: token.to_owned(), client };
        let said = own.ask(BlobRequest::Hello(hello)).await;
        assert!(matches!(said, BlobReply::Welcome(_)), "{said:?}");
        own
    }

    async fn ask(&mut self, request: BlobRequest) -> BlobReply {
        self.0.send(Message::Binary(request.encode().expect("small").into())).await.expect("it is there");
        loop {
            if let Message::Binary(frame) = self.0.next().await.expect("it goes on").expect("it goes on") {
                return BlobReply::decode(&frame).expect("a reply");
            }
        }
    }

    async fn lease(&mut self) -> Option<LeaseName> {
        match self.ask(BlobRequest::Lease).await {
            BlobReply::Leased(leased) => Some(leased.lease),
            BlobReply::Refused(BlobRefusal::UserFull) => None,
            other => panic!("{other:?}"),
        }
    }

    /// Whether a chunk is stored. However small it is, it counts as 64 KiB.
    async fn put(&mut self, lease: LeaseName, number: u32) -> bool {
        let content = number.to_be_bytes().to_vec();
        let chunk = ChunkId::of(&content);
        let put = BlobPut { lease, chunk, content: BlobContent { bytes: content, unpacked_bytes: 0 } };
        match self.ask(BlobRequest::Put(put)).await {
            BlobReply::Stored(_) => true,
            BlobReply::Refused(BlobRefusal::UserFull) => false,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn an_anonymous_user_who_uploads_without_end_is_stopped_and_others_go_on() {
    let stage = Stage::new("blobs");
    // The server has rights once somebody is let in.
    stage.user("ann").await;
    let token = |answer: String| {
        let body = answer.rsplit("\r\n\r\n").next().expect("a body");
        let told: serde_json::Value = serde_json::from_str(body).expect("JSON");
        told["token"].as_str().expect("a token").to_owned()
    };
    let guest = token(stage.server.post("/token/anonymous"));
    let mut blobs = RawBlobs::come(&stage.server, &guest, 1).await;
    let first = blobs.lease().await.expect("there is room");
    let mut stored = 0;
    while blobs.put(first, stored).await {
        stored += 1;
    }
    assert_eq!(stored, 256, "16 MiB");
    assert_eq!(blobs.lease().await, None);
    let mut other_device = RawBlobs::come(&stage.server, &guest, 2).await;
    assert_eq!(other_device.lease().await, None, "nor on another device");
    let other = token(stage.server.post("/token/anonymous"));
    let mut other = RawBlobs::come(&stage.server, &other, 3).await;
    let lease = other.lease().await.expect("there is room for others");
    assert!(other.put(lease, 0).await);
}
