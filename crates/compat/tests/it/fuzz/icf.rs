//! IOMeter configurations as a fuzz target. The parser is in `methods`, next to the method that
//! runs them.

use fuzz::{FuzzTarget, outcome};

/// Files as saved by IOMeter.
pub const ICF: FuzzTarget = FuzzTarget { name: "icf", run: icf, corpus: FILES };

fn icf(input: &[u8]) -> u64 {
    match methods::parse_icf(&String::from_utf8_lossy(input)) {
        Err(error) => outcome(&error.fault),
        Ok(script) => {
            let jobs = script.jobs().count();
            1 + script.runs.len().min(8) as u64 + 16 * jobs.min(8) as u64
        }
    }
}

const FILES: &[&str] = &[
    "Version 1.1.0\n'Run Time\n'\thours minutes seconds\n\t0 0 30\n'Test Type\n\tNORMAL\n\
     'Access specification name,default assignment\n\t4K,NONE\n\
     'size,% of size,% reads,% random,delay,burst,align,reply\n\t4096,50,67,100,0,1,0,0\n\
     \t8192,50,0,0,0,1,8192,0\n'Worker\n\tWorker 1\n'Worker type\n\tDISK\n\
     'Number of outstanding IOs,test connection rate,transactions per connection\n\t3,DISABLED,1\n\
     'Disk maximum size,starting sector\n\t2097152,64\n'Assigned access specs\n\t4K\n\
     'End assigned access specs\n'End worker\n",
    "'Access specification name,default assignment\n\tall,ALL\n\
     'size,% of size,% reads,% random,delay,burst,align,reply\n\t512,100,100,100,10,4,0,0\n",
];
