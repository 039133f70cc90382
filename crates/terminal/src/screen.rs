//! Stdout and stderr. Everything is printed through [`Screen`], which escapes it. Colour, width, moving lines and the
//! pager depend on what the terminal can do.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::escape::{self, LineMode};
use crate::pager;
use crate::text::{StyledText, paragraphs};

/// Number of columns and lines if the terminal does not report them: the size of old terminals.
const DEFAULT_WIDTH: usize = 80;
const DEFAULT_HEIGHT: usize = 24;
/// Range of widths to use. In a narrower terminal, columns cannot line up; longer lines are hard to read.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=160;

/// What the terminal can do.
#[derive(Clone, Copy, Debug)]
pub struct TerminalLook {
    pub colour: bool,
    pub width: usize,
    pub height: usize,
    /// Whether stdout is a terminal. On a terminal, lines are wrapped, and progress may be animated.
    pub live: bool,
    /// Whether stderr is a terminal, so that progress bars are drawn and notes are wrapped.
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
        let size = rustix::termios::tcgetwinsize(io::stdout())
            .or_else(|_| rustix::termios::tcgetwinsize(io::stderr()))
            .ok();
        let known = |cells: u16| Some(usize::from(cells)).filter(|&cells| cells > 0);
        let width = set("COLUMNS").and_then(|columns| columns.parse().ok());
        let width = width.or(size.and_then(|size| known(size.ws_col))).unwrap_or(DEFAULT_WIDTH);
        let width = width.clamp(*WIDTHS.start(), *WIDTHS.end());
        let height = size.and_then(|size| known(size.ws_row)).unwrap_or(DEFAULT_HEIGHT);
        let progress = io::stderr().is_terminal() && !dumb;
        Self { colour, width, height, live: live && !dumb, progress }
    }

    /// Returns the settings for output of this width that does not go to a terminal.
    pub const fn plain(width: usize) -> Self {
        Self { colour: false, width, height: DEFAULT_HEIGHT, live: false, progress: false }
    }
}

/// Output that is held back, because it may go to a pager.
#[derive(Default)]
struct HeldOutput {
    out: Vec<u8>,
    err: Vec<u8>,
}

/// Stdout and stderr of this program.
pub struct Screen {
    pub look: TerminalLook,
    /// Print one JSON value instead of text.
    pub json: bool,
    /// Print only the result.
    pub quiet: bool,
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    held: Option<HeldOutput>,
    /// Whether the terminal shows a live line, which must be cleared before anything else is printed.
    moving: bool,
}

impl Screen {
    pub fn new(look: TerminalLook, json: bool, quiet: bool) -> Self {
        let (out, err) = (Box::new(io::stdout()), Box::new(io::stderr()));
        Self { look, json, quiet, out, err, held: None, moving: false }
    }

    /// On a terminal, holds back all output from now on, so that [`Screen::release`] can show it in a pager if it is long.
    pub fn hold(&mut self) {
        if self.look.live {
            self.held = Some(HeldOutput::default());
        }
    }

    /// Prints the output that was held back, in the pager if it is longer than the screen, and then the notes.
    pub fn release(&mut self, lookup: impl Fn(&str) -> Option<String>) -> io::Result<()> {
        let Some(HeldOutput { out, err }) = self.held.take() else { return Ok(()) };
        let lines = out.iter().filter(|&&byte| byte == b'\n').count();
        let pager = pager::command(lookup).filter(|_| lines > self.look.height);
        if pager.is_none_or(|pager| pager::show(&pager, &out).is_err()) {
            self.out.write_all(&out)?;
        }
        self.out.flush()?;
        self.err.write_all(&err)
    }

    /// Returns whether only the result is printed: no hints, and no moving lines.
    pub fn is_terse(&self) -> bool {
        self.quiet || self.json
    }

    /// Prints one line. Line feeds in it are shown as symbols.
    pub fn line(&mut self, text: impl Into<StyledText>) -> io::Result<()> {
        self.print(&text.into(), LineMode::One)
    }

