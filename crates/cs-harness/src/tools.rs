use std::fmt;

/// How an agent reaches the tools that it is given here. In whatever it is configured with, the server is called `panel`.
#[derive(Clone, PartialEq, Eq)]
pub enum PanelTools {
    /// A server that the agent starts itself and talks to over standard input and output.
    Command {
        /// The server's program and its arguments; never empty. They can be read by everyone, so no secret stands in them.
        argv: Vec<String>,
        /// Names of variables of the agent's environment that the server has to get too: some agents start it with hardly any.
        keep: Vec<String>,
    },
    /// A server that is there already, for agents that cannot start one.
    Http {
        /// Where it is.
        url: String,
        /// What the agent has to show there. A secret: it stands in private files only.
        bearer: String,
    },
}

impl fmt::Debug for PanelTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { argv, keep } => f
                .debug_struct("Command")
                .field("argv", argv)
                .field("keep", keep)
                .finish(),
            Self::Http { url, bearer: _ } => f.debug_struct("Http").field("url", url).finish_non_exhaustive(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_opens_the_door_is_not_shown() {
        let tools = PanelTools::Http {
            url: "http://127.0.0.1:1/mcp".to_owned(),
            bearer: "open-sesame".to_owned(),
        };
        let shown = format!("{tools:?}");
        assert_eq!(shown, r#"Http { url: "http://127.0.0.1:1/mcp", .. }"#);
    }
}
