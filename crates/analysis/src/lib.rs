//! Statistics: intervals, verdict rules; pure.
