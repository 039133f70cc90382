//! `bethink doctor`: one line per check, and what to do about each problem.

mod agents;
mod memory;
mod team;

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bethink_api::{HealthStatus, ModelReadiness, ModelState};
use bethink_client::proof::ProofError;
use bethink_client::start::tail;
use bethink_client::{Client, ClientError};
use bethink_config::{Home, Overrides, Settings};
use bethink_terminal::words::bytes;
use bethink_terminal::{Screen, StyledText, Tone, hanging};

use super::config::unknown;
use super::daemon::age;
use super::finding::{DoctorFinding, Verdict, fail, ok, tip, warn};
use crate::app::{CliApp, starter};
use crate::failure::{ANOTHER_PROGRAM, CliFailure, Done};

/// Free space, in bytes, below which writes may soon fail.
const LITTLE_SPACE: u64 = 1_000_000_000;
/// Free space, in bytes, below which writes are about to fail.
const NO_SPACE: u64 = 100_000_000;
/// Size of a log, in bytes, above which it should be emptied.
const LARGE_LOG: u64 = 100_000_000;

pub(crate) async fn doctor(app: &mut CliApp) -> Done {
    let daemon = Client::find(&app.places).await;
    let mut findings = agents::agents(app);
    if let Ok(client) = &daemon {
        findings.extend(agents::gateway(app, client).await);
    }
    findings.push(program(app));
    let (project_memory, project_team, project_instructions, projects) = match &daemon {
        // Together, because each of them waits for a database that does not answer.
        Ok(client) => {
            let (memory, team, instructions, projects) = tokio::join!(
                memory::memory(app, client),
                team::team(app, client),
                super::instructions::findings(app, client),
                client.projects(),
            );
            (memory, team, instructions, projects.map(drop))
        }
        Err(_) => (Vec::new(), Vec::new(), Vec::new(), Ok(())),
    };
    let (fault, refused) = match projects {
        Err(ClientError::Refused(problem)) if problem.status >= 500 => (Some(problem.detail), None),
        projects => (None, projects.err()),
    };
    findings.extend(self::daemon(app, &daemon).await);
    findings.extend(refused.as_ref().map(access));
    findings.extend(settings());
    findings.push(home(app.places.home.path()));
    findings.push(token(&app.places.home.token()));
    findings.push(listens(app));
    findings.extend(moved(app));
    findings.push(database(app, daemon.as_ref().ok(), fault));
    findings.push(disk(app.places.home.path()));
    findings.extend(project_memory);
    findings.extend(project_team);
    findings.extend(unclean(app, daemon.is_ok()));
    findings.extend(project_instructions);
    let is_ok = findings.iter().all(|finding| finding.verdict != Verdict::Fail);
    let told = serde_json::json!({ "ok": is_ok, "checks": findings });
    if let Some(screen) = app.screen.unless_json(&told)? {
        show(screen, &findings)?;
    }
    if is_ok { Ok(()) } else { Err(CliFailure::Printed) }
}

fn show(screen: &mut Screen, findings: &[DoctorFinding]) -> Done {
    for finding in findings {
        let (tone, word) = match finding.verdict {
            Verdict::Ok => (Tone::Good, "ok  "),
            Verdict::Warn => (Tone::Warn, "warn"),
            Verdict::Fail => (Tone::Bad, "fail"),
        };
        if screen.quiet && finding.verdict == Verdict::Ok {
            continue;
        }
        let check = StyledText::from(" ").put(tone, word).dim(format!("  {:<13}", finding.check));
        let width = if screen.look.live { screen.look.width } else { usize::MAX };
        screen.lines(hanging(&check, Tone::Plain, &finding.found, width))?;
        if let Some(todo) = &finding.todo {
            let arrow = StyledText::from(" ".repeat(20)).put(Tone::Accent, "→ ");
            screen.lines(hanging(&arrow, Tone::Accent, todo, width))?;
        }
    }
    Ok(())
}

