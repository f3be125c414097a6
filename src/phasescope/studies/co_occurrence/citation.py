"""Whom to cite: the paper of this study."""

authors = ("Hongru Yang", "Bhavya Kailkhura", "Zhangyang Wang", "Yingbin Liang")
link = "https://arxiv.org/abs/2410.09605"
bibtex = """\
@inproceedings{yang2024cooccurrence,
  title = {Training Dynamics of Transformers to Recognize Word Co-occurrence via Gradient Flow Analysis},
  author = {Yang, Hongru and Kailkhura, Bhavya and Wang, Zhangyang and Liang, Yingbin},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {37},
  year = {2024},
  eprint = {2410.09605},
  archiveprefix = {arXiv},
}
"""
