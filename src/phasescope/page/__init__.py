"""The local page: a small server over a store, and the front end in `static/`. README.md has its routes.

Modules: `server` (start it), `app` (the routes), `guard` (who may ask), `answers` and `wire` (what is sent), `studies`, `ledger`,
`run_list`, `run_view`, `datasets`, `level_of_detail` (fewer points of a long curve), `maps`, `claim_maps`, `lab`, `preview`
(while a slider moves), `speeds` (how quick arms are), `jobs`, `live`.
And `view`, `bundle`: a run in a notebook, without a server.
"""
