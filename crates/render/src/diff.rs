//! A unified diff in colours.

use bethink_terminal::{StyledText, Tone};

pub fn diff(text: &str) -> Vec<StyledText> {
    text.lines().map(|line| StyledText::new().put(tone(line), line)).collect()
}

fn tone(line: &str) -> Tone {
    match line.as_bytes() {
        [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => Tone::Strong,
        [b'@', b'@', ..] => Tone::Accent,
        [b'-', ..] => Tone::Bad,
        [b'+', ..] => Tone::Good,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_its_tones() {
        let diff = "--- a/one.md\n+++ b/one.md\n@@ -1 +1 @@\n-old\n+new\n";
        let tones: Vec<Tone> = diff.lines().map(tone).collect();
        assert_eq!(tones, [Tone::Strong, Tone::Strong, Tone::Accent, Tone::Bad, Tone::Good]);
    }
}
