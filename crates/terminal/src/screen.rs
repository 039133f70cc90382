//! Stdout and stderr. Whatever is printed goes through [`Screen`], which escapes it; colour, width and motion are
//! decided here from what the terminal can do.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::escape::{self, LineMode};
use crate::text::{StyledText, paragraphs};

/// Columns where nothing tells: what old terminals and most pagers have.
const DEFAULT_WIDTH: usize = 80;
/// Narrower than this nothing lines up any more; wider than this nobody reads a line.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=160;

/// What the terminal can do.
#[derive(Clone, Copy, Debug)]
pub struct TerminalLook {
    pub colour: bool,
    pub width: usize,
    /// Somebody is watching stdout, so that lines may move and things may take their time.
    pub live: bool,
    /// Progress bars may be drawn on stderr.
    pub progress: bool,
}

impl TerminalLook {
    /// Reads `NO_COLOR`, `CLICOLOR_FORCE`, `TERM` and `COLUMNS`, and asks the terminal itself.
    pub fn of_terminal(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let live = io::stdout().is_terminal();
        let dumb = set("TERM").is_some_and(|term| term == "dumb");
        let forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let colour = set("NO_COLOR").is_none() && (forced || (live && !dumb));
        let asked = rustix::termios::tcgetwinsize(io::stdout()).ok();
        let asked = asked.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0);
        let width = set("COLUMNS").and_then(|columns| columns.parse().ok()).or(asked);
        let width = width.unwrap_or(DEFAULT_WIDTH).clamp(*WIDTHS.start(), *WIDTHS.end());
        let progress = io::stderr().is_terminal() && !dumb;
        Self { colour, width, live: live && !dumb, progress }
    }
}

/// Stdout and stderr of this program.
pub struct Screen {
    pub look: TerminalLook,
    /// One JSON value instead of words.
    pub json: bool,
    /// Only what was asked for.
    pub quiet: bool,
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// A live line stands on the terminal and has to go before anything else is printed.
    moving: bool,
}

impl Screen {
    pub fn new(look: TerminalLook, json: bool, quiet: bool) -> Self {
        let (out, err) = (Box::new(io::stdout()), Box::new(io::stderr()));
        Self { look, json, quiet, out, err, moving: false }
    }

    /// Only what was asked for is printed: no hint, and nothing that moves.
    pub fn is_terse(&self) -> bool {
        self.quiet || self.json
    }

    /// One line. Line feeds in it are shown, not obeyed.
    pub fn line(&mut self, text: impl Into<StyledText>) -> io::Result<()> {
        self.print(&text.into(), LineMode::One)
    }

    /// Text of several lines.
    pub fn block(&mut self, text: impl Into<StyledText>) -> io::Result<()> {
        self.print(&text.into(), LineMode::Many)
    }

    /// As it is for another program; for a reader broken between words.
    pub fn prose(&mut self, text: &str) -> io::Result<()> {
        match self.look.live {
            true => self.block(paragraphs(text, self.look.width)),
            false => self.block(text),
        }
    }

    pub fn lines(&mut self, lines: impl IntoIterator<Item = StyledText>) -> io::Result<()> {
        lines.into_iter().try_for_each(|line| self.line(line))
    }

    pub fn gap(&mut self) -> io::Result<()> {
        self.line("")
    }

    /// The screen where words are wanted; where JSON is, the value is printed and there is no more to say.
    pub fn unless_json(&mut self, value: &impl Serialize) -> io::Result<Option<&mut Self>> {
        match self.json {
            true => self.value(value).map(|()| None),
            false => Ok(Some(self)),
        }
    }

    /// What helps a person and no script: left out when quiet, and never on stdout.
    pub fn note(&mut self, text: impl Into<StyledText>) -> io::Result<()> {
        if self.is_terse() { Ok(()) } else { self.complain(text) }
    }

    /// A note in the background.
    pub fn hint(&mut self, text: impl Into<String>) -> io::Result<()> {
        self.note(StyledText::new().dim(text))
    }

    /// What went wrong, on stderr.
    pub fn complain(&mut self, text: impl Into<StyledText>) -> io::Result<()> {
        self.settle()?;
        writeln!(self.err, "{}", text.into().render(LineMode::Many, self.look.colour))
    }

    /// A JSON value: readable on a terminal, one line elsewhere.
    pub fn value(&mut self, value: &impl Serialize) -> io::Result<()> {
        match self.look.live {
            true => {
                writeln!(self.out, "{}", escape::json(&serde_json::to_string_pretty(value)?))
            }
            false => json_line(&mut self.out, value),
        }
    }

    /// A JSON value as one line of many.
    pub fn record(&mut self, value: &impl Serialize) -> io::Result<()> {
        json_line(&mut self.out, value)?;
        self.out.flush()
    }

    pub fn value_on_stderr(&mut self, value: &impl Serialize) -> io::Result<()> {
        json_line(&mut self.err, value)
    }

    /// JSON lines for another program, byte for byte; on a terminal made harmless.
    pub fn jsonl(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.look.live {
            return self.out.write_all(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        // Line feeds are no characters that `json` escapes.
        let shown = escape::visible(&escape::json(&text), LineMode::Many).into_owned();
        self.out.write_all(shown.as_bytes())
    }

    /// A line that the next one replaces. Nothing where nobody watches.
    pub fn live(&mut self, text: &StyledText) -> io::Result<()> {
        if !self.look.live || self.is_terse() {
            return Ok(());
        }
        let shown =
            text.clone().fitted(self.look.width - 1).render(LineMode::One, self.look.colour);
        self.moving = true;
        write!(self.out, "\r\x1b[2K{shown}")?;
        self.out.flush()
    }

    /// Takes the live line away.
    pub fn settle(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.moving) {
            write!(self.out, "\r\x1b[2K")?;
        }
        self.out.flush()
    }

    fn print(&mut self, text: &StyledText, lines: LineMode) -> io::Result<()> {
        self.settle()?;
        writeln!(self.out, "{}", text.render(lines, self.look.colour))
    }
}

fn json_line(to: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(to, "{}", escape::json(&serde_json::to_string(value)?))
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("look", &self.look).finish_non_exhaustive()
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
        let look = TerminalLook { colour: false, width: 80, live, progress: false };
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
