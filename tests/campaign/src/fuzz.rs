//! Fuzzing: each parser of text from outside gets mutated examples, and must neither panic nor hang.
//!
//! The mutations are random and know nothing about coverage, so that a stable compiler suffices; with the committed
//! examples, they reach the interesting code. A finding is saved as a file, which becomes an example when the parser is
//! fixed.
//!
//! Reading order: [`targets`] → [`corpus`] → `mutate` → [`run`].

pub mod corpus;
mod git_objects;
mod git_output;
pub(crate) mod mutate;
mod settings_files;
pub mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use bethink_harness::Rng;

use crate::limit::AttackLimit;
use corpus::Corpus;
use targets::FuzzTarget;

/// An input that takes longer is a hang: a thousand times what the slowest example takes.
const HANG: Duration = Duration::from_secs(60);
/// Maximum size of an input, in bytes. Most quadratic code takes seconds for it.
const MAX_INPUT: usize = 64 << 10;
/// Maximum processor time for an input: several times what linear code needs for the largest input. A debug build is
/// twenty times slower.
const SLOW: Duration = Duration::from_millis(if cfg!(debug_assertions) { 2500 } else { 125 });

/// What a run of a target found.
#[derive(Debug, Default)]
pub struct FuzzTally {
    pub inputs: u64,
    pub bytes: u64,
    /// Processor time of the slowest input.
    pub slowest: Duration,
    /// What went wrong, with the file that repeats it.
    pub findings: Vec<String>,
}

/// One input that was tried.
struct Tried {
    bytes: usize,
    took: Duration,
    wrong: Option<String>,
}

enum Step {
    Begins(Vec<u8>),
    Ended(Tried),
}

/// Gives mutated examples to the target. The examples themselves come first.
pub fn run(target: &FuzzTarget, limit: AttackLimit, seed: u64) -> FuzzTally {
    let corpus = Corpus::of(target.name);
    let (steps, received) = channel();
    let (check, slow) = (target.check, SLOW * target.slowness);
    // A thread that hangs can't be ended. It keeps running until the program ends.
    std::thread::spawn(move || {
        work(|input| tried(check, slow, input), &corpus.examples, limit, seed, &steps);
    });
    let (mut tally, mut current) = (FuzzTally::default(), Vec::new());
    loop {
        match received.recv_timeout(HANG) {
            Ok(Step::Begins(input)) => current = input,
            Ok(Step::Ended(tried)) => tally.add(target, &current, tried),
            Err(RecvTimeoutError::Disconnected) => return tally,
            Err(RecvTimeoutError::Timeout) => {
                tally.report(target, &current, &format!("no end after {} s", HANG.as_secs()));
                return tally;
            }
        }
    }
}

fn work(
    attempt: impl Fn(&[u8]) -> Tried,
    examples: &[Vec<u8>],
    limit: AttackLimit,
    seed: u64,
    steps: &Sender<Step>,
) {
    let mut rng = Rng::new(seed);
    let mutated = std::iter::repeat_with(|| mutate::mutated(&mut rng, examples, MAX_INPUT));
    for (input, done) in examples.iter().cloned().chain(mutated).zip(0..) {
        if !limit.allows(done) || steps.send(Step::Begins(input.clone())).is_err() {
            return;
        }
        if steps.send(Step::Ended(attempt(&input))).is_err() {
            return;
        }
    }
}

fn tried(check: fn(&[u8]), slow: Duration, input: &[u8]) -> Tried {
    let start = processor_time();
    let outcome = catch_unwind(AssertUnwindSafe(|| check(input)));
    let took = processor_time().saturating_sub(start);
    let wrong = match outcome {
        Err(payload) => Some(format!("panic: {}", message(payload.as_ref()))),
        Ok(()) if took > slow => Some(format!("{} ms", took.as_millis())),
        Ok(()) => None,
    };
    Tried { bytes: input.len(), took, wrong }
}

fn message(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Returns the processor time of this thread, which does not depend on other programs. The kernel updates it at least
/// each time it interrupts the thread.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

impl FuzzTally {
    fn add(&mut self, target: &FuzzTarget, input: &[u8], tried: Tried) {
        self.inputs += 1;
        self.bytes += tried.bytes as u64;
        self.slowest = self.slowest.max(tried.took);
        if let Some(wrong) = tried.wrong {
            self.report(target, input, &wrong);
        }
    }

    fn report(&mut self, target: &FuzzTarget, input: &[u8], wrong: &str) {
        let saved = match corpus::save(target.name, input) {
            Ok(path) => path.display().to_string(),
            Err(error) => format!("not saved: {error}"),
        };
        self.findings.push(format!("{}: {wrong}: {saved}", target.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_found_and_saved() {
        let target = FuzzTarget::new("test", |input| {
            assert!(!input.contains(&b'!'), "an exclamation mark");
        });
        let tally = run(&target, AttackLimit::new(Duration::from_secs(2), u64::MAX), 1);
        let first = tally.findings.first().expect("a finding");
        assert!(first.contains("an exclamation mark"), "{first}");
        let path = first.rsplit(": ").next().expect("a path");
        assert!(std::fs::read(path).expect("saved").contains(&b'!'));
    }

    #[test]
    fn slow_code_is_found() {
        let target = FuzzTarget::new("test", |_| while processor_time() < SLOW + SLOW {});
        assert!(
            !run(&target, AttackLimit::new(Duration::from_millis(300), u64::MAX), 1)
                .findings
                .is_empty()
        );
    }

    #[test]
    fn every_parser_takes_its_examples_and_what_becomes_of_them() {
        for target in targets::ALL {
            let tally = run(&target, AttackLimit::new(HANG, 50), 7);
            assert!(tally.findings.is_empty(), "{:?}", tally.findings);
            assert_eq!(tally.inputs, 50, "{}", target.name);
        }
    }
}
