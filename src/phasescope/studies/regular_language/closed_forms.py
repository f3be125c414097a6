r"""What can be written down: the start of training, the linearisation at zero, weak margins, and the paper's bounds.

Throughout $\tau = \eta t$ is training time and $N$ the longest length. Bounds are right-hand sides as printed, with
full norms $\|u\| = \sqrt2 \|v\|$. The forms for early times assume that only length 1 has its last token for a pivot.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

Pivots = Int[np.ndarray, " length"]


class Clock(NamedTuple):
    r"""$\tau, \tau^2, \tau^3, \tau^4$, or the sums that stand in their place after a few steps of descent."""

    first: float
    second: float
    third: float
    fourth: float


def flow_clock(tau: float) -> Clock:
    """Powers of training time."""
    return Clock(tau, tau**2, tau**3, tau**4)


def step_clock(eta: float, t: int) -> Clock:
    r"""After $t$ updates from zero: $2\sum s$, $3\sum s^2$, $4\sum s^2(s-1)$ over $s < t$, times powers of $\eta$."""
    s = np.arange(t, dtype=float)
    return Clock(
        eta * t,
        2 * eta**2 * s.sum(),
        3 * eta**3 * (s**2).sum(),
        4 * eta**4 * (s**2 * (s - 1)).sum(),
    )


def early_token_scores(max_length: int, clock: Clock) -> Float[np.ndarray, " position"]:
    r"""$v_1 = \tau/4$ and $v_\ell = -\frac{\tau^2}{64} \sum_{L=\ell}^N L^{-2}$: the pivots do not matter yet."""
    inverse_squares = 1 / np.arange(1, max_length + 1) ** 2
    v = -clock.second / 64 * np.cumsum(inverse_squares[::-1])[::-1]
    v[0] = clock.first / 4
    return v


def early_pivot_scores(pivots: Pivots, clock: Clock) -> Float[np.ndarray, "case length"]:
    r"""$p_L = -q_L = \frac{\tau^2}{64L}(1 - \frac1L)$ at pivot 1, $q_L = -p_L = \frac{\tau^2}{64L^2}$ later on."""
    L = np.arange(1, len(pivots) + 1)
    p = clock.second / 64 * np.where(pivots == 1, (1 - 1 / L) / L, -1 / L**2)
    return np.stack([p, -p])


def early_other_scores(pivots: Pivots, clock: Clock) -> Float[np.ndarray, "length position"]:
    r"""$m_{L\ell} = \frac{\tau^3}{768L^3}$, and on the diagonal $s_L = 2m$.

    Where position 1 is not the pivot, it is behind the others by $\frac{\tau^3}{768L^2}$.
    """
    L, position = np.ogrid[1 : len(pivots) + 1, 1 : len(pivots) + 1]
    m = clock.third / 768 * np.where(position == 1, 1 / L**3 - 1 / L**2, 1 / L**3 + 0 * position)
    m = np.where(position == L, 2 * m, m)
    return np.where((position <= L) & (position != pivots[:, None]), m, 0.0)


def early_second_lead(max_length: int, clock: Clock) -> Float[np.ndarray, "length position"]:
    r"""Even pairs: $m_{L2} - m_{L\ell} = \frac{\tau^4}{16384L^2} \sum_{j=2}^{\ell-1} j^{-2}$ for $2 < \ell < L$.

    Other entries are nan.
    """
    L, position = np.ogrid[1 : max_length + 1, 1 : max_length + 1]
    j = np.arange(1, max_length + 1)
    sums = np.concatenate(
        [[0.0], np.cumsum(np.where(j >= 2, 1 / j**2, 0.0))[:-1]]
    )  # over 2 <= j < position
    return np.where((position >= 3) & (position < L), clock.fourth / 16384 / L**2 * sums, np.nan)


def weak_margin_norm(p: float, q: float, lam: float, max_length: int) -> float:
    r"""Even pairs, hardly separated: $v^* \approx C(1, -1, 0, ...)$ and $\|u^*\| \simeq 4 \lambda N / (p_N - q_N)$."""
    return 4 * lam * max_length / (p - q)


def early_margin_norm(tau_0: float, lam: float, max_length: int) -> float:
    r"""The same with the closed form of $p_N$: $\|u^*\| \simeq 128 \lambda N^3 / (\tau_0^2 (N - 1))$."""
    return 128 * lam * max_length**3 / (tau_0**2 * (max_length - 1))


def linearisation(pivots: Pivots, alpha: Float[np.ndarray, " length"]):
    r"""Near zero, $\dot v = -Hv + \lambda^{-1} B b$ and $\dot b = 2k B^\top v$ with $b = p - q$. Returns $H$, $B$.

    $H = \frac18 \sum_L \alpha_L \mathbf 1_L \mathbf 1_L^\top / L^2$ and
    $B_{\cdot L} = \frac{\alpha_L}{8L}(e_{c_L} - \mathbf 1_L / L)$ over the lengths whose pivot is not their last token;
    the others (length 1) push at zeroth order and must have $\alpha_L = 0$ for zero to be a saddle.
    """
    lengths = np.arange(1, len(pivots) + 1)
    alpha = np.where(pivots == lengths, 0.0, alpha)
    ones = (lengths[:, None] <= lengths).astype(float)  # [position, length]
    H = (ones * alpha / lengths**2) @ ones.T / 8
    B = alpha / (8 * lengths) * ((lengths[:, None] == pivots) - ones / lengths)
    return H, B


def growth_rate(pivots: Pivots, alpha: Float[np.ndarray, " length"], lam: float, k: float) -> float:
    r"""How fast the saddle at zero is left, per $\tau$; at $k = 1/\lambda$, minus the lowest Hessian eigenvalue."""
    H, B = linearisation(pivots, alpha)
    flow = np.block([[-H, B / lam], [2 * k * B.T, np.zeros_like(H)]])
    return float(np.max(np.real(np.linalg.eigvals(flow))))


class TheoremSetting(NamedTuple):
    """The paper's own scalings with unit constants."""

    lam: float
    eta: float
    switch: int
    horizon: int


