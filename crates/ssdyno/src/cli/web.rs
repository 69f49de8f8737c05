//! Arguments of `web` and `site`.

use std::path::PathBuf;

use clap::Args;

use super::StoreArgs;

#[derive(Debug, Args)]
#[command(after_help = WEB_EXAMPLES)]
pub struct WebArgs {
    /// Port on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub struct SiteArgs {
    /// Directory for the files: empty, or of an earlier site
    pub directory: PathBuf,
    #[command(flatten)]
    pub store: StoreArgs,
}

const WEB_EXAMPLES: &str = "\
Prints an address with a key, for a browser of this machine only. To see the records
of another machine: ssh -L 8080:127.0.0.1:8080 HOST ssdyno web --port 8080";