    /// Prints text of several lines.
    pub fn block(&mut self, text: impl Into<StyledText>) -> io::Result<()> {
        self.print(&text.into(), LineMode::Many)
    }

    /// Prints text of several lines: wrapped on a terminal, unchanged for another program.
    pub fn prose(&mut self, text: &str) -> io::Result<()> {
        match self.look.live {
            true => self.block(paragraphs(text, self.look.width)),
            false => self.block(text),
        }
    }

    /// Prints one line, wrapped between words on a terminal. Later lines are indented by `indent` columns.
    pub fn flowing(&mut self, text: impl Into<StyledText>, indent: usize) -> io::Result<()> {
        match self.look.live {
            true => self.lines(text.into().on_one_line().wrapped(self.look.width, indent)),
            false => self.line(text),
        }
    }

    pub fn lines(&mut self, lines: impl IntoIterator<Item = StyledText>) -> io::Result<()> {
        lines.into_iter().try_for_each(|line| self.line(line))
    }

    pub fn gap(&mut self) -> io::Result<()> {
        self.line("")
    }

    /// Prints the value and returns `None` with `--json`; otherwise returns the screen to print text on.
    pub fn unless_json(&mut self, value: &impl Serialize) -> io::Result<Option<&mut Self>> {
        match self.json {
            true => self.value(value).map(|()| None),
            false => Ok(Some(self)),
        }
    }

    /// Prints a note for people, not for scripts: on stderr, and not with `--quiet` or `--json`.
    pub fn note(&mut self, text: impl Into<StyledText>) -> io::Result<()> {
        if self.is_terse() { Ok(()) } else { self.complain(text) }
    }

    pub fn hint(&mut self, text: impl Into<String>) -> io::Result<()> {
        self.note(StyledText::new().dim(text))
    }

    /// Prints an error or a note on stderr.
    pub fn complain(&mut self, text: impl Into<StyledText>) -> io::Result<()> {
        self.explain(StyledText::new(), text)
    }

    /// Prints a question on stderr, which is answered on the same line.
    pub fn ask(&mut self, question: &str) -> io::Result<()> {
        self.settle()?;
        write!(self.err(), "{} ", escape::visible(question, LineMode::One))?;
        self.err().flush()
    }

