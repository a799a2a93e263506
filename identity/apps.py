from django.apps import AppConfig


class IdentityConfig(AppConfig):
    name = "identity"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from audit.subjects import register_tenants
        from identity.models.tenant import tenant_slugs

        register_tenants(tenant_slugs)
