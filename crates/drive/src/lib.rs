//! The real drive: list, identify, watch, guard and open.
