"""How to break each constraint and each trigger of ours with plain SQL.

`{run}` and the like are the ids of the scene's rows. A statement is by itself enough to break
the guard that it stands under, and no other.
"""

from collections.abc import Mapping

COLUMNS = """
SELECT string_agg(format('%%I', attname), ', ' ORDER BY attnum),
       string_agg(coalesce(changed.expression, format('t.%%I', attname)), ', ' ORDER BY attnum)
FROM pg_attribute LEFT JOIN unnest(%s::text[], %s::text[]) AS changed (name, expression)
  ON changed.name = attname
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
  AND coalesce(changed.expression, '') <> 'drawn'
"""


def again(table: str, where: str, **changes: str) -> tuple[str, str, Mapping[str, str]]:
    """The insertion of a row that is there already, but for these columns."""
    return table, where, changes


DRAWN = {"id": "drawn"}
ANOTHER_ID = {"id": "'xxx_' || right(t.id, 26)"}

CHECKS: dict[str, str] = {
    "action_state_is_known": """
        UPDATE runs_action SET state = 'SENT', ended_at = now() WHERE id = {action}""",
    "action_end_has_a_time": "UPDATE runs_action SET state = 'FAILED' WHERE id = {action}",
    "action_resent_as_something": """
        UPDATE runs_action SET state = 'RESENT', ended_at = now() WHERE id = {action}""",
    "run_lease_is_whole": "UPDATE runs_run SET lease_ttl_s = NULL WHERE id = {acting}",
    "run_in_flight_is_held": """
        UPDATE runs_run SET lease_holder = NULL, lease_ttl_s = NULL, lease_expires_at = NULL
        WHERE id = {acting}""",
    "observation_of_a_handback_or_a_run": """
        INSERT INTO approvals_observation (id, tenant_id, run_id, handback, fencing_token, origin,
            snapshot_sha256, observed_at, received_at, differs)
        VALUES ('obs_x', {tenant}, {acting}, 1, 1, 'https://a.example', 'x', now(), now(), '[]')""",
    "decision_kind_is_known": """
        INSERT INTO approvals_decision (id, tenant_id, interrupt_id, kind, by_kind, by_id, by_name,
            decided_at, approvals, reason)
        VALUES ('dec_x', {tenant}, {pending}, 'perhaps', 'user', 'u', 'rae', now(), '[]', '')""",
    "decision_approves_something_or_not": """
        INSERT INTO approvals_decision (id, tenant_id, interrupt_id, kind, by_kind, by_id, by_name,
            decided_at, approvals, reason)
        VALUES ('dec_x', {tenant}, {pending}, 'approve', 'user', 'u', 'rae', now(), '[]', '')""",
    "interrupt_state_is_known": """
        UPDATE approvals_interrupt SET state = 'APPROVED', ended_at = now() WHERE id = {pending}""",
    "interrupt_end_has_a_time": """
        UPDATE approvals_interrupt SET state = 'EXPIRED' WHERE id = {pending}""",
    "nobody_is_above_the_tenants": "UPDATE identity_user SET is_superuser = true WHERE id = {user}",
    "run_counters_grow": "UPDATE runs_run SET seq = event_seq + 1 WHERE id = {run}",
    "run_outcome_when_done": "UPDATE runs_run SET state = 'DONE' WHERE id = {run}",
    "endpoint_disabled_has_a_reason": """
        UPDATE webhooks_endpoint SET is_active = false WHERE tenant_id = {tenant}""",
    "endpoint_old_secret_ends": """
        UPDATE webhooks_endpoint SET sealed_before = 'x' WHERE tenant_id = {tenant}""",
    "delivery_waits_or_has_ended": """
        UPDATE webhooks_delivery SET state = 'delivered' WHERE tenant_id = {tenant}""",
    "attempt_answered_or_failed": """
        UPDATE webhooks_attempt SET failure = 'tls' WHERE tenant_id = {tenant}""",
    "run_state_is_known": "UPDATE runs_run SET state = 'RUNNING' WHERE id = {run}",
}

