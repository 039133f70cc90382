//! The `git` binary, called so that a hostile repository runs nothing and a silent remote ends.
