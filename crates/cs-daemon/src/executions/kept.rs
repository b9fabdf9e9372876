//! What of an agent's words goes into its transcript: short lines together, and no more than the attempt may write.

use cs_harness::Event;

/// The longest text that is put together from lines that follow each other, in bytes.
const TEXT_MAX_BYTES: usize = 16 << 10;

/// Adds an event to those of a batch. A line of plain output goes on in the event before it: a record for each would take many times the disk of
/// what the agent has written.
pub(super) fn push(events: &mut Vec<Event>, event: Event) {
    match (events.last_mut(), &event) {
        (Some(Event::Text { text: before }), Event::Text { text })
            if before.len() + text.len() <= TEXT_MAX_BYTES =>
        {
            before.push_str(text);
        }
        (Some(Event::NotKept { messages: before }), Event::NotKept { messages }) => {
            *before = before.saturating_add(*messages);
        }
        _ => events.push(event),
    }
}

/// So many messages that were not understood are kept of one attempt.
const UNKNOWN_MAX: usize = 1_000;
/// And so many bytes of them.
const UNKNOWN_MAX_BYTES: usize = 1 << 20;

/// The messages of an attempt that were not understood: the first are kept, the others counted.
#[derive(Debug, Default)]
pub(super) struct Unknowns {
    kept: usize,
    bytes: usize,
}

impl Unknowns {
    /// Takes in an event that is kept.
    pub(super) fn observe(&mut self, event: &Event) {
        if let Event::Unknown { kind, body } = event {
            self.kept += 1;
            self.bytes += kind.len() + body.len();
        }
    }

    /// An event as it is kept.
    pub(super) fn keep(&mut self, event: Event) -> Event {
        let is_enough = self.kept >= UNKNOWN_MAX || self.bytes >= UNKNOWN_MAX_BYTES;
        if is_enough && matches!(event, Event::Unknown { .. }) {
            return Event::NotKept { messages: 1 };
        }
        self.observe(&event);
        event
    }
}

/// How long a transcript may be. The shim counts it with the raw output and ends an agent that writes more; what is still read then is bounded here.
#[derive(Debug)]
pub(super) struct Bound {
    most_bytes: Option<u64>,
    is_said: bool,
}

impl Bound {
    /// No limit where none is given.
    pub(super) fn new(most_bytes: Option<u64>) -> Self {
        Self {
            most_bytes,
            is_said: false,
        }
    }

    /// Cuts what of these events goes into a transcript that has this length. Nothing is cut, `None`, up to the limit; beyond it is kept what
    /// the settlement needs, after one event that says so.
    pub(super) fn cut(&mut self, events: &[Event], length_bytes: u64) -> Option<Vec<Event>> {
        let most_bytes = self.most_bytes.filter(|most| length_bytes >= *most)?;
        let said = (!std::mem::replace(&mut self.is_said, true)).then(|| Event::Progress {
            text: format!(
                "what follows is not kept, since the transcript has reached {} MiB (`output` in the configuration)",
                most_bytes >> 20
            ),
        });
        let counting = events.iter().filter(|event| counts(event)).cloned();
        // Whether the output stops inside a line.
        let half = events.last().filter(|event| is_half_a_line(event)).cloned();
        Some(said.into_iter().chain(counting).chain(half).collect())
    }
}

/// Text without an end at the end of everything that was said: half a last line is no success.
fn is_half_a_line(event: &Event) -> bool {
    matches!(event, Event::Text { text } if !text.ends_with('\n'))
}

