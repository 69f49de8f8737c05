//! Fuzzes NVMe logs and identify pages (raw page).

#![no_main]

targets::fuzz!("nvme");
