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

/// Returns why an engine is too slow for a text.
fn too_slow(engine: &TextEngine, hostile: &HostileText) -> Option<String> {
    let time = |bytes, runs| least_time(engine, &hostile.of_size(bytes), runs);
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
        fault = Some(format!("{}: {}: {half:?} {whole:?}", engine.name, hostile.name));
    }
    fault
}

/// Checks each fourth engine, so that the parts run at the same time.
fn check(part: usize) {
    let engines = ENGINES.iter().skip(part).step_by(4);
    let pairs = engines.flat_map(|engine| HOSTILE_TEXTS.iter().map(move |text| (engine, text)));
    let slow: Vec<String> = pairs.filter_map(|(engine, text)| too_slow(engine, text)).collect();
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

#[test]
fn what_is_not_linear_is_found() {
    let engine = |read| TextEngine { name: "an engine", read };
    let text = HOSTILE_TEXTS.iter().find(|hostile| hostile.name == "spaces").unwrap();
    // Far above the bounds, so that other tests at the same time do not hide it.
    let quadratic = |text: &str| {
        let steps = text.len() * text.len() / 320;
        assert_eq!((0..steps).map(std::hint::black_box).fold(0, |sum, _| sum + 1), steps);
    };
    assert!(too_slow(&engine(quadratic), text).is_some());
    let linear =
        |text: &str| assert_eq!(text.bytes().filter(|byte| *byte == b' ').count(), text.len());
    assert!(too_slow(&engine(linear), text).is_none());
}
