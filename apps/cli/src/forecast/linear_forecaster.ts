import type { ForecastShape } from '@cudnn-rnn/rnn/tasks'
import { Matrix, solve } from 'ml-matrix'

/** Keeps the normal equations solvable if values repeat; relative to the mean square of the inputs. */
const RIDGE = 1e-6

/** Numbers that a forecast reads beside the values. */
export interface LinearCovariate {
  /** Without gaps. */
  readonly values: Float64Array
  /** Steps after the origin for which they are known. */
  readonly ahead: number
}

/**
 * The linear baseline: every step ahead is a linear function of the window and of the covariates that the forecaster reads,
 * by least squares over the training origins. Values are taken relative to the last one known, so that a trend continues.
 */
export class LinearForecaster {
  readonly #values: Float64Array
  readonly #covariates: readonly LinearCovariate[]
  readonly #window: number
  /** [F,horizon]: the last row is the constant. */
  readonly #coefficients: Matrix

  constructor(
    values: Float64Array,
    covariates: readonly LinearCovariate[],
    { window, horizon }: ForecastShape,
    trainOrigins: readonly number[],
  ) {
    this.#values = values
    this.#covariates = covariates
    this.#window = window
    const inputs = new Matrix(trainOrigins.map((origin) => this.#inputs(origin)))
    const targets = new Matrix(
      trainOrigins.map((origin) => Array.from({ length: horizon }, (_, k) => values[origin + k + 1] - values[origin])),
    )
    const transposed = inputs.transpose()
    const gram = transposed.mmul(inputs)
    const ridge = RIDGE * (gram.trace() / gram.rows)
    this.#coefficients = solve(gram.add(Matrix.eye(gram.rows).mul(ridge)), transposed.mmul(targets))
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
    const others = this.#covariates.flatMap(({ values, ahead }) =>
      Array.from(values.subarray(origin - this.#window + 1, origin + 1 + ahead)),
    )
    return [...changes, ...others, 1]
  }
}
