from django.urls import path

from approvals.api import interrupts, me, runs
from runs.api.http import api

api.add_router("", runs.router)
api.add_router("", interrupts.router)
api.add_router("", me.router)

urlpatterns = [path("", api.urls)]
