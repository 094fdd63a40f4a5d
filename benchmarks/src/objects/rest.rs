//! A null call as REST has it: `POST /objects/ID/METHOD` over HTTP/1.1 on a connection that is kept, with arguments and result in JSON.
//!
//! Both sides are hyper alone, without a router's or a client's layers, so no REST in Rust is much faster.

use std::convert::Infallible;
use std::time::Instant;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use crate::latency::Latencies;

use super::side::{Count, nanos_since};

const JSON: &str = "application/json";
const OBJECT: &str = "/objects/";
/// The object that is called, and its method.
const TARGET: &str = "/objects/counted/call";

/// Starts to serve, and gives the port.
pub async fn serve(count: Count) -> anyhow::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve_one(socket, count.clone()));
        }
    });
    Ok(port)
}

async fn serve_one(socket: TcpStream, count: Count) {
    let _ = socket.set_nodelay(true);
    let service = service_fn(move |request| {
        let count = count.clone();
        async move { Ok::<_, Infallible>(answer(request, &count).await) }
    });
    // A client that goes away takes its connection with it.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
}

async fn answer(request: Request<Incoming>, count: &Count) -> Response<Full<Bytes>> {
    let (status, result) = match dispatch(request, count).await {
        Ok(result) => (StatusCode::OK, result),
        Err(error) => (StatusCode::BAD_REQUEST, serde_json::json!({ "error": format!("{error:#}") })),
    };
    let mut response = Response::new(Full::new(Bytes::from(result.to_string())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(JSON));
    response
}

async fn dispatch(request: Request<Incoming>, count: &Count) -> anyhow::Result<serde_json::Value> {
    let (parts, body) = request.into_parts();
    let call = parts.uri.path().strip_prefix(OBJECT).and_then(|rest| rest.split_once('/'));
    let (object, method) = call.context("no object and method are named")?;
    let arguments: Vec<serde_json::Value> = serde_json::from_slice(&body.collect().await?.to_bytes())?;
    ensure!(parts.method == Method::POST && object == "counted", "there is no object {object}");
    ensure!(method == "call" && arguments.is_empty(), "there is no method {method} of {} arguments", arguments.len());
    count.ran_one();
    Ok(serde_json::Value::Null)
}

/// A client with one connection.
pub struct Caller {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

impl Caller {
    pub async fn connect(port: u16) -> anyhow::Result<Caller> {
        let socket = TcpStream::connect(("127.0.0.1", port)).await?;
        socket.set_nodelay(true)?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await?;
        tokio::spawn(connection);
        Ok(Caller { sender, host: format!("127.0.0.1:{port}") })
    }

    /// Calls until then, one call after the other.
    pub async fn run(&mut self, until: Instant, latencies: &mut Latencies) -> anyhow::Result<()> {
        while Instant::now() < until {
            let called = Instant::now();
            self.call().await?;
            latencies.record(nanos_since(called));
        }
        Ok(())
    }

    async fn call(&mut self) -> anyhow::Result<()> {
        let arguments = serde_json::to_vec(&[(); 0])?;
        let request = Request::post(TARGET).header(HOST, &self.host).header(CONTENT_TYPE, JSON);
        let request = request.body(Full::new(Bytes::from(arguments)))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let (parts, body) = response.into_parts();
        let result = body.collect().await?.to_bytes();
        ensure!(parts.status == StatusCode::OK, "{}: {}", parts.status, String::from_utf8_lossy(&result));
        Ok(serde_json::from_slice::<()>(&result)?)
    }
}
