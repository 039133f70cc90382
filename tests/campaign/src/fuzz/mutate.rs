//! Mutates examples: damages bytes, moves spans, and repeats spans many times.

use bethink_harness::Rng;

/// Pieces of the formats that are parsed.
const WORDS: [&str; 40] = [
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "---\n",
    "```\n",
    "# ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "\\",
    "\\u",
    "\\ud800",
    "\\udc00\\ud83d",
    ",",
    ":",
    "null",
    "true",
    "-0",
    "1e999",
    "18446744073709551616",
    "\u{feff}",
    "\0",
    "\u{202e}",
    "\u{200b}",
    "İ",
    "ﬁ",
    "💥",
    "<!--",
    "-->",
    "](",
    "data:",
    "id:",
    "\t",
    "%2e",
    "!",
    "{\"type\":\"text\"}",
];
/// Maximum number of mutations of one input.
const MOST: usize = 6;
/// One input in this many has a span that is repeated many times.
const LONG: usize = 24;

/// Returns a mutated example, of at most `most` bytes.
pub(crate) fn mutated(rng: &mut Rng, examples: &[Vec<u8>], most: usize) -> Vec<u8> {
    let mut input = match examples.is_empty() {
        true => Vec::new(),
        false => rng.pick(examples).clone(),
    };
    for _ in 0..1 + rng.below(MOST) {
        mutate(rng, &mut input, examples);
    }
    if rng.one_in(LONG) {
        repeat(rng, &mut input, most);
    }
    input.truncate(most);
    input
}

fn mutate(rng: &mut Rng, input: &mut Vec<u8>, examples: &[Vec<u8>]) {
    let (from, to) = span(rng, input.len());
    match rng.below(9) {
        0 if !input.is_empty() => {
            let at = rng.below(input.len());
            input[at] ^= 1 << rng.below(8);
        }
        1 if !input.is_empty() => {
            let at = rng.below(input.len());
            input[at] = rng.draw().to_le_bytes()[0];
        }
        2 => drop(input.drain(from..to)),
        3 => {
            let copy = input[from..to].to_vec();
            insert(rng, input, &copy);
        }
        4 => input.truncate(from),
        5 if !examples.is_empty() => {
            let other = rng.pick(examples);
            let (from, to) = span(rng, other.len());
            insert(rng, input, &other[from..to]);
        }
        _ => {
            let word = *rng.pick(&WORDS);
            insert(rng, input, word.as_bytes());
        }
    }
}

/// Repeats a span until the input is long.
fn repeat(rng: &mut Rng, input: &mut Vec<u8>, most: usize) {
    let (from, to) = span(rng, input.len());
    let piece = match from == to {
        true => rng.pick(&WORDS).as_bytes().to_vec(),
        false => input[from..to].to_vec(),
    };
    let times = most.saturating_sub(input.len()) / piece.len();
    let long = piece.repeat(times);
    input.splice(to..to, long);
}

fn span(rng: &mut Rng, length: usize) -> (usize, usize) {
    let from = rng.below(length + 1);
    // Prefers short spans, because the words of most formats are short.
    let room = (length - from).min(1 << rng.below(12));
    (from, from + rng.below(room + 1))
}

fn insert(rng: &mut Rng, input: &mut Vec<u8>, piece: &[u8]) {
    let at = rng.below(input.len() + 1);
    input.splice(at..at, piece.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_inputs_and_none_is_too_long() {
        let examples = [b"abc: def".to_vec(), b"[1, 2]".to_vec()];
        let inputs = |seed| -> Vec<Vec<u8>> {
            let mut rng = Rng::new(seed);
            (0..500).map(|_| mutated(&mut rng, &examples, 5_000)).collect()
        };
        let first = inputs(1);
        assert_eq!(first, inputs(1));
        assert_ne!(first, inputs(2));
        assert!(first.iter().all(|input| input.len() <= 5_000));
        assert!(first.iter().any(|input| input.len() > 4_000));
    }
}
