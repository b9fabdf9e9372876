//! Whether an agent that runs is better ended now: it waits for what does not come, says nothing any more, or has used up a budget.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use cs_harness::{Event, HarnessKind, Seen, Trouble, stop_now};
use cs_model::FailureClass;
use cs_supervise::ExecutionDir;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::allowance::words;
use super::meter::Meter;
use super::{AttemptFile, beside};
use crate::bounds::{Bounds, usd};
use crate::outcome::Budget;

/// The longest wait for a provider that an agent may do itself, with its slot. Whatever is longer is waited for without it.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// More tool calls than this at once are not told apart.
const CALLS_MAX: usize = 1_000;
/// The file that says why an agent was ended. It is written before the agent is.
const NAME: &str = "ended-for.json";

/// Why an agent was ended by the one who follows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub(crate) enum EndedFor {
    /// It met something that it cannot mend by trying again.
    Trouble {
        /// What it met.
        trouble: Trouble,
    },
    /// It said nothing for too long.
    Silent {
        /// The class that decides about another try.
        class: FailureClass,
        /// The reason for people.
        reason: String,
    },
    /// It did not go on with the conversation that it was asked to go on with, and began a new one.
    FellBack,
    /// The address at which it calls its tools is not this daemon's any more.
    ToolsLost,
    /// It has used up a budget.
    UsedUp {
        /// Which.
        budget: Budget,
        /// The reason for people.
        reason: String,
    },
}

impl EndedFor {
    /// Notes it beside the execution, once.
    pub(crate) fn write(&self, dir: &ExecutionDir) {
        if let Err(error) = beside::write(dir, NAME, self) {
            tracing::warn!(%error, dir = %dir.path().display(), "why the agent is ended could not be noted");
        }
    }

    /// Reads why the agent of an execution was ended; nothing where it was not.
    pub(crate) fn read(execution: &Path) -> Option<Self> {
        beside::read(&ExecutionDir::at(execution.to_owned()), NAME)
    }
}

/// What is known of an agent by what it has said.
#[derive(Debug)]
pub(super) struct Watch {
    bounds: Bounds,
    meter: Meter,
    kind: HarnessKind,
    quiet_since: Instant,
    /// Whether it has written a line.
    has_written: bool,
    /// Since when it does nothing but try again, if that is what it does.
    trying_since: Option<Instant>,
    calls: BTreeSet<String>,
}

impl Watch {
    /// Watches the agent of an execution from now on.
    pub(super) fn of(file: Option<&AttemptFile>, kind: HarnessKind) -> Self {
        Self {
            bounds: file.map(|file| file.allowance.bounds()).unwrap_or_default(),
            meter: Meter::of(file),
            kind,
            quiet_since: Instant::now(),
            has_written: false,
            trying_since: None,
            calls: BTreeSet::new(),
        }
    }

    /// Whether silence is bounded now.
    pub(super) const fn minds_silence(&self) -> bool {
        self.bounds.start.is_some() || self.bounds.idle.is_some() || self.trying_since.is_some()
    }

    /// Takes in that it wrote a line, of which this is what it told. A line that tells nothing is a sign of life too: agents write
    /// pieces of what they think, and what a tool prints.
    pub(super) fn hears(&mut self, told: &[Event]) {
        let is_only_a_retry = !told.is_empty() && told.iter().all(|event| matches!(event, Event::Retry(_)));
        if !is_only_a_retry {
            self.quiet_since = Instant::now();
            self.has_written = true;
        }
    }

    /// Takes in that the file of its conversation has grown. What it tries again it notes there too.
    pub(super) fn sees_it_write(&mut self) {
        if self.trying_since.is_none() {
            self.quiet_since = Instant::now();
        }
    }

    /// Takes in what it said.
    pub(super) fn observe(&mut self, event: &Event) {
        // Its model is asked, so no tool of it works: the end of one that it has begun was never told.
        if matches!(event, Event::Retry(_) | Event::Failed(_)) {
            self.calls.clear();
        }
        if matches!(event, Event::Retry(_)) {
            self.trying_since.get_or_insert_with(Instant::now);
            return;
        }
        if let Event::ToolStart { call, .. } = event
            && self.calls.len() < CALLS_MAX
        {
            self.calls.insert(call.clone());
        }
        if let Event::ToolEnd { call, .. } = event {
            self.calls.remove(call);
        }
        // What was used is read beside its output too, and says nothing of whether a try has helped.
        if !matches!(event, Event::Usage(_)) {
            self.quiet_since = Instant::now();
            self.trying_since = None;
        }
    }

