//! Prints the warnings that come with the result of a write.

use bethink_render::memory as render;
use bethink_terminal::Screen;

use crate::failure::Done;

pub(super) fn warn(screen: &mut Screen, warnings: &[String]) -> Done {
    let lines = render::warnings(warnings, screen.look.width);
    Ok(lines.into_iter().try_for_each(|line| screen.note(line))?)
}
