"""What is delivered never changes once stored, and no endpoint is ever deleted."""

from django.db import migrations

DELIVERY = """
CREATE FUNCTION webhooks_keep_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what a delivery says, and to whom, never changes'
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER webhooks_delivery_kept
    BEFORE UPDATE OF id, tenant_id, endpoint_id, n, type, body, created_at ON webhooks_delivery
    FOR EACH ROW EXECUTE FUNCTION webhooks_keep_delivery();
"""

ENDPOINT = """
CREATE FUNCTION webhooks_refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is kept: the record names it; disable it instead', TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER webhooks_endpoint_kept BEFORE DELETE ON webhooks_endpoint
    FOR EACH ROW EXECUTE FUNCTION webhooks_refuse_delete();
"""

UNDO = """
DROP TRIGGER webhooks_delivery_kept ON webhooks_delivery;
DROP TRIGGER webhooks_endpoint_kept ON webhooks_endpoint;
DROP FUNCTION webhooks_keep_delivery();
DROP FUNCTION webhooks_refuse_delete();
"""


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_initial")]

    operations = [migrations.RunSQL(DELIVERY + ENDPOINT, UNDO)]
