import type { ForecastShape } from '@cudnn-rnn/rnn/tasks'
import { Matrix, solve } from 'ml-matrix'

/** Keeps the normal equations solvable where values repeat; relative to the mean square of the inputs. */
const RIDGE = 1e-6

/**
 * The linear baseline: every step ahead is a linear function of the window, by least squares over the training origins.
 * Values are taken relative to the last one known, so that a trend continues.
 */
export class LinearForecaster {
  readonly #values: Float64Array
  readonly #window: number
  /** [W,horizon]: the last row is the constant. */
  readonly #coefficients: Matrix

  constructor(values: Float64Array, { window, horizon }: ForecastShape, trainOrigins: readonly number[]) {
    this.#values = values
    this.#window = window
    const inputs = new Matrix(trainOrigins.map((origin) => this.#inputs(origin)))
    const targets = new Matrix(
      trainOrigins.map((origin) => Array.from({ length: horizon }, (_, k) => values[origin + k + 1] - values[origin])),
    )
    const transposed = inputs.transpose()
    const gram = transposed.mmul(inputs)
    const ridge = RIDGE * (gram.trace() / window)
    this.#coefficients = solve(gram.add(Matrix.eye(window).mul(ridge)), transposed.mmul(targets))
  }

  /** Forecasts of all steps ahead of `origin`. */
  forecast(origin: number): number[] {
    const last = this.#values[origin]
    return new Matrix([this.#inputs(origin)])
      .mmul(this.#coefficients)
      .getRow(0)
      .map((change) => last + change)
  }

  #inputs(origin: number): number[] {
    const last = this.#values[origin]
    const changes = Array.from(this.#values.subarray(origin - this.#window + 1, origin), (value) => value - last)
    return [...changes, 1]
  }
}
