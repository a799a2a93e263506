"""The API is what its own description says, whatever is sent to it."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from config.wsgi import application
from runs.api import http
from tests.cast import Cast
from tests.contract.routes import AGENTS

pytestmark = pytest.mark.django_db(transaction=True)

CALLS = [(path, method) for path in AGENTS for method in AGENTS[path].split()]
NOT_PROMISED = [positive_data_acceptance, negative_data_rejection]
"""More is refused than a schema can say (I-JSON, rules between members), and parameters that
nobody knows are passed over."""
REFUSED = ["4xx"]
"""Whatever is wrong with it: what is too long for its schema may be too large altogether (413)."""
PLENTY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize(("path", "method"), CALLS)
def test_every_call_answers_as_described(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, path: str, method: str, mode: GenerationMode
) -> None:
    """Documented statuses, bodies and media types; never a fault of the server."""
    monkeypatch.setattr(http, "_buckets", lambda: None)  # no limit on one key's requests
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application)
    schema.config.checks.negative_data_rejection.expected_statuses = REFUSED
    operation = schema[path.replace("<", "{").replace(">", "}")][method]
    run = cast.run()
    real = {"run_id": run.pk, "interrupt_id": cast.ask(run).pk, "action_id": cast.act().pk}

    @PLENTY
    @given(case=operation.as_strategy(generation_mode=mode), is_real=st.booleans())
    def answers(case: Case, is_real: bool) -> None:
        if is_real:
            case.path_parameters.update((name, real[name]) for name in case.path_parameters)
            if mode is GenerationMode.POSITIVE and path == "/api/v1/runs" and method == "POST":
                case.body |= {"owner": "alice", "parent": None}
        case.call_and_validate(
            headers={"Authorization": f"Bearer {cast.key}"},
            excluded_checks=NOT_PROMISED if case.query else NOT_PROMISED[:1],
        )

    answers()
