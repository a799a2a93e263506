from django.urls import path

from approvals.api import dispatch, events, interrupts, me, observations, reconcile, runs
from runs.api import actions, leases
from runs.api.http import api

api.add_router("", runs.router)
api.add_router("", interrupts.router)
api.add_router("", leases.router)
api.add_router("", dispatch.router)
api.add_router("", actions.router)
api.add_router("", reconcile.router)
api.add_router("", observations.router)
api.add_router("", events.router)
api.add_router("", me.router)

urlpatterns = [path("", api.urls)]
