"""The two kernels of the induction head: in closed form, by quadrature, and in tables."""
