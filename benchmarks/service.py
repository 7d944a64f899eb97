"""The service under load: many clients at once, batching, memory, and a restart under load.

    python benchmarks/service.py model/ [--clients 200] [--seconds 60] [--pause 1.0] [--restart | --batching]

Every client has a connection of its own and asks for one field with its bars at random conditions, which no cache has seen,
as float32 numbers; after an answer it waits for `--pause` seconds on average, as someone who moves a slider. Times are those
of the clients, side by side with single requests of the same kind to the same server, one after the other.
With `--pause 0` clients ask without rest, which shows the highest throughput. `--restart` kills the server in the middle and
starts it again; clients try again until they are answered. `--batching` compares the throughput of clients without rest with
that of a server that computes one condition at a time, and the time of the processor that each takes for a condition: that of
the server as a whole, with what it takes to answer.
"""

import argparse
import asyncio
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

HOST, PORT = "127.0.0.1", 8971


class Client:
    """One connection, which asks again where it breaks."""

    def __init__(self, path: str, ranges: list[tuple[str, float, float]], seed: int):
        self.path, self.ranges, self.random = path, ranges, random.Random(seed)
        self.stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.times: list[float] = []
        self.retries = self.wrong = 0

    async def ask(self) -> None:
        values = "&".join(f"{name}={self.random.uniform(low, high):.6f}" for name, low, high in self.ranges)
        began = time.perf_counter()
        while True:
            try:
                status = await self._once(f"{self.path}&{values}")
                break
            except (OSError, asyncio.IncompleteReadError, ValueError, IndexError):
                self.stream = None
                self.retries += 1
                await asyncio.sleep(0.1)
        self.times.append(time.perf_counter() - began)
        self.wrong += status != 200

    async def _once(self, target: str) -> int:
        if self.stream is None:
            self.stream = await asyncio.open_connection(HOST, PORT)
        reader, writer = self.stream
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        return int(head.split(b" ", 2)[1])


def start(model: str, batch: int) -> subprocess.Popen:
    server = subprocess.Popen(
        [sys.executable, "-m", "sureflow", "serve", model, "--port", str(PORT), "--batch", str(batch)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return server


async def ready() -> None:
    while True:
        try:
            await Client("/v2/health/ready?", [], 0).ask()
            return
        except OSError:
            await asyncio.sleep(0.1)


def resident(pid: int) -> float:
    """Megabytes of memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def crowd(clients: list[Client], seconds: float, pause: float) -> None:
    until = time.monotonic() + seconds

    async def one(client: Client) -> None:
        await asyncio.sleep(client.random.uniform(0, pause))
        while time.monotonic() < until:
            await client.ask()
            if pause:
                await asyncio.sleep(client.random.uniform(0.5, 1.5) * pause)

    await asyncio.gather(*map(one, clients))


def row(name: str, clients: list[Client], seconds: float, more: str = "") -> None:
    times = sorted(t for client in clients for t in client.times)
    p50, p99 = (1e3 * times[int(share * (len(times) - 1))] for share in (0.5, 0.99))
    wrong, retries = sum(c.wrong for c in clients), sum(c.retries for c in clients)
    print(
        f"| {name} | {len(times)} | {len(times) / seconds:.0f} /s | {p50:.1f} ms | {p99:.1f} ms | {wrong} | {retries} | {more} |",
        flush=True,
    )


async def measure(options: argparse.Namespace) -> None:
    ranges, path = asked(options.model)
    print("| what | requests | rate | p50 | p99 | wrong | retries | |\n|---|---:|---:|---:|---:|---:|---:|---|")
    server = start(options.model, options.batch)
    try:
        await ready()
        single = [Client(path, ranges, 1)]
        await crowd(single, 3.0, 0.0)
        single[0].times.clear()
        await crowd(single, 10.0, 0.0)
        row("one client", single, 10.0)
        before, cpu = resident(server.pid), processor_seconds(server.pid)
        clients = [Client(path, ranges, 100 + k) for k in range(options.clients)]
        began = time.perf_counter()
        crowd_task = asyncio.create_task(crowd(clients, options.seconds, options.pause))
        halfway = 0.0
        await asyncio.sleep(options.seconds / 2)
        halfway = resident(server.pid)
        if options.restart:
            server.send_signal(signal.SIGKILL)
            server.wait()
            server = start(options.model, options.batch)
        await crowd_task
        seconds = time.perf_counter() - began
        memory = f"memory {before:.0f}, {halfway:.0f}, {resident(server.pid):.0f} MB at the start, in the middle and at the end"
        used = (
            f"{(processor_seconds(server.pid) - cpu):.0f} s of the processor"
            if not options.restart
            else "killed halfway"
        )
        row(f"{options.clients} clients, pause {options.pause:g} s", clients, seconds, f"{memory}; {used}")
        times = [t for client in clients for t in client.times]
        one = statistics.median(single[0].times)
        p50, p99 = statistics.median(times) / one, sorted(times)[int(0.99 * (len(times) - 1))] / one
        print(f"\np50 of the crowd is {p50:.1f} times that of one client, p99 {p99:.1f} times", flush=True)
    finally:
        server.terminate()
        server.wait()


async def compare_batching(options: argparse.Namespace) -> None:
    """Throughput with batches, over that of one condition at a time; in turns, since the machine may have other work."""
    ranges, path = asked(options.model)
    print("| what | requests | rate | p50 | p99 | wrong | retries | |\n|---|---:|---:|---:|---:|---:|---:|---|")
    rates: dict[int, list[float]] = {1: [], options.batch: []}
    costs: dict[int, list[float]] = {1: [], options.batch: []}
    for turn in range(options.turns):
        for batch in rates:
            server = start(options.model, batch)
            try:
                await ready()
                await crowd([Client(path, ranges, turn)], 3.0, 0.0)
                clients = [Client(path, ranges, 1000 * (turn + 1) + k) for k in range(options.clients)]
                began, used = time.perf_counter(), processor_seconds(server.pid)
                await crowd(clients, options.seconds, 0.0)
                seconds, used = time.perf_counter() - began, processor_seconds(server.pid) - used
            finally:
                server.terminate()
                server.wait()
            count = sum(len(client.times) for client in clients)
            cost = 1e3 * used / count
            row(f"batches of up to {batch}", clients, seconds, f"{cost:.2f} ms of the processor a condition")
            rates[batch].append(count / seconds)
            costs[batch].append(cost)
    (one, batched), (cost, cost_batched) = (map(statistics.median, found.values()) for found in (rates, costs))
    print(
        f"\nbatches answer {batched / one:.1f} times as many requests as one condition at a time, and take "
        f"{cost_batched:.2f} instead of {cost:.2f} ms of the processor a condition ({cost_batched / cost:.2f} of it)",
        flush=True,
    )


def asked(folder: str) -> tuple[list[tuple[str, float, float]], str]:
    """The ranges of the parameters, and what every client asks for."""
    import sureflow as sf

    model = sf.load(folder)
    ranges = list(zip(model.parameter_names, model.domain.lower.tolist(), model.domain.upper.tolist(), strict=True))
    return ranges, f"/v1/predict?format=binary&extrapolate=true&fields={model.names[-1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pause", type=float, default=1.0)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--restart", action="store_true")
    parser.add_argument("--batching", action="store_true")
    parser.add_argument("--turns", type=int, default=1, help="of --batching")
    options = parser.parse_args()
    asyncio.run(compare_batching(options) if options.batching else measure(options))


if __name__ == "__main__":
    main()