fn program(app: &CliApp) -> DoctorFinding {
    match starter(&app.program) {
        Ok(starter) => ok("program", starter.daemon.display().to_string()),
        Err(error) => fail(
            "program",
            error.to_string(),
            "install `bethinkd` in the same directory as `bethink`, or in a directory in PATH",
        ),
    }
}

async fn daemon(app: &CliApp, found: &Result<Client, ClientError>) -> Vec<DoctorFinding> {
    let client = match found {
        Ok(client) => client,
        Err(error) if error.is_unreachable() && app.places.url.is_none() => {
            if let Some(reason) = last_error(&app.places.home) {
                let found = format!("not running; it ended with this error: {reason}");
                return vec![fail("daemon", found, "fix the cause, then run `bethink up`")];
            }
            let todo = "run `bethink up`; any command that needs the daemon starts it, too";
            let is_fresh = !app.places.home.token().exists();
            return vec![match is_fresh {
                true => tip("daemon", "not started yet", todo),
                false => warn("daemon", "not running", todo),
            }];
        }
        Err(error) => {
            let todo = match app.places.url {
                _ if matches!(error, ClientError::Proof(ProofError::NotProven { .. })) => {
                    ANOTHER_PROGRAM
                }
                Some(_) => "check BETHINK_URL, or unset it to use your own daemon",
                None => {
                    "run `bethink logs` to see what happened; if the daemon is hanging, end its process, then run `bethink up`"
                }
            };
            return vec![fail("daemon", error.to_string(), todo)];
        }
    };
    // An older daemon cannot report its model.
    let asked = client.model().await.ok();
    let mut findings = Vec::new();
    match client.health().await {
        Ok(health) => {
            findings.push(match (health.status, health.detail) {
                (HealthStatus::Ok, _) => ok("daemon", format!("listening at {}", client.url())),
                (HealthStatus::Degraded, detail) => {
                    let found = detail.unwrap_or_else(|| health.status.to_string());
                    fail("daemon", found, "run `bethink logs` for details")
                }
            });
            findings.push(version(&health.version));
            // Problems with the model are listed separately, with what to do.
            let of_model = ["[model]", "the model "];
            let of_notes =
                |notice: &String| !of_model.iter().any(|start| notice.starts_with(start));
            findings.extend(health.notices.into_iter().filter(of_notes).map(|notice| {
                warn("notes", notice, "fix the file; until then the default is used")
            }));
        }
        Err(error) => {
            findings.push(fail("daemon", error.to_string(), "run `bethink logs` for details"));
        }
    }
    findings.extend(asked.into_iter().flat_map(model));
    findings
}

/// Returns the error with which the daemon ended, if that was the last thing it did.
fn last_error(home: &Home) -> Option<String> {
    let (log, announced) = (home.log_file(), home.daemon_file_draft());
    // A daemon that logs elsewhere may have run since.
    let is_old = age(&announced).zip(age(&log)).is_some_and(|(announced, log)| announced < log);
    let tail = tail(&log, 0);
    let last = tail.lines().next_back()?.strip_prefix("bethinkd: ")?;
    (!is_old).then(|| last.to_owned())
}

fn access(error: &ClientError) -> DoctorFinding {
    let todo = match error.problem().map(|problem| problem.status) {
        Some(401) => {
            "check that BETHINK_TOKEN, or the `token` file in bethink's home, belongs to this daemon"
        }
        _ => "run `bethink logs` for details",
    };
    fail("access", error.to_string(), todo)
}

fn version(daemon: &str) -> DoctorFinding {
    let own = env!("CARGO_PKG_VERSION");
    match daemon == own {
        true => ok("version", own),
        false => warn(
            "version",
            format!("`bethink` is version {own}, but the daemon is version {daemon}"),
            "run `bethink down`, then `bethink up`",
        ),
    }
}