    /// Prints an error or a note after a label such as `error: `. On a terminal, later lines are indented below the
    /// text.
    pub fn explain(&mut self, label: StyledText, text: impl Into<StyledText>) -> io::Result<()> {
        let settled = self.settle();
        // After another failure, such as a full disk, the reader learns why the output is incomplete.
        if settled.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            return settled;
        }
        let (indent, text) = (label.width(), label.then(text.into()));
        let lines = match self.look.progress {
            true => text.wrapped(self.look.width, indent),
            false => vec![text],
        };
        let colour = self.look.colour;
        lines
            .iter()
            .try_for_each(|line| writeln!(self.err(), "{}", line.render(LineMode::Many, colour)))?;
        settled
    }

    /// Prints a JSON value: indented on a terminal, else on one line.
    pub fn value(&mut self, value: &impl Serialize) -> io::Result<()> {
        match self.look.live {
            true => {
                let text = serde_json::to_string_pretty(value)?;
                writeln!(self.out(), "{}", escape::json(&text))
            }
            false => json_line(self.out(), value),
        }
    }

    /// Prints a JSON value as one of several lines.
    pub fn record(&mut self, value: &impl Serialize) -> io::Result<()> {
        json_line(self.out(), value)?;
        self.out().flush()
    }

    pub fn value_on_stderr(&mut self, value: &impl Serialize) -> io::Result<()> {
        json_line(self.err(), value)
    }

    /// Prints JSON lines: byte for byte for another program, escaped on a terminal.
    pub fn jsonl(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.look.live {
            return self.out().write_all(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        // `json` does not escape line feeds.
        let shown = escape::visible(&escape::json(&text), LineMode::Many).into_owned();
        self.out().write_all(shown.as_bytes())
    }

    /// Prints a line that the next one replaces. Prints nothing if stdout is not a terminal.
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

    /// Clears the live line.
    pub fn settle(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.moving) {
            write!(self.out, "\r\x1b[2K")?;
        }
        self.out.flush()
    }

    fn print(&mut self, text: &StyledText, lines: LineMode) -> io::Result<()> {
        self.settle()?;
        let text = text.render(lines, self.look.colour);
        writeln!(self.out(), "{text}")
    }

    fn out(&mut self) -> &mut dyn Write {
        match &mut self.held {
            Some(held) => &mut held.out,
            None => &mut *self.out,
        }
    }

    fn err(&mut self) -> &mut dyn Write {
        match &mut self.held {
            Some(held) => &mut held.err,
            None => &mut *self.err,
        }
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
    use crate::text::Tone;

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

    /// An output on a full disk, or one that nobody reads.
    struct Refusing(io::ErrorKind);

    impl Write for Refusing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn an_error_is_shown_although_the_output_failed() {
        for (kind, told) in
            [(io::ErrorKind::StorageFull, "error: full\n"), (io::ErrorKind::BrokenPipe, "")]
        {
            let shared = Shared::default();
            let (look, out) = (TerminalLook::plain(80), Box::new(Refusing(kind)));
            let (json, quiet, err) = (false, false, Box::new(shared.clone()));
            let mut screen = Screen { look, json, quiet, out, err, held: None, moving: false };
            assert_eq!(screen.explain("error: ".into(), "full").unwrap_err().kind(), kind);
            drop(screen);
            assert_eq!(String::from_utf8(shared.0.take()).unwrap(), told);
        }
    }

    fn printed(live: bool, act: impl FnOnce(&mut Screen) -> io::Result<()>) -> String {
        let shared = Shared::default();
        let look = TerminalLook { live, ..TerminalLook::plain(80) };
        let (out, err) = (Box::new(shared.clone()), Box::new(shared.clone()));
        let mut screen =
            Screen { look, json: false, quiet: false, out, err, held: None, moving: false };
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
            Box::new(|screen| screen.flowing(HOSTILE, 0)),
            Box::new(|screen| screen.note(HOSTILE)),
            Box::new(|screen| screen.complain(HOSTILE)),
            Box::new(|screen| screen.ask(HOSTILE)),
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
    fn wrapped_text_begins_no_line_of_its_own() {
        let shown = printed(true, |screen| screen.flowing("a\nremoved everything", 2));
        assert_eq!(shown, "a␊removed everything\n");
    }

    #[test]
    fn another_program_gets_the_bytes_as_they_are() {
        assert_eq!(printed(false, |screen| screen.jsonl("\u{85}\n".as_bytes())), "\u{85}\n");
    }

    #[test]
    fn notes_are_wrapped_at_words_below_their_label() {
        let said = printed(true, |screen| {
            screen.look = TerminalLook { progress: true, ..TerminalLook::plain(40) };
            let words = "`bethink session new` creates a session in this project";
            screen.explain(StyledText::new().put(Tone::Accent, " hint: "), words)
        });
        let expect = " hint: `bethink session new` creates a\n       session in this project\n";
        assert_eq!(said, expect);
    }

    #[test]
    fn long_output_goes_to_the_pager_and_notes_follow_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("paged");
        let pager = format!("cat > {}", file.display());
        let said = |lines: usize| {
            printed(true, |screen| {
                screen.hold();
                screen.note("a note")?;
                screen.lines((0..lines).map(|line| line.to_string().into()))?;
                screen.release(|_| Some(pager.clone()))
            })
        };
        assert_eq!(said(2), "0\n1\na note\n");
        assert!(!file.exists());
        assert_eq!(said(25), "a note\n");
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 25);
    }
}
