//! Lists of the newest items.

/// Drops the oldest items once there are more than twice as many as `newest`.
pub(crate) fn forget_oldest<T>(all: &mut Vec<T>, newest: usize) {
    if all.len() > 2 * newest {
        all.drain(..newest);
    }
}
