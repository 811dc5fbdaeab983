"""When transfers ended whose connections stayed open."""

from __future__ import annotations

import polars as pl

from ropewalk import changing


def of_data(flows: pl.DataFrame, samples: pl.DataFrame) -> pl.DataFrame:
    """The table `flows`, in which an open connection ends when all its data was acknowledged.

    For a capture such a connection ends with the file. The scenario has a transfer of the same size, which is
    over with its last byte: a web browser keeps its connections open.
    """
    busy = samples.filter(pl.col("inflight_bytes") > 0)
    names = pl.col("flow").cast(pl.String)
    last = busy.group_by(names).agg((pl.col("t_s").max() + changing.NEAR_S).alias("acked_s"))
    rows = flows.with_columns(names.alias("of")).join(last, left_on="of", right_on="flow", how="left")
    whole = ~pl.col("completed").fill_null(value=False) & (pl.col("delivered_bytes") == pl.col("bytes"))
    earlier = whole & (pl.col("acked_s") < pl.col("end_s")) & (pl.col("acked_s") > pl.col("start_s"))
    spared = pl.col("end_s") - pl.col("acked_s")
    seconds = pl.col("acked_s") - pl.col("start_s")
    changed = {
        "nothing_to_send_s": (pl.col("nothing_to_send_s") - spared).clip(lower_bound=0.0),
        "goodput_bit_s": 8.0 * pl.col("delivered_bytes") / seconds,
        "end_s": pl.col("acked_s"),
    }
    return rows.with_columns(
        pl.when(earlier).then(value).otherwise(pl.col(name)).alias(name) for name, value in changed.items()
    ).select(flows.columns)
