//! Readers of other programs' files, and what is printed on a terminal.

use std::path::PathBuf;

use bethink_install::{ClientPlaces, InstallAgent, InstallRequest, files, unified_diff};
use bethink_terminal::{StyledText, Tone};

/// Width of a terminal, in columns.
const COLUMNS: usize = 80;

pub(super) fn settings(text: &str) {
    let places = ClientPlaces {
        person: PathBuf::from("/h"),
        config: PathBuf::from("/h/.config"),
        ..ClientPlaces::default()
    };
    let wanted = InstallRequest { program: "/bin/bethink".to_owned(), ..InstallRequest::default() };
    // One agent has settings in JSON, the other in TOML.
    for agent in [InstallAgent::ClaudeCode, InstallAgent::Codex] {
        for file in files(agent, &places, &wanted).iter().take(1) {
            // This puts our entries in and takes them out.
            let _ = file.state(Some(text));
        }
    }
    let _ = unified_diff("a", Some(text), Some("b"));
}

pub(super) fn escapes(text: &str) {
    let styled = || StyledText::new().put(Tone::Plain, text);
    let _ = styled().fitted(COLUMNS);
    let _ = styled().width();
}

pub(super) fn lines(text: &str) {
    let _ = StyledText::new().put(Tone::Plain, text).wrapped(COLUMNS, 2);
}

pub(super) fn paragraphs(text: &str) {
    let _ = bethink_terminal::wrapped(text, COLUMNS);
    let _ = bethink_terminal::paragraphs(text, COLUMNS);
    let _ = bethink_terminal::hanging(&StyledText::new(), Tone::Plain, text, COLUMNS);
}
