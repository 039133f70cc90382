//! The nine sections of a summary.

/// The sections of every summary, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Request,
    Concepts,
    Files,
    Errors,
    Solving,
    UserMessages,
    Pending,
    Current,
    Next,
}

impl Section {
    pub const ALL: [Section; 9] = {
        use Section::*;
        [Request, Concepts, Files, Errors, Solving, UserMessages, Pending, Current, Next]
    };

    pub fn heading(self) -> &'static str {
        SECTIONS[self as usize].0
    }

    /// Returns the heading without its marks and number.
    pub fn name(self) -> &'static str {
        self.heading().split_once(". ").map_or_else(|| self.heading(), |(_, name)| name)
    }

    pub(crate) fn share(self) -> usize {
        SECTIONS[self as usize].1
    }
}

/// The heading of each section, and the maximum percentage of the budget that it gets. Files and problem solving share the
/// remainder, more than half: in recorded sessions, names are what the following work uses most.
const SECTIONS: [(&str, usize); 9] = [
    ("## 1. Primary Request and Intent", 8),
    ("## 2. Key Technical Concepts", 6),
    ("## 3. Files and Code Sections", 0),
    ("## 4. Errors and Fixes", 8),
    ("## 5. Problem Solving", 0),
    ("## 6. All User Messages", 0),
    ("## 7. Pending Tasks", 6),
    ("## 8. Current Work", 10),
    ("## 9. Optional Next Step", 3),
];

/// Whether all nine headings are present, in order, with some text under them.
pub fn well_formed(summary: &str) -> bool {
    let mut rest = summary;
    let complete = Section::ALL.iter().all(|section| match rest.find(section.heading()) {
        Some(place) => {
            rest = &rest[place..];
            true
        }
        None => false,
    });
    let headings: usize = Section::ALL.iter().map(|s| s.heading().len() + 1).sum();
    complete && summary.len() > headings + 40
}
