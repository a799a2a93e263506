from django.urls import URLPattern, path

from notices.web import views

urlpatterns: list[URLPattern] = [
    path("settings/notices/", views.notices, name="notices"),
    path("settings/notices/choice/", views.keep_choice, name="notices_choice"),
    path("settings/notices/address/", views.give_address, name="notices_address"),
    path("settings/notices/confirm/", views.confirm, name="notices_confirm"),
    path("settings/notices/remove/", views.remove, name="notices_remove"),
    path("settings/notices/test/", views.send_test, name="notices_test"),
    path("settings/notices/browser/", views.add_browser, name="notices_browser"),
    path("settings/notices/waiting/", views.waiting, name="notices_waiting"),
]
