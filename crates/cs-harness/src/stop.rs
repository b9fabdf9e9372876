use std::time::Duration;

use cs_model::FailureClass;

use crate::{AskAgain, Seen, Trouble};

/// Tells whether an agent that tries something again by itself is better stopped at once, and for which trouble.
///
/// No second try mends a login or fills an account, and a provider that wants to be left alone for longer than `longest_wait`
/// is waited for without a process that holds a place. Of a stated time of day it is not known here how far away it is; those
/// that providers state are hours away.
pub fn stop_now(seen: &Seen, longest_wait: Duration) -> Option<Trouble> {
    let trouble = seen.retrying()?;
    let is_hopeless = matches!(trouble.class, FailureClass::Authentication | FailureClass::Credit);
    let is_long = match trouble.again {
        Some(AskAgain::AfterMs(ms)) => Duration::from_millis(ms) > longest_wait,
        Some(AskAgain::AtUnix(_)) => true,
        None => false,
    };
    (is_hopeless || is_long).then(|| trouble.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Matter};

    fn stops(class: FailureClass, again: Option<AskAgain>) -> bool {
        let mut seen = Seen::default();
        seen.observe(&Event::Retry(Trouble {
            class,
            status: None,
            again,
            said: String::new(),
            matter: Matter::Provider,
        }));
        stop_now(&seen, Duration::from_secs(60)).is_some()
    }

    #[test]
    fn an_agent_that_cannot_mend_it_by_trying_again_is_stopped_at_once() {
        let after = |ms| Some(AskAgain::AfterMs(ms));
        assert!(stops(FailureClass::Authentication, None));
        assert!(stops(FailureClass::Credit, after(1)));
        assert!(stops(FailureClass::RateLimit, after(60_001)));
        assert!(stops(FailureClass::RateLimit, Some(AskAgain::AtUnix(1))));
        assert!(!stops(FailureClass::RateLimit, after(60_000)));
        assert!(!stops(FailureClass::Overloaded, None));
    }

    #[test]
    fn an_agent_that_went_on_is_not_stopped() {
        let mut seen = Seen::default();
        seen.observe(&Event::Retry(Trouble {
            class: FailureClass::Authentication,
            status: Some(401),
            again: None,
            said: String::new(),
            matter: Matter::Provider,
        }));
        seen.observe(&Event::Said {
            text: "on we go".to_owned(),
        });
        assert_eq!(stop_now(&seen, Duration::ZERO), None);
    }
}
