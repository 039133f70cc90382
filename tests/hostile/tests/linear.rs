//! Every engine takes linear time for every hostile text.
//!
//! The texts are small, so that all of them take less than a minute unoptimized. The program `figures` measures texts of
//! 1 MB in a release build.

use std::time::Duration;

use bethink_hostile_texts::{ENGINES, HOSTILE_TEXTS, HostileText, TextEngine, least_time};

/// Sizes of the first measurement, in bytes.
const SIZES: [usize; 2] = [4_000, 32_000];
/// How much longer the larger text may take before it is measured again. Linear time is 8 times as long.
const SUSPICIOUS: f64 = 11.0;
/// Sizes of the second measurement, in bytes.
const DOUBLED: [usize; 2] = [32_000, 64_000];
/// How much longer a text of twice the size may take: twice as long, and what a busy machine, the cache and
/// the allocator add. Quadratic time is 4 times as long.
const TIMES: f64 = 3.3;
/// Number of runs of which the fastest counts, and number of attempts.
const RUNS: usize = 3;
/// A longer text that takes less time than this takes less than half a second for 1 MB.
const FLOOR: Duration = Duration::from_micros(200);

/// Returns the last times that were too long for linear time, if any. `time` measures a text of this size, as the fastest of
/// this many runs.
fn too_slow(time: impl Fn(usize, usize) -> Duration) -> Option<[Duration; 2]> {
    let [small, large] = SIZES.map(|bytes| time(bytes, 1));
    if large < FLOOR || large.as_secs_f64() <= small.as_secs_f64() * SUSPICIOUS {
        return None;
    }
    let mut fault = None;
    for _ in 0..RUNS {
        let [half, whole] = DOUBLED.map(|bytes| time(bytes, RUNS));
        if whole.as_secs_f64() <= half.as_secs_f64() * TIMES {
            return None;
        }
        fault = Some([half, whole]);
    }
    fault
}

fn fault(engine: &TextEngine, hostile: &HostileText) -> Option<String> {
    let [half, whole] = too_slow(|bytes, runs| least_time(engine, &hostile.of_size(bytes), runs))?;
    Some(format!("{}: {}: {half:?} {whole:?}", engine.name, hostile.name))
}

/// Checks each fourth engine, so that the parts run at the same time.
fn check(part: usize) {
    let engines = ENGINES.iter().skip(part).step_by(4);
    let pairs = engines.flat_map(|engine| HOSTILE_TEXTS.iter().map(move |text| (engine, text)));
    let slow: Vec<String> = pairs.filter_map(|(engine, text)| fault(engine, text)).collect();
    assert!(slow.is_empty(), "for {DOUBLED:?} bytes:\n{}", slow.join("\n"));
}

#[test]
fn a_first_part_of_the_engines_is_linear() {
    check(0);
}

#[test]
fn a_second_part_of_the_engines_is_linear() {
    check(1);
}

#[test]
fn a_third_part_of_the_engines_is_linear() {
    check(2);
}

#[test]
fn a_fourth_part_of_the_engines_is_linear() {
    check(3);
}

/// With times that are computed, so that no other program can hide the difference.
#[test]
fn what_is_not_linear_is_found() {
    let quadratic = |bytes: usize, _| Duration::from_nanos((bytes * bytes / 320) as u64);
    assert!(too_slow(quadratic).is_some());
    let linear = |bytes: usize, _| Duration::from_nanos(100 * bytes as u64);
    assert!(too_slow(linear).is_none());
    let noisy = |bytes: usize, _| match bytes {
        64_000 => Duration::from_nanos(320 * bytes as u64),
        _ => Duration::from_nanos(100 * bytes as u64),
    };
    assert!(too_slow(noisy).is_none(), "three times as long for twice the size is not enough");
}
