//! The one way to the terminal.
//!
//! Whatever a command prints goes through [`Screen`], which escapes it; nothing else writes to
//! stdout or stderr. Colour, width and motion are decided here from what the terminal can do.

pub(crate) mod escape;
pub(crate) mod progress;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod words;

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use escape::Lines;
pub(crate) use table::{Align, Table};
pub(crate) use text::{Text, Tone, wrapped};

/// Columns where nothing tells: what old terminals and many a pager have.
const DEFAULT_WIDTH: usize = 80;
/// Narrower than this nothing lines up any more; wider than this nobody reads a line.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=160;

/// What the terminal can do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) colour: bool,
    pub(crate) width: usize,
    /// Somebody is watching stdout, so that lines may move and things may take their time.
    pub(crate) live: bool,
    /// Progress bars may be drawn on stderr.
    pub(crate) progress: bool,
}

impl Look {
    /// Reads `NO_COLOR`, `CLICOLOR_FORCE`, `TERM` and `COLUMNS`, and asks the terminal itself.
    pub(crate) fn of_terminal(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let live = io::stdout().is_terminal();
        let dumb = set("TERM").is_some_and(|term| term == "dumb");
        let forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let colour = set("NO_COLOR").is_none() && (forced || (live && !dumb));
        let asked = rustix::termios::tcgetwinsize(io::stdout()).ok();
        let width = set("COLUMNS")
            .and_then(|columns| columns.parse().ok())
            .or_else(|| asked.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0))
            .unwrap_or(DEFAULT_WIDTH)
            .clamp(*WIDTHS.start(), *WIDTHS.end());
        let progress = io::stderr().is_terminal() && !dumb;
        Self { colour, width, live: live && !dumb, progress }
    }
}

/// Stdout and stderr of this program.
pub(crate) struct Screen {
    pub(crate) look: Look,
    /// One JSON value instead of words.
    pub(crate) json: bool,
    /// Only what was asked for.
    pub(crate) quiet: bool,
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// A live line stands on the terminal and has to go before anything else is printed.
    moving: bool,
}

impl Screen {
    pub(crate) fn new(look: Look, json: bool, quiet: bool) -> Self {
        let (out, err) = (Box::new(io::stdout()), Box::new(io::stderr()));
        Self { look, json, quiet, out, err, moving: false }
    }

    /// One line. Line feeds in it are shown, not obeyed.
    pub(crate) fn line(&mut self, text: impl Into<Text>) -> io::Result<()> {
        self.print(&text.into(), Lines::One)
    }

    /// Text of several lines.
    pub(crate) fn block(&mut self, text: impl Into<Text>) -> io::Result<()> {
        self.print(&text.into(), Lines::Many)
    }

    pub(crate) fn lines(&mut self, lines: impl IntoIterator<Item = Text>) -> io::Result<()> {
        lines.into_iter().try_for_each(|line| self.line(line))
    }

    pub(crate) fn gap(&mut self) -> io::Result<()> {
        self.line("")
    }

    /// What helps a person and no script: left out when quiet, and never on stdout.
    pub(crate) fn note(&mut self, text: impl Into<Text>) -> io::Result<()> {
        if self.quiet || self.json {
            return Ok(());
        }
        self.complain(text)
    }

    /// What went wrong, on stderr.
    pub(crate) fn complain(&mut self, text: impl Into<Text>) -> io::Result<()> {
        self.settle()?;
        writeln!(self.err, "{}", text.into().render(Lines::Many, self.look.colour))
    }

    /// A JSON value: readable on a terminal, one line elsewhere.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = match self.look.live {
            true => serde_json::to_string_pretty(value)?,
            false => serde_json::to_string(value)?,
        };
        writeln!(self.out, "{}", escape::json(&text))
    }

    /// A JSON value as one line of many.
    pub(crate) fn record(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value)?;
        writeln!(self.out, "{}", escape::json(&text))?;
        self.out.flush()
    }

    pub(crate) fn value_on_stderr(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value)?;
        writeln!(self.err, "{}", escape::json(&text))
    }

    /// JSON lines for another program, byte for byte; on a terminal made harmless.
    pub(crate) fn jsonl(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.look.live {
            true => {
                let text = String::from_utf8_lossy(bytes);
                let safe: Vec<_> =
                    text.split('\n').map(|line| escape::json(line).into_owned()).collect();
                let shown = escape::visible(&safe.join("\n"), Lines::Many).into_owned();
                self.out.write_all(shown.as_bytes())
            }
            false => self.out.write_all(bytes),
        }
    }

    /// A line that the next one replaces. Nothing where nobody watches.
    pub(crate) fn live(&mut self, text: &Text) -> io::Result<()> {
        if !self.look.live || self.quiet || self.json {
            return Ok(());
        }
        let shown = text.clone().fitted(self.look.width - 1).render(Lines::One, self.look.colour);
        self.moving = true;
        write!(self.out, "\r\x1b[2K{shown}")?;
        self.out.flush()
    }

    /// Takes the live line away.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.moving) {
            write!(self.out, "\r\x1b[2K")?;
        }
        self.out.flush()
    }

    fn print(&mut self, text: &Text, lines: Lines) -> io::Result<()> {
        self.settle()?;
        writeln!(self.out, "{}", text.render(lines, self.look.colour))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Rc<RefCell<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const HOSTILE: &str = "\x1b]52;c;eA==\x07\u{9b}2J\u{202e}\x1b[31m\x08\x00\u{200b}";

    fn printed(live: bool, act: impl FnOnce(&mut Screen) -> io::Result<()>) -> String {
        let shared = Shared::default();
        let look = Look { colour: false, width: 80, live, progress: false };
        let (out, err) = (Box::new(shared.clone()), Box::new(shared.clone()));
        let mut screen = Screen { look, json: false, quiet: false, out, err, moving: false };
        act(&mut screen).unwrap();
        drop(screen);
        String::from_utf8(shared.0.take()).unwrap()
    }

    #[test]
    fn every_way_out_makes_hostile_text_harmless() {
        type Act = Box<dyn FnOnce(&mut Screen) -> io::Result<()>>;
        let ways: Vec<Act> = vec![
            Box::new(|screen| screen.line(HOSTILE)),
            Box::new(|screen| screen.block(HOSTILE)),
            Box::new(|screen| screen.note(HOSTILE)),
            Box::new(|screen| screen.complain(HOSTILE)),
            Box::new(|screen| screen.value(&HOSTILE)),
            Box::new(|screen| screen.record(&HOSTILE)),
            Box::new(|screen| screen.value_on_stderr(&HOSTILE)),
            Box::new(|screen| screen.jsonl(HOSTILE.as_bytes())),
        ];
        for (i, way) in ways.into_iter().enumerate() {
            let shown = printed(true, way);
            assert!(!shown.trim_end_matches('\n').chars().any(char::is_control), "{i}: {shown:?}");
            assert!(!shown.contains('\u{202e}') && !shown.contains('\u{200b}'), "{i}: {shown:?}");
        }
        let live = printed(true, |screen| screen.live(&HOSTILE.into()));
        assert_eq!(live.matches('\x1b').count(), 1, "only our own clear-line: {live:?}");
    }

    #[test]
    fn another_program_gets_the_bytes_as_they_are() {
        assert_eq!(printed(false, |screen| screen.jsonl("\u{85}\n".as_bytes())), "\u{85}\n");
    }
}
