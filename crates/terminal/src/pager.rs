//! Shows output that is longer than the screen in the user's pager.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Options of `less` unless `$LESS` is set: quit if the text fits, show colours, leave the text on the screen.
const LESS: &str = "FRX";

/// Returns `$PAGER`, else `less`. `None` if the user wants no pager.
pub(crate) fn command(lookup: impl Fn(&str) -> Option<String>) -> Option<String> {
    match lookup("PAGER") {
        None => Some("less".to_owned()),
        Some(pager) => Some(pager).filter(|pager| !matches!(pager.trim(), "" | "cat")),
    }
}

/// Shows `text` in the pager and waits until the user closes it. An error means that the pager did not run.
pub(crate) fn show(pager: &str, text: &[u8]) -> io::Result<()> {
    let mut command = command_of(pager);
    command.stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // The user may close the pager before it has read everything.
        let _unread = input.write_all(text);
    }
    // The shell's exit codes if it cannot run the program.
    const NOT_RUN: [i32; 2] = [126, 127];
    match child.wait()?.code() {
        Some(code) if NOT_RUN.contains(&code) => Err(io::ErrorKind::NotFound.into()),
        _ => Ok(()),
    }
}

/// Returns a command that runs the pager directly if `pager` is just a program with arguments, and otherwise in a
/// shell. Ctrl-C ends a shell, but a pager may handle Ctrl-C itself and keep running, so this program must wait for the
/// pager.
fn command_of(pager: &str) -> Command {
    let is_plain = |c: char| c.is_alphanumeric() || " /._-+".contains(c);
    let mut words = pager.split_whitespace();
    match words.next().filter(|_| pager.chars().all(is_plain)) {
        Some(program) => {
            let mut command = Command::new(program);
            command.args(words);
            command
        }
        None => {
            let mut shell = Command::new("sh");
            shell.args(["-c", pager]);
            shell
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_chooses_the_pager() {
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
        assert!(show("/no/such/pager", b"text").is_err());
        let program = |pager: &str| command_of(pager).get_program().to_owned();
        assert_eq!((program("more -s"), program("LESS=R less")), ("more".into(), "sh".into()));
    }
}