/// Says whether an attempt is settled by an event, or by what it takes back: that a tool is used mends what failed before.
fn counts(event: &Event) -> bool {
    match event {
        Event::Ask { .. }
        | Event::OfferLanding { .. }
        | Event::Usage(_)
        | Event::Session { .. }
        | Event::Started { .. }
        | Event::Said { .. }
        | Event::ToolStart { .. }
        | Event::ToolEnd { .. }
        | Event::Turn { .. }
        | Event::Denied { .. }
        | Event::Retry(_)
        | Event::Failed(_)
        | Event::End { .. }
        | Event::Final { .. } => true,
        Event::Text { .. } | Event::Progress { .. } | Event::Unknown { .. } | Event::NotKept { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Event {
        Event::Text {
            text: text.to_owned(),
        }
    }

    #[test]
    fn lines_become_one_event_up_to_its_length_and_only_beside_each_other() {
        let long = "x".repeat(TEXT_MAX_BYTES);
        let answer = Event::Final { text: "a".to_owned() };
        let mut events = Vec::new();
        for event in [
            text("1\n"),
            text("2\n"),
            answer.clone(),
            text("3\n"),
            text(&long),
            text("4\n"),
        ] {
            push(&mut events, event);
        }
        assert_eq!(
            events,
            [text("1\n2\n"), answer, text("3\n"), text(&long), text("4\n")]
        );
    }

    #[test]
    fn of_messages_that_are_not_understood_the_first_are_kept_and_all_are_counted() {
        let count = 3 * UNKNOWN_MAX;
        for (body_bytes, kept) in [(0, UNKNOWN_MAX), (4096, UNKNOWN_MAX_BYTES.div_ceil(4099))] {
            let unknown = || Event::unknown("odd", &vec![b'x'; body_bytes]);
            let mut unknowns = Unknowns::default();
            let mut events = Vec::new();
            for _ in 0..count / 2 {
                push(&mut events, unknowns.keep(unknown()));
            }
            // Another daemon goes on with it.
            let mut unknowns = Unknowns::default();
            events.iter().for_each(|event| unknowns.observe(event));
            for _ in count / 2..count {
                push(&mut events, unknowns.keep(unknown()));
            }
            assert_eq!(events.len(), kept + 1, "the rest is one event");
            let mut seen = cs_harness::Seen::default();
            events.iter().for_each(|event| seen.observe(event));
            assert_eq!(seen.unknown_count(), count as u64);
        }
    }

    #[test]
    fn what_is_read_again_beyond_the_limit_comes_to_what_it_was() {
        let failed = Event::Failed(cs_harness::Trouble::of_error(Some(529), None, "overloaded"));
        let call = "1".to_owned();
        let tool_end = Event::ToolEnd {
            call: call.clone(),
            ok: true,
        };
        let tool_start = Event::ToolStart {
            call,
            tool: "t".to_owned(),
            about: String::new(),
        };
        let rests = Event::Turn {
            mark: cs_harness::TurnMark::Rests,
        };
        let ends = [
            vec![failed.clone(), tool_start],
            vec![failed, tool_end],
            vec![rests, text("half")],
        ];
        for told in ends {
            let kept = Bound::new(Some(0)).cut(&told, 0).expect("it is cut");
            let fold = |events: &[Event]| {
                let mut seen = cs_harness::Seen::default();
                events.iter().for_each(|event| seen.observe(event));
                (
                    seen.failure().cloned(),
                    seen.is_at_rest(),
                    seen.ends_inside_line(),
                )
            };
            assert_eq!(fold(&kept), fold(&told), "{told:?}");
        }
    }

    #[test]
    fn beyond_the_limit_it_is_said_once_and_what_settles_is_kept() {
        let answer = Event::Final { text: "a".to_owned() };
        let mut bound = Bound::new(Some(3 << 20));
        let events = [text("1\n"), answer.clone()];
        assert_eq!(bound.cut(&events, (3 << 20) - 1), None);
        let kept = bound.cut(&events, 3 << 20).expect("it is cut");
        assert!(
            matches!(&kept[..], [Event::Progress { text }, last] if text.contains("3 MiB") && *last == answer),
            "{kept:?}"
        );
        assert_eq!(bound.cut(&events, 3 << 20), Some(vec![answer]));
        assert_eq!(Bound::new(None).cut(&events, u64::MAX), None);
    }
}