def theorem_setting(max_length: int) -> TheoremSetting:
    r"""$\lambda = N^2$, $\eta = N^{-4/3}$, $t_0 = \lceil 1/(\eta N) \rceil$ and $T$ rounded down."""
    lam = float(max_length**2)
    eta = max_length ** (-4 / 3)
    # 1 / (eta N) = N^{1/3}: for cubes the rounding of the power must not decide which integer comes next.
    switch = int(np.ceil(1 / (eta * max_length) - 1e-9))
    return TheoremSetting(lam, eta, switch, int(np.floor(horizon(lam, eta, max_length) + 1e-9)))


def horizon(lam: float, eta: float, max_length: int) -> float:
    r"""The theorems' last step $T = (\lambda/2)^{2/3} / (\eta N)$, before rounding."""
    return (lam / 2) ** (2 / 3) / (eta * max_length)


def margin_certificate(max_length: int, lam: float, c_0: float = 1.0, c_T: float = 1.0) -> float:
    r"""No read-out that descent can reach by $T$ gives all strings a larger margin than this, at the attention of $t_0$.

    With $t_0 = c_0/(\eta N)$ and $T = c_T (\lambda/2)^{2/3}/(\eta N)$: the paper's $\|\nabla_u\| \le N$ gives
    $\|u_T\| \le \eta N T = c_T (\lambda/2)^{2/3}$, and `early_margin_norm` $\|u^*\| \ge 128\lambda N^4/c_0^2$. By the
    definition of $u^*$ some string has a margin of at most
    $\|u_T\|/\|u^*\| \le c_T c_0^2 / (128 \cdot 2^{2/3} \lambda^{1/3} N^4)$.
    """
    return c_T * c_0**2 / (128 * 2 ** (2 / 3) * lam ** (1 / 3) * max_length**4)


def parity_certificate(base_length: int, lam: float, c_0: float = 1.0, c_T: float = 1.0) -> float:
    r"""The same for parity, $N = 2L_0 - 2$: the strings up to $L_0$ alone ask for
    $\|u^*\| \ge 128\lambda L_0^2 N^2/c_0^2$."""
    N = 2 * base_length - 2
    return margin_certificate(N, lam, c_0, c_T) * (N / base_length) ** 2


