from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "runs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from audit.subjects import register_contents, register_run_heads
        from runs.models.run import run_digests, run_heads

        register_run_heads(run_heads)
        register_contents(run_digests)
