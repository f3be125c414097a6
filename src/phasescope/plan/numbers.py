"""Types of the numbers that a plan is made of: plain on the host, traced inside a compiled program."""

from __future__ import annotations

import numpy as np
from jaxtyping import Array

Number = int | float | np.number | Array
