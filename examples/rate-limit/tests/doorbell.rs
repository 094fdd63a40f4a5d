//! A doorbell under a rate limit: a server has it, and other programs ring it.

use iolite::Id;
use iolite::objects::{CallError, Host, HostError, NotRun, Ran, Ref, sapphire};
use rate_limit::RateLimit;

/// Everyone may ring three times an hour.
#[sapphire(name = "Doorbell", managers = [rate_limit::RateLimit { calls: 3, per: secs(3600) }, KeepInPlace])]
#[derive(Default)]
struct Doorbell {
    rings: u64,
}

#[sapphire::methods]
impl Doorbell {
    fn ring(&mut self) -> u64 {
        self.rings += 1;
        self.rings
    }
}

async fn server() -> Host {
    Host::embedded().class::<Doorbell>().manager(RateLimit).start().await.expect("it starts")
}

async fn caller(server: &Host, name: u128) -> (Host, Ref<Doorbell>) {
    let host = Host::connect(server.url(), server.token()).manager(RateLimit).node(Id::from_u128(name));
    let host = host.start().await.expect("it is let in");
    let bell = host.get("door", Doorbell::default).await.expect("it is there");
    (host, bell)
}

fn busy() -> Result<u64, CallError> {
    Err(CallError::NotRun(NotRun::Busy))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_rings_too_often_is_refused_and_others_ring_on() {
    let server = server().await;
    let ((_one_host, one), (_other_host, other)) = (caller(&server, 1).await, caller(&server, 2).await);
    assert_eq!(RateLimit::left(&one).await, Ok(3));
    for ring in 1..=3 {
        assert_eq!(one.ring().await, Ok(ring));
    }
    assert_eq!((one.ring().await, one.ring().await), (busy(), busy()));
    assert_eq!(one.ring().await.expect_err("refused").ran(), Ran::No);
    assert_eq!((RateLimit::left(&one).await, RateLimit::left(&other).await), (Ok(0), Ok(3)));
    assert_eq!(other.ring().await, Ok(4), "refused calls have not run, and count for nobody else");
}

/// The failure test: a caller ends in the middle of its hour, and another process begins under its name.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_starts_again_has_no_more_calls_than_before() {
    let server = server().await;
    let (host, bell) = caller(&server, 1).await;
    for ring in 1..=2 {
        assert_eq!(bell.ring().await, Ok(ring));
    }
    host.stop().await.expect("it stops");
    let (_host, bell) = caller(&server, 1).await;
    assert_eq!((bell.ring().await, bell.ring().await), (Ok(3), busy()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_the_manager_says_so() {
    let refused = Host::embedded().class::<Doorbell>().start().await.expect_err("it has the class");
    assert!(matches!(refused, HostError::Managers { name: "Doorbell", .. }), "{refused}");
    let server = server().await;
    let (_host, _bell) = caller(&server, 1).await;
    let plain = Host::connect(server.url(), server.token()).start().await.expect("it is let in");
    let bell: Ref<Doorbell> = plain.find("door").await.expect("an answer").expect("it is there");
    let refused = bell.ring().await.expect_err("it cannot call it");
    assert!(refused.to_string().contains("no manager is called \"RateLimit\" here"), "{refused}");
}
