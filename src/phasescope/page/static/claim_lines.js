// What is drawn over the map of a claim: the line where it turns, and where its assumptions are broken.

const DASHES = [[6, 4], [2, 3], [8, 3, 2, 3]];
const HATCH = 9;

/** Where cells of a grid that are inside meet cells that are not: [i0, j0, i1, j1], joined to as long pieces as can be. */
export function edges(columns, rows, inside) {
  const found = [];
  const run = (many, others, differs, piece) => {
    for (let k = 1; k < others; k++) {
      let start = -1;
      for (let i = 0; i <= many; i++) {
        const here = i < many && differs(i, k);
        if (here && start < 0) start = i;
        if (!here && start >= 0) {
          found.push(piece(start, i, k));
          start = -1;
        }
      }
    }
  };
  run(columns, rows, (i, j) => inside(i, j) !== inside(i, j - 1), (a, b, j) => [a, j, b, j]);
  run(rows, columns, (j, i) => inside(i, j) !== inside(i - 1, j), (a, b, i) => [i, a, i, b]);
  return found;
}

/** The place of a value on an axis of cells, counted in cells from the left edge of the first. */
export function placeOf(value, values) {
  let i = 0;
  while (i < values.length - 2 && values[i + 1] < value) i++;
  const [a, b] = [values[i], values[i + 1] ?? values[i]];
  if (b === a) return i + 0.5;
  const isLog = values.length > 2 && values[0] > 0 && Math.abs(values[1] * values[1] - values[0] * values[2]) < Math.abs(values[0] + values[2] - 2 * values[1]) * values[1];
  return i + 0.5 + (isLog ? Math.log(value / a) / Math.log(b / a) : (value - a) / (b - a));
}

export function claimLines(pen, box, { x, y, values, claim }, look) {
  const [columns, rows] = [x.values.length, y.values.length];
  const at = (i) => box.x + (i * box.wide) / columns, up = (j) => box.y + box.high - (j * box.high) / rows;
  const shown = ([a, b, c, d]) => [at(a), up(b), at(c), up(d)];
  const cell = (array) => (i, j) => array[j * columns + i];
  claim.assumptions.forEach(({ ratios }, k) => {
    const ratio = cell(ratios), isBroken = (i, j) => ratio(i, j) < 1;
    hatched(pen, columns, rows, isBroken, at, up, look);
    for (const edge of edges(columns, rows, isBroken)) pen.line(shown(edge), look.ink, { width: 1.6, dash: DASHES[k % DASHES.length] });
  });
  const outcome = cell(claim.outcome);
  const turn = claim.zero.length
    ? claim.zero.map(([a, b, c, d]) => [placeOf(a, x.values), placeOf(b, y.values), placeOf(c, x.values), placeOf(d, y.values)])
    : edges(columns, rows, (i, j) => outcome(i, j) > 0);
  for (const edge of turn) pen.line(shown(edge), look.ink, { width: 2 });
}

/** Diagonal lines over the cells where an assumption is broken. */
function hatched(pen, columns, rows, isBroken, at, up, look) {
  for (let j = 0; j < rows; j++) {
    for (let i = 0; i < columns; i++) {
      if (!isBroken(i, j)) continue;
      const first = i;
      while (i + 1 < columns && isBroken(i + 1, j)) i++;
      const [left, top, wide, high] = [at(first), up(j + 1), at(i + 1) - at(first), up(j) - up(j + 1)];
      pen.clipped(left, top, wide, high, () => {
        for (let s = Math.floor((left + top) / HATCH) * HATCH; s < left + wide + top + high + HATCH; s += HATCH)
          pen.line([s - top, top, s - top - high, top + high], look.ink, { alpha: 0.45 });
      });
    }
  }
}