    /// Begins to count its silence anew: it could not have said anything.
    pub(super) fn rests(&mut self) {
        let now = Instant::now();
        self.quiet_since = now;
        self.trying_since = self.trying_since.map(|_| now);
    }

    /// Says why the agent is better ended now, if it is.
    pub(super) fn verdict(&self, seen: &Seen) -> Option<EndedFor> {
        stop_now(seen, LONGEST_WAIT)
            .map(|trouble| EndedFor::Trouble { trouble })
            .or_else(|| self.meter.fell_back(self.kind, seen).map(|_| EndedFor::FellBack))
            .or_else(|| self.used_up(seen))
            .or_else(|| self.tries_in_vain(seen))
            .or_else(|| self.silent(seen))
    }

    /// An agent that was told to wait for an hour does so without saying for how long.
    fn tries_in_vain(&self, seen: &Seen) -> Option<EndedFor> {
        self.trying_since
            .filter(|since| since.elapsed() >= LONGEST_WAIT)?;
        let trouble = seen.retrying()?.clone();
        Some(EndedFor::Trouble { trouble })
    }

    fn used_up(&self, seen: &Seen) -> Option<EndedFor> {
        let used = self.meter.read(seen);
        let tokens = used
            .input_tokens
            .unwrap_or(0)
            .saturating_add(used.output_tokens.unwrap_or(0));
        let over = |used: u64, most: Option<u64>| most.filter(|most| used > *most);
        let who = self.kind.label();
        let capped = |budget, reason| Some(EndedFor::UsedUp { budget, reason });
        if let Some(most) = over(used.turns.unwrap_or(0), self.bounds.turns) {
            let reason = format!(
                "{who} asked its model more than {most} times, which is all that one attempt may (`turns` in the configuration)"
            );
            return capped(Budget::Turns, reason);
        }
        if let Some(most) = over(tokens, self.bounds.tokens) {
            let reason = format!(
                "{who} used {tokens} tokens, and {most} is all that one attempt may (`tokens` in the configuration)"
            );
            return capped(Budget::Spend, reason);
        }
        let cost = used.cost_micro_usd.unwrap_or(0);
        let most = over(cost, self.bounds.micro_usd)?;
        let reason = format!(
            "{who} cost {} USD, and {} USD is all that one attempt may (`usd`, or what `card_usd` left to it, in the configuration)",
            usd(cost),
            usd(most)
        );
        capped(Budget::Spend, reason)
    }

