from django.urls import URLPattern, path

from approvals.web import (
    audit_log,
    components,
    inbox,
    question,
    reconciling,
    runs,
    statistics,
    unknown,
)

urlpatterns: list[URLPattern] = [
    path("", inbox.inbox, name="inbox"),
    path("inbox/changes/", inbox.changes, name="inbox_changes"),
    path("inbox/live/", inbox.live, name="inbox_live"),
    path("interrupts/<slug:interrupt_id>/", question.question, name="question"),
    path("interrupts/<slug:interrupt_id>/decide/", question.decide_question, name="decide"),
    path("interrupts/<slug:interrupt_id>/preview/", question.preview, name="preview"),
    path("interrupts/<slug:interrupt_id>/reveal/", question.reveal, name="reveal"),
    path("runs/", runs.runs, name="runs"),
    path("runs/<slug:run_id>/", runs.run, name="run"),
    path("runs/<slug:run_id>/cancel/", runs.cancel_run, name="cancel_run"),
    path("unknown/", unknown.unknown, name="unknown"),
    path("actions/<slug:action_id>/reconcile/", reconciling.reconcile, name="reconcile"),
    path("audit/", audit_log.audit, name="audit"),
    path("audit/export/", audit_log.export, name="audit_export"),
    path("statistics/", statistics.show_statistics, name="statistics"),
    path("components/", components.components, name="components"),
]
