//! A scripted planner, between the routes and a scripted provider.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use bethink_harness::http::connect;
use bethink_harness::{Answer, Client, Request, until};
use bethink_model_server::{Script, Seen, Server};
use bethink_service::{Result, ServiceError};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tower::ServiceExt;

use crate::conversation::{
    AnswerOutcome, ChainedHistory, GatewayRequest, PreparedPrompt, ProviderResponse, UpstreamPrompt,
};
use crate::planner::PromptPlanner;
use crate::router::routes;

/// The script of a planner, and the answers it received.
#[derive(Debug, Default)]
pub(super) struct Memo {
    pub(super) prompts: Mutex<VecDeque<UpstreamPrompt>>,
    pub(super) smaller: Smaller,
    pub(super) fails: Option<ServiceError>,
    pub(super) hangs: bool,
    pub(super) thinking: AtomicBool,
    pub(super) tickets: AtomicU32,
    pub(super) heard: Mutex<Vec<(u32, AnswerOutcome)>>,
}

/// The prompts to return after refusals.
#[derive(Debug, Default)]
pub(super) struct Smaller(Mutex<VecDeque<UpstreamPrompt>>);

impl<const N: usize> From<[UpstreamPrompt; N]> for Smaller {
    fn from(prompts: [UpstreamPrompt; N]) -> Self {
        Self(Mutex::new(prompts.into()))
    }
}

/// Clears a flag when it is dropped.
struct Thinking<'a>(&'a AtomicBool);

impl Drop for Thinking<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Memo {
    pub(super) fn saying<const N: usize>(prompts: [UpstreamPrompt; N]) -> Self {
        Self { prompts: Mutex::new(prompts.into()), ..Self::default() }
    }

    pub(super) fn thinks(&self) -> bool {
        self.thinking.load(Ordering::SeqCst)
    }

    /// Waits for this many answers, and returns the ticket and the outcome of each.
    pub(super) fn ends(&self, count: usize) -> Vec<(u32, AnswerOutcome)> {
        let all = || self.heard.lock().unwrap().clone();
        until(Duration::from_secs(5), || Some(all()).filter(|all| all.len() >= count));
        all()
    }

    fn next(&self) -> UpstreamPrompt {
        self.prompts.lock().unwrap().pop_front().unwrap_or(UpstreamPrompt::Unchanged)
    }

    fn ticket(&self) -> u32 {
        self.tickets.fetch_add(1, Ordering::SeqCst) + 1
    }
}

impl PromptPlanner for Arc<Memo> {
    type Ticket = u32;

    async fn prepare(&self, _: GatewayRequest) -> Result<PreparedPrompt<u32>> {
        self.thinking.store(true, Ordering::SeqCst);
        let thinking = Thinking(&self.thinking);
        if self.hangs {
            std::future::pending::<()>().await;
        }
        drop(thinking);
        match &self.fails {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(PreparedPrompt { ticket: self.ticket(), prompt: self.next() }),
        }
    }

    async fn count(&self, _: GatewayRequest) -> Result<UpstreamPrompt> {
        Ok(self.next())
    }

    async fn history_through(&self, _: &str) -> Result<Option<ChainedHistory>> {
        Ok(None)
    }

    async fn refused(&self, _: &u32, _: u16, _: &str) -> Result<Option<PreparedPrompt<u32>>> {
        let next = self.smaller.0.lock().unwrap().pop_front();
        Ok(next.map(|prompt| PreparedPrompt { ticket: self.ticket(), prompt }))
    }

    fn accepted(&self, _: &u32) {}

    fn answered(&self, ticket: u32, heard: ProviderResponse) {
        self.heard.lock().unwrap().push((ticket, heard.outcome));
    }
}

/// The routes, served as in the daemon but without the guard.
pub(super) struct World {
    pub(super) server: Server,
    pub(super) memo: Arc<Memo>,
    addr: SocketAddr,
    _stop: oneshot::Sender<()>,
}

impl World {
    pub(super) fn new(memo: Memo, script: Script) -> Self {
        let (server, memo) = (Server::start(script).unwrap(), Arc::new(memo));
        let mut settings = bethink_config::Settings::at("/nowhere").gateway;
        settings.anthropic_url = server.url();
        settings.openai_url = server.url();
        settings.anthropic_key_command = "echo key".to_owned();
        settings.openai_key_command = "echo key".to_owned();
        let routes = routes(memo.clone(), &settings);
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    () = serve(listener, routes) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { server, memo, addr: told.recv().unwrap(), _stop: stop }
    }

    pub(super) fn send(&self, request: &Request) -> std::io::Result<Answer> {
        Client::new(self.addr, "none").send(request)
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(&Request::new("POST", path).json(body)).unwrap()
    }

    /// Sends a request on a new connection, and does not read the answer.
    pub(super) fn open(&self, path: &str, body: &Value) -> TcpStream {
        let (mut stream, body) = (connect(self.addr).unwrap(), body.to_string());
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).unwrap();
        stream
    }

    pub(super) fn seen(&self) -> Seen {
        self.server.requests().pop().unwrap()
    }
}

async fn serve(listener: TcpListener, routes: Router) {
    while let Ok((stream, _)) = listener.accept().await {
        let routes = routes.clone();
        let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            routes.clone().oneshot(request.map(axum::body::Body::new))
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
