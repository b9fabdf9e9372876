-- Writes whole rows of every kind, each change with its fence, in one statement; a row whose fence does not hold is left out, so
-- that the numbers that come back must be those of the decision. Foreign keys are checked at its end. Always one row.
with
new_cards as (
    insert into cards (
        id, title, state, reason, person, codebase_id, base, agent, owner_id, machine_id, opening, priority,
        not_before, recovery, done, last_seq, ready_for, ready_from, usage_turns, usage_input_tokens,
        usage_output_tokens, usage_cost_microusd, created_at, updated_at, version)
    select * from unnest(
        $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::text[], $9::uuid[],
        $10::uuid[], $11::text[], $12::smallint[], $13::bigint[], $14::boolean[], $15::boolean[], $16::bigint[],
        $17::text[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[],
        $24::bigint[], $25::bigint[])
    returning 1
),
changed_cards as (
    update cards o set
        state = w.state,
        reason = w.reason,
        codebase_id = w.codebase_id,
        agent = w.agent,
        owner_id = w.owner_id,
        machine_id = w.machine_id,
        opening = w.opening,
        priority = w.priority,
        not_before = w.not_before,
        recovery = w.recovery,
        done = w.done,
        last_seq = w.last_seq,
        ready_for = w.ready_for,
        ready_from = w.ready_from,
        usage_turns = w.usage_turns,
        usage_input_tokens = w.usage_input_tokens,
        usage_output_tokens = w.usage_output_tokens,
        usage_cost_microusd = w.usage_cost_microusd,
        updated_at = w.updated_at,
        version = w.version
    from unnest(
        $26::uuid[], $27::bigint[], $28::text[], $29::text[], $30::uuid[], $31::text[], $32::uuid[], $33::uuid[],
        $34::text[], $35::smallint[], $36::bigint[], $37::boolean[], $38::boolean[], $39::bigint[], $40::text[],
        $41::bigint[], $42::bigint[], $43::bigint[], $44::bigint[], $45::bigint[], $46::bigint[], $47::bigint[]) as w (
        id, was_version, state, reason, codebase_id, agent, owner_id, machine_id, opening, priority, not_before,
        recovery, done, last_seq, ready_for, ready_from, usage_turns, usage_input_tokens, usage_output_tokens,
        usage_cost_microusd, updated_at, version)
    where o.id = any ($26) and o.id = w.id and o.version = w.was_version
    returning 1
),
new_runs as (
    insert into runs (
        id, card_id, kind, parent_id, codebase_id, model, effort, state, epoch, token, machine_id, agent, pid,
        start_ticks, boot_id, started_at, resumed_at, ended_at, again_at, failure, failed_because, failures_in_row,
        tries, starts, settled, given, read_back, handed_back_at, fresh)
    select * from unnest(
        $48::uuid[], $49::uuid[], $50::text[], $51::uuid[], $52::uuid[], $53::text[], $54::text[], $55::text[],
        $56::bigint[], $57::text[], $58::uuid[], $59::text[], $60::bigint[], $61::bigint[], $62::text[],
        $63::bigint[], $64::bigint[], $65::bigint[], $66::bigint[], $67::text[], $68::text[], $69::bigint[],
        $70::bigint[], $71::bigint[], $72::bigint[], $73::bigint[], $74::boolean[], $75::bigint[], $76::boolean[])
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
        failures_in_row = w.failures_in_row,
        tries = w.tries,
        starts = w.starts,
        settled = w.settled,
        given = w.given,
        read_back = w.read_back,
        handed_back_at = w.handed_back_at,
        fresh = w.fresh
    from unnest(
        $77::uuid[], $78::bigint[], $79::text[], $80::text[], $81::text[], $82::bigint[], $83::text[], $84::uuid[],
        $85::text[], $86::bigint[], $87::bigint[], $88::text[], $89::bigint[], $90::bigint[], $91::bigint[],
        $92::text[], $93::text[], $94::bigint[], $95::bigint[], $96::bigint[], $97::bigint[], $98::bigint[],
        $99::boolean[], $100::bigint[], $101::boolean[]) as w (
        id, was_epoch, was_token, was_state, state, epoch, token, machine_id, agent, pid, start_ticks, boot_id,
        resumed_at, ended_at, again_at, failure, failed_because, failures_in_row, tries, starts, settled, given,
        read_back, handed_back_at, fresh)
    where o.id = any ($77) and o.id = w.id and o.epoch = w.was_epoch and o.token = w.was_token and o.state = w.was_state
    returning 1
),
new_turns as (
    insert into turns (
        id, card_id, seq, author_kind, author, body, state, run_id, said_at)
    select * from unnest(
        $102::uuid[], $103::uuid[], $104::bigint[], $105::text[], $106::text[], $107::text[], $108::text[],
        $109::uuid[], $110::bigint[])
    returning 1
),
changed_turns as (
    update turns o set
        state = w.state,
        run_id = w.run_id
    from unnest(
        $111::uuid[], $112::text[], $113::uuid[], $114::text[], $115::uuid[]) as w (
        id, was_state, was_run_id, state, run_id)
    where o.id = any ($111) and o.id = w.id and o.state = w.was_state and o.run_id is not distinct from w.was_run_id
    returning 1
),
new_asks as (
    insert into asks (
        id, card_id, run_id, question, choices, offer, offer_message, addressee, state, answer, answered_by_kind,
        answered_by, asked_at, answered_at, delivered, given, turn_id)
    select * from unnest(
        $116::uuid[], $117::uuid[], $118::uuid[], $119::text[], $120::text[], $121::boolean[], $122::text[],
        $123::text[], $124::text[], $125::text[], $126::text[], $127::text[], $128::bigint[], $129::bigint[],
        $130::boolean[], $131::bigint[], $132::uuid[])
    returning 1
),
changed_asks as (
    update asks o set
        addressee = w.addressee,
        state = w.state,
        answer = w.answer,
        answered_by_kind = w.answered_by_kind,
        answered_by = w.answered_by,
        answered_at = w.answered_at,
        delivered = w.delivered,
        given = w.given
    from unnest(
        $133::uuid[], $134::text[], $135::text[], $136::boolean[], $137::text[], $138::text[], $139::text[],
        $140::text[], $141::text[], $142::bigint[], $143::boolean[], $144::bigint[]) as w (
        id, was_addressee, was_state, was_delivered, addressee, state, answer, answered_by_kind, answered_by,
        answered_at, delivered, given)
    where o.id = any ($133) and o.id = w.id and o.addressee = w.was_addressee
      and o.state = w.was_state and o.delivered = w.was_delivered
    returning 1
),
new_landings as (
    insert into landings (
        id, card_id, codebase_id, ask_id, message, state, epoch, token, machine_id, accepted_by, accepted_at,
        commit_id, result, ended_at)
    select * from unnest(
        $145::uuid[], $146::uuid[], $147::uuid[], $148::uuid[], $149::text[], $150::text[], $151::bigint[],
        $152::text[], $153::uuid[], $154::text[], $155::bigint[], $156::text[], $157::text[], $158::bigint[])
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
        $159::uuid[], $160::bigint[], $161::text[], $162::text[], $163::text[], $164::bigint[], $165::text[],
        $166::text[], $167::text[], $168::bigint[]) as w (
        id, was_epoch, was_token, was_state, state, epoch, token, commit_id, result, ended_at)
    where o.id = any ($159) and o.id = w.id and o.epoch = w.was_epoch and o.token is not distinct from w.was_token
      and o.state = w.was_state
    returning 1
),
new_run_texts as (
    insert into run_texts (
        run_id, epoch, body)
    select * from unnest(
        $169::uuid[], $170::bigint[], $171::text[])
    returning 1
),
new_card_dependencies as (
    insert into card_dependencies (
        card_id, after_id)
    select * from unnest(
        $172::uuid[], $173::uuid[])
    on conflict do nothing
),
gone_card_dependencies as (
    delete from card_dependencies d where d.card_id = any ($186::uuid[])
),
new_parked_routes as (
    insert into parked_routes (
        machine_id, agent, class, reason, since, until)
    select * from unnest(
        $174::uuid[], $175::text[], $176::text[], $177::text[], $178::bigint[], $179::bigint[])
    on conflict (machine_id, agent) do update
    set class = excluded.class, reason = excluded.reason, since = excluded.since, until = excluded.until
    returning 1
),
gone_parked_routes as (
    delete from parked_routes k using unnest($180::uuid[], $181::text[], $187::bigint[]) as w (machine_id, agent, began_at)
    where k.machine_id = w.machine_id and k.agent = w.agent and k.since <= w.began_at
),
completed as (
    update journal o set kind = $183, result = $184 where o.operation_id = $182 and o.kind = 'begun'
    returning 1
)
select array[
    (select count(*) from new_cards), (select count(*) from changed_cards), (select count(*) from new_runs),
    (select count(*) from changed_runs), (select count(*) from new_turns), (select count(*) from changed_turns),
    (select count(*) from new_asks), (select count(*) from changed_asks), (select count(*) from new_landings),
    (select count(*) from changed_landings), (select count(*) from new_run_texts),
    (select count(*) from new_parked_routes), (select count(*) from completed)
] as changed
from (select case when $185 then pg_notify(record_channel(), '') end) n