/// Says where bethink sends parts of sessions, and which variable or command provides the key. Never shows the key.
fn model(state: ModelState) -> Vec<DoctorFinding> {
    if state.state == ModelReadiness::Off {
        let found = match state.client_summaries {
            true => {
                "none, but in gateway sessions the client's own model writes the summaries (except with the Responses API or Gemini)"
            }
            false => "none: bethink itself sends no part of a session to a model",
        };
        return vec![ok("model", found)];
    }
    let mut findings = Vec::new();
    let place = state.origin.as_deref().unwrap_or("no address");
    let found = format!("{} at {place}", state.provider);
    let todo = "fix [model] in the config file, then restart the daemon";
    match (state.state, state.detail) {
        (ModelReadiness::Broken, detail) => {
            findings.push(fail("model", detail.unwrap_or(found), todo));
        }
        (ModelReadiness::Ready | ModelReadiness::NoKey, _) => findings.push(ok("model", found)),
        (word, detail) => {
            let detail = detail.unwrap_or_else(|| word.to_string());
            let until = match word {
                ModelReadiness::Spent => "until midnight UTC",
                _ => "until the pause ends",
            };
            let todo = format!("{until}, bethink works without the model");
            findings.push(warn("model", format!("{found}: {detail}"), todo));
        }
    }
    if let Some(key) = state.key.filter(|key| key.present != Some(false)) {
        let found = match (key.from.as_str(), key.present) {
            ("none", _) => "no key is sent".to_owned(),
            ("command", _) => "from api_key_command, which runs when a key is needed".to_owned(),
            (name, _) => format!("from the environment variable {name}, which is set"),
        };
        findings.push(ok("key", found));
    }
    let problems = state.problems.into_iter();
    findings.extend(problems.map(|problem| warn("model", problem.found, problem.todo)));
    findings
}

/// Reports settings with which the daemon would not start, and keys and variables that have no effect.
fn settings() -> Vec<DoctorFinding> {
    match unknown() {
        Ok(unknown) => unknown
            .iter()
            .map(|one| {
                let todo = "correct or remove it; `bethink config list` shows all settings";
                warn("settings", one.to_string(), todo)
            })
            .collect(),
        Err(error) => {
            let todo = "correct it; until then the daemon does not start again";
            vec![fail("settings", super::config::refused(&error).to_string(), todo)]
        }
    }
}

fn mode(path: &Path) -> Option<u32> {
    path.metadata().ok().map(|metadata| metadata.permissions().mode() & 0o777)
}

fn not_yet(check: &'static str, path: &Path) -> DoctorFinding {
    ok(check, format!("{} does not exist yet; the daemon creates it", path.display()))
}

fn home(home: &Path) -> DoctorFinding {
    let shown = home.display();
    if let Err(error) = home.read_dir()
        && error.kind() == ErrorKind::PermissionDenied
    {
        return fail(
            "home",
            format!("could not read {shown}: {error}"),
            "run bethink as the user to whom it belongs, or set BETHINK_HOME to your own directory",
        );
    }
    match mode(home) {
        None => not_yet("home", home),
        Some(_) if !home.is_dir() => {
            fail("home", format!("{shown} is not a directory"), "set BETHINK_HOME to a directory")
        }
        Some(mode) if mode & 0o077 != 0 => warn(
            "home",
            format!("{shown} is accessible to other users (mode {mode:03o})"),
            format!("run `chmod 700 {shown}`"),
        ),
        Some(mode) => ok("home", format!("{shown} (mode {mode:03o})")),
    }
}

fn token(file: &Path) -> DoctorFinding {
    let shown = file.display();
    match mode(file) {
        None => not_yet("token", file),
        Some(mode) if mode & 0o077 != 0 => fail(
            "token",
            format!("other users can read {shown} (mode {mode:03o})"),
            format!(
                "run `bethink down`, delete {shown}, then run `bethink up` to create a new one"
            ),
        ),
        Some(mode) => ok("token", format!("readable only by you (mode {mode:03o})")),
    }
}

