//! Runs `bethinkd store`; only `bethinkd` contains the database drivers.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;

use bethink_api::{CopyProgress, StoreLine, StoreOutcome};
use bethink_client::StartError;

use crate::failure::CliFailure;

/// Number of bytes of the error output that are shown.
const GLIMPSE: usize = 2_000;

/// Runs the program until it has printed its result. It ends when this program ends.
pub(super) fn run_to_end(
    command: &mut Command,
    progress: &mut dyn FnMut(CopyProgress),
) -> Result<StoreOutcome, CliFailure> {
    let path = command.get_program().to_owned();
    let failed = |source| StartError::Spawn { path: path.clone().into(), source };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    // `bethinkd` ends when this end of the pipe is closed, even if that is because this process was killed.
    let stdin = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let printing = thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is shown, too.
        let _read = stderr.map(|mut stderr| stderr.read_to_end(&mut bytes));
        bytes
    });
    let mut outcome = None;
    let lines = stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines());
    for line in lines.map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(StoreLine::Progress(step)) => progress(step),
            Ok(StoreLine::Ended(ended)) => outcome = Some(ended),
            // Another version may print other lines.
            Err(_) => {}
        }
    }
    let status = child.wait().map_err(failed)?;
    drop(stdin);
    let printed = printing.join().unwrap_or_default();
    let printed = String::from_utf8_lossy(&printed[printed.len().saturating_sub(GLIMPSE)..]);
    outcome.ok_or_else(|| {
        let path = path.display();
        CliFailure::hinted(
            format!("could not get a result from {path}: it ended early ({status})\n{printed}").trim_end(),
            "`bethink` and `bethinkd` must have the same version; if they do, run the same command again",
        )
    })
}
