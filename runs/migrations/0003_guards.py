"""What a run is, and what an action was permitted to do, never changes; ends are final."""

from django.db import migrations

RUN = """
CREATE FUNCTION runs_keep_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.id, NEW.tenant_id, NEW.agent_id, NEW.owner_id, NEW.parent_id, NEW.external_id,
        NEW.title, NEW.context, NEW.allowed_tools, NEW.labels, NEW.created_at)
        IS DISTINCT FROM
       (OLD.id, OLD.tenant_id, OLD.agent_id, OLD.owner_id, OLD.parent_id, OLD.external_id,
        OLD.title, OLD.context, OLD.allowed_tools, OLD.labels, OLD.created_at) THEN
        RAISE EXCEPTION 'what a run is never changes'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.state IN ('DONE', 'CANCELLED') AND (NEW.state, NEW.outcome, NEW.revision)
        IS DISTINCT FROM (OLD.state, OLD.outcome, OLD.revision) THEN
        RAISE EXCEPTION 'a run that ended stays as it ended'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.fencing_token < OLD.fencing_token OR NEW.revision < OLD.revision
        OR NEW.event_seq < OLD.event_seq OR (OLD.cancel_requested AND NOT NEW.cancel_requested) THEN
        RAISE EXCEPTION 'tokens, revisions and the record of a run only grow'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER runs_run_kept BEFORE UPDATE ON runs_run
    FOR EACH ROW EXECUTE FUNCTION runs_keep_run();
"""

ACTION = """
CREATE FUNCTION runs_keep_action() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.id, NEW.tenant_id, NEW.run_id, NEW.interrupt_id, NEW.idempotency_key, NEW.tool,
        NEW.asked, NEW.approved_sha256, NEW.holder, NEW.fencing_token, NEW.observation_id,
        NEW."grant", NEW.grant_ends_at, NEW.dispatched_at)
        IS DISTINCT FROM
       (OLD.id, OLD.tenant_id, OLD.run_id, OLD.interrupt_id, OLD.idempotency_key, OLD.tool,
        OLD.asked, OLD.approved_sha256, OLD.holder, OLD.fencing_token, OLD.observation_id,
        OLD."grant", OLD.grant_ends_at, OLD.dispatched_at) THEN
        RAISE EXCEPTION 'what an action was permitted to do never changes'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.ended_at IS NOT NULL
        AND (NEW.state, NEW.ended_at, NEW.result, NEW.evidence, NEW.resent_as)
        IS DISTINCT FROM (OLD.state, OLD.ended_at, OLD.result, OLD.evidence, OLD.resent_as) THEN
        RAISE EXCEPTION 'an action that ended stays as it ended'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER runs_action_kept BEFORE UPDATE ON runs_action
    FOR EACH ROW EXECUTE FUNCTION runs_keep_action();
"""

REFUSE = """
CREATE FUNCTION runs_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % is not possible: it is evidence', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END $$
"""


def undeletable(table: str) -> migrations.RunSQL:
    """A trigger by which rows of this table cannot be deleted."""
    return migrations.RunSQL(
        f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table}"
        " FOR EACH ROW EXECUTE FUNCTION runs_refuse()",
        f"DROP TRIGGER {table}_no_delete ON {table}",
    )


class Migration(migrations.Migration):
    dependencies = [("runs", "0002_leases_and_actions")]

    operations = [
        migrations.RunSQL(
            RUN, "DROP TRIGGER runs_run_kept ON runs_run; DROP FUNCTION runs_keep_run()"
        ),
        migrations.RunSQL(
            ACTION,
            "DROP TRIGGER runs_action_kept ON runs_action; DROP FUNCTION runs_keep_action()",
        ),
        migrations.RunSQL(REFUSE, "DROP FUNCTION runs_refuse()"),
        undeletable("runs_run"),
        undeletable("runs_action"),
    ]
