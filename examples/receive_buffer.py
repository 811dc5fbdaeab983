# %% [markdown]
# # How large must the receive buffer be?
#
# A GEO beam and a LEO path carry one MPTCP connection. Data that overtakes on the fast path waits at the
# receiver for data on the slow one, and the advertised window bounds both. How much memory
# does the receiver need before the second path pays, and how much before it costs nothing?
#
# The cells run from top to bottom as a script, in an editor that knows `# %%`, or as a notebook.

# %%
import polars as pl

import ropewalk as rw

# %% [markdown]
# Two paths without losses, so that nothing but the buffer is in the way.

# %%
SCENARIO = """
name = "GEO and LEO"
duration = "60s"

[[path]]
name = "geo"
both = { rate = "10Mbit/s", delay = "270ms", queue = "1BDP" }

[[path]]
name = "leo"
both = { rate = "10Mbit/s", delay = "25ms", queue = "1BDP" }

[[flow]]
name = "upload"
from = "terminal"
to = "server"
app = "bulk"
compare_paths = true

[flow.transport]
kind = "mptcp"
congestion = "cubic"
scheduler = "minrtt"
receive_buffer = "64KiB"
receive_buffer_max = "8MiB"
"""

scenario = rw.Scenario.parse(SCENARIO)

# %% [markdown]
# A rule of RFC 8684 (section 3.3.1): the sum of the rates for twice the longest round trip, so that a loss
# on the slow path can be repaired while the fast one goes on.

# %%
rule = (10e6 + 10e6) / 8 * 2 * 0.54
print(f"the rule asks for {rule / 2**20:.1f} MiB")

# %% [markdown]
# One run for each size. `set` makes a new scenario; the old one does not change. The buffer is fixed: as
# large at the start as it may become.

# %%
KIB = [128, 256, 512, 1024, 2048, 4096, 8192]


def with_buffer(kib: int) -> rw.Results:
    """One run with a receive buffer of this size."""
    size = f"{kib}KiB"
    limited = scenario.set("flow.upload.transport.receive_buffer_max", size)
    return limited.set("flow.upload.transport.receive_buffer", size).run(seeds=1)


runs = {kib: with_buffer(kib) for kib in KIB}

# %% [markdown]
# Every table is a polars frame. `upload@leo` is plain TCP over the LEO path alone: what bonding must beat.

# %%
rows = []
for kib, results in runs.items():
    goodput = dict(results.flows.select("flow", pl.col("goodput_bit_s") / 1e6).iter_rows())
    held = results.flows.filter(pl.col("flow") == "upload")["ofo_max_bytes"].item()
    rows.append((kib, goodput["upload"], goodput["upload@leo"], goodput["upload@geo"], held / 2**20))
columns = ["buffer KiB", "both Mbit/s", "leo alone", "geo alone", "out of order MiB"]
table = pl.DataFrame(rows, schema=columns, orient="row")
print(table)

# %% [markdown]
# The smallest buffer with which bonding is no loss, and the smallest that brings nine tenths of the largest
# goodput:

# %%
best = table["both Mbit/s"].max()
pays = table.filter(pl.col("both Mbit/s") >= pl.col("leo alone"))["buffer KiB"].min()
enough = table.filter(pl.col("both Mbit/s") >= 0.9 * best)["buffer KiB"].min()
print(f"bonding pays from {pays} KiB on; {enough} KiB are enough, the rule asks for {rule / 1024:.0f} KiB")

# %% [markdown]
# Where the time goes: with a small buffer the window is full of what waits for the slow path.

# %%
figure = runs[KIB[1]].plot.throughput()
figure.savefig("receive-buffer.png")
