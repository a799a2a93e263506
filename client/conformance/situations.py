"""The situations, each one function over what a driver can do; all adapters are put into all."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from conformance.driver import Call, Situation
from conformance.stage import Stage

A, B = Call("call-1", "V-2291"), Call("call-1", "V-3107")
OTHER = Call("call-2", "V-4410", 90_000)


def approve(stage: Stage) -> None:
    """The call runs once, as approved, and the model gets what it gave."""
    agent = stage.begin(A)

    assert stage.rae.approve(stage.asked(A).id) is None
    agent.wake()

    assert stage.payments == [A.args]
    assert "Paid V-2291." in agent.told()[A.id]
    assert agent.is_over()
    (action,) = stage.run.refresh(is_all=True).actions
    assert (action.state, action.args) == ("SUCCEEDED", A.args)


def reject(stage: Stage) -> None:
    """The call never runs, and the model gets the reason."""
    agent = stage.begin(A)

    assert stage.rae.reject(stage.asked(A).id, "Paid in May.") is None
    agent.wake()

    assert stage.payments == []
    assert "Paid in May." in agent.told()[A.id]
    assert agent.is_over()


def edit(stage: Stage) -> None:
    """What a person put in place runs, and nothing else."""
    agent = stage.begin(A)
    less = {**A.args, "amount_paise": 499}

    assert stage.rae.edit(stage.asked(A).id, less) is None
    agent.wake()

    assert stage.payments == [less]
    assert agent.is_over()


def reverse(stage: Stage) -> None:
    """The second is rejected first, the first approved then: each call gets its own answer."""
    agent = stage.begin(A, OTHER)

    assert stage.rae.reject(stage.asked(OTHER).id, "Too much.") is None
    assert stage.rae.approve(stage.asked(A).id) is None
    agent.wake()

    assert stage.payments == [A.args]
    assert "Paid V-2291." in agent.told()[A.id]
    assert "Too much." in agent.told()[OTHER.id]
    assert agent.is_over()


def duplicate(stage: Stage) -> None:
    """However often it is woken, before the answer and after it, the call runs once."""
    agent = stage.begin(A)
    agent.wake()
    agent.wake()
    assert (stage.payments, agent.is_over(), len(stage.waiting())) == ([], False, 1)

    assert stage.rae.approve(stage.asked(A).id) is None
    agent.wake()
    agent.wake()

    assert stage.payments == [A.args]
    assert agent.is_over()


def forged(stage: Stage) -> None:
    """A yes that no person gave runs nothing; the question goes on waiting."""
    agent = stage.begin(A)

    agent.forge()

    assert (stage.payments, [each.call_id for each in stage.waiting()]) == ([], [A.id])
    assert stage.rae.approve(stage.asked(A).id) is None
    again = stage.open()
    again.wake()
    assert (stage.payments, again.is_over()) == ([A.args], True)


def late(stage: Stage) -> None:
    """The plan changes while a page is open: its answer is refused, and the new call is asked."""
    agent = stage.begin(A)
    old = stage.asked(A)
    left_open = stage.rae.look(old.id)

    agent.replan(B)
    agent.wake()
    assert stage.rae.press(old.id, left_open, "approve") == "superseded"
    agent.wake()

    assert (stage.payments, agent.is_over()) == ([], False)
    assert stage.rae.approve(stage.asked(B).id) is None
    agent.wake()
    assert stage.payments == [B.args]


def replan(stage: Stage) -> None:
    """A was approved, B is about to run: it is asked anew, and the yes for A pays nobody."""
    agent = stage.begin(A)
    assert stage.rae.approve(stage.asked(A).id) is None

    agent.replan(B)
    agent.wake()

    assert (stage.payments, agent.is_over()) == ([], False)
    assert stage.rae.approve(stage.asked(B).id) is None
    agent.wake()
    assert stage.payments == [B.args]
    assert agent.is_over()


def restart(stage: Stage) -> None:
    """The process that asked is gone when the answer comes; another one goes on."""
    stage.begin(A).close()

    assert stage.rae.approve(stage.asked(A).id) is None
    agent = stage.open()
    agent.wake()

    assert stage.payments == [A.args]
    assert agent.is_over()


def two_workers(stage: Stage) -> None:
    """Two processes are woken at once: the call runs once, and neither breaks the thread."""
    first, second = stage.begin(A), stage.open()
    assert stage.rae.approve(stage.asked(A).id) is None
    barrier = Barrier(2)

    def wake(wake: Callable[[], None]) -> None:
        barrier.wait(10)
        wake()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(wake, (first.wake, second.wake)))

    assert stage.payments == [A.args]
    third = stage.open()
    third.wake()
    assert (stage.payments, third.is_over()) == ([A.args], True)


def parallel(stage: Stage) -> None:
    """Two calls in one turn are two questions; the answer of one says nothing of the other."""
    agent = stage.begin(A, OTHER)

    assert stage.rae.approve(stage.asked(OTHER).id) is None
    agent.wake()
    assert [each.call_id for each in stage.waiting()] == [A.id]
    assert (A.args in stage.payments, agent.is_over()) == (False, False)
    assert stage.rae.approve(stage.asked(A).id) is None
    agent.wake()

    assert sorted(each["vendor_id"] for each in stage.payments) == ["V-2291", "V-4410"]
    assert agent.is_over()


def sub_agent(stage: Stage) -> None:
    """A call that a sub-agent makes is asked and runs as any other."""
    assert stage.by_sub_agent
    approve(stage)


SITUATIONS: dict[Situation, Callable[[Stage], None]] = {
    Situation.APPROVE: approve,
    Situation.REJECT: reject,
    Situation.EDIT: edit,
    Situation.REVERSE: reverse,
    Situation.DUPLICATE: duplicate,
    Situation.FORGED: forged,
    Situation.LATE: late,
    Situation.REPLAN: replan,
    Situation.RESTART: restart,
    Situation.TWO_WORKERS: two_workers,
    Situation.PARALLEL: parallel,
    Situation.SUB_AGENT: sub_agent,
}
