//! `bethink mcp`: MCP over stdin and stdout, for clients that start a program. Each line is a message for the daemon's
//! own endpoint, and each of its answers is a line; nothing else is ever printed there.
//!
//! The road not taken: a second MCP server here. Tools would then be described twice, and a client's session would
//! end with the daemon that it began with.
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
use door::DaemonDoor;
use lines::InputLine;
use message::{MessageKind, RpcMessage};

/// Messages that may be on their way; then no line is read until one is answered.
const MOST: usize = 2_048;
/// How long to wait for outstanding answers after the client has closed its end.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
/// Answers waiting to be printed.
const UNPRINTED: usize = 64;

pub(crate) async fn mcp(app: &mut CliApp) -> Done {
    let origin = origin(app).await?;
    let door = Arc::new(DaemonDoor::new(app.places.clone(), app.program.clone(), origin));
    let (unprinted, answers) = mpsc::channel(UNPRINTED);
    let (running, tasks) = (HashMap::new(), JoinSet::new());
    let bridge = Bridge { door, unprinted, version: None, running, tasks };
    bridge.run(app, lines::read(), answers).await
}

/// The project and session that the daemon's tools are called from.
async fn origin(app: &mut CliApp) -> Result<McpOrigin, CliFailure> {
    let session = match app.session.as_deref() {
        None => None,
        // Resolved by the daemon at each call of a tool.
        Some("last") => Some("last".to_owned()),
        Some(_) => Some(app.client_and_session(None).await?.1.id.to_string()),
    };
    McpOrigin::new(&app.project, session.as_deref()).ok_or_else(|| {
        CliFailure::Use("the path of the project contains a control character".to_owned())
    })
}

/// Messages on their way between a client and the daemon.
struct Bridge {
    door: Arc<DaemonDoor>,
    /// The one way to stdout.
    unprinted: Sender<Vec<u8>>,
    /// What a session that began with `initialize` agreed on.
    version: Option<String>,
    /// Requests that are not answered yet, by their ids.
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
                line = lines.recv(), if ends_at.is_none() && self.tasks.len() < MOST => match line {
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
            // What follows depends on what it agrees on.
            MessageKind::Request { .. } if message.method == "initialize" => {
                let answer = whole(&self.door, message).await;
                self.version = message::version_of(&answer).or(self.version.take());
                print(app, &answer)?;
            }
            MessageKind::Request { key, .. } => {
                let (key, done) = (key.clone(), key.clone());
                let (door, version) = (Arc::clone(&self.door), self.version.clone());
                let to = self.unprinted.clone();
                let task = self.tasks.spawn(async move {
                    carry(&door, message, version.as_deref(), &to).await;
                    Some(done)
                });
                self.running.insert(key, task);
            }
            MessageKind::Notification => {
                // The daemon knows no request but by its connection: to let go of that is to cancel it.
                if let Some(task) = message.cancels().and_then(|key| self.running.remove(&key)) {
                    task.abort();
                    return Ok(());
                }
                let (door, version) = (Arc::clone(&self.door), self.version.clone());
                self.tasks.spawn(async move {
                    let _told = door.send(&message, version.as_deref()).await;
                    None
                });
            }
            // Nothing was asked of this client.
            MessageKind::Answer => {}
        }
        Ok(())
    }
}

/// A request to its last answer.
async fn carry(
    door: &DaemonDoor,
    message: RpcMessage,
    version: Option<&str>,
    to: &Sender<Vec<u8>>,
) {
    let answer = match door.send(&message, version).await {
        Ok(McpAnswer::Message(answer)) => message.owned(answer),
        Ok(McpAnswer::Nothing) => message.unanswered(),
        Ok(McpAnswer::Stream(mut stream)) => loop {
            match stream.next().await {
                Ok(Some(one)) => {
                    if to.send(one).await.is_err() {
                        return;
                    }
                }
                Ok(None) => return,
                Err(error) => break message.failed(&door::gone(error, true)),
            }
        },
        Err(problem) => message.failed(&problem),
    };
    let _unprinted = to.send(answer).await;
}

async fn whole(door: &DaemonDoor, message: RpcMessage) -> Vec<u8> {
    let (to, mut answers) = mpsc::channel(1);
    let carried = carry(door, message, None, &to);
    let first = answers.recv();
    tokio::pin!(carried);
    tokio::select! {
        answer = first => answer.unwrap_or_default(),
        () = &mut carried => answers.try_recv().unwrap_or_default(),
    }
}

/// One line, whatever line feeds its JSON is spread over.
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
