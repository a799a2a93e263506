from django.urls import URLPattern, path

from webhooks.web import views

ONE = "settings/webhooks/<endpoint_id>/"

urlpatterns: list[URLPattern] = [
    path("settings/webhooks/", views.webhooks, name="webhooks"),
    path("settings/webhooks/new/", views.new, name="webhook_new"),
    path("settings/webhooks/add/", views.add, name="webhook_add"),
    path(ONE, views.webhook, name="webhook"),
    path(f"{ONE}change/", views.change, name="webhook_change"),
    path(f"{ONE}rotate/", views.rotate, name="webhook_rotate"),
    path(f"{ONE}test/", views.test, name="webhook_test"),
    path(f"{ONE}disable/", views.disable, name="webhook_disable"),
    path(f"{ONE}enable/", views.enable, name="webhook_enable"),
    path(f"{ONE}resend/", views.resend_failed, name="webhook_resend_failed"),
    path(f"{ONE}deliveries/<delivery_id>/", views.delivery, name="delivery"),
    path(f"{ONE}deliveries/<delivery_id>/resend/", views.resend, name="delivery_resend"),
]
