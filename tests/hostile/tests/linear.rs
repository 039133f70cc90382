//! Every engine takes linear time for every hostile text.

use std::time::Duration;

use bethink_hostile_texts::{ENGINES, HOSTILE_TEXTS, HostileText, TextEngine, least_time};

/// The largest text, in bytes. Unoptimized, only the test of the measurement itself runs.
const BYTES: usize = if cfg!(debug_assertions) { 8_000 } else { 1_000_000 };
/// How much longer a text of twice the size may take: twice as long, and what the cache and the allocator add.
const TIMES: f64 = 3.0;
/// A shorter time is not compared with that of half the text: the fixed costs of an engine are a part of it.
const FLOOR: Duration = Duration::from_millis(60);
/// The longest time for the largest text, in a release build.
const MOST: Duration = Duration::from_millis(500);
/// Number of runs of which the fastest counts, and of attempts.
const RUNS: usize = 3;

/// Returns why an engine is too slow for a text.
fn too_slow(engine: &TextEngine, hostile: &HostileText) -> Option<String> {
    let whole = hostile.of_size(BYTES);
    if least_time(engine, &whole, 1) < FLOOR {
        return None;
    }
    let mut fault = None;
    for _ in 0..RUNS {
        let [quarter, half, whole] = [BYTES / 4, BYTES / 2, BYTES]
            .map(|bytes| least_time(engine, &hostile.of_size(bytes), RUNS));
        let is_linear = grows_linearly(quarter, half) && grows_linearly(half, whole);
        let is_fast = cfg!(debug_assertions) || whole <= MOST;
        if is_linear && is_fast {
            return None;
        }
        fault = Some(format!("{}: {}: {quarter:?} {half:?} {whole:?}", engine.name, hostile.name));
    }
    fault
}

fn grows_linearly(half: Duration, whole: Duration) -> bool {
    whole < FLOOR || whole.as_secs_f64() <= half.as_secs_f64() * TIMES
}

/// Checks each fourth engine, so that the parts run at the same time.
fn check(part: usize) {
    let engines = ENGINES.iter().skip(part).step_by(4);
    let pairs = engines.flat_map(|engine| HOSTILE_TEXTS.iter().map(move |text| (engine, text)));
    let slow: Vec<String> = pairs.filter_map(|(engine, text)| too_slow(engine, text)).collect();
    assert!(slow.is_empty(), "{BYTES} bytes:\n{}", slow.join("\n"));
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes many minutes unoptimized; run it with --release")]
fn a_first_part_of_the_engines_is_linear() {
    check(0);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes many minutes unoptimized; run it with --release")]
fn a_second_part_of_the_engines_is_linear() {
    check(1);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes many minutes unoptimized; run it with --release")]
fn a_third_part_of_the_engines_is_linear() {
    check(2);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes many minutes unoptimized; run it with --release")]
fn a_fourth_part_of_the_engines_is_linear() {
    check(3);
}

#[test]
fn what_is_not_linear_is_found() {
    let quadratic = |text: &str| {
        let spaces = (0..text.len()).filter(|at| text[*at..].bytes().all(|byte| byte == b' '));
        assert_eq!(spaces.count(), text.len());
    };
    let engine = TextEngine { name: "quadratic", read: quadratic };
    let hostile = HOSTILE_TEXTS.iter().find(|hostile| hostile.name == "spaces");
    assert!(too_slow(&engine, hostile.unwrap()).is_some());
}
