"""What commands print: results on standard output, progress and remarks on standard error."""

import time
from collections import deque
from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

LINE_EVERY = 15.0  # seconds between lines where no bar can be drawn


def say(words: str) -> None:
    """Print a remark, which may contain brackets or anything else that occurs in a user's names."""
    err.print(words, markup=False)


def print_facts(facts: Mapping[str, str]) -> None:
    """Names and values in two columns; nothing is cut off, whatever the width."""
    width = max(map(len, facts), default=0) + 2
    for name, value in facts.items():
        out.print(f"[bold]{escape(name.ljust(width))}[/]{escape(value)}")


class TimeLeft(ProgressColumn):
    """Time remaining at the recent pace."""

    def render(self, task: Task) -> Text:
        return Text(f"{duration(task.fields['left'])} left", style="cyan")


class Pace:
    """Time remaining, from recent progress: the first step, which compiles, says little about those that follow."""

    def __init__(self, window: int):
        self.advances: deque[tuple[float, float]] = deque(maxlen=window)

    def left(self, now: float, completed: float, total: float) -> float | None:
        """Seconds to the end; None before there are two advances to compare."""
        if not self.advances or completed > self.advances[-1][1]:
            self.advances.append((now, completed))
        (began, first), (_, last) = self.advances[0], self.advances[-1]
        return (now - began) / (last - first) * (total - completed) if last > first else None


def duration(seconds: float | None) -> str:
    """'1:02:03', '4:05' or '-:--'."""
    if seconds is None:
        return "-:--"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Bar:
    """A progress bar on a terminal, drawn once there is something to follow; a line now and then in a log file."""

    def __init__(self, label: str, window: int = 30):
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            TimeLeft(),
            console=err,
            transient=True,
            disable=not err.is_terminal,
        )
        self.task = self.progress.add_task(label, total=1.0, left=None, note="", visible=False)
        self.total: float | None = 1.0
        self.found = 0.0
        self.window = window
        self.forget_pace()
        self.printed = time.monotonic()

    def __enter__(self) -> "Bar":
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def begin(self, total: float | None, found: float | None = None) -> None:
        """Set the total amount of work, None if unknown, and how much of it was done before."""
        self.total = total
        self.found = self.found if found is None else found
        self.progress.update(self.task, total=total, completed=self.found, visible=True)

    def forget_pace(self) -> None:
        """Estimate the remaining time only from work that is still to come: work done so far took no time."""
        self.pace = Pace(self.window)

    def update(self, completed: float, note: str) -> None:
        now, left = time.monotonic(), None
        if completed > self.found and self.total is not None:
            left = self.pace.left(now, completed, self.total)
        self.progress.update(self.task, completed=completed, left=left, note=note, visible=True)
        if not err.is_terminal and now - self.printed > LINE_EVERY:
            self.printed = now
            task = self.progress.tasks[0]
            err.print(f"{task.description} {task.percentage:.0f}%  {note}  {duration(left)} left", markup=False)
