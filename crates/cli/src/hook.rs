//! `bethink hook EVENT`: passes a client's event to the daemon, and the daemon's answer to the client.
//!
//! The command runs at each prompt and after each tool call, so it must be fast: it has no async runtime and no argument
//! parser, does not wait for a daemon to start, and sends one request with a deadline. A failure never stops the client: the
//! exit code is 0 and nothing is printed, because Claude Code takes exit code 2 to mean "block this", and other clients show
//! the output. Undelivered events wait in the spool, and `bethink doctor` reports failures. With `--strict`, which is meant for
//! testing, failures are printed.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Write};
use std::process::ExitCode;

use bethink_client::DaemonPlaces;
use bethink_client::quick::{self, QuickError};
use bethink_hook_events::answer::NOTHING;
use bethink_hook_events::input::MAX_INPUT_BYTES;
use bethink_hook_events::{Delivery, HookClient, HookEvent, HookInput, HookInputError};
use bethink_spool::{Faults, Spool};
use bethink_terminal::{Screen, TerminalLook};
use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use uuid::Uuid;

use crate::app::starter;

/// How long stdin may be silent before the input counts as complete. Clients write all of it at once.
const SILENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

pub(crate) const HOOK: &str = "hook";

const HELP: &str = include_str!("hook-help.txt");

/// The reason why an event was not delivered.
#[derive(Debug, thiserror::Error)]
enum HookFault {
    #[error("{0}")]
    Use(String),
    #[error("the hook's input is invalid: {0}")]
    Input(#[from] HookInputError),
    #[error("could not read the hook's input: {0}")]
    Stdin(#[source] io::Error),
    #[error("the daemon refused the event {event} with status {status}: {body}")]
    Refused { event: HookEvent, status: u16, body: String },
    #[error("the event {event} is waiting in the spool: {why}")]
    Waits { event: HookEvent, why: String, because: Because },
    #[error("the event {event} was lost ({why}): could not write it to {place}: {source}")]
    Lost { event: HookEvent, why: String, place: String, source: io::Error },
    #[error("could not find bethink's home directory; set BETHINK_HOME")]
    Home,
}

impl HookFault {
    /// Returns whether to record this fault, so that `doctor` reports it. If no daemon is running, that is reported anyway.
    fn is_recorded(&self) -> bool {
        !matches!(self, Self::Waits { because: Because::NotRunning, .. })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Because {
    NotRunning,
    Trouble,
}

#[derive(Debug, PartialEq, Eq)]
struct HookWords {
    event: HookEvent,
    client: HookClient,
}

pub(crate) fn main(words: &[OsString], env: impl Fn(&str) -> Option<String>) -> ExitCode {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        drop(writeln!(io::stdout(), "{HELP}"));
        return ExitCode::SUCCESS;
    }
    let is_strict = words.iter().any(|word| word == "--strict");
    let Err(fault) = run(&words, &env) else { return ExitCode::SUCCESS };
    if let Ok(places) = DaemonPlaces::from_env(&env)
        && fault.is_recorded()
    {
        let when = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        // If even that fails, there is nowhere to report it.
        drop(Faults::at(places.home.hook_faults()).note(&when, &fault.to_string()));
    }
    if is_strict || io::stdin().is_terminal() {
        let mut screen = Screen::new(TerminalLook::of_terminal(&env), false, false);
        drop(screen.complain(format!("bethink hook: {fault}")));
    }
    if is_strict { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn run(words: &[String], env: &impl Fn(&str) -> Option<String>) -> Result<(), HookFault> {
    let HookWords { event, client } = read_words(words)?;
    let places = DaemonPlaces::from_env(env).map_err(|_| HookFault::Home)?;
    let input = HookInput::read(&stdin()?)?;
    let delivery = Delivery::new(Uuid::now_v7(), client, event, input);
    let path = format!("/v1/hooks/{event}?client={client}&id={}", delivery.id);
    match quick::post(&places, &path, &delivery.input.to_json(), event.deadline()) {
        Ok(answer) if answer.status < 300 => {
            if answer.body != NOTHING {
                // A client that stopped reading does not need the answer.
                drop(writeln!(io::stdout(), "{}", answer.body));
            }
            Ok(())
        }
        // A retry would be refused, too.
        Ok(answer) if answer.status < 500 => {
            Err(HookFault::Refused { event, status: answer.status, body: answer.body })
        }
        Ok(answer) => {
            let why = format!("the daemon answered {}", answer.status);
            wait(&places, &delivery, why, Because::Trouble)
        }
        Err(error @ QuickError::NotRunning { .. }) => {
            if event == HookEvent::SessionStart {
                launch(&places);
            }
            wait(&places, &delivery, error.to_string(), Because::NotRunning)
        }
        Err(error) => wait(&places, &delivery, error.to_string(), Because::Trouble),
    }
}

fn wait(
    places: &DaemonPlaces,
    delivery: &Delivery,
    why: String,
    because: Because,
) -> Result<(), HookFault> {
    let (event, place) = (delivery.event, places.home.hook_spool());
    match Spool::at(&place).put(delivery) {
        Ok(0) => Err(HookFault::Waits { event, why, because }),
        Ok(dropped) => {
            let why = format!(
                "{why}; too many events were waiting, so the oldest were dropped ({dropped})"
            );
            Err(HookFault::Waits { event, why, because: Because::Trouble })
        }
        Err(source) => {
            Err(HookFault::Lost { event, why, place: place.display().to_string(), source })
        }
    }
}

/// Starts a daemon for later hooks without waiting for it. A daemon that `BETHINK_URL` names is never started.
fn launch(places: &DaemonPlaces) {
    if places.url.is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    // If it fails, the event still waits in the spool, and `doctor` says why no daemon is running.
    drop(starter(&program).and_then(|starter| starter.launch(places)));
}

fn read_words(words: &[String]) -> Result<HookWords, HookFault> {
    let (mut event, mut client) = (None, HookClient::default());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--strict" => {}
            "--client" => {
                let name = words.next().map(String::as_str).unwrap_or_default();
                let names: Vec<_> = HookClient::ALL.iter().map(|client| client.as_str()).collect();
                client = HookClient::named(name).ok_or_else(|| {
                    HookFault::Use(format!(
                        "unknown client {name:?}; use one of {}",
                        names.join(", ")
                    ))
                })?;
            }
            name if event.is_none() => {
                event = Some(HookEvent::named(name).ok_or_else(|| unknown(name))?);
            }
            more => return Err(HookFault::Use(format!("unexpected argument {more:?}"))),
        }
    }
    event.map(|event| HookWords { event, client }).ok_or_else(|| unknown(""))
}

fn unknown(name: &str) -> HookFault {
    let names: Vec<_> = HookEvent::ALL.iter().map(|event| event.as_str()).collect();
    let what = match name {
        "" => "the name of the event is missing".to_owned(),
        name => format!("unknown event {name:?}"),
    };
    HookFault::Use(format!("{what}; use one of {}", names.join(", ")))
}

fn stdin() -> Result<Vec<u8>, HookFault> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(HookFault::Use(format!(
            "this command is run by a coding agent, with JSON on stdin\n\n{HELP}"
        )));
    }
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    let mut lock = stdin.lock();
    // `HookInput::read` reports input above the limit.
    while bytes.len() <= MAX_INPUT_BYTES && is_ready(&stdin).map_err(HookFault::Stdin)? {
        match lock.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(HookFault::Stdin(error)),
        }
    }
    Ok(bytes)
}