UNIQUE: dict[str, tuple[str, str, Mapping[str, str]]] = {
    "account_once": again("approvals_account", "true", **DRAWN),
    "one_signing_key_in_use": again("runs_signing_key", "true", kid="'other'"),
    "runs_action_interrupt_id_key": again("runs_action", "id = {action}", **ANOTHER_ID),
    "address_once_per_channel": again("notices_address", "true", **DRAWN),
    "agent_name_once_per_tenant": again("identity_agent", "id = {agent}", **DRAWN),
    "approvals_decision_interrupt_id_key": again(
        "approvals_decision", "interrupt_id = {decided}", **ANOTHER_ID
    ),
    "audit_event_chain": again("audit_event", "run_id = {run} AND run_seq = 1", **DRAWN),
    "audit_numbered_once": again("audit_numbered", "n = 1", event_id="-1"),
    "audit_sealed_once": again("audit_seal", "seq = 1", **DRAWN),
    "browser_once": again("notices_browser", "true", **DRAWN),
    "due_once": again("notices_due", "true", **DRAWN),
    "external_id_once_per_agent": again("runs_run", "id = {run}", **ANOTHER_ID),
    "group_name_once_per_tenant": again(
        "identity_group",
        "NOT is_role AND name = 'finance'",
        id="drawn",
        auth_group_id="(SELECT max(id) + 1 FROM auth_group)",
    ),
    "idempotency_key_once": again("runs_idempotency", "true", **DRAWN),
    "identity_agentkey_digest_key": again("identity_agentkey", "agent_id = {agent}", **DRAWN),
    "identity_group_auth_group_id_key": again(
        "identity_group", "NOT is_role AND name = 'finance'", id="drawn", name="'other'"
    ),
    "identity_tenant_slug_key": again("identity_tenant", "id = {tenant}", **DRAWN),
    "identity_user_username_key": again("identity_user", "id = {user}", **DRAWN),
    "interrupt_attempt_once": again(
        "approvals_interrupt", "id = {decided}", is_latest="false", **ANOTHER_ID
    ),
    "interrupt_one_latest_attempt": again(
        "approvals_interrupt", "id = {decided}", attempt="2", **ANOTHER_ID
    ),
    "notice_once": again("notices_notice", "true", **DRAWN),
    "one_approval_a_person": again("approvals_approval", "interrupt_id = {decided}", **DRAWN),
    "delivery_once": again("webhooks_delivery", "true", **ANOTHER_ID),
    "display_version_once": again("approvals_displayversion", "true", **DRAWN),
    "policy_version_once": again("approvals_policyversion", "true", **DRAWN),
    "shown_once": again("approvals_showing", "interrupt_id = {decided}", **DRAWN),
}

