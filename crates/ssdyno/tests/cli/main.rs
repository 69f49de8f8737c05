//! The command end to end, on this machine's own files and on loop devices. A single binary, so
//! that it is linked once. Tests that need root, loop devices or a tool print `skipped: why`
//! without them.

mod arguments;
mod as_is;
mod bad_input;
mod bounds;
mod command_line;
mod common;
mod declared;
mod devices;
mod elsewhere;
mod ending;
mod faults;
mod fio_devices;
mod fio_examples;
mod fio_virtual;
mod fit;
mod fuse;
mod guard;
mod hostile;
mod inside;
mod io_words;
mod iozone;
mod iozone_against;
mod kill;
mod live;
mod no_answer;
mod null_nvme;
mod outputs;
mod own_drive;
mod owners;
mod partition;
mod prepare;
mod protocol;
mod records;
mod run;
mod screens;
mod signals;
mod speed;
mod store_waits;
mod trouble;
mod verdicts;
