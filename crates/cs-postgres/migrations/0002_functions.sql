-- The functions of the first step that were planned anew at every call, or planned badly for a record of a thousand cards. What they
-- return is as before, so that a binary of the first step goes on with them.

-- As before, in PL/pgSQL: a session plans it once.
create or replace function room_of(p_machine uuid, p_codebases uuid[], p_now bigint) returns room
language plpgsql stable as $$
declare
    result room;
begin
    with codebases as (
        select
            b.id,
            (select max(p.kind) from pauses p where p.codebase_id = b.id) as pause,
            (select greatest(0, l.most - (
                    select count(*) from runs r where r.codebase_id = b.id and (r.pid is not null or r.state = 'running')))
                from limits l where l.kind = 'codebase' and l.id = b.id) as free
        from unnest(p_codebases) b (id)
    )
    select
        (select max(p.kind) from pauses p where p.scope = 'everything' or p.machine_id = p_machine),
        (select greatest(0, l.most - (
                select count(*) from runs r where r.machine_id = p_machine and (r.pid is not null or r.state = 'running')))
            from limits l where l.kind = 'machine' and l.id = p_machine),
        (select m.person from machines m where m.id = p_machine and not m.serves_everyone),
        array(select k.agent from parked_routes k where k.machine_id = p_machine and (k.until is null or k.until > p_now)),
        (select coalesce(json_agg(c), '[]') from codebases c),
        array(select c.id from codebases c where c.pause is null and c.free is distinct from 0),
        array(select c.id from codebases c where c.pause is distinct from 'pause' and c.free is distinct from 0)
    into result;
    return result;
end
$$;

-- As before. The tables are read by index alone: of a table that is small today a plan is made that reads all of it, and kept.
create or replace function load_rows(p_cards uuid[], p_named uuid[]) returns json
language plpgsql stable set enable_seqscan = off as $$
begin
    return json_build_object(
        'cards', coalesce((
            select json_agg(c order by o.place)
            from unnest(p_cards) with ordinality o (id, place) join cards c on c.id = o.id
            where c.id = any (p_cards)), '[]'),
        'runs', coalesce((
            select json_agg(r order by r.id) from runs r
            where r.card_id = any (p_cards)
              and (r.state in ('running', 'asked') or r.again_at is not null or r.pid is not null
                   or (r.parent_id is not null and not r.read_back) or r.id = any (p_named)
                   or r.id in (select c.owner_id from cards c where c.id = any (p_cards)))), '[]'),
        'turns', coalesce((
            select json_agg(json_build_object(
                'id', t.id, 'card_id', t.card_id, 'seq', t.seq, 'state', t.state, 'run_id', t.run_id, 'said_at', t.said_at)
                order by t.seq)
            from (
                select * from turns w where w.card_id = any (p_cards) and w.state in ('pending', 'leased')
                union all
                select * from turns n
                where n.id = any (p_named) and n.card_id = any (p_cards) and n.state not in ('pending', 'leased')
            ) t), '[]'),
        'asks', coalesce((
            select json_agg(a order by a.id) from asks a
            where a.card_id = any (p_cards)
              and (a.state in ('open', 'accepted') or (a.state = 'answered' and not a.delivered) or a.id = any (p_named))
            ), '[]'),
        'landings', coalesce((
            select json_agg(l order by l.id) from landings l
            where l.card_id = any (p_cards) and (l.state in ('accepted', 'running') or l.id = any (p_named))), '[]'),
        'waits_for', coalesce((
            select json_agg(u order by u.card_id, u.after_id) from undone_dependencies u
            where u.card_id = any (p_cards)), '[]'));
end
$$;