def loss_floor_at_T(max_length: int, lam: float, c_0: float = 1.0, c_T: float = 1.0) -> float:
    r"""The loss at $T$ is at least this, for every $\lambda$: $\frac12 \log(1 + e^{-m - c_T^3/4})$.

    $m$ is `margin_certificate`. Half of the strings of some length have that margin at the attention of $t_0$. What
    moves after $t_0$ adds at most $\|u_T\|\|W_T - W_{t_0}\|/\lambda$, which the paper's own
    $\|W_T - W_{t_0}\| \le \eta^2 N^2 T^2/\lambda$ bounds by $c_T^3/4$.
    """
    margin = margin_certificate(max_length, lam, c_0, c_T) + c_T**3 / 4
    return 0.5 * float(np.logaddexp(0.0, -margin))


def horizon_ratio(lam: float, margin_norm: float) -> float:
    r"""The first entry of the proof's $T = \min\{\lambda/(\sqrt{3\|u^*\|}\eta N), (\lambda/2)^{2/3}/(\eta N)\}$ over the
    second, which the paper takes for the smaller one."""
    return lam / np.sqrt(3 * margin_norm) / (lam / 2) ** (2 / 3)


def norm_bound(t, switch: int, eta: float, margin_norm: float, constant: float = 14.0):
    r"""Lemma B.5: $\|u_t\| \ge \frac35 \|u^*\| \log \frac{\eta (t - t_0 - 1)}{C \|u^*\|^2}$; -inf up to $t_0$.

    The statement prints $C = 9$, its proof $C = 14$.
    """
    elapsed = np.maximum(np.asarray(t, dtype=float) - switch - 1, 0.0)
    with np.errstate(divide="ignore"):
        return 0.6 * margin_norm * np.log(eta * elapsed / (constant * margin_norm**2))


def cosine_bound(u_norm, margin_norm: float):
    r"""Theorem 4.4: $\cos(u_t, u^*) \ge 1 - \frac12 (\frac1{6\|u^*\|} - \frac1{\|u_t\|})^2$."""
    return 1 - 0.5 * (1 / (6 * margin_norm) - 1 / np.asarray(u_norm)) ** 2


def window_ratio(eta: float, last_step: float | int, margin_norm: float) -> float:
    r"""$14 \|u^*\|^2 / (\eta T)$: Theorem 4.4 speaks about some step at all only if this is below 1."""
    return 14 * margin_norm**2 / (eta * last_step)


def loss_bound(t, eta: float, max_length: int, margin_norm: float, constant: float = 14.0):
    r"""Theorem 4.5: $\mathcal L_t \le C N \|u^*\|^2 / (\eta \sqrt t)$."""
    return constant * max_length * margin_norm**2 / (eta * np.sqrt(t))


def softmax_lipschitz_ratios(
    samples: int, keys: int, lam: float, seed: int = 0
) -> Float[np.ndarray, " sample"]:
    r"""Lemma A.1: $\lambda \|S(x/\lambda) - S(y/\lambda)\| / \|x - y\|$ for random pairs, near and far; $S$: softmax.

    The lemma says at most 1; the true constant is 1/2.
    """
    rng = np.random.default_rng(seed)
    x = lam * rng.normal(size=(samples, keys))
    y = x + lam * 10.0 ** rng.uniform(-3, 1, size=(samples, 1)) * rng.normal(size=(samples, keys))
    return (
        lam
        * np.linalg.norm(_softmax(x / lam) - _softmax(y / lam), axis=1)
        / np.linalg.norm(x - y, axis=1)
    )


def sigmoid_remainders(x: Float[np.ndarray, " point"]) -> Float[np.ndarray, " point"]:
    r"""Eq. (2): $|\sigma(-x) - (\frac12 - \frac x4)| / |x|^3$; at most 1, in truth at most 1/48."""
    return np.abs(-np.tanh(x / 2) / 2 + x / 4) / np.abs(x) ** 3


def sigmoid_lipschitz_ratios(samples: int, seed: int = 0) -> Float[np.ndarray, " sample"]:
    r"""Eq. (2): $|J'(x) - J'(x')| / |x - x'|$ for random pairs, near and far; at most 1, in truth at most 1/4."""
    rng = np.random.default_rng(seed)
    x = 3 * rng.normal(size=samples)
    y = x + 10.0 ** rng.uniform(-4, 1.5, size=samples) * rng.choice([-1.0, 1.0], size=samples)
    return np.abs(np.tanh(x / 2) - np.tanh(y / 2)) / 2 / np.abs(x - y)


def _softmax(x):
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
