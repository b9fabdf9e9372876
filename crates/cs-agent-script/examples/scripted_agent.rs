//! The scripted agent as a program: `scripted_agent SCRIPT < START_LINE`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cs_agent_script::main(std::env::args_os().skip(1))
}
