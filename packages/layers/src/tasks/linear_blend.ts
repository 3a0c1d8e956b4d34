import { CholeskyDecomposition, Matrix } from 'ml-matrix'
import { upperMedian } from './upper_median.js'
import { ANCHORS, type Anchor, type WindowEncoder, type WindowPlace } from './window_encoder.js'

/** A forecast that is linear in the window: an anchor plus, if it has coefficients, a scaled change from it. */
export interface BlendMember {
  readonly anchor: Anchor
  /** [F][horizon]; absent for the anchor alone. */
  readonly coefficients?: readonly (readonly number[])[] | undefined
  /** In the mean of all members. */
  readonly weight: number
}

/** Ridge parameters relative to the mean square of the inputs; the calibration part chooses. */
const RIDGES = [1e-6, 1e-4, 1e-2, 1e-1]

/** Rounds of reweighting. */
const ROUNDS = 5

/** Places that coefficients are fitted on, at most; evenly spread. */
const MAX_PLACES = 2000

/**
 * The weighted mean of linear forecasts, from which the network's part begins. Members are ridge regressions on the change
 * from each anchor, one ordinary least squares, and the seasonal-naive forecast. Ridge regressions are robust: windows with
 * an error above the median weigh less (Huber 1964), so that shifts of level do not bend the rest. Weights are the inverse
 * fourth powers of the errors on the calibration part: close members share, a bad one has almost none.
 */
export class LinearBlend {
  readonly members: readonly BlendMember[]
  readonly #encoder: WindowEncoder
  readonly #matrices: readonly (Matrix | undefined)[]

  constructor(encoder: WindowEncoder, members: readonly BlendMember[]) {
    this.#encoder = encoder
    this.members = members
    this.#matrices = members.map(({ coefficients }) => coefficients && new Matrix(coefficients.map((row) => [...row])))
  }

  /** Fits members on the first places, and their weights on the second. */
  static fit(encoder: WindowEncoder, train: readonly WindowPlace[], calibration: readonly WindowPlace[]): LinearBlend {
    const every = Math.ceil(train.length / MAX_PLACES)
    const places = train.filter((_, index) => index % every === 0)
    const inputs = new Matrix(places.map((place) => encoder.linearInputs(place)))
    const error = (member: Omit<BlendMember, 'weight'>) =>
      new LinearBlend(encoder, [{ ...member, weight: 1 }]).meanError(calibration)
    const fitted = ANCHORS.map((anchor) => {
      const targets = targetsOf(encoder, places, anchor)
      const candidates = RIDGES.map((ridge) => ({ anchor, coefficients: robust(inputs, targets, ridge) }))
      return least(candidates, error)
    })
    const leastSquares = {
      anchor: 'last' as const,
      coefficients: solved(inputs, targetsOf(encoder, places, 'last'), RIDGES[0]),
    }
    const all = [...fitted, leastSquares, { anchor: 'seasonal_naive' as const }]
    const errors = all.map(error)
    const best = Math.min(...errors)
    // An exact member is used alone.
    const weights = errors.map((each) => (best === 0 ? Number(each === 0) : (best / each) ** 4))
    return new LinearBlend(
      encoder,
      all.map((member, index) => ({ ...member, weight: weights[index] })),
    )
  }

  forecast(place: WindowPlace): number[] {
    const { horizon } = this.#encoder.shape
    const scale = this.#encoder.scale(place)
    const inputs = new Matrix([this.#encoder.linearInputs(place)])
    const sums = new Array<number>(horizon).fill(0)
    let total = 0
    for (const [index, { anchor, weight }] of this.members.entries()) {
      if (weight === 0) continue
      const changes = this.#matrices[index] && inputs.mmul(this.#matrices[index]).getRow(0)
      for (let k = 0; k < horizon; k++) {
        sums[k] += weight * (this.#encoder.anchor(anchor, place, k + 1) + scale * (changes?.[k] ?? 0))
      }
      total += weight
    }
    return sums.map((sum) => sum / total)
  }

  /** Mean absolute error over places, each relative to the scale of its window. */
  meanError(places: readonly WindowPlace[]): number {
    let [sum, count] = [0, 0]
    for (const place of places) {
      const scale = this.#encoder.scale(place)
      const forecast = this.forecast(place)
      for (const [k, actual] of this.#encoder.actuals(place).entries()) {
        if (Number.isNaN(actual)) continue
        sum += Math.abs(forecast[k] - actual) / scale
        count++
      }
    }
    return count === 0 ? 0 : sum / count
  }
}

/** Changes from the anchor, relative to the scale of each window; of a missing value that which was filled in. */
function targetsOf(encoder: WindowEncoder, places: readonly WindowPlace[], anchor: Anchor): Matrix {
  return new Matrix(
    places.map((place) => {
      const scale = encoder.scale(place)
      return Array.from({ length: encoder.shape.horizon }, (_, k) => {
        return (place.series.values[place.origin + 1 + k] - encoder.anchor(anchor, place, k + 1)) / scale
      })
    }),
  )
}

/** Ridge regression, reweighted by Huber's weights of the mean absolute error of each row. */
function robust(inputs: Matrix, targets: Matrix, ridge: number): number[][] {
  let coefficients = solved(inputs, targets, ridge)
  for (let round = 1; round < ROUNDS; round++) {
    const residuals = Matrix.sub(targets, inputs.mmul(new Matrix(coefficients))).abs()
    const errors = residuals.mean('row')
    const usual = upperMedian(errors) ?? 0
    if (usual === 0) return coefficients
    coefficients = solved(
      inputs,
      targets,
      ridge,
      errors.map((error) => Math.min(1, usual / error)),
    )
  }
  return coefficients
}

/** Coefficients [F][horizon] of weighted ridge regression, by the normal equations. */
function solved(inputs: Matrix, targets: Matrix, ridge: number, weights?: readonly number[]): number[][] {
  const roots = weights?.map(Math.sqrt)
  // Both sides by the root: the product is symmetric to the last bit, which the decomposition requires.
  const weighted = roots === undefined ? inputs : inputs.clone().mulColumnVector(roots)
  const transposed = weighted.transpose()
  const gram = transposed.mmul(weighted)
  const size = gram.rows
  // Columns may be 0 or repeat each other: the least ridge keeps the equations solvable.
  const floor = 1e-9 + ridge * (gram.trace() / size)
  const cholesky = new CholeskyDecomposition(gram.add(Matrix.eye(size, size).mul(floor)))
  return cholesky
    .solve(transposed.mmul(roots === undefined ? targets : targets.clone().mulColumnVector(roots)))
    .to2DArray()
}

function least<Value>(values: readonly Value[], error: (value: Value) => number): Value {
  const errors = values.map(error)
  return values[errors.indexOf(Math.min(...errors))]
}
