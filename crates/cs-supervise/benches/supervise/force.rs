//! The forced end of an agent that has started one descendant of each kind, all deaf to polite signals.

use std::fs;
use std::path::Path;
use std::time::Instant;

use cs_supervise::{Containment, ExecutionDir, StopRequest, Tier};
use serde_json::json;

use crate::stage::{millis, spec, start, text};
use crate::{Done, Size};

const KINDS: [&str; 4] = ["plain", "setsid", "dfork", "dfork-clean"];

pub(crate) async fn measure(directory: &Path, size: Size) -> Done {
    for containment in [Containment::Best, Containment::Subreaper] {
        let mut times = Vec::new();
        let mut tier = Tier::Subreaper;
        for _ in 0..size.pick(30, 3) {
            let directory = directory.join("force");
            fs::create_dir(&directory)?;
            let mut agent = Vec::new();
            for kind in KINDS {
                agent.push(format!("spawn={kind}:{}", text(&directory.join(kind))?));
            }
            let up = directory.join("up");
            agent.extend([format!("once={}", text(&up)?), "sleep".to_owned()]);
            let running = start(
                &ExecutionDir::at(directory.join("execution")),
                &spec(&agent, containment)?,
            )
            .await?;
            tier = running.tier();
            crate::stage::until("the tree is there", || up.exists()).await?;
            let begun = Instant::now();
            let closed = running.stop(StopRequest::FORCE).await?;
            times.push(millis(begun));
            if closed.proof.is_none() {
                return Err(format!("it was not closed: {closed:?}").into());
            }
            fs::remove_dir_all(directory)?;
        }
        let tier = match tier {
            Tier::Cgroup => "control group",
            Tier::Namespace => "PID namespace",
            Tier::Subreaper | Tier::InProcess => "subreaper",
        };
        println!("{}", json!({"line": "force", "tier": tier, "times": times}));
        if tier == "subreaper" {
            // Where there is no control group both are the same.
            break;
        }
    }
    Ok(())
}
