"""Executors for other processes and other machines, by Dask: how to reach them, and what their failures mean.

Nothing here knows what a block or a store is; `verbs.sent_blocks` sends blocks through it. Dask is imported when a
cluster is asked for, and not before.
"""
