"""Whom to cite: the paper of this study."""

authors = ("Yu Huang", "Zixin Wen", "Aarti Singh", "Yuejie Chi", "Yuxin Chen")
link = "https://arxiv.org/abs/2511.07378"
bibtex = """\
@inproceedings{huang2025length,
  title = {Transformers Provably Learn Chain-of-Thought Reasoning with Length Generalization},
  author = {Huang, Yu and Wen, Zixin and Singh, Aarti and Chi, Yuejie and Chen, Yuxin},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2025},
  eprint = {2511.07378},
  archiveprefix = {arXiv},
}
"""
