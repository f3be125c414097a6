/* Gradient descent on even pairs in the coordinates of the symmetry reduction, many runs side by side.

   The runs go in blocks of B lanes that stay in the first-level cache for the whole trajectory. The exponentials, which
   are most of the work, go over flat arrays in which the compiler finds vectors (gcc: libmvec), and only those of the
   triangle l <= L are taken. Scores are kept divided by lambda. With B = 1 this is the scalar loop of one run.

   gcc -O3 -march=native -mprefer-vector-width=512 -ffast-math -fPIC -DN=6 -DB=64 -c even_pairs_lanes.c
*/
#include <math.h>
#include <string.h>

#ifndef N
#define N 6 /* the longest string, at least 2 */
#endif
#ifndef B
#define B 64 /* lanes in a block */
#endif

#define OTHERS (N * (N - 1) / 2)     /* scores of positions 2..L, for L = 2..N */
#define SCORES (OTHERS + 2 * (N - 1)) /* then p_L and q_L, the scores of the first position */

typedef struct {
  double v[N][B];
  double a[SCORES][B];
} __attribute__((aligned(64))) State;

#define P(L) (OTHERS + (L) - 2)
#define Q(L) (OTHERS + (N - 1) + (L) - 2)
#define T_PLUS(L) ((L) - 1)
#define T_MINUS(L) (N + (L) - 2)
#define OUTPUTS (2 * N - 1)

/* A whole table as one row of numbers. */
#define FLAT(table) ((double *)(void *)(table))

/* e = exp(a); T+ of lengths 1..N, then T- of lengths 2..N; 1/Z of both. */
static inline void outputs(const State *s, double e[SCORES][B], double T[OUTPUTS][B], double iZ[OUTPUTS][B]) {
  const double *a = FLAT(s->a);
  double *x = FLAT(e);
  for (int i = 0; i < SCORES * B; i++) x[i] = exp(a[i]);
  for (int j = 0; j < B; j++) T[0][j] = s->v[0][j];
  int first = 0; /* of the row of length L */
  for (int L = 2; L <= N; first += L - 1, L++) {
    for (int j = 0; j < B; j++) {
      double sum = 0, dot = 0;
#pragma GCC unroll 16
      for (int l = 0; l < L - 1; l++) {
        sum += e[first + l][j];
        dot += e[first + l][j] * s->v[l + 1][j];
      }
      double zp = 1 / (sum + e[P(L)][j]), zq = 1 / (sum + e[Q(L)][j]);
      iZ[T_PLUS(L)][j] = zp;
      iZ[T_MINUS(L)][j] = zq;
      T[T_PLUS(L)][j] = (dot + e[P(L)][j] * s->v[0][j]) * zp;
      T[T_MINUS(L)][j] = (dot + e[Q(L)][j] * s->v[0][j]) * zq;
    }
  }
}

/* One update: step eta on v, eta k / lambda on the scores divided by lambda (rate). */
static inline void step(State *s, const double *eta, const double *rate, double e[SCORES][B], double T[OUTPUTS][B],
                        double iZ[OUTPUTS][B]) {
  double g[OUTPUTS][B] __attribute__((aligned(64))), dv[N][B] __attribute__((aligned(64)));
  const double *t = FLAT(T);
  double *G = FLAT(g);
  for (int i = 0; i < N * B; i++) G[i] = 1 / (1 + exp(t[i]));
  for (int i = N * B; i < OUTPUTS * B; i++) G[i] = 1 / (1 + exp(-t[i]));
  for (int j = 0; j < B; j++) dv[0][j] = g[0][j]; /* length 1 weighs 1, not 1/2 */
  memset(dv[1], 0, sizeof dv - sizeof dv[0]);
  int first = 0;
  for (int L = 2; L <= N; first += L - 1, L++) {
    for (int j = 0; j < B; j++) {
      double r = rate[j], tp = T[T_PLUS(L)][j], tq = T[T_MINUS(L)][j];
      double gp = 0.5 * g[T_PLUS(L)][j] * iZ[T_PLUS(L)][j], gq = -0.5 * g[T_MINUS(L)][j] * iZ[T_MINUS(L)][j];
      double fp = gp * e[P(L)][j], fq = gq * e[Q(L)][j];
      double D = gp + gq, C = gp * tp + gq * tq;
      dv[0][j] += fp + fq;
      s->a[P(L)][j] += 0.5 * r * fp * (s->v[0][j] - tp);
      s->a[Q(L)][j] += 0.5 * r * fq * (s->v[0][j] - tq);
#pragma GCC unroll 16
      for (int l = 0; l < L - 1; l++) {
        double x = e[first + l][j], share = l == L - 2 ? 0.5 : 0.25; /* the last token's own score: twice */
        dv[l + 1][j] += x * D;
        s->a[first + l][j] += share * r * x * (D * s->v[l + 1][j] - C);
      }
    }
  }
  for (int l = 0; l < N; l++)
    for (int j = 0; j < B; j++) s->v[l][j] += 0.5 * eta[j] * dv[l][j];
}

static inline void losses(double T[OUTPUTS][B], double *loss) {
  double c[OUTPUTS][B] __attribute__((aligned(64)));
  const double *t = FLAT(T);
  double *x = FLAT(c);
  for (int i = 0; i < N * B; i++) x[i] = log(1 + exp(-t[i]));
  for (int i = N * B; i < OUTPUTS * B; i++) x[i] = log(1 + exp(t[i]));
  for (int j = 0; j < B; j++) {
    double sum = c[0][j];
    for (int i = 1; i < OUTPUTS; i++) sum += 0.5 * c[i][j];
    loss[j] = sum;
  }
}

/* `runs` must be a multiple of B. loss[record][run], v[position][run] at the end. `always`: take the loss every step. */
void train(long runs, long steps, long change, const double *lam, const double *eta, long records, const long *at,
           int always, double *loss, double *v) {
  for (long run = 0; run < runs; run += B) {
    State s;
    double e[SCORES][B] __attribute__((aligned(64))), T[OUTPUTS][B] __attribute__((aligned(64)));
    double iZ[OUTPUTS][B] __attribute__((aligned(64))), now[B], eta_[B], fast[B], slow[B];
    memset(&s, 0, sizeof s);
    for (int j = 0; j < B; j++) {
      double l = lam[run + j];
      eta_[j] = eta[run + j];
      fast[j] = eta_[j] / l;       /* phase 1: net step eta on W */
      slow[j] = eta_[j] / (l * l); /* phase 2: net step eta / lambda */
    }
    long record = 0;
    for (long t = 0;; t++) {
      outputs(&s, e, T, iZ);
      int wanted = record < records && at[record] == t;
      if (always || wanted) {
        losses(T, now);
        __asm__ volatile("" : : "r"(now) : "memory"); /* or the compiler would leave out what nobody reads */
      }
      if (wanted) memcpy(loss + record++ * runs + run, now, sizeof now);
      if (t == steps) break;
      step(&s, eta_, t < change ? fast : slow, e, T, iZ);
    }
    for (int l = 0; l < N; l++) memcpy(v + l * runs + run, s.v[l], sizeof s.v[l]);
  }
}
