//! The stages of a landing.

use super::Next;
use crate::event::LandingEvent;

/// Who owns a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingStage {
    /// The claim that took it; nothing was done.
    Claimed,
    /// The task that carries it out. The steps are the daemon's own texts, in their order.
    Working {
        /// The steps so far.
        steps: Vec<String>,
    },
    /// Its result, which the record does not have yet.
    Done {
        /// The steps that were made.
        steps: Vec<String>,
        /// The result.
        result: String,
    },
}

impl LandingStage {
    /// Returns the stage's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Working { .. } => "working",
            Self::Done { .. } => "done",
        }
    }

    /// Says whether it is taken and nothing has been done.
    pub(crate) const fn is_starting(&self) -> bool {
        match self {
            Self::Claimed => true,
            Self::Working { .. } | Self::Done { .. } => false,
        }
    }

    /// Says where an event leads, or nothing when it cannot follow here.
    pub(crate) fn after(&self, event: &LandingEvent) -> Option<Next<Self>> {
        match self {
            Self::Claimed => match event {
                LandingEvent::Step { step } => working(&[], step),
                LandingEvent::Result { result } => done(&[], result),
                LandingEvent::Void => Some(Next::Over),
                LandingEvent::Acknowledged => None,
            },
            Self::Working { steps } => match event {
                LandingEvent::Step { step } => working(steps, step),
                LandingEvent::Result { result } => done(steps, result),
                LandingEvent::Acknowledged | LandingEvent::Void => None,
            },
            Self::Done { .. } => match event {
                LandingEvent::Acknowledged => Some(Next::Over),
                LandingEvent::Step { .. } | LandingEvent::Result { .. } | LandingEvent::Void => None,
            },
        }
    }

    /// Returns events that lead from `Claimed` to this stage.
    pub(super) fn events(&self) -> Vec<LandingEvent> {
        match self {
            Self::Claimed => Vec::new(),
            Self::Working { steps } => step_events(steps).collect(),
            Self::Done { steps, result } => {
                let result = LandingEvent::Result {
                    result: result.clone(),
                };
                step_events(steps).chain([result]).collect()
            }
        }
    }
}

fn step_events(steps: &[String]) -> impl Iterator<Item = LandingEvent> {
    steps.iter().map(|step| LandingEvent::Step { step: step.clone() })
}

fn working(steps: &[String], step: &str) -> Option<Next<LandingStage>> {
    let steps = steps.iter().cloned().chain([step.to_owned()]).collect();
    Some(Next::Stage(LandingStage::Working { steps }))
}

fn done(steps: &[String], result: &str) -> Option<Next<LandingStage>> {
    Some(Next::Stage(LandingStage::Done {
        steps: steps.to_vec(),
        result: result.to_owned(),
    }))
}
