"""Whom to cite: the paper of this study."""

authors = ("Yuandong Tian", "Yiping Wang", "Beidi Chen", "Simon Du")
link = "https://arxiv.org/abs/2305.16380"
bibtex = """\
@inproceedings{tian2023scan,
  title = {Scan and Snap: Understanding Training Dynamics and Token Composition in 1-layer Transformer},
  author = {Tian, Yuandong and Wang, Yiping and Chen, Beidi and Du, Simon},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2023},
  eprint = {2305.16380},
  archiveprefix = {arXiv},
}
"""