fn listens(app: &CliApp) -> DoctorFinding {
    let Some(url) = app.places.address() else {
        return ok("listens", "no daemon is running");
    };
    let host = url.trim_start_matches("http://").split('/').next().unwrap_or_default();
    let local = ["127.", "localhost", "[::1]"].iter().any(|local| host.starts_with(local));
    match local {
        true => ok("listens", format!("{host}, this machine only")),
        false => warn(
            "listens",
            format!(
                "{host}, reachable from other machines; the token crosses the network unencrypted"
            ),
            "listen on 127.0.0.1, and connect from other machines through an ssh tunnel that has the same port number at both ends",
        ),
    }
}

/// Warns if the daemon moved to another port because another program had taken its own.
fn moved(app: &CliApp) -> Option<DoctorFinding> {
    let note = app.places.home.moved_note();
    let found = std::fs::read_to_string(&note).ok()?;
    let todo = format!(
        "agents that use the gateway still send their requests to the old port: run `bethink install AGENT --gateway` \
         for each agent, and in other clients set the addresses that `bethink gateway` prints; then delete {}",
        note.display()
    );
    Some(warn("port", found.trim(), todo))
}

fn files(home: &Path) -> Vec<(String, PathBuf, u64)> {
    let entries = home.read_dir().into_iter().flatten().flatten();
    let named = entries.map(|entry| {
        let size = entry.metadata().map_or(0, |metadata| metadata.len());
        (entry.file_name().to_string_lossy().into_owned(), entry.path(), size)
    });
    let mut files: Vec<_> = named.collect();
    files.sort();
    files
}

/// Reports where history is. `fault` is why the daemon could not read it.
fn database(app: &CliApp, daemon: Option<&Client>, fault: Option<String>) -> DoctorFinding {
    let server = daemon.and_then(|client| super::daemon::database(app, client));
    let home = app.places.home.path();
    match (server, fault) {
        (Some(server), Some(fault)) => fail(
            "database",
            format!("{server}: {fault}"),
            "check the database server and the connection to it; `bethink logs` shows details",
        ),
        (None, Some(fault)) => fail("database", fault, "run `bethink logs` for details"),
        (Some(server), None) => ok("database", server),
        (None, None) if daemon.is_none() && is_on_server() => warn(
            "database",
            "PostgreSQL, set in [store] url; not checked, because no daemon answers",
            "run `bethink up`, which connects to it",
        ),
        (None, None) => database_file(home),
    }
}

/// Returns whether the settings name a database server.
fn is_on_server() -> bool {
    let settings = Settings::load(&|name| std::env::var(name).ok(), &Overrides::default());
    settings.is_ok_and(|loaded| !loaded.settings.store.url.is_empty())
}

fn database_file(home: &Path) -> DoctorFinding {
    let is_part =
        |name: &str| [".db", ".sqlite", "-wal", "-shm"].iter().any(|end| name.ends_with(end));
    let parts: Vec<_> = files(home).into_iter().filter(|(name, _, _)| is_part(name)).collect();
    let Some((first, ..)) = parts.first() else { return ok("database", "none yet") };
    let size = parts.iter().map(|(_, _, size)| size).sum();
    ok("database", format!("{first}, {}", bytes(size)))
}

fn disk(home: &Path) -> DoctorFinding {
    // If the home does not exist yet, it will be on the disk of its nearest existing parent.
    let there = home.ancestors().find(|dir| dir.exists()).unwrap_or(home);
    let free = rustix::fs::statvfs(there).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    let todo = "free some space; on a full disk bethink can still read, but refuses writes";
    match free {
        Ok(free) if free < NO_SPACE => fail("disk", format!("{} free", bytes(free)), todo),
        Ok(free) if free < LITTLE_SPACE => warn("disk", format!("{} free", bytes(free)), todo),
        Ok(free) => ok("disk", format!("{} free", bytes(free))),
        Err(error) => {
            warn("disk", format!("unknown: {error}"), format!("check {}", home.display()))
        }
    }
}

