-- Writes runs that changed, where the attempt is the one that was read.
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
    fresh = w.fresh,
    left_behind = w.left_behind,
    left_at = w.left_at,
    model = w.model,
    effort = w.effort,
    used = w.used
from unnest(
    $1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::uuid[],
    $9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::bigint[], $14::bigint[], $15::bigint[],
    $16::text[], $17::text[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[],
    $23::boolean[], $24::bigint[], $25::boolean[], $26::text[], $27::bigint[],
    $28::text[], $29::text[], $30::text[]) as w (
    id, was_epoch, was_token, was_state, state, epoch, token, machine_id, agent, pid, start_ticks, boot_id,
    resumed_at, ended_at, again_at, failure, failed_because, failures_in_row, tries, starts, settled, given,
    read_back, handed_back_at, fresh, left_behind, left_at, model, effort, used)
where o.id = any ($1) and o.id = w.id and o.epoch = w.was_epoch and o.token = w.was_token and o.state = w.was_state