    fn silent(&self, seen: &Seen) -> Option<EndedFor> {
        let quiet = self.quiet_since.elapsed();
        let who = self.kind.label();
        let too_long = |most: Option<Duration>| most.filter(|most| quiet >= *most);
        if !seen.has_spoken() && !self.has_written {
            let most = too_long(self.bounds.start)?;
            return Some(EndedFor::Silent {
                class: FailureClass::Infrastructure,
                reason: format!(
                    "{who} said nothing within {} of its start and was ended (`start` in the configuration)",
                    words(most)
                ),
            });
        }
        let most = too_long(self.bounds.idle).filter(|_| self.calls.is_empty())?;
        // What it tries in vain is why it failed.
        if let Some(trouble) = seen.retrying() {
            return Some(EndedFor::Trouble {
                trouble: trouble.clone(),
            });
        }
        Some(EndedFor::Silent {
            class: FailureClass::Agent,
            reason: format!(
                "{who} neither said nor did anything for {} and was ended (`idle` in the configuration)",
                words(most)
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use cs_harness::{AskAgain, Matter, UsageReport, UsageSpan, UsageTotals};

    use super::*;

    fn watch(bounds: Bounds) -> Watch {
        Watch {
            bounds,
            meter: Meter::default(),
            kind: HarnessKind::Claude,
            quiet_since: Instant::now(),
            has_written: false,
            trying_since: None,
            calls: BTreeSet::new(),
        }
    }

    fn see(watch: &mut Watch, events: &[Event]) -> Seen {
        let mut seen = Seen::default();
        for event in events {
            watch.observe(event);
            seen.observe(event);
        }
        seen
    }

    fn retry(class: FailureClass, again: Option<AskAgain>) -> Event {
        Event::Retry(Trouble {
            class,
            status: None,
            again,
            said: String::new(),
            matter: Matter::Provider,
        })
    }

    fn said() -> Event {
        Event::Said {
            text: "so".to_owned(),
        }
    }

    fn silent() -> Watch {
        watch(Bounds {
            start: Some(Duration::from_secs(90)),
            idle: Some(Duration::from_secs(600)),
            ..Bounds::default()
        })
    }

    fn class(verdict: Option<EndedFor>) -> Option<FailureClass> {
        match verdict? {
            EndedFor::Silent { class, .. } => Some(class),
            EndedFor::Trouble { trouble } => Some(trouble.class),
            EndedFor::UsedUp { .. } | EndedFor::FellBack | EndedFor::ToolsLost => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_without_a_first_word_is_ended_and_one_that_spoke_is_not() {
        let mut watch = silent();
        tokio::time::advance(Duration::from_secs(89)).await;
        assert_eq!(watch.verdict(&Seen::default()), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(
            class(watch.verdict(&Seen::default())),
            Some(FailureClass::Infrastructure)
        );
        let seen = see(&mut watch, &[said()]);
        tokio::time::advance(Duration::from_secs(599)).await;
        assert_eq!(watch.verdict(&seen), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(class(watch.verdict(&seen)), Some(FailureClass::Agent));
        watch.rests();
        assert_eq!(watch.verdict(&seen), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_that_tells_nothing_is_a_sign_of_life_and_another_try_is_none() {
        let mut watch = silent();
        tokio::time::advance(Duration::from_secs(89)).await;
        watch.hears(&[]);
        tokio::time::advance(Duration::from_secs(599)).await;
        assert_eq!(
            watch.verdict(&Seen::default()),
            None,
            "it writes, though it says nothing"
        );
        watch.hears(&[]);
        let again = retry(FailureClass::Infrastructure, None);
        let seen = see(&mut watch, std::slice::from_ref(&again));
        watch.trying_since = None;
        tokio::time::advance(Duration::from_secs(599)).await;
        watch.hears(&[again]);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(class(watch.verdict(&seen)), Some(FailureClass::Infrastructure));
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_writes_into_its_file_lives_and_one_that_only_tries_again_does_not() {
        let mut watch = silent();
        let seen = see(&mut watch, &[said()]);
        tokio::time::advance(Duration::from_secs(599)).await;
        watch.sees_it_write();
        tokio::time::advance(Duration::from_secs(599)).await;
        assert_eq!(watch.verdict(&seen), None);
        let seen = see(&mut watch, &[retry(FailureClass::Overloaded, None)]);
        watch.sees_it_write();
        watch.observe(&Event::Usage(UsageReport::default()));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(class(watch.verdict(&seen)), Some(FailureClass::Overloaded));
    }

    #[tokio::test(start_paused = true)]
    async fn a_tool_whose_end_was_never_told_keeps_no_silent_agent_alive() {
        let mut watch = silent();
        let begun = Event::ToolStart {
            call: "1".to_owned(),
            tool: "mcp".to_owned(),
            about: String::new(),
        };
        let seen = see(
            &mut watch,
            &[begun, retry(FailureClass::Infrastructure, None), said()],
        );
        tokio::time::advance(Duration::from_secs(600)).await;
        assert_eq!(class(watch.verdict(&seen)), Some(FailureClass::Agent));
    }

    #[tokio::test(start_paused = true)]
    async fn a_tool_that_runs_is_something_and_a_try_again_is_nothing() {
        let mut watch = silent();
        let call = || "1".to_owned();
        let begun = Event::ToolStart {
            call: call(),
            tool: "sh".to_owned(),
            about: String::new(),
        };
        let seen = see(&mut watch, &[begun]);
        tokio::time::advance(Duration::from_secs(100_000)).await;
        assert_eq!(watch.verdict(&seen), None);
        let seen = see(
            &mut watch,
            &[Event::ToolEnd {
                call: call(),
                ok: true,
            }],
        );
        tokio::time::advance(Duration::from_secs(400)).await;
        assert_eq!(watch.verdict(&seen), None);
        let seen = see(&mut watch, &[retry(FailureClass::Overloaded, None)]);
        tokio::time::advance(Duration::from_secs(200)).await;
        assert_eq!(
            class(watch.verdict(&seen)),
            Some(FailureClass::Overloaded),
            "it is ended for what it tries in vain"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_waits_for_an_hour_without_saying_so_does_not_keep_its_slot() {
        let mut watch = watch(Bounds::default());
        let again = || retry(FailureClass::RateLimit, None);
        let seen = see(&mut watch, &[said(), again()]);
        tokio::time::advance(Duration::from_secs(40)).await;
        assert_eq!(watch.verdict(&seen), None);
        // Another try is no progress.
        let seen = see(&mut watch, &[said(), again(), again()]);
        tokio::time::advance(Duration::from_secs(40)).await;
        assert_eq!(watch.verdict(&seen), None, "a word in between begins it anew");
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(class(watch.verdict(&seen)), Some(FailureClass::RateLimit));
    }

    #[tokio::test]
    async fn an_agent_that_lost_its_conversation_is_ended_before_it_answers() {
        let mut watch = watch(Bounds::default());
        watch.meter = Meter::going_on(UsageTotals::default());
        let named = |id: &str| [Event::Session { id: id.to_owned() }];
        let seen = see(&mut watch, &named("s"));
        assert_eq!(watch.verdict(&seen), None);
        let seen = see(&mut watch, &named("another"));
        assert_eq!(watch.verdict(&seen), Some(EndedFor::FellBack));
        // The bridge has told it all by then.
        watch.kind = HarnessKind::Acp;
        assert_eq!(watch.verdict(&seen), None);
        watch.kind = HarnessKind::Claude;
        watch.meter = Meter::default();
        assert_eq!(watch.verdict(&seen), None, "nobody asked for a conversation");
    }

    #[tokio::test]
    async fn what_no_try_mends_ends_an_agent_at_once() {
        let mut watch = watch(Bounds::default());
        let seen = see(&mut watch, &[retry(FailureClass::Authentication, None)]);
        assert_eq!(class(watch.verdict(&seen)), Some(FailureClass::Authentication));
        let seen = see(
            &mut watch,
            &[retry(FailureClass::RateLimit, Some(AskAgain::AfterMs(3_600_000)))],
        );
        assert_eq!(class(watch.verdict(&seen)), Some(FailureClass::RateLimit));
        let seen = see(
            &mut watch,
            &[retry(FailureClass::RateLimit, Some(AskAgain::AfterMs(3_000)))],
        );
        assert_eq!(watch.verdict(&seen), None);
    }

    #[tokio::test]
    async fn each_budget_names_itself_and_what_the_conversation_used_before_counts_not() {
        let report = |span, totals| Event::Usage(UsageReport { span, totals });
        let totals = UsageTotals {
            turns: Some(5),
            input_tokens: Some(900),
            output_tokens: Some(100),
            cost_micro_usd: Some(2_500_000),
            ..UsageTotals::default()
        };
        let none = Bounds::default();
        let cases = [
            (
                Bounds {
                    turns: Some(4),
                    ..none
                },
                Some((Budget::Turns, "`turns`")),
            ),
            (
                Bounds {
                    turns: Some(5),
                    ..none
                },
                None,
            ),
            (
                Bounds {
                    tokens: Some(999),
                    ..none
                },
                Some((Budget::Spend, "`tokens`")),
            ),
            (
                Bounds {
                    tokens: Some(1_000),
                    ..none
                },
                None,
            ),
            (
                Bounds {
                    micro_usd: Some(2_499_999),
                    ..none
                },
                Some((Budget::Spend, "`usd`")),
            ),
            (
                Bounds {
                    micro_usd: Some(2_500_000),
                    ..none
                },
                None,
            ),
        ];
        for (bounds, expected) in cases {
            let mut watch = watch(bounds);
            let seen = see(&mut watch, &[report(UsageSpan::Process, totals)]);
            match (watch.verdict(&seen), expected) {
                (Some(EndedFor::UsedUp { budget, reason }), Some((expected, key))) => {
                    assert_eq!(budget, expected);
                    assert!(reason.contains(key), "{reason}");
                }
                (verdict, expected) => {
                    assert!(verdict.is_none() && expected.is_none(), "{bounds:?}: {verdict:?}")
                }
            }
        }
        let mut watch = watch(Bounds {
            tokens: Some(999),
            ..none
        });
        watch.meter = Meter::going_on(UsageTotals {
            input_tokens: Some(900),
            ..UsageTotals::default()
        });
        let seen = see(&mut watch, &[report(UsageSpan::Session, totals)]);
        assert_eq!(watch.verdict(&seen), None);
    }
}