/// Reports what a crash left behind, and a log that is too large.
fn unclean(app: &CliApp, running: bool) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    if let Some(file) = app.places.daemon().filter(|_| !running) {
        findings.push(warn(
            "leftover",
            format!(
                "`daemon.json` names process {}, which does not answer: the daemon is hanging or did not stop cleanly",
                file.pid
            ),
            "nothing is lost: if this process is a hanging `bethinkd`, end it, then run `bethink up`; `bethink logs` shows what happened",
        ));
    }
    for (name, path, size) in files(app.places.home.path()) {
        if ["damaged", "corrupt", "aside"].iter().any(|word| name.contains(word)) {
            findings.push(warn(
                "leftover",
                format!("{} is a copy of a damaged database ({})", path.display(), bytes(size)),
                "intact data was recovered; delete the copy if nothing is missing",
            ));
        }
    }
    let log = app.places.home.log_file();
    let size = log.metadata().map_or(0, |metadata| metadata.len());
    if size > LARGE_LOG {
        let found = format!("{} is {}", log.display(), bytes(size));
        findings.push(warn("log", found, format!("run `truncate -s 0 {}`", log.display())));
    }
    findings
}

#[cfg(test)]
mod tests {
    use bethink_api::{ModelKey, ModelProblem, ModelProvider};

    use super::*;

    #[test]
    fn a_model_is_judged_by_its_state() {
        let state = |state, present| ModelState {
            provider: ModelProvider::Anthropic,
            state,
            detail: (state != ModelReadiness::Ready).then(|| "why".to_owned()),
            key: Some(ModelKey { from: "A_KEY".into(), present }),
            problems: vec![ModelProblem { found: "f".into(), todo: "t".into() }],
            ..ModelState::default()
        };
        let judged = |state| -> Vec<_> {
            model(state).into_iter().map(|one| (one.check, one.verdict)).collect()
        };
        let (key, told) = (("key", Verdict::Ok), ("model", Verdict::Warn));
        assert_eq!(
            judged(state(ModelReadiness::Ready, Some(true))),
            [("model", Verdict::Ok), key, told]
        );
        assert_eq!(
            judged(state(ModelReadiness::NoKey, Some(false))),
            [("model", Verdict::Ok), told]
        );
        assert_eq!(
            judged(state(ModelReadiness::Broken, None)),
            [("model", Verdict::Fail), key, told]
        );
        assert_eq!(
            judged(state(ModelReadiness::Resting, Some(true))),
            [("model", Verdict::Warn), key, told]
        );
        let off = ModelState { problems: vec![], ..state(ModelReadiness::Off, None) };
        assert_eq!(judged(off), [("model", Verdict::Ok)]);
    }

    #[test]
    fn the_error_of_the_last_start_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path());
        let logged = |text: &str| {
            std::fs::write(home.log_file(), text).unwrap();
            last_error(&home)
        };
        assert_eq!(last_error(&home), None);
        assert_eq!(logged("INFO stopped\n"), None);
        assert_eq!(logged("bethinkd: no disk\nINFO stopped\n"), None);
        assert_eq!(logged("INFO x\nbethinkd: no disk: why\n").as_deref(), Some("no disk: why"));
        // A daemon has started since.
        std::fs::write(home.daemon_file_draft(), "").unwrap();
        let log = std::fs::File::options().write(true).open(home.log_file()).unwrap();
        log.set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(last_error(&home), None);
    }

    #[test]
    fn modes_are_judged() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        assert_eq!(token(&file).verdict, Verdict::Ok);
        std::fs::write(&file, "t").unwrap();
        let judged = |mode| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            token(&file).verdict
        };
        assert_eq!((judged(0o600), judged(0o640)), (Verdict::Ok, Verdict::Fail));
        assert_eq!(home(&file).verdict, Verdict::Fail);
        assert_eq!(home(&dir.path().join("none")).verdict, Verdict::Ok);
    }
}
