r"""What the theory has in closed form: $h$, $h^*$, $\gamma$, $\Gamma$, $B_n$, $\chi$, and the times
$t_0'$ and $t_0$.

The decoder of one class grows by $\dot h = \eta_Y / (M - 1 + e^{Mh})$ per visit. With $x = Mh$ this
integrates to $e^x - 1 + (M-1)x = M\eta_Y s$ (Lemma 6), whose root is written with Wright's omega,

$$Mh(s) = \ln\big[(M-1)\,\omega(\kappa - \ln(M-1))\big], \qquad \kappa = \frac{M\eta_Y s + 1}{M-1}, \qquad
\omega(y) + \ln \omega(y) = y,$$

and which nowhere overflows. The speed of the attention is $\gamma(t) = (M-1)^2 h / (M-1+e^{Mh})$
at $s = t/K$, and since $\gamma\,dt = \frac{K (M-1)^2}{\eta_Y} h\,dh$, its integral is $\Gamma =
\frac{\eta_Z}{\eta_Y}\frac{K(M-1)^2}{2}h^2$.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import lambertw, wrightomega

VISITS_UP_TO = 10**6  # beyond this many visits the recursion h* is not followed


def omega(y: Any) -> Array:
    r"""Wright's omega of a real number: $\omega + \ln\omega = y$."""
    y = jnp.asarray(y, float)
    small = jnp.exp(jnp.minimum(y, 1.0))
    guess = jnp.where(y > 1, y - jnp.log(jnp.maximum(y, 1.0)), small / (1 + small))
    w = jnp.maximum(guess, jnp.finfo(y.dtype).tiny)
    for _ in range(3):  # each step multiplies the number of right digits by four
        miss = y - w - jnp.log(w)
        first = miss / (1 + w)
        second = first / (1 + w + 2 / 3 * miss)
        w = w * (1 + first * (1 - second / 2) / (1 - second))
    return w


def Mh(s: Any, M: Any, eta_Y: Any) -> Array:
    """$M h(s)$ after $s$ visits of a class."""
    drive = M * eta_Y * jnp.asarray(s, float)
    kappa = (drive + 1) / (M - 1)
    w = omega(kappa - jnp.log(M - 1.0))
    x = jnp.where(w < 1, kappa - w, jnp.log(w) + jnp.log(M - 1.0))
    # One step of Newton on the implicit equation, written so that small x keeps its digits too.
    return x - (jnp.expm1(x) + (M - 1) * x - drive) / (jnp.exp(x) + (M - 1))


def h(s: Any, M: Any, eta_Y: Any) -> Array:
    """$h(s)$, the continuous growth of a class's decoder."""
    return Mh(s, M, eta_Y) / M


def h_star(visits: Any, M: Any, eta_Y: Any) -> Array:
    """$h^*$ after a whole number of visits: the same growth in unit steps; nan beyond
    `VISITS_UP_TO`."""
    visits = jnp.asarray(visits)

    def visit(_, x):
        return x + M * eta_Y / (M - 1 + jnp.exp(x))

    start = jnp.zeros(jnp.broadcast_shapes(jnp.shape(M), jnp.shape(eta_Y)))
    count = jnp.minimum(visits, VISITS_UP_TO).astype(int)
    followed = jax.lax.fori_loop(0, count, visit, start) / M
    return jnp.where(visits <= VISITS_UP_TO, followed, jnp.nan)


def h_star_path(visits: int, M: Any, eta_Y: Any) -> Float[Array, "visit *lanes"]:
    """$h^*$ after 0, 1, ..., `visits` visits."""

    def visit(x, _):
        return x + M * eta_Y / (M - 1 + jnp.exp(x)), x

    start = jnp.zeros(jnp.broadcast_shapes(jnp.shape(M), jnp.shape(eta_Y)))
    return jax.lax.scan(visit, start, length=visits + 1)[1] / M


def gamma(t: Any, K: Any, M: Any, eta_Y: Any) -> Array:
    r"""$\gamma(t)$, the speed that the decoder gives to the attention."""
    x = Mh(t / K, M, eta_Y)
    return (M - 1) ** 2 / M * x / (M - 1 + jnp.exp(x))


