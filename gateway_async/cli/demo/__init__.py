"""`gateway-async demo`: twelve chapters, each of which shows its code, runs it, and checks what it says."""

import asyncio
import io
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, chdir, contextmanager, redirect_stdout
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, TypeVar

import attrs
from rich.console import Console

from gateway_async._text import first_error
from gateway_async.cli.command import AsJson
from gateway_async.cli.demo import chapters
from gateway_async.cli.demo.display import Chapter, Display
from gateway_async.cli.output import command_name, fail, print_json
from gateway_async.cli.standard_streams import OutputError
from gateway_async.observe import CallEnded, Event

__all__ = ["Demo", "DemoCommand", "DemoError"]

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class DemoCommand:
    """Watch the package at work in under 15 seconds.

    Chapters: a terminal, a decline, a lost response, a refund, an invoice, a settlement, postbacks, a killed process,
    10,000 vaults and a migration. It starts its own sandbox, shows code from the documentation, runs it, and checks
    every statement about it. The exit status is 1 if a statement is wrong.
    """

    as_json: AsJson = False

    def run(self) -> None:
        """Run all chapters. A failure names its chapter."""
        display = Display(Console(file=sys.stdout, highlight=False, quiet=self.as_json))
        demo = Demo(display, self._print_chapter)
        try:
            asyncio.run(demo.run())
        except OutputError:
            raise
        except Exception as error:  # noqa: BLE001  any error is reported with its chapter
            title = demo.chapters[-1].title
            cause = first_error(error)
            fail(f"the demo failed in chapter {len(demo.chapters)}, {title!r}: {str(cause) or repr(cause)}")
        command = command_name()
        advice = {
            f"{command} sandbox": "serves such a gateway for a program of your own",
            f"{command} sandbox -h": "how to keep its records in a file",
            f"{command} list contacts": "calls a gateway from the shell",
            "README.md": "a first call, terminals, lost responses, tests",
        }
        display.summarize(demo.chapters, advice)
        if self.as_json:
            seconds = round(sum(chapter.seconds for chapter in demo.chapters), 3)
            print_json([{"event": "end", "chapters": len(demo.chapters), "seconds": seconds, "next": [*advice]}])

    def _print_chapter(self, number: int, chapter: Chapter) -> None:
        if self.as_json:
            values = attrs.asdict(chapter, filter=attrs.filters.exclude("introduction", "code"))
            values["seconds"] = round(chapter.seconds, 3)
            print_json([{"event": "chapter", "number": number, **values}])


class DemoError(Exception):
    """A statement of the demo has turned out false."""


class Demo:
    """A run of the chapters.

    Args:
        display: shows what the chapters do.
        on_end: called with the number of a chapter that has ended, and the chapter.

    Attributes:
        chapters: the chapters that have begun.
        events: what the client of this chapter has reported.
        result: the result of this chapter, for the summary.
    """

    def __init__(self, display: Display, on_end: Callable[[int, Chapter], object]) -> None:
        self.wait = display.wait
        self._display = display
        self._on_end = on_end
        self.chapters: list[Chapter] = []
        self.events: list[Event] = []
        self.result = ""
        self._printed = io.StringIO()

    async def run(self) -> None:
        """Run all chapters with a new sandbox, in a folder that is deleted at the end.

        Raises:
            DemoError: a statement of a chapter is not true.
        """
        async with AsyncExitStack() as stack:
            with self._chapter(chapters.open_gateway):
                sandbox, gateway = await stack.enter_async_context(chapters.open_gateway(self))
            stack.enter_context(gateway.observing(self.events.append))
            stack.enter_context(chdir(stack.enter_context(TemporaryDirectory())))
            os.environ.update(sandbox.environment())  # for the programs that call `AsyncGateway.from_env()`
            card = await self._play(chapters.store_card, gateway, sandbox.terminal_id, sandbox.contact_id)
            async with asyncio.TaskGroup() as tasks:
                sale = tasks.create_task(self._play(chapters.sell_at_terminal, gateway, sandbox.terminal_id))
                while not sale.done():
                    await gateway.account_vaults.get(card.id)
            await self._play(chapters.decline, gateway, card)
            payment = await self._play(chapters.lose_response, gateway, sandbox, card)
            await self._play(chapters.refund_part, gateway, sandbox, payment)
            await self._play(chapters.send_invoice, gateway, sandbox)
            await self._play(chapters.settle, gateway, payment)
            await self._play(chapters.receive_postbacks, gateway, sandbox, card)
            await self._play(chapters.recover, sandbox)
            await self._play(chapters.list_vaults, gateway, sandbox)
            await self._play(chapters.migrate, gateway, sandbox)

    def check(self, statement: str, holds: bool) -> None:
        """Show a statement that the run has just shown to be true.

        Raises:
            DemoError: `holds` is false.
        """
        if not holds:
            raise DemoError(f"not true: {statement}")
        self.chapters[-1].statements.append(statement)
        self._display.show(statement)

    def seconds_of(self, method: str) -> list[float]:
        """Return the seconds of this chapter's calls with an HTTP method."""
        ended = (event for event in list(self.events) if isinstance(event, CallEnded))
        return [event.seconds for event in ended if event.call.startswith(method)]

    @property
    def printed(self) -> str:
        """The first line that the program of this chapter has printed."""
        return self._printed.getvalue().partition("\n")[0]

    @property
    def lines_printed(self) -> int:
        """The number of lines that the program of this chapter has printed."""
        return self._printed.getvalue().count("\n")

    async def _play(self, program: Callable[..., Awaitable[T]], *values: Any) -> T:
        with self._chapter(program), redirect_stdout(self._printed):
            return await program(self, *values)

    @contextmanager
    def _chapter(self, program: Callable[..., Any]) -> Iterator[None]:
        """Show a chapter's title, introduction and code before the block, and its result after it."""
        self.events.clear()
        self._printed = io.StringIO()
        chapter = Chapter.of(program)
        self.chapters.append(chapter)
        self._display.open(len(self.chapters), chapter)
        began = perf_counter()
        try:
            yield
        finally:
            self._display.stop_waiting()
        chapter.result, chapter.seconds = self.result, perf_counter() - began
        self._on_end(len(self.chapters), chapter)
