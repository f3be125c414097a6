"""How it moves: one run, or one block of runs side by side, on a device.

`loop` is the host's loop, `programs` are the compiled functions, `calls` cuts the work into calls, `packing` brings records
back in one piece, `precision` pins what the numbers rest on, `cache` keeps compiled programs. `fused` makes one kernel of an
arm's steps, for wide blocks of small runs on a GPU.
"""
