"""A toolset whose calls need people's approval, each compared once more before it runs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai import ApprovalRequired, RunContext, ToolFailed
from pydantic_ai.tools import AgentDepsT, ToolDefinition
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
from pydantic_core import to_jsonable_python

from placet.errors import Failed, NotExecuted
from placet.protocol.canonical import NotCanonical
from placet.question import Question
from placet.turns import Turn, not_done

MEMBER = "placet"
"""The member of a deferred call's metadata that holds its question."""

Target = Mapping[str, Any] | Callable[[str, Mapping[str, Any]], Mapping[str, Any] | None]


@dataclass
class Guarded(WrapperToolset[AgentDepsT]):
    """The tools of a toolset, or those named, each call of which people approve first.

    People see the arguments as the tool will get them, defaults included. `target` says what a call
    acts on, also as a function of tool and arguments; `description`, `expires_in_s` and `sensitive`
    are those of `Question`. Arguments may be edited by the tool's schema unless `is_editable` is
    false. A tool that raises leaves the outcome unknown, and ends the agent's run with that error.
    To say that nothing was done it raises `placet.NotExecuted` or `placet.Failed`.
    """

    names: Collection[str] | None = None
    target: Target | None = None
    description: str | None = None
    expires_in_s: int | None = None
    sensitive: Sequence[str] | None = None
    is_editable: bool = True

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentDepsT],
        tool: ToolsetTool[AgentDepsT],
    ) -> Any:
        """Ask at first; once approved do exactly that, once."""
        if self.names is not None and name not in self.names:
            return await super().call_tool(name, tool_args, ctx, tool)
        question = self._question(tool.tool_def, tool_args, ctx.tool_call_id or "")
        try:
            question.sha256  # noqa: B018 - raises NotCanonical
        except NotCanonical as error:
            raise ToolFailed(f"Not done, and nobody was asked: {error}") from error
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={MEMBER: question.body()})
        given: list[Any] = []

        async def work(_: dict[str, Any]) -> Any:
            given.append(await super(Guarded, self).call_tool(name, tool_args, ctx, tool))
            return to_jsonable_python(given[0], fallback=str)

        try:
            result = await Turn.current().carry_out(question, work)
        except (NotExecuted, Failed) as error:
            raise ToolFailed(not_done(error)) from error
        return given[0] if given else result

    def _question(self, tool: ToolDefinition, args: dict[str, Any], call_id: str) -> Question:
        plain = to_jsonable_python(args)
        return Question(
            tool=tool.name,
            args=plain,
            call_id=call_id,
            target=self.target(tool.name, plain) if callable(self.target) else self.target,
            description=self.description,
            args_schema=tool.parameters_json_schema if self.is_editable else None,
            allowed_decisions=("approve", "edit", "reject")
            if self.is_editable
            else ("approve", "reject"),
            expires_in_s=self.expires_in_s,
            sensitive=self.sensitive,
        )
