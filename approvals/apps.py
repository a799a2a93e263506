from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    name = "approvals"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from approvals.models.interrupt import InterruptWaits
        from approvals.recorded import content_digests
        from approvals.told import OpenQuestions
        from audit.subjects import register_contents
        from runs.asked import register_questions
        from runs.waits import register_waits

        register_waits(InterruptWaits())
        register_contents(content_digests)
        register_questions(OpenQuestions())
