//! Agents, a collector and both servers, as processes on the loopback.

mod attacks;
mod both;
mod fleet_on_loopback;