/// Waits for input or its end. Returns `false` if nothing arrives for a while, because a client may leave the pipe open after
/// its input.
fn is_ready(stdin: &io::Stdin) -> io::Result<bool> {
    let mut wanted = [PollFd::new(stdin, PollFlags::IN)];
    loop {
        match poll(&mut wanted, Some(&SILENCE)) {
            Err(rustix::io::Errno::INTR) => {}
            ready => return Ok(ready? > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<HookWords, HookFault> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read_words(&words)
    }

    #[test]
    fn words_are_an_event_and_a_client_in_any_order() {
        let expect = |event, client| HookWords { event, client };
        let (stop, claude) = (HookEvent::Stop, HookClient::ClaudeCode);
        assert_eq!(read("Stop").unwrap(), expect(stop, claude));
        assert_eq!(read("--strict stop").unwrap(), expect(stop, claude));
        assert_eq!(
            read("--client gemini BeforeAgent").unwrap(),
            expect(HookEvent::PromptSubmit, HookClient::Gemini)
        );
    }

    #[test]
    fn a_wrong_word_is_named_with_what_is_allowed() {
        for (line, told) in [
            ("", "session-start"),
            ("PreToolUse", "prompt-submit"),
            ("stop --client emacs", "claude-code, codex"),
            ("stop --client", "\"\""),
            ("stop stop", "unexpected argument"),
        ] {
            let fault = read(line).unwrap_err().to_string();
            assert!(fault.contains(told), "{line}: {fault}");
        }
    }
}
