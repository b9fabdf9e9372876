//! What the ports of the record promise, one function a promise.
//!
//! Each law gets a [`World`] of its own over an empty record. [`record_conformance!`](crate::record_conformance) makes a test of
//! every law of the ports, [`store_conformance!`](crate::store_conformance) of those of the store below.

pub mod acts;
pub mod agents;
pub mod attachments;
pub mod children;
pub mod choices;
pub mod claims;
pub mod events;
pub mod fences;
pub mod housekeeping;
pub mod kept;
pub mod landed;
pub mod landings;
pub mod launchers;
pub mod limits;
pub mod plans;
pub mod races;
pub mod random;
pub mod reads;
pub mod redirects;
pub mod scenarios;
pub mod settlements;
pub mod standing;
pub mod stores;
pub mod unreadable;
pub mod usage;
mod world;

pub use world::World;

/// Makes a test of every law of the record; the expression makes a fresh [`World`](crate::laws::World), and may await.
#[macro_export]
macro_rules! record_conformance {
    ($world:expr) => {
        $crate::record_conformance! { @ $world;
            acts: a_turn_is_written_once,
            acts: a_bad_text_is_refused,
            acts: a_new_turn_opens_a_card_again,
            acts: the_first_answer_to_a_question_wins,
            acts: an_answer_must_be_one_of_the_choices,
            acts: a_stop_hands_the_turns_back,
            acts: a_codebase_keeps_its_name,
            acts: odd_characters_survive,
            claims: a_card_is_taken_once,
            claims: a_replayed_claim_gives_the_first_result,
            claims: a_cancelled_operation_never_takes,
            claims: a_lost_answer_is_confirmed,
            claims: an_empty_claim_leaves_no_row,
            claims: an_operation_far_from_the_clock_is_refused,
            claims: a_machine_without_the_codebase_gets_nothing,
            claims: another_machine_or_route_gets_nothing,
            claims: a_pause_closes_the_takes,
            claims: a_batch_takes_what_single_claims_take,
            claims: a_process_on_the_record_keeps_the_card,
            events: what_happened_is_told_in_order,
            events: a_landing_is_told_from_its_offer_to_its_end,
            events: what_people_do_is_told_with_their_names,
            events: what_changes_nothing_is_not_told,
            events: from_every_cursor_the_rest_follows,
            events: a_cursor_of_another_record_is_refused,
            events: sixteen_writers_are_read_by_one_without_a_gap,
            fences: a_stale_attempt_changes_nothing,
            fences: a_wrong_token_changes_nothing,
            fences: a_restored_record_refuses_newer_attempts,
            fences: a_process_is_recorded_and_cleared_under_its_fence,
            fences: an_interruption_has_four_outcomes,
            fences: an_interrupted_run_goes_on_with_its_turns,
            fences: one_receipt_interrupts_several_cards,
            fences: a_probe_changes_nothing,
            fences: a_run_that_left_no_trace_is_given_back,
            fences: a_process_that_left_no_trace_is_forgotten,
            landings: a_landing_that_left_no_trace_is_given_back,
            landings: a_landing_is_accepted_taken_and_landed,
            landings: a_conflict_goes_back_to_the_agent,
            landed: a_failed_verify_goes_back_with_its_evidence,
            landed: the_third_failed_landing_in_a_row_goes_to_the_person,
            landed: a_published_branch_keeps_its_card_open,
            landed: a_landing_goes_onto_the_branch_that_the_person_said,
            landings: a_refused_landing_leaves_the_offer_open,
            landings: a_stale_landing_changes_nothing,
            landings: landings_of_a_base_go_one_at_a_time_in_order,
            landings: landings_of_two_bases_go_at_once,
            landings: a_stop_refuses_an_accepted_landing,
            landings: a_turn_that_comes_during_a_landing_is_not_lost,
            landings: a_pause_keeps_landings_back_and_a_drain_does_not,
            landings: a_card_that_lands_is_not_closed,
            races: sixteen_takers_take_each_card_once,
            races: of_sixteen_answers_one_wins,
            races: of_sixteen_settlements_one_is_applied,
            races: of_sixteen_interruptions_one_is_applied,
            races: of_sixteen_owners_one_is_sent,
            races: a_question_that_is_asked_sixteen_times_is_one,
            races: of_sixteen_landing_results_one_is_applied,
            races: of_sixteen_daemons_one_holds_the_machine,
            races: of_sixteen_codebases_one_gets_the_name,
            races: a_row_is_forgotten_once,
            races: readers_see_whole_cards,
            reads: a_short_id_finds_its_card,
            reads: a_peek_names_what_can_be_taken,
            reads: a_second_daemon_is_refused_while_the_first_is_present,
            reads: a_daemon_follows_a_dead_one_at_once,
            reads: a_renewal_lasts_and_says_what_has_changed,
            settlements: an_answer_settles_what_was_taken,
            settlements: an_answered_question_wakes_its_run,
            settlements: a_repeated_answer_asks_once,
            settlements: a_turn_wakes_an_asked_run_and_its_question_stays,
            settlements: an_answer_that_came_too_late_for_an_attempt_wakes_the_next,
            settlements: an_answer_begins_new_counts,
            settlements: a_final_failure_withdraws_its_questions,
            settlements: the_third_try_is_the_last,
            settlements: a_failure_that_is_nobodys_fault_counts_no_try,
            settlements: the_tenth_start_parks_the_card,
            settlements: a_retry_waits_for_its_time,
            settlements: a_full_context_begins_a_new_conversation,
            fences: what_was_left_behind_is_marked_until_it_is_gone,
            settlements: a_cap_ends_the_run_until_a_person_wants_more,
            settlements: a_cap_after_a_question_is_none,
            settlements: words_without_end_are_cut,
            usage: what_attempts_use_up_is_summed,
            usage: an_attempt_is_counted_once_whatever_became_of_it,
            agents: a_question_is_asked_while_the_agent_runs,
            agents: an_early_answer_waits_for_the_end_of_the_attempt,
            agents: a_failure_after_a_question_is_none,
            agents: a_failed_sign_in_after_a_question_parks_the_route,
            agents: only_the_current_attempt_asks,
            agents: nobody_asks_before_its_start_is_noted,
            children: an_owner_sends_workers_and_reads_them_back,
            children: a_turn_does_not_wait_for_workers,
            children: a_refused_dispatch_says_why,
            children: a_worker_that_fails_is_read_back,
            children: a_parent_settles_the_question_of_its_worker,
            children: a_question_that_a_parent_leaves_goes_to_a_person,
            launchers: a_launcher_finds_the_owner,
            launchers: a_launchers_failure_does_not_return_the_message,
            launchers: a_launcher_that_has_sent_the_owner_fails_alone,
            children: a_stop_ends_children_too,
            children: a_stop_reaches_workers_of_a_failed_card,
            children: a_card_with_something_to_read_back_is_not_done,
            children: a_parent_does_not_answer_for_a_person,
            launchers: a_launcher_that_goes_on_takes_nothing_from_the_owner,
            housekeeping: a_journal_row_goes_when_nobody_can_need_it,
            housekeeping: a_kept_row_still_answers,
            limits: a_limit_is_never_exceeded,
            limits: sixteen_takers_keep_to_a_limit,
            limits: a_full_codebase_stands_in_nobodys_way,
            limits: a_drain_lets_what_was_begun_go_on,
            limits: a_parked_route_waits_for_a_person_or_a_success,
            limits: a_rate_limit_parks_the_route_until_its_time,
            limits: another_machine_does_not_mind_a_parked_route,
            limits: a_machine_takes_the_cards_of_its_person,
            limits: an_older_success_does_not_open_a_route,
            limits: a_route_that_cannot_work_is_parked,
            limits: a_route_that_never_works_ends_in_a_failed_card,
            plans: a_card_waits_for_the_cards_before_it,
            plans: a_cycle_is_refused_when_it_is_made,
            plans: a_card_waits_for_its_time,
            plans: a_person_frees_a_card_that_waits,
            plans: the_higher_priority_goes_first,
            plans: a_person_tries_a_card_again,
            plans: a_closed_card_is_over,
            plans: work_is_handed_back_between_two_starts,
            choices: a_choice_for_a_card_holds_from_its_next_attempt,
            attachments: what_is_attached_reaches_the_next_attempt,
            attachments: files_of_a_card_have_different_names,
            attachments: a_bad_file_is_refused_with_its_turn,
            attachments: a_card_that_is_full_takes_no_more,
            standing: rules_are_read_anew_by_each_attempt,
            standing: a_rule_is_written_once_and_keeps_its_place,
            standing: a_bad_rule_is_refused,
            plans: a_targeted_claim_takes_that_run_or_nothing,
            plans: a_retry_brings_an_answer_that_was_never_settled,
            plans: an_answer_does_not_wait_for_another_question,
            plans: a_card_that_is_handed_to_another_route_waits_no_more,
            redirects: a_turn_for_an_owner_at_work_is_a_redirect,
            redirects: scenario_32_the_newest_turn_decides,
            redirects: nobody_else_is_redirected,
            redirects: a_redirect_waits_until_the_next_attempt_may_start,
            redirects: corrections_do_not_use_up_the_starts,
            scenarios: scenario_11_an_answer_of_the_attempt_before_is_refused,
            scenarios: scenario_12_a_pid_that_was_used_again_is_not_cleared,
            scenarios: scenario_13_and_14_every_part_of_an_identity_counts,
            scenarios: scenario_15_a_late_process_changes_nothing,
            scenarios: scenario_27_three_processes_then_the_reason,
            scenarios: scenario_28_what_is_not_retryable_is_not_retried,
            scenarios: scenario_29_already_ended_is_no_error,
        }
    };
    (@ $world:expr; $($group:ident: $law:ident),* $(,)?) => { $(
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $law() {
            let world: $crate::laws::World = $world;
            $crate::laws::$group::$law(&world).await;
            world.check_readiness().await;
        }
    )* };
}

/// Makes a test of every law of a [`RowStore`](cs_record::RowStore); the expression makes a fresh store, the
/// [`SetClock`](crate::SetClock) that is its clock, and a guard that lives as long as the test.
#[macro_export]
macro_rules! store_conformance {
    ($store:expr) => {
        $crate::store_conformance! { @ $store;
            stores: a_write_decided_on_other_rows_is_refused,
            stores: a_broken_invariant_is_refused,
            stores: an_operation_needs_its_journal_entry,
            stores: an_event_is_written_with_its_rows_or_not_at_all,
            kept: a_run_is_at_work_again_only_under_a_new_epoch,
            kept: a_settled_turn_stays_settled,
            kept: a_given_answer_stays,
            kept: a_child_that_was_read_back_stays_so,
            kept: one_landing_runs_on_a_base,
            kept: a_landing_ends_once,
        }
    };
    (@ $store:expr; $($group:ident: $law:ident),* $(,)?) => { $(
        #[tokio::test]
        async fn $law() {
            let (store, clock, _guard) = $store;
            $crate::laws::$group::$law(&store, &clock).await;
        }
    )* };
}
