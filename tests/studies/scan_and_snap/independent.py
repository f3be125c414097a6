"""Flows of the class-symmetric model by scipy, written from the definitions: no code is shared with the study.

Four levels: `symmetric` (the true gradient), `decoupled`, `theory`, `memoryless`. The state is one long vector.
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import wrightomega


def decoder(s, M, eta_Y):
    """M h(s)."""
    kappa = (M * eta_Y * s + 1) / (M - 1)
    return kappa - np.real(wrightomega(kappa - np.log(M - 1)))


def speed(t, K, M, eta_Y):
    """gamma(t)."""
    x = decoder(t / K, M, eta_Y)
    return (M - 1) ** 2 / M * x / (M - 1 + np.exp(x))


class Level:
    """One level of description, for weights p of D distinct tokens and of common ones."""

    def __init__(self, name, p_d, p_c, K, M, q, eta_Y, eta_Z):
        self.name, self.p_d, self.p_c, self.K, self.M, self.q = name, p_d, p_c, K, M, q
        self.eta_Y, self.eta_Z, self.D, self.C = eta_Y, eta_Z, len(p_d), len(p_c)
        extra = {"theory": 1, "memoryless": 3}.get(name, 3 * self.D + 2 * self.C)
        self.size = self.D + self.C + extra

    def direction(self, y):
        weights = np.concatenate([self.p_d, self.p_c]) * np.exp(y[: self.D + self.C])
        f = weights / np.linalg.norm(weights)
        return f[: self.D], f[self.D :]

    def overlaps(self, rho):
        """Own and other entry of the inverse Gram matrix."""
        off = rho / ((1 - rho) * (1 + (self.K - 1) * rho))
        return 1 + (self.K - 1) * rho * off, -off

    def tables(self, y):
        D, C = self.D, self.C
        A, B, O = y[D + C : 4 * D + C].reshape(3, D)
        U, V = y[4 * D + C :].reshape(2, C)
        return A, B, O, U, V

    def predict(self, y, f_d, f_c):
        """Leads turned into probabilities of another label, of a non-label, of all that is wrong; and the loss."""
        K, M, rho = self.K, self.M, f_c @ f_c
        if self.name == "memoryless":
            s, b, o = y[-3:]
            a, b, o = s + (K - 1) * rho * b, b + rho * (s + (K - 2) * b), o * (1 + (K - 1) * rho)
        else:
            A, B, O, U, V = self.tables(y)
            a, b, o = f_d @ A + f_c @ U, f_d @ B + f_c @ U, f_d @ O + f_c @ V
        wrong = (K - 1) * np.exp(b - a) + (M - K) * np.exp(o - a)
        return (
            np.exp(b - a) / (1 + wrong),
            np.exp(o - a) / (1 + wrong),
            wrong / (1 + wrong),
            np.log1p(wrong),
        )

    def pull(self, y, f_d, f_c):
        """g on the class's own distinct tokens, on another class's, and on common ones."""
        K, M = self.K, self.M
        other, rest, mu, _ = self.predict(y, f_d, f_c)
        A, B, O, U, V = self.tables(y)
        own = A * mu - (K - 1) * B * other - (M - K) * O * rest
        away = B * (mu - (K - 2) * other) - A * other - (M - K) * O * rest
        return own, away, (M - K) * rest * (U - V)

    def force(self, t, y, f_d, f_c):
        """gamma beta where the level has it in closed form."""
        K, M, rho = self.K, self.M, f_c @ f_c
        if self.name == "theory":
            off = -self.overlaps(rho)[1]
            beta = M / (M - 1) * off + M / (M - 1) ** 2 * (1 + (K - 1) * rho * off - (K - 2) * off)
            return speed(t, K, M, self.eta_Y) * beta
        s, b, o = y[-3:]
        other, rest, mu, _ = self.predict(y, f_d, f_c)
        return -(b * mu - (s + (K - 2) * b) * other - (M - K) * o * rest)

    def velocity(self, t, y):
        K, M, q = self.K, self.M, self.q
        f_d, f_c = self.direction(y)
        rho = f_c @ f_c
        if self.name in ("theory", "memoryless"):
            push = self.eta_Z / K * (K - 1) * self.force(t, y, f_d, f_c)
            z = [f_d**2 * push * rho, -q * f_c**2 * (1 - rho) * push]
            if self.name == "theory":
                return np.concatenate([*z, [push * rho]])
            other, rest, mu, _ = self.predict(y, f_d, f_c)
            return np.concatenate([*z, self.eta_Y / K * np.array([mu, -other, -rest])])
        other, rest, mu, _ = self.predict(y, f_d, f_c)
        g_d, _, g_c = self.pull(y, f_d, f_c)
        mean = f_d @ g_d + f_c @ g_c
        z = [
            self.eta_Z / K * f_d * (g_d - f_d * mean),
            q * self.eta_Z / K * f_c * (g_c - f_c * mean),
        ]
        i_1, i_2 = self.overlaps(rho) if self.name == "decoupled" else (1.0, 0.0)
        both = i_1 + (K - 1) * i_2
        A, B = (
            f_d * (i_1 * mu - (K - 1) * i_2 * other),
            f_d * (i_2 * (mu - (K - 2) * other) - i_1 * other),
        )
        Y = [A, B, -f_d * rest * both, f_c * (M - K) * rest * both, -K * f_c * rest * both]
        return np.concatenate([*z, *(self.eta_Y / K * x for x in Y)])

    def solve(self, times):
        """States at the times, solved in log time."""
        rate = self.eta_Y / self.K
        clock = np.log1p(rate * np.asarray(times))
        found = solve_ivp(
            lambda s, y: self.velocity(np.expm1(s) / rate, y) * np.exp(s) / rate, (0, clock[-1]), np.zeros(self.size),
            "LSODA", clock, rtol=1e-10, atol=1e-13,
        )  # fmt: skip
        assert found.success
        return found.y.T

    def look(self, t, y):
        """What the claims read off a state."""
        K = self.K
        f_d, f_c = self.direction(y)
        rho, z_d, z_c = f_c @ f_c, y[: self.D], y[self.D : self.D + self.C]
        mass = self.p_d * np.exp(z_d)
        common = self.p_c * np.exp(z_c)
        total, within = mass.sum() + common.sum(), mass / mass.sum()
        seen = {
            "z_dt": z_d[None], "z_ct": z_c[None], "f_dt": f_d[None], "f_ct": f_c[None], "rho": rho,
            "c_dt": mass[None] / total, "c_ct": common[None] / total,
            "dt_entropy": np.array([-(within * np.log(within)).sum()]),
        }  # fmt: skip
        if self.name in ("theory", "memoryless"):
            force = self.force(t, y, f_d, f_c)
            seen |= {"xi_eff": np.array([(K - 1) * force * rho]), "beta": np.array([[force]])}
            more = {"B_n": y[-1], "h": decoder(t / K, self.M, self.eta_Y) / self.M}
            return seen | (more if self.name == "theory" else {})
        own, away, g_c = self.pull(y, f_d, f_c)
        i_1, i_2 = self.overlaps(rho)
        onto = np.array([f_d @ own, f_d @ away]) + f_c @ g_c
        iota, beta = (
            i_1 * onto[0] + (K - 1) * i_2 * onto[1],
            -(i_2 * onto[0] + (i_1 + (K - 2) * i_2) * onto[1]),
        )
        moving = f_c * (g_c - f_c * onto[0])
        present = -(K - 1) * beta * f_c * (1 - rho) * f_c
        lag = moving.sum() / present.sum() if present.any() else np.nan
        top = (own[-1] - f_d[-1] * onto[0]) / f_d[-1]
        return seen | {
            "iota": np.array([iota]), "beta": np.array([[beta]]), "lag": lag, "xi_eff": np.array([top]),
            "loss": self.predict(y, f_d, f_c)[3],
        }  # fmt: skip
