//! `agent list`: the agents of this machine, what a look at their programs says, and which take no work for now.

use std::collections::BTreeMap;
use std::ffi::OsString;

use cs_daemon::{AgentSetup, Host, Probed};
use cs_model::{AgentName, IdSource};
use cs_record::Park;
use tokio::task::JoinSet;

use crate::app::App;
use crate::config::ADD_AN_AGENT;
use crate::failure::Failure;
use crate::os::SystemIds;
use crate::wire::AgentWire;
use crate::wiring::{agent_env, host};

/// Carries out `agent list`.
pub(super) async fn list(app: &App) -> Result<(), Failure> {
    let config = app.config()?;
    for remark in config.remarks() {
        app.out.said(&remark);
    }
    let default = config.choose_agent(None).ok();
    let parks = if config.agents.is_empty() {
        Vec::new()
    } else {
        parks(app).await
    };
    let mut probed = look_at(app, &config.agents, &agent_env(&app.env, &config.pass_env)).await;
    let agents = config.agents.iter().map(|(name, agent)| {
        let park = parks.iter().find(|park| park.route.agent == *name);
        AgentWire::new(name, &agent.config, default.as_ref())
            .choosing(&agent.choices)
            .looked_at(agent.config.kind(), probed.remove(name).unwrap_or_default())
            .parked(park)
    });
    let agents: Vec<AgentWire> = agents.collect();
    if app.global.json {
        return app.out.json(&agents);
    }
    if agents.is_empty() {
        app.out.said(&format!(
            "no agent is configured in {}; {ADD_AN_AGENT}",
            config.path.display()
        ));
        return Ok(());
    }
    for agent in &agents {
        if let Some(hindrance) = &agent.hindrance {
            app.out
                .said(&format!("agent {}: {}", agent.name, hindrance.reason));
        }
        if let Some(park) = &agent.parked {
            app.out
                .said(&format!("agent {} takes no work: {}", agent.name, park.reason));
        }
    }
    table(app, agents)
}

fn table(app: &App, agents: Vec<AgentWire>) -> Result<(), Failure> {
    // A command of a person's own has neither a version nor a sign-in: where there are no others, there is nothing to see of it.
    let is_known = agents.iter().any(AgentWire::is_known);
    let row = |agent: AgentWire| {
        let default = if agent.default { "yes" } else { "" };
        let mut row = vec![agent.name.clone(), agent.harness.clone(), default.to_owned()];
        if is_known {
            row.extend([
                agent.version.clone().unwrap_or_default(),
                agent.sign_in_words().to_owned(),
            ]);
        }
        row.extend([agent.state_words(), shell_words::join(&agent.command)]);
        row
    };
    let head: &[&str] = if is_known {
        &[
            "AGENT", "HARNESS", "DEFAULT", "VERSION", "SIGN-IN", "WORK", "COMMAND",
        ]
    } else {
        &["AGENT", "HARNESS", "DEFAULT", "WORK", "COMMAND"]
    };
    app.out.table(head, agents.into_iter().map(row).collect())
}

/// Looks at the programs of all agents, as the daemon does before it starts one.
async fn look_at(
    app: &App,
    agents: &BTreeMap<AgentName, AgentSetup>,
    env: &[(OsString, OsString)],
) -> BTreeMap<AgentName, Probed> {
    let mut looks = JoinSet::new();
    for (name, agent) in agents {
        let (name, config, host) = (name.clone(), agent.config.clone(), host(&app.env, "/"));
        let env = agent.environment(env);
        looks.spawn(async move {
            let mark = SystemIds.uuid_v7().to_string();
            let probed = host.probe(&config, &env, &mark).await;
            (name, probed)
        });
    }
    looks.join_all().await.into_iter().collect()
}

/// Reads which agents take no work now; says so where the record cannot tell.
async fn parks(app: &App) -> Vec<Park> {
    let read = async {
        let desk = app.desk().await?;
        Ok::<_, Failure>(desk.ports.machines.parks(desk.machine).await?)
    };
    match read.await {
        Ok(parks) => parks.into_iter().filter(|park| park.holds(app.now())).collect(),
        Err(failure) => {
            let why = failure.text().unwrap_or_default();
            app.out
                .said(&format!("which of them take no work for now is not known: {why}"));
            Vec::new()
        }
    }
}