def Gamma(t: Any, K: Any, M: Any, eta_Y: Any, eta_Z: Any) -> Array:
    r"""$\Gamma(t) = \eta_Z \int_0^t \gamma$."""
    return eta_Z / eta_Y * K * ((M - 1) / M * Mh(t / K, M, eta_Y)) ** 2 / 2


def B_n(
    t: Any, K: Any, M: Any, eta_Y: Any, eta_Z: Any, rho_0: Any = 1.0, share: Any = 1.0
) -> Array:
    r"""$B_n = \frac14 \ln(1 + 4K\rho_0^{-4}\Gamma)$, with its lower limit. `share=1/K` is for
    averaged updates."""
    return jnp.log1p(4 * K / rho_0**4 * share * Gamma(t, K, M, eta_Y, eta_Z)) / 4


def B_n_memoryful(t: Any, K: Any, M: Any, eta_Y: Any, eta_Z: Any, f_common_squared: Any) -> Array:
    r"""What the true dynamics does in weak correlation: $\frac12\ln(1 + \frac{2(K-1)}{M}
    f_{CT}^2(0)\,\Gamma/K)$."""
    return jnp.log1p(2 * (K - 1) / M * f_common_squared * Gamma(t, K, M, eta_Y, eta_Z) / K) / 2


def log_ratio_root(M: Any) -> Any:
    r"""The larger root of $e^x = (M-1)x$, which is $(1 + \omega_1)\ln M$."""
    return -np.real(lambertw(-1 / (np.asarray(M, float) - 1), -1))


def omega_1(M: Any) -> Any:
    r"""$\omega_1$ of Lemma 8."""
    return log_ratio_root(M) / np.log(M) - 1


def t_linear(K: Any, M: Any, eta_Y: Any) -> Any:
    r"""$t_0' = K \ln M / \eta_Y$."""
    return K * np.log(M) / eta_Y


def t_snap(K: Any, M: Any, eta_Y: Any) -> Any:
    r"""$t_0 = 2(1 + \omega_1) K \ln M / \eta_Y$."""
    return 2 * K * log_ratio_root(M) / eta_Y


def t_bar(K: Any, M: Any, eta_Y: Any) -> Any:
    r"""$\bar t_0 = 2 K \ln M / \eta_Y$, the unit in which runs of different sizes are compared."""
    return 2 * t_linear(K, M, eta_Y)


def visits_until(x: Any, M: Any, eta_Y: Any) -> Any:
    """How many visits bring $Mh$ to `x`."""
    return (np.expm1(x) + (M - 1) * np.asarray(x, float)) / (M * eta_Y)


def gamma_peak(K: Any, M: Any, eta_Y: Any) -> tuple[Any, Any]:
    r"""Time and height of the maximum of $\gamma$: there $Mh = 1 + W_0((M-1)/e)$."""
    x = 1 + wrightomega(np.log(np.asarray(M, float) - 1) - 1)
    return K * visits_until(x, M, eta_Y), (M - 1) ** 2 / M * x / (M - 1 + np.exp(x))


def steps_to_residual(epsilon: Any, K: Any, M: Any, eta_Y: Any) -> Any:
    r"""How many updates bring $\|r_n\|$ below $\epsilon$ (Corollary 1, exactly)."""
    x = np.log((M - 1) * (np.sqrt(M / (M - 1)) / np.asarray(epsilon, float) - 1))
    return K * visits_until(x, M, eta_Y)


def early_force_ratio(M: Any) -> Any:
    r"""$\beta/\iota$ of the true gradient as $t \to 0$, whatever the overlaps are.

    From zero tables all residuals are $r_n \propto \zeta_n$, so that $Y = F S$ with $S_n \propto \zeta_n$, and
    $g_n = Y r_n = \sum_{n'} (S_{n'} \cdot r_n) f_{n'}$: the ratio is $-q_0/q_1 = 1/(M-1)$. Theorem 1 has $E'$ in its
    place, which Assumption 2 keeps above $6/\sqrt M$ or so.
    """
    return 1 / (M - 1)