TRIGGERS: dict[str, tuple[str, ...]] = {
    "approvals_approval_no_delete": ("DELETE FROM approvals_approval",),
    "approvals_approval_no_update": ("UPDATE approvals_approval SET at = now()",),
    "approvals_decision_no_delete": ("DELETE FROM approvals_decision",),
    "approvals_decision_no_update": (
        "UPDATE approvals_decision SET kind = 'reject'",
        "UPDATE approvals_decision SET approved_asked = '{{}}'",
        "UPDATE approvals_decision SET valid_until = now() + interval '1 year'",
    ),
    "approvals_displayversion_no_delete": ("DELETE FROM approvals_displayversion",),
    "approvals_displayversion_no_update": ("UPDATE approvals_displayversion SET text = '[]'",),
    "approvals_interrupt_content": (
        "UPDATE approvals_interrupt SET asked = '{{}}' WHERE id = {pending}",
        "UPDATE approvals_interrupt SET asked_sha256 = 'x' WHERE id = {pending}",
        "UPDATE approvals_interrupt SET expires_at = now() WHERE id = {pending}",
        "UPDATE approvals_interrupt SET policy_rule = 'x' WHERE id = {pending}",
        "UPDATE approvals_interrupt SET required = 0 WHERE id = {pending}",
        "UPDATE approvals_interrupt SET tenant_id = {other_tenant} WHERE id = {pending}",
        "UPDATE approvals_interrupt SET sensitive = '{{}}', id = 'int_x' WHERE id = {pending}",
        "UPDATE approvals_interrupt SET state = 'PENDING', ended_at = NULL WHERE id = {decided}",
        "UPDATE approvals_interrupt SET state = 'EXPIRED' WHERE id = {decided}",
        "UPDATE approvals_interrupt SET ended_at = now() WHERE id = {decided}",
        "UPDATE approvals_interrupt SET ended_by = 'alice' WHERE id = {decided}",
    ),
    "approvals_interrupt_no_delete": ("DELETE FROM approvals_interrupt",),
    "approvals_observation_no_delete": ("DELETE FROM approvals_observation",),
    "approvals_observation_no_update": (
        "UPDATE approvals_observation SET matched = true, handback = 1, interrupt_id = {pending}",
    ),
    "approvals_policyversion_no_delete": ("DELETE FROM approvals_policyversion",),
    "approvals_policyversion_no_update": ("UPDATE approvals_policyversion SET text = '[]'",),
    "audit_event_never_emptied": ("TRUNCATE audit_event",),
    "audit_event_only_grows": (
        "UPDATE audit_event SET type = 'x'",
        "DELETE FROM audit_event",
    ),
    "audit_numbered_never_emptied": ("TRUNCATE audit_numbered",),
    "audit_numbered_only_grows": (
        "UPDATE audit_numbered SET n = n + 100",
        "DELETE FROM audit_numbered",
    ),
    "audit_seal_never_emptied": ("TRUNCATE audit_seal",),
    "audit_seal_only_grows": (
        "UPDATE audit_seal SET last_n = last_n + 100",
        "DELETE FROM audit_seal",
    ),
    "identity_agent_kept": ("DELETE FROM identity_agent WHERE id = {agent}",),
    "identity_agentkey_kept": ("DELETE FROM identity_agentkey",),
    "identity_tenant_kept": ("DELETE FROM identity_tenant WHERE id = {tenant}",),
    "identity_user_kept": ("DELETE FROM identity_user WHERE id = {user}",),
    "runs_action_kept": (
        "UPDATE runs_action SET asked = '{{}}' WHERE id = {action}",
        "UPDATE runs_action SET idempotency_key = 'x' WHERE id = {action}",
        "UPDATE runs_action SET grant_ends_at = now() WHERE id = {action}",
        "UPDATE runs_action SET fencing_token = 9 WHERE id = {action}",
        "UPDATE runs_action SET state = 'IN_FLIGHT', ended_at = NULL WHERE id = {known}",
        "UPDATE runs_action SET result = '1' WHERE id = {known}",
    ),
    "runs_action_no_delete": ("DELETE FROM runs_action",),
    "runs_run_kept": (
        "UPDATE runs_run SET owner_id = {user} WHERE id = {run}",
        "UPDATE runs_run SET title = 'x' WHERE id = {run}",
        "UPDATE runs_run SET context = '1' WHERE id = {run}",
        "UPDATE runs_run SET revision = revision - 1 WHERE id = {run}",
        "UPDATE runs_run SET fencing_token = fencing_token - 1 WHERE id = {acting}",
        "UPDATE runs_run SET state = 'READY' WHERE id = {stopped}",
    ),
    "runs_run_no_delete": ("DELETE FROM runs_run",),
    "webhooks_delivery_kept": (
        "UPDATE webhooks_delivery SET body = 'x'",
        "UPDATE webhooks_delivery SET n = n + 100",
    ),
    "webhooks_endpoint_kept": ("DELETE FROM webhooks_endpoint",),
}
