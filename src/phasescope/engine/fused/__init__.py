"""Fused lanes: a block of small runs whose state stays in registers between two records.

A step is written for one run, on small arrays. `scalarise` turns it into a `program` of scalar operations, in which shapes and
indices have vanished; `lanes` carries out this program with a vector of runs in place of every scalar, on a GPU as one kernel
(`kernel`); `choice` says for which runs that is done. Nothing is written by hand for a study.

Of a flow the velocity is such a program (`rates`). One kernel solves it (`flows`) by the stages (`stages`) of a Runge-Kutta
pair (`pairs`), and each lane chooses its steps by itself (`paced`).
"""
