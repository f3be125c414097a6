"""Whom to cite: the paper of this study.

The text that was read, of a workshop, withholds its authors' names. They are those of the preprint
of which it is a part, which has a slightly different title.
"""

authors = ("Mingze Wang", "Ruoxi Yu", "Weinan E", "Lei Wu")
link = "https://arxiv.org/abs/2410.11474"
bibtex = """\
@misc{wang2024rich,
  title = {How Transformers Get Rich: Approximation and Dynamics Analysis},
  author = {Wang, Mingze and Yu, Ruoxi and E, Weinan and Wu, Lei},
  year = {2024},
  eprint = {2410.11474},
  archiveprefix = {arXiv},
  note = {Studied in the version for the Workshop on High-dimensional Learning Dynamics, 2025:
    How Transformers Get Rich: Training Dynamics Analysis, author names withheld},
}
"""
