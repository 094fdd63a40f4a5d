//! The baseline's front end: one HTTP request a transaction, over connections that are kept, before Redis.
//!
//! Source: the explicit data management that Zhang 2017, 3.5.3 compares with, with Jetty there.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use anyhow::{Context, bail};
use bytes::Bytes;
use clap::Args;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};

use super::redis::App;
use crate::part::{hear, say};
use crate::redis::Connection;

#[derive(Args, Debug)]
pub struct WebArguments {
    /// Where Redis is
    #[arg(long)]
    redis: SocketAddr,
}

/// What it says first.
#[derive(Debug, Serialize, Deserialize)]
pub struct Listening {
    pub address: SocketAddr,
}

/// As many connections to Redis as requests are being served: WAIT holds one up.
#[derive(Clone)]
struct Front {
    redis: SocketAddr,
    free: Arc<Mutex<Vec<App>>>,
}

/// Serves until its parent is gone.
///
/// # Errors
/// When no port can be listened on.
pub fn run_web(arguments: &WebArguments) -> anyhow::Result<()> {
    // One thread, as Redis has: on few cores more of them only take each other's time.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        say(&Listening { address: listener.local_addr()? })?;
        let front = Front { redis: arguments.redis, free: Arc::default() };
        // Nothing is ever said: it is heard when the parent is gone.
        let mut parent = tokio::spawn(hear::<()>());
        loop {
            tokio::select! {
                _ = &mut parent => return Ok(()),
                accepted = listener.accept() => {
                    tokio::spawn(serve(accepted?.0, front.clone()));
                }
            }
        }
    })
}

async fn serve(socket: TcpStream, front: Front) {
    let _ = socket.set_nodelay(true);
    let service = service_fn(move |request| {
        let front = front.clone();
        async move { Ok::<_, Infallible>(front.answer(request).await) }
    });
    // A client that goes away takes its connection with it.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
}

impl Front {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (status, body) = match self.run(request).await {
            Ok(body) => (StatusCode::OK, body),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")),
        };
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = status;
        response
    }

    async fn run(&self, request: Request<Incoming>) -> anyhow::Result<String> {
        let free = self.free.lock().expect("nobody panics with it").pop();
        let mut app = match free {
            Some(app) => app,
            None => App::on(Connection::open(self.redis, Arc::default()).await?),
        };
        // A connection on which something went wrong is not used again.
        let body = run_on(&mut app, request).await?;
        self.free.lock().expect("nobody panics with it").push(app);
        Ok(body)
    }
}

async fn run_on(app: &mut App, request: Request<Incoming>) -> anyhow::Result<String> {
    let (parts, body) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default();
    let mut numbers = query.split('&').filter_map(|pair| pair.split_once('=')?.1.parse::<u32>().ok());
    let mut number = || numbers.next().context("a number is missing");
    match parts.uri.path() {
        "/timeline" => return Ok(serde_json::to_string(&app.get_timeline(number()?).await?)?),
        "/tweet" => {
            let text = body.collect().await?.to_bytes();
            app.post_tweet(number()?, std::str::from_utf8(&text)?).await?;
        }
        "/follow" => app.follow(number()?, number()?).await?,
        "/like" => app.like(number()?, number()?).await?,
        "/user" => {
            let name = body.collect().await?.to_bytes();
            let joined = std::time::SystemTime::UNIX_EPOCH.elapsed()?.as_micros();
            app.add_user(std::str::from_utf8(&name)?, u64::try_from(joined)?).await?;
        }
        other => bail!("there is nothing at {other}"),
    }
    Ok(String::new())
}
