"""The drivers, one for each adapter and way of using it."""

from conformance.driver import Driver
from conformance.drivers.langgraph_node import LangGraphNode

DRIVERS: tuple[Driver, ...] = (LangGraphNode(),)
