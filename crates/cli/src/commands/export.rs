//! `bethink export`: writes a session as JSONL, to stdout or to a file.

use std::io::Write;
use std::path::{Path, PathBuf};

use bethink_client::Bytes;
use bethink_terminal::words;
use serde_json::json;

use crate::app::CliApp;
use crate::failure::{CliFailure, Done};

pub(crate) async fn export(app: &mut CliApp, which: Option<&str>, file: Option<&Path>) -> Done {
    let (client, session) = app.client_and_session(which).await?;
    let mut bytes = client.export(session.id).await?;
    let Some(file) = file else {
        while let Some(chunk) = bytes.next().await? {
            app.screen.jsonl(&chunk)?;
        }
        return Ok(app.screen.settle()?);
    };
    let written = write(file, &mut bytes).await?;
    if app.screen.json {
        let told = json!({ "session_id": session.id, "file": file, "bytes": written });
        return Ok(app.screen.value(&told)?);
    }
    Ok(app.screen.note(format!("wrote {} to {}", words::bytes(written), file.display()))?)
}

/// Writes to a temporary file and renames it when it is complete, so that an interrupted export leaves no partial file.
async fn write(file: &Path, bytes: &mut Bytes) -> Result<u64, CliFailure> {
    let failed = |error: std::io::Error| CliFailure::file("write", file, &error);
    let dir = match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut temporary = tempfile::NamedTempFile::new_in(&dir).map_err(failed)?;
    let mut written = 0;
    while let Some(chunk) = bytes.next().await? {
        temporary.write_all(&chunk).map_err(failed)?;
        written += chunk.len() as u64;
    }
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(file).map_err(|error| failed(error.error))?;
    Ok(written)
}
