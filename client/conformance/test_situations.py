"""Every adapter in every situation, or the proof of how it deals with what it cannot carry."""

import pytest

from conformance.driver import Driver, Situation
from conformance.drivers import DRIVERS
from conformance.site import Site
from conformance.situations import SITUATIONS
from conformance.stage import staged


@pytest.mark.parametrize("situation", Situation)
@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.name)
def test_the_adapter_holds(site: Site, driver: Driver, situation: Situation) -> None:
    limit = driver.limits.get(situation)
    with staged(site, driver, by_sub_agent=situation is Situation.SUB_AGENT) as stage:
        if limit is not None:
            limit.proof(stage)
        else:
            SITUATIONS[situation](stage)
