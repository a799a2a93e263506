"""The roads to runs: tenant first, and one answer for absent and foreign alike."""

from identity.models import Agent
from runs.ids import is_id
from runs.models import Action, Run
from runs.rows import first

OWN_ACTION = """
id = %s AND tenant_id = %s AND EXISTS (
    SELECT FROM runs_run WHERE runs_run.id = runs_action.run_id AND runs_run.agent_id = %s
)
"""


def agent_run(agent: Agent, run_id: str) -> Run | None:
    """The run of this id that this agent created."""
    if not is_id(run_id):
        return None
    return Run.objects.filter(tenant_id=agent.tenant_id, agent=agent, pk=run_id).first()


def agent_action(agent: Agent, action_id: str) -> Action | None:
    """The action of this id in a run that this agent created."""
    if not is_id(action_id):
        return None
    return first(Action, OWN_ACTION, action_id, agent.tenant_id, agent.pk)
