"""Whom to cite: the paper of this study."""

authors = ("Ruiquan Huang", "Yingbin Liang", "Jing Yang")
link = "https://arxiv.org/abs/2505.00926"
bibtex = """\
@inproceedings{huang2025regular,
  title = {How Transformers Learn Regular Language Recognition: A Theoretical Study on Training Dynamics
    and Implicit Bias},
  author = {Huang, Ruiquan and Liang, Yingbin and Yang, Jing},
  booktitle = {Proceedings of the 42nd International Conference on Machine Learning},
  series = {Proceedings of Machine Learning Research},
  volume = {267},
  year = {2025},
  eprint = {2505.00926},
  archiveprefix = {arXiv},
}
"""
