-- Writes whole rows of every kind, each change with its fence, in one statement; a row whose fence does not hold is left out, so
-- that the numbers that come back must be those of the decision. Foreign keys are checked at its end. Always one row.
with
new_cards as (
    insert into cards (
        id, title, state, reason, person, codebase_id, base, agent, owner_id, machine_id, last_seq, ready_for,
        ready_from, tries, starts, usage_turns, usage_input_tokens, usage_output_tokens, usage_cost_microusd,
        created_at, updated_at, version)
    select * from unnest(
        $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::text[], $9::uuid[],
        $10::uuid[], $11::bigint[], $12::text[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[],
        $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[])
    returning 1
),
changed_cards as (
    update cards o set
        state = w.state,
        reason = w.reason,
        agent = w.agent,
        owner_id = w.owner_id,
        machine_id = w.machine_id,
        last_seq = w.last_seq,
        ready_for = w.ready_for,
        ready_from = w.ready_from,
        tries = w.tries,
        starts = w.starts,
        usage_turns = w.usage_turns,
        usage_input_tokens = w.usage_input_tokens,
        usage_output_tokens = w.usage_output_tokens,
        usage_cost_microusd = w.usage_cost_microusd,
        updated_at = w.updated_at,
        version = w.version
    from unnest(
        $23::uuid[], $24::bigint[], $25::text[], $26::text[], $27::text[], $28::uuid[], $29::uuid[], $30::bigint[],
        $31::text[], $32::bigint[], $33::bigint[], $34::bigint[], $35::bigint[], $36::bigint[], $37::bigint[],
        $38::bigint[], $39::bigint[], $40::bigint[]) as w (
        id, was_version, state, reason, agent, owner_id, machine_id, last_seq, ready_for, ready_from, tries, starts,
        usage_turns, usage_input_tokens, usage_output_tokens, usage_cost_microusd, updated_at, version)
    where o.id = any ($23) and o.id = w.id and o.version = w.was_version
    returning 1
),
new_runs as (
    insert into runs (
        id, card_id, kind, state, epoch, token, machine_id, agent, pid, start_ticks, boot_id, started_at, resumed_at,
        ended_at, again_at, failure, failed_because, failures_in_row)
    select * from unnest(
        $41::uuid[], $42::uuid[], $43::text[], $44::text[], $45::bigint[], $46::text[], $47::uuid[], $48::text[],
        $49::bigint[], $50::bigint[], $51::text[], $52::bigint[], $53::bigint[], $54::bigint[], $55::bigint[],
        $56::text[], $57::text[], $58::bigint[])
    returning 1
),
changed_runs as (
    update runs o set
        state = w.state,
        epoch = w.epoch,
        token = w.token,
        machine_id = w.machine_id,
        agent = w.agent,
        pid = w.pid,
        start_ticks = w.start_ticks,
        boot_id = w.boot_id,
        resumed_at = w.resumed_at,
        ended_at = w.ended_at,
        again_at = w.again_at,
        failure = w.failure,
        failed_because = w.failed_because,
        failures_in_row = w.failures_in_row
    from unnest(
        $59::uuid[], $60::bigint[], $61::text[], $62::text[], $63::text[], $64::bigint[], $65::text[], $66::uuid[],
        $67::text[], $68::bigint[], $69::bigint[], $70::text[], $71::bigint[], $72::bigint[], $73::bigint[],
        $74::text[], $75::text[], $76::bigint[]) as w (
        id, was_epoch, was_token, was_state, state, epoch, token, machine_id, agent, pid, start_ticks, boot_id,
        resumed_at, ended_at, again_at, failure, failed_because, failures_in_row)
    where o.id = any ($59) and o.id = w.id and o.epoch = w.was_epoch and o.token = w.was_token and o.state = w.was_state
    returning 1
),
new_turns as (
    insert into turns (
        id, card_id, seq, author_kind, author, body, state, run_id, said_at)
    select * from unnest(
        $77::uuid[], $78::uuid[], $79::bigint[], $80::text[], $81::text[], $82::text[], $83::text[], $84::uuid[],
        $85::bigint[])
    returning 1
),
changed_turns as (
    update turns o set
        state = w.state,
        run_id = w.run_id
    from unnest(
        $86::uuid[], $87::text[], $88::uuid[], $89::text[], $90::uuid[]) as w (
        id, was_state, was_run_id, state, run_id)
    where o.id = any ($86) and o.id = w.id and o.state = w.was_state and o.run_id is not distinct from w.was_run_id
    returning 1
),
new_asks as (
    insert into asks (
        id, card_id, run_id, question, choices, offer, offer_message, state, answer, answered_by_kind, answered_by,
        asked_at, answered_at, delivered, given, turn_id)
    select * from unnest(
        $91::uuid[], $92::uuid[], $93::uuid[], $94::text[], $95::text[], $96::boolean[], $97::text[], $98::text[],
        $99::text[], $100::text[], $101::text[], $102::bigint[], $103::bigint[], $104::boolean[], $105::bigint[],
        $106::uuid[])
    returning 1
),
changed_asks as (
    update asks o set
        state = w.state,
        answer = w.answer,
        answered_by_kind = w.answered_by_kind,
        answered_by = w.answered_by,
        answered_at = w.answered_at,
        delivered = w.delivered,
        given = w.given
    from unnest(
        $107::uuid[], $108::text[], $109::boolean[], $110::text[], $111::text[], $112::text[], $113::text[],
        $114::bigint[], $115::boolean[], $116::bigint[]) as w (
        id, was_state, was_delivered, state, answer, answered_by_kind, answered_by, answered_at, delivered, given)
    where o.id = w.id and o.state = w.was_state and o.delivered = w.was_delivered
    returning 1
),
new_landings as (
    insert into landings (
        id, card_id, codebase_id, ask_id, message, state, epoch, token, machine_id, accepted_by, accepted_at,
        commit_id, result, ended_at)
    select * from unnest(
        $117::uuid[], $118::uuid[], $119::uuid[], $120::uuid[], $121::text[], $122::text[], $123::bigint[],
        $124::text[], $125::uuid[], $126::text[], $127::bigint[], $128::text[], $129::text[], $130::bigint[])
    returning 1
),
changed_landings as (
    update landings o set
        state = w.state,
        epoch = w.epoch,
        token = w.token,
        commit_id = w.commit_id,
        result = w.result,
        ended_at = w.ended_at
    from unnest(
        $131::uuid[], $132::bigint[], $133::text[], $134::text[], $135::text[], $136::bigint[], $137::text[],
        $138::text[], $139::text[], $140::bigint[]) as w (
        id, was_epoch, was_token, was_state, state, epoch, token, commit_id, result, ended_at)
    where o.id = w.id and o.epoch = w.was_epoch and o.token is not distinct from w.was_token and o.state = w.was_state
    returning 1
),
completed as (
    update journal o set kind = $142, result = $143 where o.operation_id = $141 and o.kind = 'begun'
    returning 1
)
select array[
    (select count(*) from new_cards), (select count(*) from changed_cards), (select count(*) from new_runs),
    (select count(*) from changed_runs), (select count(*) from new_turns), (select count(*) from changed_turns),
    (select count(*) from new_asks), (select count(*) from changed_asks), (select count(*) from new_landings),
    (select count(*) from changed_landings), (select count(*) from completed)
] as changed
from (select case when $144 then pg_notify(record_channel(), '') end) n
