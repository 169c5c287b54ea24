"""The conditions of the reliability table, one module for each kind."""

from typing import Final

from tests.reliability.condition import Condition
from tests.reliability.conditions.bad_files import FILE_CONDITIONS
from tests.reliability.conditions.bad_input import INPUT_CONDITIONS
from tests.reliability.conditions.changing_lists import LIST_CONDITIONS
from tests.reliability.conditions.clocks import CLOCK_CONDITIONS
from tests.reliability.conditions.disk_full import DISK_CONDITIONS
from tests.reliability.conditions.faults import FAULT_CONDITIONS
from tests.reliability.conditions.hostile_peers import HOSTILE_CONDITIONS
from tests.reliability.conditions.journal_cuts import CUT_CONDITIONS
from tests.reliability.conditions.ledger_kills import LEDGER_KILL_CONDITIONS
from tests.reliability.conditions.load import LOAD_CONDITIONS
from tests.reliability.conditions.migration_kills import MIGRATION_KILL_CONDITIONS
from tests.reliability.conditions.receiver_kills import RECEIVER_KILL_CONDITIONS
from tests.reliability.conditions.reverse_proxies import PROXY_CONDITIONS
from tests.reliability.conditions.sandbox_kills import SANDBOX_KILL_CONDITIONS
from tests.reliability.conditions.store_restarts import RESTART_CONDITIONS
from tests.reliability.conditions.storms import STORM_CONDITIONS
from tests.reliability.conditions.terminals import TERMINAL_CONDITIONS
from tests.reliability.conditions.tokens import TOKEN_CONDITIONS

TRAFFIC_CONDITIONS: Final[tuple[Condition, ...]] = (
    *LOAD_CONDITIONS,
    *TERMINAL_CONDITIONS,
    *FAULT_CONDITIONS,
    *STORM_CONDITIONS,
    *TOKEN_CONDITIONS,
    *CLOCK_CONDITIONS,
    *LIST_CONDITIONS,
    *HOSTILE_CONDITIONS,
    *PROXY_CONDITIONS,
)
"""Conditions of calls: load, faults, clocks, lists and peers."""

CRASH_CONDITIONS: Final[tuple[Condition, ...]] = (
    *MIGRATION_KILL_CONDITIONS,
    *RECEIVER_KILL_CONDITIONS,
    *LEDGER_KILL_CONDITIONS,
    *SANDBOX_KILL_CONDITIONS,
    *CUT_CONDITIONS,
    *DISK_CONDITIONS,
    *RESTART_CONDITIONS,
    *INPUT_CONDITIONS,
    *FILE_CONDITIONS,
)
"""Conditions of programs and their files: kills, disks, servers and inputs."""

CONDITIONS: Final[tuple[Condition, ...]] = TRAFFIC_CONDITIONS + CRASH_CONDITIONS
