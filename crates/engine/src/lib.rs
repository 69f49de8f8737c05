//! Issue a workload against a target and time it: clocks, backends, recorder; the Rig of real drives.
