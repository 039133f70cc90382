//! What the daemon does when another program has taken the home's port: it uses another port and another token.
//!
//! Clients that ask for a proof have not sent anything to that program. But an agent that uses the gateway sends the
//! capability (the secret in its gateway URL) without asking for a proof, and other clients may send the token, so that
//! program may have received both. Replacing them causes no extra work: every client that has a copy of them also has the
//! old port, and must be set up again anyway.

use std::io;

use bethink_config::Home;
use bethink_service::private_file;

use crate::current_token::CurrentToken;

/// Replaces the token, and notes the move for `bethink doctor`.
pub(crate) fn moved(home: &Home, token: &CurrentToken, from: u16, to: u16) -> io::Result<()> {
    token.rotate().map_err(io::Error::other)?;
    tracing::warn!(
        from,
        to,
        "another program uses this home's port; the daemon moved to another port and replaced its token"
    );
    let note = format!(
        "another program uses port {from}, which this home's daemon used before; the daemon moved to port {to} and replaced its token\n"
    );
    private_file::replace(&home.moved_note(), note.as_bytes())
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn a_move_replaces_the_token_and_is_noted() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path());
        let token = CurrentToken::of(home.clone(), CancellationToken::new()).unwrap();
        let old = token.get();
        moved(&home, &token, 4747, 4748).unwrap();
        assert!(!token.get().is(old.expose().as_bytes()));
        let note = std::fs::read_to_string(home.moved_note()).unwrap();
        assert!(note.contains("4747") && note.contains("4748"), "{note}");
    }
}
