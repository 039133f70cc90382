//! Progress of long work, on stderr if it is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::escape::{LineMode, visible};
use crate::screen::Screen;

/// Maximum length of the label, in characters.
const LABEL: usize = 16;

/// A progress bar that disappears when the work is done.
#[derive(Debug)]
pub struct ProgressLine(ProgressBar);

impl ProgressLine {
    /// Creates a bar, which is hidden with `--quiet`, with `--json`, and if stderr is not a terminal.
    pub fn new(screen: &Screen, label: &str) -> Self {
        let shown = screen.look.progress && !screen.is_terse();
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        // It fits the narrowest terminal: a bar that wraps would be drawn twice.
        let template = " {prefix}  {bar:24}  {percent:>3}%  {msg} ";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("█▌░"));
        }
        let label: String = label.chars().take(LABEL).collect();
        bar.set_prefix(visible(&label, LineMode::One).into_owned());
        Self(bar)
    }

    /// Shows a short text next to the bar.
    pub fn say(&self, words: &str) {
        self.0.set_message(visible(words, LineMode::One).into_owned());
    }

    pub fn at(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done.min(total));
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
