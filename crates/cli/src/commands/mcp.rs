//! `bethink mcp`: MCP over stdin and stdout, for clients that start a program. Forwards each line of stdin to the daemon's MCP
//! endpoint, and prints each answer as one line. Nothing else is printed on stdout.
//!
//! This is deliberately not a second MCP server: tools would then be described twice, and a client's session would end
//! when the daemon restarts.
//!
//! Reading order: `lines` → `message` → `door` → this.

mod door;
mod lines;
mod message;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bethink_client::{McpAnswer, McpOrigin};
use serde_json::Value;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::app::CliApp;
use crate::failure::{CliFailure, Done};
use door::DaemonConnection;
use lines::InputLine;
use message::{MessageKind, RpcMessage};

/// Maximum number of unanswered messages. Once it is reached, no line is read until a message has been answered.
const MAX_UNANSWERED: usize = 2_048;
/// How long to wait for outstanding answers after stdin was closed.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
/// Maximum number of answers that wait to be printed.
const UNPRINTED: usize = 64;

pub(crate) async fn mcp(app: &mut CliApp) -> Done {
    let origin = origin(app).await?;
    let door = Arc::new(DaemonConnection::new(app.places.clone(), app.program.clone(), origin));
    let (unprinted, answers) = mpsc::channel(UNPRINTED);
    let (running, tasks) = (HashMap::new(), JoinSet::new());
    let bridge = Bridge { door, unprinted, version: None, running, tasks };
    bridge.run(app, lines::read(), answers).await
}

/// Returns the project and session to which the daemon's tools apply.
async fn origin(app: &mut CliApp) -> Result<McpOrigin, CliFailure> {
    let session = match app.session.as_deref() {
        None => None,
        // The daemon resolves `last` at each tool call.
        Some("last") => Some("last".to_owned()),
        Some(_) => Some(app.client_and_session(None).await?.1.id.to_string()),
    };
    McpOrigin::new(&app.project, session.as_deref()).ok_or_else(|| {
        CliFailure::Use("the path of the project contains a control character".to_owned())
    })
}

/// Forwards messages between a client and the daemon.
struct Bridge {
    door: Arc<DaemonConnection>,
    /// All answers to print go through this channel.
    unprinted: Sender<Vec<u8>>,
    /// The protocol version that was agreed on in `initialize`.
    version: Option<String>,
    /// Unanswered requests, by their ids.
    running: HashMap<String, AbortHandle>,
    tasks: JoinSet<Option<String>>,
}

impl Bridge {
    async fn run(
        mut self,
        app: &mut CliApp,
        mut lines: Receiver<InputLine>,
        mut answers: Receiver<Vec<u8>>,
    ) -> Done {
        let mut ends_at = None;
        loop {
            let last = ends_at.unwrap_or_else(Instant::now);
            tokio::select! {
                biased;
                Some(answer) = answers.recv() => print(app, &answer)?,
                Some(done) = self.tasks.join_next() => if let Ok(Some(key)) = done {
                    self.running.remove(&key);
                },
                line = lines.recv(), if ends_at.is_none() && self.tasks.len() < MAX_UNANSWERED => match line {
                    Some(line) => self.take(app, line).await?,
                    None => ends_at = Some(Instant::now() + LAST_ANSWERS),
                },
                () = sleep_until(last), if ends_at.is_some() => return Ok(()),
                else => return Ok(()),
            }
            if ends_at.is_some() && self.tasks.is_empty() && answers.is_empty() {
                return Ok(());
            }
        }
    }

    async fn take(&mut self, app: &mut CliApp, line: InputLine) -> Done {
        let message = match RpcMessage::of(line) {
            Ok(message) => message,
            Err(refused) => return print(app, &refused),
        };
        match &message.kind {
            // Later messages need the protocol version that it agrees on.
            MessageKind::Request { .. } if message.method == "initialize" => {
                let answer = first_answer(&self.door, message).await;
                self.version = message::version_of(&answer).or(self.version.take());
                print(app, &answer)?;
            }
            MessageKind::Request { key, .. } => {
                let (key, done) = (key.clone(), key.clone());
                let (door, version) = (Arc::clone(&self.door), self.version.clone());
                let to = self.unprinted.clone();
                let task = self.tasks.spawn(async move {
                    forward(&door, message, version.as_deref(), &to).await;
                    Some(done)
                });
                self.running.insert(key, task);
            }
            MessageKind::Notification => {
                // To cancel a request, its connection is closed: the daemon does not know the request's id.
                if let Some(task) = message.cancels().and_then(|key| self.running.remove(&key)) {
                    task.abort();
                    return Ok(());
                }
                let (door, version) = (Arc::clone(&self.door), self.version.clone());
                self.tasks.spawn(async move {
                    let _unanswered = door.send(&message, version.as_deref()).await;
                    None
                });
            }
            // The server sends no requests, so no answer is expected.
            MessageKind::Answer => {}
        }
        Ok(())
    }
}

/// Sends a request and passes on its answers, up to the last one.
async fn forward(
    door: &DaemonConnection,
    message: RpcMessage,
    version: Option<&str>,
    to: &Sender<Vec<u8>>,
) {
    let answer = match door.send(&message, version).await {
        Ok(McpAnswer::Message(answer)) => message.with_id(answer),
        Ok(McpAnswer::Nothing) => message.unanswered(),
        Ok(McpAnswer::Stream(mut stream)) => loop {
            match stream.next().await {
                Ok(Some(one)) => {
                    if to.send(one).await.is_err() {
                        return;
                    }
                }
                Ok(None) => return,
                Err(error) => break message.failed(&door::unreachable(error, true)),
            }
        },
        Err(problem) => message.failed(&problem),
    };
    let _unprinted = to.send(answer).await;
}

async fn first_answer(door: &DaemonConnection, message: RpcMessage) -> Vec<u8> {
    let (to, mut answers) = mpsc::channel(1);
    let forwarded = forward(door, message, None, &to);
    let first = answers.recv();
    tokio::pin!(forwarded);
    tokio::select! {
        answer = first => answer.unwrap_or_default(),
        () = &mut forwarded => answers.try_recv().unwrap_or_default(),
    }
}

/// Prints an answer as one line, even if its JSON contains line feeds.
fn print(app: &mut CliApp, answer: &[u8]) -> Done {
    let mut line = answer.to_vec();
    if line.contains(&b'\n') {
        let Ok(value) = serde_json::from_slice::<Value>(answer) else { return Ok(()) };
        line = value.to_string().into_bytes();
    }
    if line.is_empty() {
        return Ok(());
    }
    line.push(b'\n');
    app.screen.jsonl(&line)?;
    Ok(app.screen.settle()?)
}
