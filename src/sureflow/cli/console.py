"""What commands print: results on standard output, progress and remarks on standard error."""

import time
from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

LINE_EVERY = 15.0  # seconds between lines where no bar can be drawn


def print_facts(facts: Mapping[str, str]) -> None:
    """Names and values in two columns; nothing is cut off, whatever the width."""
    width = max(map(len, facts)) + 2
    for name, value in facts.items():
        out.print(f"[bold]{name:<{width}}[/]{escape(value)}")


class TimeLeft(ProgressColumn):
    """Time remaining from the mean pace since the bar began, cases found finished left out."""

    def render(self, task: Task) -> Text:
        return Text(f"{duration(time_left(task))} left", style="cyan")


def time_left(task: Task) -> float | None:
    """Seconds, or None before the first advance."""
    found = task.fields.get("found", 0)
    done = task.completed - found
    if done <= 0 or task.total is None or task.elapsed is None:
        return None
    return task.elapsed / done * (task.total - task.completed)


def duration(seconds: float | None) -> str:
    """'1:02:03', '4:05' or '-:--'."""
    if seconds is None:
        return "-:--"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Bar:
    """A progress bar on a terminal; a line now and then in a log file."""

    def __init__(self, label: str, total: float, found: float = 0, *, noun: str = ""):
        self.noun = noun
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            TimeLeft(),
            console=err,
            transient=True,
            disable=not err.is_terminal,
        )
        self.task = self.progress.add_task(label, total=total, found=found, note="")
        self.progress.update(self.task, completed=found)
        self.printed = time.monotonic()

    def __enter__(self) -> "Bar":
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def update(self, completed: float, note: str) -> None:
        self.progress.update(self.task, completed=completed, note=note)
        if not err.is_terminal and time.monotonic() - self.printed > LINE_EVERY:
            self.printed = time.monotonic()
            task = self.progress.tasks[0]
            err.print(f"{task.description} {task.percentage:.0f}%  {note}  {duration(time_left(task))} left")
