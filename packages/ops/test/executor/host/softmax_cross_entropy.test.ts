import { describe, expect, it } from 'vitest'
import { softmaxCrossEntropy } from '../../../src/executor/host/softmax_cross_entropy.js'

const LOGITS = Float64Array.of(1, -2, 0.5, 0.25, 3, -1)
const LABELS = Int32Array.of(2, 0)

function computed(logits: Float64Array, labels: Int32Array, weights?: Float64Array) {
  const gradient = new Float64Array(logits.length).fill(9)
  const loss = softmaxCrossEntropy(gradient, logits, labels, weights, logits.length / labels.length)
  return { loss, gradient: [...gradient] }
}
const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 14))

describe('softmaxCrossEntropy', () => {
  // torch 2.13.0: torch.nn.functional.cross_entropy, and its rows weighted and divided by the sum of the weights.
  it("is PyTorch's mean loss and gradient", () => {
    const { loss, gradient } = computed(LOGITS, LABELS)
    expect(loss).toBeCloseTo(1.9168165518731914, 14)
    expect(gradient).toEqual(
      close([
        0.3018744480743129, 0.015029443784787011, -0.3169038918590999, -0.4704651212037449, 0.46200323675393346,
        0.008461884449811405,
      ]),
    )
  })

  it('divides by the sum of the weights', () => {
    const { loss, gradient } = computed(LOGITS, LABELS, Float64Array.of(0.5, 2))
    expect(loss).toBeCloseTo(2.4641483415917365, 14)
    expect(gradient).toEqual(
      close([
        0.12074977922972517, 0.006011777513914805, -0.12676155674363995, -0.7527441939259919, 0.7392051788062936,
        0.013539015119698248,
      ]),
    )
  })

  it('has no loss and no gradient where no row counts', () => {
    for (const weights of [Float64Array.of(0, 0), Float64Array.of(1, -1)]) {
      expect(computed(LOGITS, LABELS, weights)).toEqual({ loss: 0, gradient: [0, 0, 0, 0, 0, 0] })
    }
    expect(computed(new Float64Array(0), new Int32Array(0)).loss).toBe(0)
  })

  it('leaves a row of weight 0 out of the loss, even one of infinite loss', () => {
    const logits = Float64Array.of(0, Number.NEGATIVE_INFINITY, 0, 0)
    const { loss, gradient } = computed(logits, Int32Array.of(1, 0), Float64Array.of(0, 3))
    expect(loss).toBeCloseTo(Math.LN2, 14)
    expect(gradient).toEqual([0, 0, -0.5, 0.5])
  })

  it('is exact where exponentials overflow', () => {
    const { loss, gradient } = computed(Float64Array.of(1e4, 1e4 - 1), Int32Array.of(1))
    expect(loss).toBeCloseTo(1 + Math.log1p(Math.exp(-1)), 12)
    expect(gradient[0]).toBeCloseTo(-(gradient[1] as number), 14)
  })
})
