//! Consolidation: a directory of memories brought into order, as a plan that can be looked at first.
