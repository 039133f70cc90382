//! All thresholds of a context window, computed in one function.

pub use bethink_api::{FillLevel, Thresholds};

/// Maximum number of tokens reserved for output: longer answers are rare and can be continued.
pub const OUTPUT_RESERVE: u64 = 20_000;
/// Tokens between `auto` and the effective window: room for one turn before a compaction runs.
pub const AUTO_RESERVE: u64 = 13_000;
/// Tokens between `warning` and `auto`.
pub const WARNING_RESERVE: u64 = 20_000;
/// Tokens between `blocking` and the effective window: room for the compaction's instruction.
pub const BLOCKING_RESERVE: u64 = 3_000;
/// Effective windows smaller than this get proportionally smaller reserves, which would otherwise take more than half
/// of the window.
pub const FULL_RESERVES_FROM: u64 = 2 * (AUTO_RESERVE + WARNING_RESERVE);
/// Minimum size of a window, in tokens: up to half is reserved for output, and a summary, a system prompt and one round must
/// fit in the rest.
pub const MIN_WINDOW: u64 = 8_000;
/// Maximum size of a window, in tokens: far above any model, and far below where sums would overflow.
pub const MAX_WINDOW: u64 = 100_000_000;
/// Percentage of the effective window above which quality degrades.
pub const DEGRADING_PERCENT: u64 = 70;
/// Minimum percentage of the effective window at which a warning is given, unless a compaction is due earlier.
const WARNING_PERCENT: u64 = 75;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the context window must be {MIN_WINDOW} to {MAX_WINDOW} tokens, not {0}")]
pub struct WindowTooSmall(pub u64);

/// Computes the thresholds of a window. `auto_percent` (of the effective window, 0 for unset) can only lower `auto`.
pub fn window_thresholds(
    window: u64,
    max_output: u64,
    auto_percent: f64,
) -> Result<Thresholds, WindowTooSmall> {
    if !(MIN_WINDOW..=MAX_WINDOW).contains(&window) {
        return Err(WindowTooSmall(window));
    }
    let effective = window - max_output.min(OUTPUT_RESERVE).min(window / 2);
    let scaled = |reserve: u64| {
        if effective >= FULL_RESERVES_FROM {
            reserve
        } else {
            (reserve * effective / FULL_RESERVES_FROM).max(1)
        }
    };
    let mut auto = effective - scaled(AUTO_RESERVE);
    if auto_percent > 0.0 && auto_percent < 100.0 {
        // Never below a quarter: a compaction's own result must stay under it.
        let lowered = (effective as f64 * auto_percent / 100.0) as u64;
        auto = auto.min(lowered.max(effective / 4));
    }
    // The reserves are a large part of a small window. Without a minimum, a warning would be given when half of the
    // window is still empty.
    let degraded = effective * WARNING_PERCENT / 100;
    let least = if degraded < auto { degraded } else { auto / 2 };
    let warning = auto.saturating_sub(scaled(WARNING_RESERVE)).max(least);
    let blocking = effective - scaled(BLOCKING_RESERVE);
    Ok(Thresholds { window, effective, warning, auto, blocking })
}

/// Returns how full a window is with a prompt of `tokens`.
pub fn fill_level(thresholds: &Thresholds, tokens: u64) -> FillLevel {
    if tokens >= thresholds.blocking {
        FillLevel::Blocking
    } else if tokens >= thresholds.auto {
        FillLevel::Auto
    } else if tokens >= thresholds.warning {
        FillLevel::Warning
    } else if tokens * 100 >= thresholds.effective * DEGRADING_PERCENT {
        FillLevel::Degrading
    } else {
        FillLevel::Comfortable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_specifications_table() {
        for (window, effective, warning, auto, blocking) in [
            (200_000, 180_000, 147_000, 167_000, 177_000),
            (1_000_000, 980_000, 947_000, 967_000, 977_000),
        ] {
            let t = window_thresholds(window, 64_000, 0.0).unwrap();
            assert_eq!(t, Thresholds { window, effective, warning, auto, blocking });
        }
    }

    #[test]
    fn a_window_out_of_range_is_refused() {
        for window in [0, 1_000, MIN_WINDOW - 1, u64::MAX] {
            assert_eq!(window_thresholds(window, 0, 0.0), Err(WindowTooSmall(window)));
        }
    }

    #[test]
    fn a_small_window_degrades_before_it_warns() {
        for window in [MIN_WINDOW, 16_000, 32_000, 60_000, 100_000, 128_000, 200_000] {
            let t = window_thresholds(window, 20_000, 0.0).unwrap();
            let degrading = t.effective * DEGRADING_PERCENT / 100 + 1;
            assert_eq!(fill_level(&t, t.effective / 2), FillLevel::Comfortable, "{window}");
            assert_eq!(fill_level(&t, degrading), FillLevel::Degrading, "{window}: {t:?}");
        }
        let lowered = window_thresholds(60_000, 20_000, 50.0).unwrap();
        assert_eq!((lowered.warning, lowered.auto), (10_000, 20_000));
    }

    #[test]
    fn an_override_only_lowers() {
        let plain = window_thresholds(200_000, 20_000, 0.0).unwrap();
        assert_eq!(window_thresholds(200_000, 20_000, 99.0).unwrap().auto, plain.auto);
        assert_eq!(window_thresholds(200_000, 20_000, 50.0).unwrap().auto, 90_000);
    }

    proptest! {
        #[test]
        fn order_holds_for_every_window(
            window in MIN_WINDOW..=MAX_WINDOW, output in 0..u64::MAX, percent in 0.0..150.0f64,
        ) {
            let t = window_thresholds(window, output, percent).unwrap();
            prop_assert!(0 < t.warning && t.warning < t.auto);
            prop_assert!(t.auto < t.blocking && t.blocking < t.effective && t.effective <= window);
        }
    }
}
