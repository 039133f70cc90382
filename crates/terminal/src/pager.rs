//! Output that is longer than the screen, shown in the reader's pager.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// How `less` behaves unless `$LESS` says otherwise: quit if it fits, show colours, leave the text on the screen.
const LESS: &str = "FRX";

/// `$PAGER`, else `less`. `None` where the reader wants none.
pub(crate) fn command(lookup: impl Fn(&str) -> Option<String>) -> Option<String> {
    match lookup("PAGER") {
        None => Some("less".to_owned()),
        Some(pager) => Some(pager).filter(|pager| !matches!(pager.trim(), "" | "cat")),
    }
}

/// Shows `text` in the pager and waits until the reader closes it. An error means that the pager did not run.
pub(crate) fn show(pager: &str, text: &[u8]) -> io::Result<()> {
    let mut shell = Command::new("sh");
    shell.args(["-c", pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        shell.env("LESS", LESS);
    }
    let mut child = shell.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A reader who closes the pager early has seen enough.
        let _unread = input.write_all(text);
    }
    // What the shell says when there is no such program.
    const NOT_RUN: [i32; 2] = [126, 127];
    match child.wait()?.code() {
        Some(code) if NOT_RUN.contains(&code) => Err(io::ErrorKind::NotFound.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reader_chooses_the_pager() {
        let chosen = |pager: Option<&str>| command(|_| pager.map(str::to_owned));
        assert_eq!(chosen(None).as_deref(), Some("less"));
        assert_eq!(chosen(Some("more -s")).as_deref(), Some("more -s"));
        assert_eq!((chosen(Some("")), chosen(Some("cat"))), (None, None));
    }

    #[test]
    fn a_pager_that_does_not_exist_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("shown");
        show(&format!("cat > {}", file.display()), b"text").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"text");
        assert!(show("/no/such/pager 2>&-", b"text").is_err());
    }
}
