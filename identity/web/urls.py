from django.urls import path

from identity.web.settings import you
from identity.web.views import sign_in, sign_out

urlpatterns = [
    path("login/", sign_in, name="account_login"),
    path("logout/", sign_out, name="account_logout"),
    path("settings/you/", you, name="you"),
]
