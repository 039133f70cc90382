//! Copies all rows of one store to another one while no daemon uses them, and checks stores.
//!
//! Knows both stores by their rows, which have the same form in both. A copy that is interrupted continues with the row
//! after the last one that is in the target. At the end, all rows of both sides are read again and compared. Until then, no
//! daemon can use the target.
//!
//! Reading order: `place`, `home`, `sides`, `copy`, `check`, `error`.

mod check;
mod copy;
mod error;
mod home;
mod place;
mod sides;

pub use check::check;
pub use copy::{CopyRequest, copy};
pub use error::CopyError;
pub use place::StorePlace;
